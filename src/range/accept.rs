//! The listeners of protocols that are not HTTP: each connection gets a task of its own, until the range stops.

use std::future::Future;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long to wait after a connection could not be accepted: out of file descriptors, another try at once fails too.
const BREATH: Duration = Duration::from_millis(50);

/// Serves each connection until `stop`. One that breaks ends itself and nothing else.
pub(super) async fn accept<F>(
    listener: TcpListener,
    tasks: TaskTracker,
    stop: CancellationToken,
    serve: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = std::io::Result<()>> + Send + 'static,
{
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let (served, stop) = (serve(stream), stop.clone());
        tasks.spawn(async move {
            tokio::select! {
                _ = served => {}
                () = stop.cancelled() => {}
            }
        });
    }
}
