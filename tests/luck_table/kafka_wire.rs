//! Kafka's protocol, spelt out: what a client's quota is (`consumer_byte_rate` alone), how far a group is, and a consumer.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const FETCH: (i16, i16) = (1, 4);
const COMMIT: (i16, i16) = (8, 2);
const COMMITTED: (i16, i16) = (9, 1);
const DESCRIBE: (i16, i16) = (48, 0);
const ALTER: (i16, i16) = (49, 0);
const KEY: &str = "consumer_byte_rate";

fn text(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as i16).to_be_bytes());
    to.extend(text.as_bytes());
}

/// One entry of a list.
fn one_of(to: &mut Vec<u8>) {
    to.extend(1_i32.to_be_bytes());
}

fn number<const N: usize>(answer: &[u8], at: usize) -> Option<[u8; N]> {
    answer.get(at..at + N)?.try_into().ok()
}

/// Sends a request of this version; the answer after its correlation id.
async fn talk(stream: &mut TcpStream, call: (i16, i16), client: &str, body: &[u8]) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    request.extend(call.0.to_be_bytes());
    request.extend(call.1.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    text(&mut request, client);
    request.extend(body);
    stream.write_i32(request.len() as i32).await.ok()?;
    stream.write_all(&request).await.ok()?;
    let length = usize::try_from(stream.read_i32().await.ok()?).ok()?;
    let mut answer = vec![0; length.min(1 << 20)];
    stream.read_exact(&mut answer).await.ok()?;
    answer.get(4..).map(<[u8]>::to_vec)
}

/// The same over a connection of its own, in time.
async fn call(port: u16, call: (i16, i16), body: &[u8]) -> Option<Vec<u8>> {
    let talk = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        talk(&mut stream, call, "table", body).await
    };
    timeout(Duration::from_secs(3), talk).await.ok()?
}

/// The quota of a client id; the outer `None`: it cannot be read.
pub async fn quota(port: u16, client: &str) -> Option<Option<f64>> {
    let mut body = Vec::new();
    one_of(&mut body);
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
    Some(Some(f64::from_be_bytes(number(&answer, at + KEY.len())?)))
}

/// Sets it; `None` if the broker does not say that it has done so.
pub async fn set_quota(port: u16, client: &str, bytes: f64) -> Option<()> {
    let mut body = Vec::new();
    one_of(&mut body);
    one_of(&mut body);
    text(&mut body, "client-id");
    text(&mut body, client);
    one_of(&mut body);
    text(&mut body, KEY);
    body.extend(bytes.to_be_bytes());
    body.extend([0, 0]);
    let answer = call(port, ALTER, &body).await?;
    (answer.get(8..10)? == [0, 0]).then_some(())
}

/// The first partition of a topic, in a request.
fn partition(to: &mut Vec<u8>, topic: &str) {
    one_of(to);
    text(to, topic);
    one_of(to);
    to.extend(0_i32.to_be_bytes());
}

/// Where it begins in an answer, after its number.
fn after_partition(topic: &str) -> usize {
    4 + 2 + topic.len() + 4 + 4
}

/// How far the group is in the first partition of the topic of its name.
pub async fn committed(port: u16, name: &str) -> Option<i64> {
    let mut body = Vec::new();
    text(&mut body, name);
    partition(&mut body, name);
    let answer = call(port, COMMITTED, &body).await?;
    let at = i64::from_be_bytes(number(&answer, after_partition(name))?);
    (at >= 0).then_some(at)
}

/// Sets that, for a group without members; `None` if the broker does not say that it has done so.
pub async fn commit(port: u16, name: &str, at: i64) -> Option<()> {
    let mut body = Vec::new();
    text(&mut body, name);
    body.extend((-1_i32).to_be_bytes());
    text(&mut body, "");
    body.extend((-1_i64).to_be_bytes());
    partition(&mut body, name);
    body.extend(at.to_be_bytes());
    body.extend((-1_i16).to_be_bytes());
    let answer = call(port, COMMIT, &body).await?;
    (number(&answer, after_partition(name))? == [0, 0]).then_some(())
}

/// A consumer with the client id of this name, which fetches some batches at a time.
pub struct Fetcher {
    port: u16,
    name: &'static str,
    stream: Option<TcpStream>,
}

impl Fetcher {
    pub fn of(port: u16, name: &'static str) -> Self {
        let stream = None;
        Self { port, name, stream }
    }

    /// Fetches from there on, when the broker lets it; where that ends. One that is muted waits on its connection: another would
    /// not know of it.
    pub async fn fetch(&mut self, from: i64) -> Option<i64> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(("127.0.0.1", self.port)).await.ok()?,
        };
        let mut body = Vec::new();
        for number in [-1, 500, 1, 20_000_i32] {
            body.extend(number.to_be_bytes());
        }
        body.push(0);
        partition(&mut body, self.name);
        body.extend(from.to_be_bytes());
        body.extend(20_000_i32.to_be_bytes());
        let talk = talk(&mut stream, FETCH, self.name, &body);
        let answer = timeout(Duration::from_secs(60), talk).await.ok()??;
        self.stream = Some(stream);
        let at = 4 + after_partition(self.name);
        if number(&answer, at)? != [0, 0] {
            return None;
        }
        let aborted = i32::from_be_bytes(number(&answer, at + 18)?).max(0) as usize;
        let records = answer.get(at + 26 + 16 * aborted..)?;
        last_batch_ends(records)
    }
}

/// Behind the last whole batch.
fn last_batch_ends(mut records: &[u8]) -> Option<i64> {
    let mut end = None;
    while let Some(length) = number(records, 8) {
        let length = 12 + usize::try_from(i32::from_be_bytes(length)).ok()?;
        let Some(batch) = records.get(..length) else { break };
        let first = i64::from_be_bytes(number(batch, 0)?);
        let more = i32::from_be_bytes(number(batch, 23)?);
        end = Some(first + i64::from(more) + 1);
        records = &records[length..];
    }
    end
}
