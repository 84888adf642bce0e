//! A real broker, and real consumers.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use allclear::{
    drivers::kafka::KafkaCluster,
    model::{
        environment::Kafka,
        ids::ServerName,
        playbook::{KafkaQueue, OffsetReset, QueueHold},
        quota::Payer,
        time::Span,
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::parts_support::{Process, Script, Shared, free_ports, run, typed};

/// A broker on ports of its own; its data are gone when it is dropped.
pub struct Broker {
    script: Script,
    pub port: u16,
}

/// The broker that all tests share which leave it as it is.
pub async fn shared() -> Arc<Broker> {
    static SHARED: Shared<Broker> = Shared::new();
    SHARED.or(Broker::start()).await
}

impl Broker {
    pub async fn start() -> Broker {
        Self::of(1).await
    }

    /// Several of them. The last one coordinates all groups: it may die, and there is still a controller.
    pub async fn of(brokers: u16) -> Broker {
        let offsets: Vec<u16> = (0..4 + brokers).collect();
        let port = free_ports(&offsets);
        let settings = vec![
            ("PART_PORT", port.to_string()),
            ("PART_BROKERS", brokers.to_string()),
        ];
        let broker = Broker {
            script: Script::new("kafka", settings),
            port,
        };
        broker.part("up").await;
        if brokers > 1 {
            let replicas = format!("--create --topic __consumer_offsets --replica-assignment {brokers}:1");
            let compact = "--config cleanup.policy=compact";
            broker.tool("topics", &format!("{replicas} {compact}")).await;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while !broker.coordinates().await {
            assert!(Instant::now() < deadline, "no coordinator of groups");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        broker
    }

    /// Whether it knows who coordinates a group: FindCoordinator. The first time that it is asked it makes the topic of all
    /// groups' offsets, and has no answer meanwhile.
    async fn coordinates(&self) -> bool {
        let ask = async {
            let mut stream = TcpStream::connect(self.address()).await?;
            let asked: &[u8] = &[0, 10, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 3, b'a', b'n', b'y'];
            stream.write_u32(asked.len() as u32).await?;
            stream.write_all(asked).await?;
            let (_length, _id) = (stream.read_u32().await?, stream.read_u32().await?);
            stream.read_u16().await
        };
        matches!(timeout(Duration::from_secs(5), ask).await, Ok(Ok(0)))
    }

    /// `up`, `down` or `kill`.
    pub async fn part(&self, what: &str) {
        self.script.does(&[what], &[]).await;
    }

    /// One of several dies at once.
    pub async fn kill(&self, number: u16) {
        self.script.does(&["kill", &number.to_string()], &[]).await;
    }

    /// Where one of several listens.
    pub fn address_of(&self, number: u16) -> String {
        match number {
            1 => self.address(),
            further => format!("127.0.0.1:{}", self.port + 3 + further),
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.script.file(name)
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn plaintext(&self) -> Kafka {
        Kafka {
            bootstrap: vec![self.address()],
            tls: None,
            sasl: None,
        }
    }

    /// Runs one of Kafka's own tools; what it prints.
    pub async fn tool(&self, name: &str, args: &str) -> String {
        let mut command = Command::new(self.file(&format!("bin/kafka-{name}.sh")));
        command
            .args(["--bootstrap-server", &self.address()])
            .args(args.split(' '));
        run(command, None).await
    }

    /// Types a command as a person with Kafka's tools would.
    pub async fn by_hand(&self, line: &str, variables: &[(&str, &str)]) -> String {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.file("bin").display());
        typed(line, &[variables, &[("PATH", &path)]].concat()).await
    }

    pub async fn topic(&self, name: &str, partitions: u32) {
        self.tool(
            "topics",
            &format!("--create --topic {name} --partitions {partitions}"),
        )
        .await;
    }

    pub async fn produce(&self, topic: &str, messages: u32, bytes: u32) {
        let args = format!("--topic {topic} --num-records {messages} --record-size {bytes} --throughput -1");
        self.tool("producer-perf-test", &args).await;
    }

    /// A real consumer of the group with this client id, in the background.
    pub fn consume(&self, topic: &str, group: &str, client: &str, settings: &[&str]) -> Process {
        let command = self.consumer(&self.address(), [topic, group, client], settings);
        Process::start(command)
    }

    /// The same, and its log has each answer that it gets.
    pub fn consume_aloud(&self, topic: &str, group: &str, client: &str, settings: &[&str]) -> Process {
        let mut command = self.consumer(&self.address(), [topic, group, client], settings);
        let answers = "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.NetworkClient=debug";
        command.env("JDK_JAVA_OPTIONS", answers);
        Process::start(command)
    }

    /// Until the broker has told a consumer of this group, who says so aloud, that it is muted.
    pub async fn until_muted(&self, group: &str) {
        let log = self.file(&format!("{group}.log"));
        let deadline = Instant::now() + Duration::from_secs(60);
        let is_muted = || {
            let said = fs::read_to_string(&log).unwrap();
            let mut fetched = said.lines().filter(|line| line.contains("FetchResponseData("));
            fetched.any(|line| !line.contains("throttleTimeMs=0,"))
        };
        while !is_muted() {
            assert!(Instant::now() < deadline, "{group} is not muted");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The same, of this user.
    pub fn consume_as(&self, user: &str, [topic, group, client]: [&str; 3], settings: &[&str]) -> Process {
        let login = format!(
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"{user}\" password=\"{user}-pw\";"
        );
        let login = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", &login];
        let at = format!("127.0.0.1:{}", self.port + 1);
        let command = self.consumer(&at, [topic, group, client], &[&login[..], settings].concat());
        Process::start(command)
    }

    fn consumer(&self, at: &str, [topic, group, client]: [&str; 3], settings: &[&str]) -> Command {
        let mut command = Command::new(self.file("bin/kafka-console-consumer.sh"));
        command.args(["--bootstrap-server", at, "--topic", topic, "--group", group]);
        let client = format!("client.id={client}");
        let own = [
            client.as_str(),
            "auto.commit.interval.ms=1000",
            "auto.offset.reset=earliest",
        ];
        for setting in own.iter().chain(settings) {
            command.args(["--command-property", setting]);
        }
        let log = fs::File::create(self.file(&format!("{group}.log"))).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        command
    }
}

/// Waits until a broker tells this quota: what was set a moment ago is not in its own view at once.
pub async fn until_quota(cluster: &KafkaCluster, payer: &Payer, bytes: Option<f64>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while cluster.quota(payer).await.ok() != Some(bytes) {
        assert!(Instant::now() < deadline, "quota {bytes:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub fn main() -> ServerName {
    ServerName::new("main").unwrap()
}

/// A queue of this name for topic, group and client id.
pub fn queue(name: &str, rate: f64, within: Span) -> KafkaQueue {
    KafkaQueue {
        cluster: main(),
        topic: name.to_owned(),
        group: name.to_owned(),
        reset: OffsetReset::Earliest,
        user: None,
        clients: vec![name.to_owned()],
        rate,
        within,
        hold: QueueHold::Quota,
    }
}
