//! A real name server, two real master brokers, and real consumers.

use std::{collections::BTreeMap, fs, io, process::Command, sync::Arc, time::Duration};

use allclear::model::environment::Rocketmq;
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::hmac;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    parts_support::{Process, Script, Shared, free_ports, run},
    waiting::Patience,
};

pub const BROKERS: [&str; 2] = ["broker-a", "broker-b"];

/// Servers on ports of their own; their data are gone when they are dropped.
pub struct Part {
    script: Script,
    port: u16,
    login: Option<&'static str>,
}

/// The servers that all tests share which leave them as they are.
pub async fn shared() -> Arc<Part> {
    static SHARED: Shared<Part> = Shared::new();
    SHARED.or(Part::start(None)).await
}

impl Part {
    /// With `user:password` of a super user, every call needs a signature.
    pub async fn start(login: Option<&'static str>) -> Part {
        let port = free_ports(&[0, 3, 7, 11]);
        let settings = vec![
            ("PART_PORT", port.to_string()),
            ("PART_WITH", std::process::id().to_string()),
            ("PART_LOGIN", login.unwrap_or_default().to_owned()),
        ];
        let part = Part {
            script: Script::new("rocketmq", settings),
            port,
            login,
        };
        part.run("up", &[]).await;
        part
    }

    /// `up`, `down` or `kill`, of these or of all.
    pub async fn run(&self, what: &str, names: &[&str]) {
        self.script.does(&[&[what], names].concat(), &[]).await;
    }

    pub fn name_server(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn broker(&self, name: &str) -> String {
        let offset = match name {
            "broker-a" => 3,
            "broker-b" => 7,
            _ => 11,
        };
        format!("127.0.0.1:{}", self.port + offset)
    }

    pub fn open(&self) -> Rocketmq {
        Rocketmq {
            nameservers: vec![self.name_server()],
            login: None,
        }
    }

    /// A topic and a group at these brokers, the group with a config that is not the default's.
    pub async fn create(&self, brokers: &[&str], topic: &str, group: &str) {
        let config = format!(
            r#"{{"groupName":"{group}","consumeEnable":true,"retryMaxTimes":5,"consumeTimeoutMinute":7}}"#
        );
        for broker in brokers {
            self.topic(broker, topic, 2).await;
            let (said, _) = self.ask(broker, 200, "{}", &config).await;
            assert!(said.contains("\"code\":0,"), "{said}");
            // A consumer would have it created; the tests do not wait for one.
            self.topic(broker, &format!("%RETRY%{group}"), 1).await;
        }
        for topic in [topic, &format!("%RETRY%{group}")] {
            self.until_known(topic, brokers).await;
        }
    }

    async fn topic(&self, broker: &str, topic: &str, queues: u8) {
        let fields = format!(
            r#"{{"topic":"{topic}","defaultTopic":"TBW102","readQueueNums":"{queues}","writeQueueNums":"{queues}","perm":"6","topicFilterType":"SINGLE_TAG","topicSysFlag":"0","order":"false"}}"#
        );
        let (said, _) = self.ask(broker, 17, &fields, "").await;
        assert!(said.contains("\"code\":0,"), "{said}");
    }

    /// Brokers tell the name server of a topic a moment later.
    async fn until_known(&self, topic: &str, brokers: &[&str]) {
        until(&format!("route of {topic}"), async || {
            let fields = format!(r#"{{"topic":"{topic}"}}"#);
            let (_, route) = call(&self.name_server(), 105, &fields, "").await;
            brokers.iter().all(|broker| route.contains(&self.broker(broker)))
        })
        .await;
    }

    /// A group's config as its broker tells it when it is asked for this one alone.
    pub async fn config(&self, broker: &str, group: &str) -> String {
        let fields = format!(r#"{{"group":"{group}"}}"#);
        self.ask(broker, 352, &fields, "").await.1
    }

    /// The names of all groups of a broker are in this text.
    pub async fn groups(&self, broker: &str) -> String {
        self.ask(broker, 201, "{}", "").await.1
    }

    /// Asks a broker, as the super user where there is one.
    pub async fn ask(&self, broker: &str, code: u32, fields: &str, body: &str) -> (String, String) {
        self.tries(broker, code, fields, body).await.unwrap()
    }

    /// The same of one that may be away.
    pub async fn tries(
        &self,
        broker: &str,
        code: u32,
        fields: &str,
        body: &str,
    ) -> io::Result<(String, String)> {
        let mut fields: BTreeMap<String, String> = serde_json::from_str(fields)?;
        if let Some((user, password)) = self.login.and_then(|login| login.split_once(':')) {
            fields.insert("AccessKey".into(), user.into());
            let signed: String = fields.values().map(String::as_str).chain([body]).collect();
            let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
            let signature = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
            fields.insert("Signature".into(), signature);
        }
        let fields = serde_json::to_string(&fields)?;
        exchange(&self.broker(broker), code, &fields, body).await
    }

    pub async fn produce(&self, topic: &str, messages: u32) {
        let mut command = self.tool();
        command.args(["produce", &self.name_server(), topic, &messages.to_string()]);
        run(command, None).await;
    }

    /// A real consumer of the group, in the background.
    pub fn consume(&self, topic: &str, group: &str, settings: &[&str]) -> Process {
        let log = fs::File::create(self.script.file(&format!("{group}.log"))).unwrap();
        let mut command = self.tool();
        command
            .args(["consume", &self.name_server(), topic, group])
            .args(settings)
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        Process::start(command)
    }

    fn tool(&self) -> Command {
        let mut command = Command::new(self.script.file("bin/mqtool"));
        if let Some((user, password)) = self.login.and_then(|login| login.split_once(':')) {
            command.env("MQ_ACCESS_KEY", user).env("MQ_SECRET_KEY", password);
        }
        command
    }
}

/// Waits until something is so.
pub async fn until(what: &str, is_so: impl AsyncFnMut() -> bool) {
    let patience = Patience::new(Duration::from_secs(90), Duration::from_millis(200));
    patience.until(what, is_so).await;
}

/// One question of remoting, asked without the program's own client: header and body of the answer.
pub async fn call(address: &str, code: u32, fields: &str, body: &str) -> (String, String) {
    exchange(address, code, fields, body).await.unwrap()
}

async fn exchange(address: &str, code: u32, fields: &str, body: &str) -> io::Result<(String, String)> {
    let header = format!(
        r#"{{"code":{code},"language":"OTHER","version":0,"opaque":1,"flag":0,"extFields":{fields}}}"#
    );
    let mut stream = TcpStream::connect(address).await?;
    let total = 4 + header.len() + body.len();
    stream.write_u32(u32::try_from(total).unwrap()).await?;
    stream.write_u32(u32::try_from(header.len()).unwrap()).await?;
    stream
        .write_all(&[header.as_bytes(), body.as_bytes()].concat())
        .await?;
    let length = stream.read_u32().await?;
    let mut answer = vec![0; length as usize];
    stream.read_exact(&mut answer).await?;
    let header = u32::from_be_bytes([0, answer[1], answer[2], answer[3]]) as usize;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&answer[4..4 + header]), text(&answer[4 + header..])))
}
