//! Remoting's frames: a length, a JSON header and a body. Source: `RemotingCommand` of RocketMQ 5.3, and what a broker of it answers.

use std::{collections::BTreeMap, io};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::model::secret::SecretText;

/// The largest frame that is read: RocketMQ's own clients stop there as well.
const LARGEST: u32 = 16 << 20;
/// The bit of `flag` that marks an answer.
const ANSWER: i64 = 1;

/// A request.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    pub(super) code: i32,
    pub(super) fields: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: i32,
    pub(super) remark: String,
    pub(super) body: Vec<u8>,
}

/// Who asks.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) access_key: String,
    pub(super) secret_key: SecretText,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    code: i32,
    language: &'static str,
    version: i32,
    opaque: i32,
    flag: i32,
    ext_fields: &'a BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Answered {
    code: i32,
    #[serde(default)]
    flag: i64,
    opaque: i32,
    #[serde(default)]
    remark: Option<String>,
}

impl Login {
    /// What proves that the asker knows the secret key: an HMAC of the fields in the order of their names, and the body.
    fn sign(&self, request: &mut Request) {
        request
            .fields
            .insert("AccessKey".to_owned(), self.access_key.clone());
        let mut signed: Vec<u8> = request.fields.values().flat_map(|value| value.bytes()).collect();
        signed.extend(&request.body);
        let key = ring::hmac::Key::new(
            ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            self.secret_key.reveal().as_bytes(),
        );
        let tag = ring::hmac::sign(&key, &signed);
        let signature = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, tag);
        request.fields.insert("Signature".to_owned(), signature);
    }
}

impl Request {
    pub(super) fn new(code: i32, fields: &[(&str, &str)]) -> Self {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            code,
            fields: fields.iter().map(field).collect(),
            body: Vec::new(),
        }
    }

    /// The bytes of the request, signed where there is a login.
    pub(super) fn frame(mut self, opaque: i32, login: Option<&Login>) -> io::Result<Vec<u8>> {
        if let Some(login) = login {
            login.sign(&mut self);
        }
        let header = serde_json::to_vec(&Asked {
            code: self.code,
            language: "OTHER",
            version: 0,
            opaque,
            flag: 0,
            ext_fields: &self.fields,
        })?;
        let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "the request is too large");
        // The upper byte of the header's length says how it is written: 0 is JSON.
        let (total, length) = (4 + header.len() + self.body.len(), header.len());
        let total = i32::try_from(total).map_err(too_large)?;
        let mut frame = total.to_be_bytes().to_vec();
        frame.extend(
            u32::try_from(length)
                .map_err(|_| io::ErrorKind::InvalidInput)?
                .to_be_bytes(),
        );
        frame.extend(header);
        frame.extend(self.body);
        Ok(frame)
    }
}

/// Reads frames until the answer to this request comes: a broker may ask something of its own in between.
pub(super) async fn read_answer(stream: &mut (impl AsyncRead + Unpin), opaque: i32) -> io::Result<Answer> {
    for _ in 0..16 {
        let length = stream.read_u32().await?;
        if length > LARGEST {
            return Err(garbage(format!("an answer of {length} bytes")));
        }
        // It grows with what comes, not with what is promised.
        let mut frame = Vec::new();
        let read = stream.take(length.into()).read_to_end(&mut frame).await?;
        if read != length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(answer) = read_frame(&frame, opaque)? {
            return Ok(answer);
        }
    }
    Err(garbage("it talks, and does not answer".to_owned()))
}

/// `None` for a frame that is a request.
fn read_frame(frame: &[u8], opaque: i32) -> io::Result<Option<Answer>> {
    let torn = || garbage("its header does not fit its frame".to_owned());
    let (length, rest) = frame.split_first_chunk::<4>().ok_or_else(torn)?;
    let [kind, length @ ..] = *length;
    if kind != 0 {
        return Err(garbage("its header is not JSON".to_owned()));
    }
    let length = u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
    let (header, body) = rest.split_at_checked(length).ok_or_else(torn)?;
    let header: Answered = serde_json::from_slice(header).map_err(|e| garbage(format!("its header: {e}")))?;
    if header.flag & ANSWER == 0 {
        return Ok(None);
    }
    if header.opaque != opaque {
        return Err(garbage("it answers another question".to_owned()));
    }
    Ok(Some(Answer {
        code: header.code,
        remark: header.remark.unwrap_or_default(),
        body: body.to_vec(),
    }))
}

fn garbage(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(header: &str, body: &[u8]) -> Vec<u8> {
        let mut frame = (header.len() as u32).to_be_bytes().to_vec();
        frame.extend(header.as_bytes());
        frame.extend(body);
        frame
    }

    #[test]
    fn an_answer_to_another_question_is_none() {
        let header = r#"{"code":0,"flag":1,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":479}"#;
        let read = read_frame(&answer(header, b"body"), 7).unwrap().unwrap();
        assert_eq!(
            (read.code, read.remark.as_str(), read.body.as_slice()),
            (0, "", &b"body"[..])
        );
        assert!(read_frame(&answer(header, b""), 8).is_err());
        let asks = r#"{"code":40,"flag":2,"opaque":7}"#;
        assert_eq!(read_frame(&answer(asks, b""), 7).unwrap(), None);
    }

    #[test]
    fn a_secret_key_signs_and_is_not_sent() {
        let login = Login {
            access_key: "allclear".into(),
            secret_key: SecretText::new("12345678"),
        };
        let mut request = Request::new(208, &[("consumerGroup", "g1")]);
        request.body = b"{}".to_vec();
        let frame = String::from_utf8_lossy(&request.frame(1, Some(&login)).unwrap()).into_owned();
        assert!(!frame.contains("12345678"), "{frame}");
        // printf 'allclearg1{}' | openssl dgst -sha1 -hmac 12345678 -binary | base64
        assert!(
            frame.contains(r#""Signature":"dqhDu1JZ4Pb4qO83TtvcpSf+YE4=""#),
            "{frame}"
        );
    }

    #[tokio::test]
    async fn a_promise_of_two_billion_bytes_is_not_believed() {
        let mut stream = &[0x7f, 0xff, 0xff, 0xff, 0, 0][..];
        assert_eq!(
            read_answer(&mut stream, 1).await.unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        let mut short = &[0, 0xff, 0xff, 0xff, 0, 0][..];
        assert_eq!(
            read_answer(&mut short, 1).await.unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(frame in prop::collection::vec(any::<u8>(), 0..200), opaque: i32) {
            let _ = read_frame(&frame, opaque);
        }

        #[test]
        fn no_header_makes_it_panic(header in "\\PC{0,80}", body: Vec<u8>, opaque: i32) {
            let _ = read_frame(&answer(&header, &body), opaque);
        }
    }
}
