//! A keeper that was killed and does not die: it sleeps in a system call and holds the run's lock until that ends. Its deadman
//! can put nothing back meanwhile; whoever attaches sees why.

use std::time::Duration;

use crate::{
    journal::{self, Clock, KeeperLock, RunDir},
    model::{
        event::{Body, Event},
        said::{Said, said},
    },
    view::RunView,
    wire::{Hello, Hub, Server, StateAt},
};

/// Between two looks at the lock.
const LOOK: Duration = Duration::from_millis(250);

/// Returns as soon as the run's lock is no longer that of process `keeper`. Until then the run can be looked at, with the reason.
pub async fn until_free(run: &RunDir, keeper: u32) {
    if !holds(run, keeper) {
        return;
    }
    tracing::error!(
        keeper,
        "killed, and not dead: it sleeps in a system call and holds the run's lock. Nothing can be put back before it ends; \
         faults end at their own expiry"
    );
    let shown = show(run, keeper).await;
    while holds(run, keeper) {
        tokio::time::sleep(LOOK).await;
    }
    // Its place is the next keeper's.
    if let Some(server) = shown {
        server.close().await;
    }
}

fn holds(run: &RunDir, keeper: u32) -> bool {
    matches!(KeeperLock::holder(run), Ok(Some(holder)) if holder.pid == Some(keeper))
}

/// The run as its files tell it, and why nothing happens. Without a socket the wait is the same.
async fn show(run: &RunDir, keeper: u32) -> Option<Server> {
    let plan = run.plan().ok()?;
    let mut view = RunView::default();
    for event in journal::stream(run).ok()?.flatten() {
        view.apply(&event);
    }
    let seq = view.seq;
    // For those who look: the record is the next keeper's to write.
    view.apply(&Event {
        seq: seq + 1,
        at: Clock.now(),
        wall: Clock.wall(),
        body: Body::Warning(why(keeper)),
    });
    let hello = Hello {
        version: plan.allclear_version.clone(),
        run: plan.run.clone(),
        pid: std::process::id(),
    };
    let state = move || StateAt {
        seq,
        state: view.clone(),
    };
    // The keeper's own socket is held by it, as is the lock.
    let socket = super::socket_of(&plan.run).with_extension("wait.sock");
    let (server, mut asks) = Server::bind(&socket, hello, Hub::default(), state).await.ok()?;
    // Whoever asks for a recovery gets it: it is what follows.
    tokio::spawn(async move { while asks.next().await.is_some() {} });
    run.record_socket(&socket).ok()?;
    Some(server)
}

fn why(keeper: u32) -> Said {
    said!(
        "the keeper (process {keeper}) was killed because it hung, and does not die: it sleeps in a system call and holds the run. Nothing is put back before that call ends, then everything is; faults end at their own expiry. Look at what it waits for: cat /proc/{keeper}/stack, a disk or a network file system that does not answer",
        "守护进程（进程 {keeper}）因挂起被杀死，却未退出：它睡在系统调用中，仍占着本演练。该调用结束前不会恢复任何东西，结束后全部恢复；故障到期自行失效。请查看它在等什么：cat /proc/{keeper}/stack，或无应答的磁盘、网络文件系统"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        drivers::testing::until,
        journal::{Journal, StateDir, story},
        model::secret::Secrets,
        wire::{Attach, Client, FromKeeper},
    };

    #[tokio::test]
    async fn who_attaches_while_a_killed_keeper_does_not_die_sees_why() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let run = state.create_run(&story::plan(), &Secrets::none()).unwrap();
        let (mut journal, _) = Journal::open(&run).unwrap();
        for event in &story::events()[..12] {
            journal.append(event).unwrap();
        }
        journal.flush();
        let hung = 4_194_304;
        let lock = KeeperLock::try_take(&run, &story::plan().run, hung).unwrap();
        let waits = tokio::spawn({
            let run = run.clone();
            async move { until_free(&run, hung).await }
        });
        until("the socket is there", async || run.socket().is_some()).await;
        let attach = Attach {
            read_only: false,
            who: "someone".into(),
        };
        let mut client = Client::<RunView>::connect(&run.socket().unwrap(), attach)
            .await
            .unwrap();
        let FromKeeper::State(view) = client.incoming.next().await.unwrap() else {
            panic!("no state");
        };
        let said = view.warnings.back().unwrap().text.en();
        assert!(
            said.contains("process 4194304") && said.contains("does not die"),
            "{said}"
        );
        assert!(!view.faults.is_empty(), "the run as far as it is known");
        assert!(!waits.is_finished());
        drop(lock);
        waits.await.unwrap();
        assert!(
            !run.socket().unwrap().exists(),
            "its place is free for the next keeper"
        );
        // One that is dead is not waited for.
        until_free(&run, hung).await;
    }
}
