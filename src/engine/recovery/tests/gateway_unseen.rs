//! A load balancer of which some reads are lost: they do not keep traffic away for ever.

use std::sync::atomic::AtomicUsize;

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use super::{
    gateway::{one_target, playbook, server},
    haproxy_part::haproxy,
    *,
};
use crate::model::snapshot::GatewayState;

/// Every so many reads one is lost.
const LOST: usize = 5;
const HOLD: Span = Span::millis(600);
/// The way back's stages.
const STAGES: u64 = 3;

/// A way to an HAProxy's runtime API on which reads are lost.
async fn lossy(admin: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let reads = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (admin, reads) = (admin.clone(), reads.clone());
            tokio::spawn(async move {
                let mut near = BufReader::new(near);
                let mut command = String::new();
                near.read_line(&mut command).await.unwrap();
                let is_read = command.contains("show servers state");
                if is_read && reads.fetch_add(1, Relaxed) % LOST == LOST - 1 {
                    return;
                }
                let mut far = TcpStream::connect(admin).await.unwrap();
                far.write_all(command.as_bytes()).await.unwrap();
                // Who asked may be gone by now.
                let _ = tokio::io::copy(&mut far, near.get_mut()).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn an_haproxy_whose_reads_are_lost_now_and_then_gets_its_target_back() {
    let part = haproxy().await;
    let way = lossy(part.admin.clone()).await;
    let stage = stage(one_target("order-0"), playbook(&way, HOLD))
        .with_snapshot_read()
        .await;
    assert_eq!(drain(&stage.scene, true).await.state, StepState::Done);
    let most = (HOLD + SHORT.step * 3) * STAGES;
    let end = tokio::time::timeout(most.into(), traffic(&stage.scene)).await;
    let end = end.expect("a read that is lost now and then does not begin a stage anew");
    assert_eq!(
        (end.state, &end.leftovers),
        (StepState::Done, &vec![]),
        "{}",
        end.detail.en()
    );
    let back = server(&stage, &part.admin, "order-0").await;
    assert_eq!((back.weight, back.state), (100, GatewayState::Ready));
}
