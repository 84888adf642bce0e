//! The command that puts a RocketMQ group's config back by hand. RocketMQ's own tool sets every option that it is not told to its
//! default, and has no option for some: so the request itself is sent, the whole config in it. It holds no secret.

use crate::{drivers::rocketmq::GroupConfig, model::environment::RocketmqLogin};

use super::{quoted, secret};

/// The length of an HMAC-SHA1 in base64.
const SIGNATURE: usize = 28;

/// Writes this config at the broker, and fails unless the broker says yes.
pub(in crate::engine::recovery) fn write_config(
    address: &str,
    config: &GroupConfig,
    login: Option<&RocketmqLogin>,
) -> String {
    let body = config.sent();
    let address = quoted(&format!("TCP:{address}"));
    let begin = r#"{"code":200,"language":"OTHER","version":0,"opaque":1,"flag":0,"extFields":{"#;
    let end = "}}";
    let (before, words, length) = match login {
        None => {
            let header = format!("{begin}{end}");
            (String::new(), quoted(&header), header.len())
        }
        Some(RocketmqLogin {
            access_key,
            secret_key,
        }) => {
            let key = serde_json::Value::from(access_key.as_str());
            let (begin, end) = (
                format!(r#"{begin}"AccessKey":{key},"Signature":""#),
                format!("\"{end}"),
            );
            let secret = secret(secret_key);
            let signed = quoted(&format!("{access_key}{body}"));
            let sign =
                format!("sig=$(printf %s {signed} | openssl dgst -sha1 -hmac {secret} -binary | base64); ");
            let words = format!("{} \"$sig\" {}", quoted(&begin), quoted(&end));
            (sign, words, begin.len() + SIGNATURE + end.len())
        }
    };
    let lengths = [4 + length + body.len(), length].map(octal).concat();
    let format = format!("{lengths}%s{}%s", if login.is_some() { "%s%s" } else { "" });
    let body = quoted(&body);
    format!(
        "{before}{{ printf '{format}' {words} {body}; sleep 1; }} | socat -t 5 - {address} | grep -a '\"code\":0,'"
    )
}

/// Four bytes as a shell's `printf` writes them.
fn octal(length: usize) -> String {
    let bytes = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::environment::SecretRef;

    #[test]
    fn the_whole_config_is_in_it_and_no_secret() {
        let config = GroupConfig::read(r#"{"consumeEnable":true,"retryMaxTimes":5}"#).unwrap();
        insta::assert_snapshot!(write_config("10.0.0.1:10911", &config, None), @r##"{ printf '\000\000\000\172\000\000\000\116%s%s' '{"code":200,"language":"OTHER","version":0,"opaque":1,"flag":0,"extFields":{}}' '{"consumeEnable":true,"retryMaxTimes":5}'; sleep 1; } | socat -t 5 - TCP:10.0.0.1:10911 | grep -a '"code":0,'"##);
        let login = RocketmqLogin {
            access_key: "allclear".into(),
            secret_key: SecretRef::Env("ROCKETMQ_SECRET".into()),
        };
        insta::assert_snapshot!(write_config("10.0.0.1:10911", &config, Some(&login)), @r##"sig=$(printf %s 'allclear{"consumeEnable":true,"retryMaxTimes":5}' | openssl dgst -sha1 -hmac "$ROCKETMQ_SECRET" -binary | base64); { printf '\000\000\000\273\000\000\000\217%s%s%s%s' '{"code":200,"language":"OTHER","version":0,"opaque":1,"flag":0,"extFields":{"AccessKey":"allclear","Signature":"' "$sig" '"}}' '{"consumeEnable":true,"retryMaxTimes":5}'; sleep 1; } | socat -t 5 - TCP:10.0.0.1:10911 | grep -a '"code":0,'"##);
    }
}
