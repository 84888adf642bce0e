//! Two calls of Kafka's protocol, spelt out: what a client's quota is, and to set it. `consumer_byte_rate` alone.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const DESCRIBE: i16 = 48;
const ALTER: i16 = 49;
const KEY: &str = "consumer_byte_rate";

fn text(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as i16).to_be_bytes());
    to.extend(text.as_bytes());
}

/// Sends a request of version 0; the answer after its correlation id.
async fn call(port: u16, key: i16, body: &[u8]) -> Option<Vec<u8>> {
    let talk = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let mut request = Vec::new();
        request.extend(key.to_be_bytes());
        request.extend(0_i16.to_be_bytes());
        request.extend(1_i32.to_be_bytes());
        text(&mut request, "table");
        request.extend(body);
        stream.write_i32(request.len() as i32).await.ok()?;
        stream.write_all(&request).await.ok()?;
        let length = usize::try_from(stream.read_i32().await.ok()?).ok()?;
        let mut answer = vec![0; length.min(1 << 20)];
        stream.read_exact(&mut answer).await.ok()?;
        answer.get(4..).map(<[u8]>::to_vec)
    };
    timeout(Duration::from_secs(3), talk).await.ok()?
}

/// The quota of a client id; the outer `None`: it cannot be read.
pub async fn quota(port: u16, client: &str) -> Option<Option<f64>> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    text(&mut body, "client-id");
    body.push(0);
    text(&mut body, client);
    body.push(1);
    let answer = call(port, DESCRIBE, &body).await?;
    // After the throttle time: the error.
    if answer.get(4..6)? != [0, 0] {
        return None;
    }
    // One entry has one value, and that is the last of it.
    let at = answer.windows(KEY.len()).position(|w| w == KEY.as_bytes());
    let Some(at) = at else { return Some(None) };
    let number = answer.get(at + KEY.len()..at + KEY.len() + 8)?;
    Some(Some(f64::from_be_bytes(number.try_into().ok()?)))
}

/// Sets it; `None` if the broker does not say that it has done so.
pub async fn set_quota(port: u16, client: &str, bytes: f64) -> Option<()> {
    let mut body = 1_i32.to_be_bytes().to_vec();
    body.extend(1_i32.to_be_bytes());
    text(&mut body, "client-id");
    text(&mut body, client);
    body.extend(1_i32.to_be_bytes());
    text(&mut body, KEY);
    body.extend(bytes.to_be_bytes());
    body.extend([0, 0]);
    let answer = call(port, ALTER, &body).await?;
    (answer.get(8..10)? == [0, 0]).then_some(())
}
