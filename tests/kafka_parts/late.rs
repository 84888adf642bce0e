//! A change that nobody answered, and that takes effect all the same.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use allclear::{
    engine::recovery::{hold_retry, left_behind, needs_repair, release_retry},
    model::{ids::ClusterName, recovery::StepState, time::Span},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::{
    luck::at,
    part::{main, queue, shared},
    parts_support::Staged,
    quota::{caught_up, payer, storm},
};

/// In front of a broker: the first change of a quota after it is told so is kept for so long, and nobody is answered.
struct Slow {
    address: String,
    keeps: Arc<AtomicBool>,
    landed: Arc<AtomicBool>,
}

impl Slow {
    async fn before(broker: String, after: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let slow = Slow {
            address: listener.local_addr().unwrap().to_string(),
            keeps: Arc::default(),
            landed: Arc::default(),
        };
        let (keeps, landed) = (slow.keeps.clone(), slow.landed.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let there = TcpStream::connect(&broker).await.unwrap();
                let (mut asked, mut answers) = client.into_split();
                let (mut answered, mut asks) = there.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut answered, &mut answers).await });
                let (keeps, landed, broker) = (keeps.clone(), landed.clone(), broker.clone());
                tokio::spawn(async move {
                    while let Ok(length) = asked.read_u32().await {
                        let mut frame = vec![0; length as usize];
                        asked.read_exact(&mut frame).await?;
                        let whole = [&length.to_be_bytes()[..], &frame].concat();
                        // AlterClientQuotas, and not only to see whether it would be done.
                        let changes = frame.starts_with(&[0, 49]) && frame.ends_with(&[0]);
                        if !changes || !keeps.swap(false, Relaxed) {
                            asks.write_all(&whole).await?;
                            continue;
                        }
                        let (landed, broker) = (landed.clone(), broker.clone());
                        tokio::spawn(async move {
                            tokio::time::sleep(after).await;
                            let mut late = TcpStream::connect(&broker).await.unwrap();
                            late.write_all(&whole).await.unwrap();
                            late.read_u32().await.unwrap();
                            landed.store(true, Relaxed);
                        });
                    }
                    Ok::<_, std::io::Error>(())
                });
            }
        });
        slow
    }
}

#[tokio::test]
async fn a_change_without_an_answer_that_takes_effect_later_is_not_left_behind() {
    let broker = shared().await;
    let (staged, _consumer) = caught_up(&broker, "lands-late", 300.0, Span::seconds(120)).await;
    storm(&broker, &staged, "lands-late", 2000, 1200.0).await;
    let slow = Slow::before(broker.address(), Duration::from_secs(25)).await;
    let mut behind = Staged::new(
        at(slow.address.clone()),
        queue("lands-late", 300.0, Span::seconds(120)),
    );
    behind.scene.snapshot = staged.scene.snapshot.clone();
    let scene = &behind.scene;
    assert_eq!(hold_retry(scene).await.state, StepState::Held);
    slow.keeps.store(true, Relaxed);
    let end = release_retry(scene).await;
    assert!(
        slow.landed.load(Relaxed),
        "it waits for what may land: {}",
        end.detail.en()
    );
    assert_eq!(
        (end.state, end.leftovers),
        (StepState::Done, vec![]),
        "{}",
        end.detail.en()
    );
    assert_eq!(staged.cluster().quota(&payer("lands-late")).await.unwrap(), None);
    assert_eq!(left_behind(scene).await, vec![]);
}

#[tokio::test]
async fn while_a_change_may_still_take_effect_nothing_is_called_as_before() {
    let broker = shared().await;
    let (staged, _consumer) = caught_up(&broker, "in-doubt", 300.0, Span::seconds(120)).await;
    let scene = &staged.scene;
    scene.drivers.unanswered().note(&ClusterName::Kafka(main()));
    for ended in [
        timeout(Duration::from_secs(15), async { left_behind(scene).await.len() })
            .await
            .ok(),
        timeout(Duration::from_secs(15), async {
            release_retry(scene).await.leftovers.len()
        })
        .await
        .ok(),
    ] {
        assert_eq!(ended, None, "it looks again when nothing can change any more");
    }
    assert!(
        !needs_repair(scene).await.is_needed(),
        "for this alone no target is drained"
    );
    assert_eq!(left_behind(scene).await, vec![]);
}
