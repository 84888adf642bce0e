//! One connection to one broker: TLS, login, and one call after another.

use std::{fmt::Debug, io};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::{
    drivers::error::DriverError,
    model::{text::harmless, time::Span},
};

use super::{
    access::{Access, By, Login},
    answer::check,
    calls::{
        AlterQuota, ApiVersions, DescribeGroup, DescribeQuotas, Fetch, FindCoordinator, ListGroups,
        ListOffsets, Metadata, OffsetFetch,
    },
    sasl::{SaslAuthenticate, SaslHandshake},
    scram::Scram,
    wire::{Call, Reader, Torn, Writer},
};

/// A larger answer is not one.
const LARGEST: u32 = 16 << 20;
/// How a TLS server begins its answer to what is no TLS: an alert, of version 3.
const TLS_ALERT: u32 = 0x1503;
/// How allclear calls itself at a broker.
const CLIENT: &str = "allclear";

/// The calls that a broker must have, by key and version.
const NEEDED: [(i16, i16, &str); 9] = [
    needed::<Metadata>(),
    needed::<FindCoordinator>(),
    needed::<ListGroups>(),
    needed::<DescribeGroup>(),
    needed::<OffsetFetch>(),
    needed::<ListOffsets>(),
    needed::<Fetch>(),
    needed::<DescribeQuotas>(),
    needed::<AlterQuota>(),
];

const fn needed<C: Call>() -> (i16, i16, &'static str) {
    (C::KEY, C::VERSION, C::NAME)
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin + Debug {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin + Debug> Stream for S {}

/// A broker that has greeted and knows who we are.
#[derive(Debug)]
pub(super) struct Connection {
    what: String,
    stream: Box<dyn Stream>,
    sent: i32,
    limit: Span,
}

impl Connection {
    /// Connects, greets and logs in. Nothing that the broker keeps has been asked when this fails.
    ///
    /// # Errors
    /// [`DriverError::Unreachable`], [`DriverError::Unauthorized`], [`DriverError::Garbage`].
    pub(super) async fn open(
        cluster: &str,
        address: &str,
        access: &Access,
        [connect, call]: [Span; 2],
    ) -> Result<Self, DriverError> {
        let what = format!("{cluster} at {}", harmless(address, 100));
        let unreachable = |why: String| DriverError::Unreachable {
            what: what.clone(),
            why: harmless(&why, 200),
        };
        let stream = match timeout(connect.into(), reach(address, access)).await {
            Ok(stream) => stream.map_err(|e| unreachable(e.to_string()))?,
            Err(_) => return Err(unreachable(format!("no connection within {connect}"))),
        };
        let mut connection = Self {
            what: what.clone(),
            stream,
            sent: 0,
            limit: call,
        };
        match connection.greet(access.login.as_ref()).await {
            Ok(()) => Ok(connection),
            // Nothing has been asked yet: whatever broke here broke without an effect.
            Err(DriverError::TimedOut { after, .. }) => {
                Err(unreachable(format!("no greeting within {after}")))
            }
            Err(DriverError::Lost { why, .. }) => Err(unreachable(format!(
                "it hung up during the greeting: {why}; does it want TLS or a login?"
            ))),
            Err(error) => Err(error),
        }
    }

    async fn greet(&mut self, login: Option<&Login>) -> Result<(), DriverError> {
        let (code, known) = self.call(&ApiVersions).await?;
        check(code, None, &format!("{}: ApiVersions", self.what))?;
        for (key, version, name) in NEEDED {
            if !known
                .iter()
                .any(|(k, low, high)| *k == key && (*low..=*high).contains(&version))
            {
                return Err(DriverError::Garbage {
                    what: self.what.clone(),
                    why: format!("it has no {name} of version {version}; Kafka 2.6 and later have it"),
                });
            }
        }
        match login {
            Some(login) => self.log_in(login).await,
            // A listener that wants a login greets everyone, and hangs up at the next question.
            None => self.call(&Metadata { topics: &[] }).await.map(|_| ()),
        }
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), DriverError> {
        let what = format!(
            "{}: login of {} by {}",
            self.what,
            login.user,
            login.by.mechanism()
        );
        let mechanism = login.by.mechanism();
        let (code, offered) = self.call(&SaslHandshake { mechanism }).await?;
        check(code, Some(&format!("it offers {}", offered.join(", "))), &what)?;
        let secret = login.password.reveal();
        match login.by {
            By::Plain => {
                let token = format!("\0{}\0{secret}", login.user);
                self.show(&what, &token).await.map(|_| ())
            }
            By::Scram(hash) => {
                let scram = Scram::new(hash, &login.user, nonce(&what)?);
                let bad = |why: &str| DriverError::Garbage {
                    what: what.clone(),
                    why: why.to_owned(),
                };
                let server = self.show(&what, &scram.first()).await?;
                let (second, proof) = scram.second(&server, secret).map_err(bad)?;
                let last = self.show(&what, &second).await?;
                match proof.is_given_by(&last) {
                    true => Ok(()),
                    false => Err(bad("SCRAM: the server does not know the password itself")),
                }
            }
        }
    }

    async fn show(&mut self, what: &str, token: &str) -> Result<String, DriverError> {
        let (code, said, answer) = self.call(&SaslAuthenticate { token }).await?;
        check(code, said.as_deref(), what)?;
        String::from_utf8(answer).map_err(|_| DriverError::Garbage {
            what: what.to_owned(),
            why: "its login answer is no text".into(),
        })
    }

    /// One call. After an error the connection is of no use any more.
    ///
    /// # Errors
    /// [`DriverError`].
    pub(super) async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer, DriverError> {
        let what = format!("{}: {}", self.what, C::NAME);
        self.sent = self.sent.wrapping_add(1);
        let mut request = Writer::default();
        request.i16(C::KEY);
        request.i16(C::VERSION);
        request.i32(self.sent);
        request.text(CLIENT);
        call.write(&mut request);
        let (request, after) = (request.done(), self.limit);
        let answer = match timeout(after.into(), self.exchange(&request)).await {
            Err(_) => return Err(DriverError::TimedOut { what, after }),
            Ok(Err(error)) => {
                return Err(match error.kind() {
                    io::ErrorKind::InvalidData => DriverError::Garbage {
                        what,
                        why: harmless(&error.to_string(), 200),
                    },
                    _ => DriverError::Lost {
                        what,
                        why: harmless(&error.to_string(), 200),
                    },
                });
            }
            Ok(Ok(answer)) => answer,
        };
        let mut reader = Reader::new(&answer);
        let read = match reader.i32() {
            Ok(sent) if sent == self.sent => C::read(&mut reader),
            Ok(_) => Err(Torn("it answers another question")),
            Err(torn) => Err(torn),
        };
        read.map_err(|Torn(why)| DriverError::Garbage {
            what,
            why: why.to_owned(),
        })
    }

    async fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut frame = Writer::default();
        frame.bytes(request);
        self.stream.write_all(&frame.done()).await?;
        self.stream.flush().await?;
        let length = self.stream.read_u32().await?;
        if length > LARGEST {
            let why = match length >> 16 {
                TLS_ALERT => "it speaks TLS: add `tls` to the cluster".to_owned(),
                _ => format!("an answer of {length} bytes"),
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        // It grows with what comes, not with what is promised.
        let mut answer = Vec::new();
        let read = (&mut self.stream)
            .take(length.into())
            .read_to_end(&mut answer)
            .await?;
        match read == length as usize {
            true => Ok(answer),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

async fn reach(address: &str, access: &Access) -> io::Result<Box<dyn Stream>> {
    let tcp = TcpStream::connect(address).await?;
    tcp.set_nodelay(true)?;
    let Some(tls) = &access.tls else {
        return Ok(Box::new(tcp));
    };
    let host = address
        .rsplit_once(':')
        .map_or(address, |(host, _)| host)
        .trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let stream = TlsConnector::from(tls.clone()).connect(name, tcp).await?;
    Ok(Box::new(stream))
}

/// 18 random bytes as text.
fn nonce(what: &str) -> Result<String, DriverError> {
    let mut bytes = [0; 18];
    let setup = |_| DriverError::Setup {
        what: what.to_owned(),
        why: "the system gives no random bytes".into(),
    };
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes).map_err(setup)?;
    Ok(base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        bytes,
    ))
}
