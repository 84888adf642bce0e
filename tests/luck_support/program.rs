//! A program that was started, what it says, and how it ends.

use std::{process::Stdio, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

/// The longest that anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(240);

/// A program that runs. It is killed when this goes.
pub struct Program {
    child: Child,
    said: Arc<watch::Sender<Said>>,
    readers: Vec<tokio::task::JoinHandle<()>>,
}

#[derive(Default)]
struct Said {
    out: String,
    err: String,
    closed: usize,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Program {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
        let said = Arc::new(watch::Sender::new(Said::default()));
        let out = child.stdout.take().expect("piped");
        let err = child.stderr.take().expect("piped");
        let readers = vec![
            tokio::spawn(listen(out, Arc::clone(&said), |s| &mut s.out)),
            tokio::spawn(listen(err, Arc::clone(&said), |s| &mut s.err)),
        ];
        Self { child, said, readers }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    /// What it has said so far, both streams.
    pub fn said(&self) -> String {
        let said = self.said.borrow();
        format!("{}{}", said.out, said.err)
    }

    /// Waits until it has said this, and gives the line.
    pub async fn says(&self, what: &str) -> String {
        let mut listener = self.said.subscribe();
        let found = |s: &Said| {
            let lines = s.out.lines().chain(s.err.lines());
            lines.filter(|l| l.contains(what)).map(str::to_owned).next()
        };
        let heard = listener.wait_for(|s| found(s).is_some() || s.closed == 2);
        let line = match timeout(DEADLINE, heard).await {
            Ok(Ok(said)) => found(&said),
            _ => None,
        };
        line.unwrap_or_else(|| panic!("it never said `{what}`:\n{}", self.said()))
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("signalled");
    }

    /// Ends it without a word.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Waits for its end. Its output may be held open by others that it started: what was said so far counts then.
    pub async fn ended(mut self) -> Ended {
        let status = timeout(DEADLINE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it does not end:\n{}", self.said()));
        for reader in std::mem::take(&mut self.readers) {
            let _ = timeout(Duration::from_secs(5), reader).await;
        }
        let said = self.said.borrow();
        Ended {
            code: status.expect("waited for").code().unwrap_or(-1),
            out: said.out.clone(),
            err: said.err.clone(),
        }
    }
}

async fn listen(
    stream: impl AsyncRead + Unpin,
    said: Arc<watch::Sender<Said>>,
    of: impl Fn(&mut Said) -> &mut String,
) {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        said.send_modify(|s| {
            let text = of(s);
            text.push_str(&line);
            text.push('\n');
        });
    }
    said.send_modify(|s| s.closed += 1);
}

impl Ended {
    /// Fails with everything that was said unless the code is this.
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// Fails with everything that was said unless it holds this.
    pub fn saying(self, what: &str) -> Self {
        let both = format!("{}\n{}", self.out, self.err);
        assert!(both.contains(what), "`{what}` was not said:\n{both}");
        self
    }

    /// The lines of standard output as JSON, each.
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("no JSON ({e}): {line}\n{}", self.err))
        };
        self.out.lines().map(parse).collect()
    }
}
