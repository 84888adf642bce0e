//! One connection to one server, and one question after another.

use std::io;

use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

use crate::{
    drivers::error::DriverError,
    model::{text::harmless, time::Span},
};

use super::frame::{Answer, Login, Request, read_answer};

/// A connection. After an error it is of no use any more.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    sent: i32,
    limit: Span,
}

impl Connection {
    /// # Errors
    /// [`DriverError::Unreachable`].
    pub(super) async fn open(
        what: &str,
        address: &str,
        [connect, call]: [Span; 2],
    ) -> Result<Self, DriverError> {
        let unreachable = |why: String| DriverError::Unreachable {
            what: what.to_owned(),
            why,
        };
        let stream = match timeout(connect.into(), TcpStream::connect(address)).await {
            Ok(stream) => stream.map_err(|e| unreachable(harmless(&e.to_string(), 200)))?,
            Err(_) => return Err(unreachable(format!("no connection within {connect}"))),
        };
        // Without it the requests come a little later, and that is all.
        let _ = stream.set_nodelay(true);
        Ok(Self {
            stream,
            sent: 0,
            limit: call,
        })
    }

    /// One question, and what was answered: whatever its code.
    ///
    /// # Errors
    /// [`DriverError::TimedOut`], [`DriverError::Lost`] or [`DriverError::Garbage`].
    pub(super) async fn ask(
        &mut self,
        what: &str,
        request: Request,
        login: Option<&Login>,
    ) -> Result<Answer, DriverError> {
        self.sent = self.sent.wrapping_add(1);
        let (opaque, after) = (self.sent, self.limit);
        let frame = request.frame(opaque, login).map_err(|e| DriverError::Setup {
            what: what.to_owned(),
            why: e.to_string(),
        })?;
        let exchange = async {
            self.stream.write_all(&frame).await?;
            read_answer(&mut self.stream, opaque).await
        };
        let what = what.to_owned();
        match timeout(after.into(), exchange).await {
            Err(_) => Err(DriverError::TimedOut { what, after }),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                let why = harmless(&error.to_string(), 200);
                Err(match error.kind() {
                    io::ErrorKind::InvalidData => DriverError::Garbage { what, why },
                    _ => DriverError::Lost { what, why },
                })
            }
        }
    }
}
