//! Where the lines go: to a thread of its own. Whoever does not read must not keep this console from hearing a signal.

use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::timeout,
};

use crate::model::text::Lang;

/// Texts that wait for a reader, a few lines each; what comes when there are more is left out, and counted.
const WAITING: usize = 4_096;

/// How long the last lines wait for a reader.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A writer that never waits. Lines go out by [`Write::flush`].
#[derive(Debug)]
pub(super) struct Outlet {
    texts: mpsc::Sender<Vec<u8>>,
    /// When all is written, or nothing more can be.
    over: oneshot::Receiver<()>,
    text: Vec<u8>,
    /// There was no room for the text so far. The newest one is kept: it may be the last.
    stuck: bool,
    left_out: usize,
    lang: Lang,
}

impl Outlet {
    /// An outlet to `out`.
    pub(super) fn open(out: impl Write + Send + 'static, lang: Lang) -> Self {
        let (texts, waiting) = mpsc::channel(WAITING);
        let (done, over) = oneshot::channel();
        let thread = thread::Builder::new().name("lines".into());
        // Without a thread its end of the channel is gone at once, as if nobody read.
        let _ = thread.spawn(move || {
            write_all(out, waiting);
            let _ = done.send(());
        });
        Self {
            texts,
            over,
            text: Vec::new(),
            stuck: false,
            left_out: 0,
            lang,
        }
    }

    /// Resolves when nothing can be written any more.
    pub(super) fn broken(&self) -> impl Future<Output = ()> + use<> {
        let texts = self.texts.clone();
        async move { texts.closed().await }
    }

    /// Whether half the room is taken: then what comes by the clock gives way to what has happened.
    pub(super) fn is_behind(&self) -> bool {
        self.texts.capacity() < WAITING / 2
    }

    /// Counts a line that was not even written.
    pub(super) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// Brings the last lines out, if somebody reads them before long.
    pub(super) async fn close(self) {
        let text = self.told();
        let Self { texts, over, .. } = self;
        let _ = timeout(LAST_WORDS, async {
            let _ = texts.send(text).await;
            drop(texts);
            let _ = over.await;
        })
        .await;
    }

    /// What is to be written now, after a word on what was left out before it.
    fn told(&self) -> Vec<u8> {
        let mut told = match (self.left_out, self.lang) {
            (0, _) => String::new(),
            (many, Lang::En) => {
                format!("... {many} lines left out, nobody read them; the run's journal has what happened\n")
            }
            (many, Lang::Zh) => format!("... 略去 {many} 行, 无人读取; 经过见演练日志\n"),
        }
        .into_bytes();
        told.extend(&self.text);
        told
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stuck {
            self.flush()?;
        }
        if self.stuck {
            self.left_out += self.text.iter().filter(|b| **b == b'\n').count();
            self.text.clear();
            self.stuck = false;
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        match self.texts.try_send(self.told()) {
            Ok(()) => {
                self.text.clear();
                (self.stuck, self.left_out) = (false, 0);
                Ok(())
            }
            Err(TrySendError::Full(_)) => {
                self.stuck = true;
                Ok(())
            }
            Err(TrySendError::Closed(_)) => {
                self.text.clear();
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }
}

fn write_all(mut out: impl Write, mut texts: mpsc::Receiver<Vec<u8>>) {
    while let Some(text) = texts.blocking_recv() {
        if out.write_all(&text).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as std_mpsc;

    use super::*;

    /// A reader that reads nothing before it is told to.
    struct Later {
        begin: Option<std_mpsc::Receiver<()>>,
        read: std_mpsc::Sender<Vec<u8>>,
    }

    impl Write for Later {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(begin) = self.begin.take() {
                let _ = begin.recv();
            }
            let _ = self.read.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_nobody_reads_is_left_out_and_counted_and_the_last_words_are_kept() {
        let (begin, begins) = std_mpsc::channel();
        let (read, reading) = std_mpsc::channel();
        let later = Later {
            begin: Some(begins),
            read,
        };
        let mut outlet = Outlet::open(later, Lang::En);
        let all = WAITING + 100;
        for line in 0..all {
            assert!(line < WAITING || outlet.is_behind());
            writeln!(outlet, "line {line}").unwrap();
            outlet.flush().unwrap();
        }
        begin.send(()).unwrap();
        outlet.close().await;
        let text = reading.iter().flatten().collect();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let [told, last] = lines[lines.len() - 2..] else {
            panic!("{text}");
        };
        assert_eq!(last, format!("line {}", all - 1));
        let left_out: usize = told.split(' ').nth(1).and_then(|n| n.parse().ok()).expect(told);
        assert!(left_out > 0 && told.contains("left out"), "{told}");
        assert_eq!(lines.len() - 1 + left_out, all, "each line is there or counted");
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_is_noticed_though_nothing_is_written_any_more() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut outlet = Outlet::open(Gone, Lang::En);
        writeln!(outlet, "a line").unwrap();
        outlet.flush().unwrap();
        let noticed = timeout(Duration::from_secs(20), outlet.broken()).await;
        assert!(noticed.is_ok());
    }
}
