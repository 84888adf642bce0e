//! What consoles ask of the keeper. Recovering has a way of its own, so that a flood of notes never holds it up.

use tokio::sync::mpsc;

use super::message::ToKeeper;

/// Other asks wait here; more are refused.
const WAITING: usize = 64;

/// Who is at the other end, as the system says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its process, if known.
    pub pid: Option<i32>,
}

/// Something that a console asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What. Never [`ToKeeper::Attach`]; names and texts are safe to show.
    pub ask: ToKeeper,
    /// Who.
    pub peer: Peer,
}

/// The keeper's end.
#[derive(Debug)]
pub struct Asks {
    recover: mpsc::Receiver<Asked>,
    others: mpsc::Receiver<Asked>,
}

impl Asks {
    /// The next ask; a wish to recover overtakes all others. `None` once the server is gone. Nothing is lost if this is
    /// dropped while it waits.
    pub async fn next(&mut self) -> Option<Asked> {
        tokio::select! {
            biased;
            Some(asked) = self.recover.recv() => Some(asked),
            Some(asked) = self.others.recv() => Some(asked),
            else => None,
        }
    }
}

/// A connection's end.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    recover: mpsc::Sender<Asked>,
    others: mpsc::Sender<Asked>,
}

pub(super) fn channel() -> (Asker, Asks) {
    let (recover, recover_end) = mpsc::channel(1);
    let (others, others_end) = mpsc::channel(WAITING);
    let asks = Asks {
        recover: recover_end,
        others: others_end,
    };
    (Asker { recover, others }, asks)
}

impl Asker {
    /// Asks for recovery. One that waits already is as good as another. False if the keeper listens no more.
    pub(super) fn recover(&self, by: String, peer: Peer) -> bool {
        let asked = Asked {
            ask: ToKeeper::Recover { by },
            peer,
        };
        !matches!(
            self.recover.try_send(asked),
            Err(mpsc::error::TrySendError::Closed(_))
        )
    }

    /// Asks for something else, or says why that does not work now.
    pub(super) fn ask(&self, ask: ToKeeper, peer: Peer) -> Result<(), &'static str> {
        self.others.try_send(Asked { ask, peer }).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => "the keeper has too many requests waiting: try again",
            mpsc::error::TrySendError::Closed(_) => "the run is over",
        })
    }
}
