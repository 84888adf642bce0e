//! Against a real Prometheus that scrapes a small exporter.

use std::{
    future::Future,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, routing::get};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::serving::{Served, open, prometheus, serve};
use crate::metrics::testing::{gauge, promql, quantile, query, rate, ratio, wants};
use crate::metrics::{Source, Store, Wanted, summed};
use crate::model::{
    dashboard::Agg,
    sample::{Numbers, SourceMs, Window},
    time::Span,
};

const WIDTH: Span = Span::seconds(1);
const DEADLINE: Duration = Duration::from_secs(40);

/// What the exporter counts: each scrape finds ten more requests, nine of them good.
#[derive(Default)]
struct Shop {
    scrapes: AtomicU64,
    base: AtomicU64,
    coupons: AtomicBool,
}

impl Shop {
    fn page(&self) -> String {
        let n = self.scrapes.fetch_add(1, Ordering::SeqCst) + 1 - self.base.load(Ordering::SeqCst);
        let coupons = match self.coupons.load(Ordering::SeqCst) {
            true => "http_total{code=\"503\"} 7\n",
            false => "",
        };
        format!(
            "http_total{{code=\"200\"}} {}\nhttp_total{{code=\"500\"}} {n}\n{coupons}busy 12\nidle NaN\n\
             t_bucket{{le=\"0.1\"}} {}\nt_bucket{{le=\"0.2\"}} {}\nt_bucket{{le=\"+Inf\"}} {}\n",
            9 * n,
            8 * n,
            9 * n,
            10 * n,
        )
    }
}

struct Running {
    shop: Arc<Shop>,
    source: Source,
    _exporter: Served,
    _server: Child,
    _files: TempDir,
}

/// An exporter and a Prometheus that scrapes it four times a second.
async fn running() -> Running {
    running_beside(None).await
}

/// The same, with another target of the job.
async fn running_beside(other: Option<&Served>) -> Running {
    let shop = Arc::new(Shop::default());
    let served = Arc::clone(&shop);
    let exporter = serve(Router::new().route("/metrics", get(move || async move { served.page() }))).await;
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("prometheus.yml");
    let targets: Vec<String> = std::iter::once(&exporter)
        .chain(other)
        .map(|served| format!("'{}'", served.address))
        .collect();
    let text = format!(
        "global: {{scrape_interval: 250ms, scrape_timeout: 200ms}}\n\
         scrape_configs: [{{job_name: order, static_configs: [{{targets: [{}]}}]}}]\n",
        targets.join(", ")
    );
    std::fs::write(&config, text).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let server = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            files.path().join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("no `prometheus` on the PATH: install it with `apt-get install -y prometheus`");
    let mut running = Running {
        shop,
        source: open(prometheus(&format!("http://127.0.0.1:{port}"))),
        _exporter: exporter,
        _server: server,
        _files: files,
    };
    within_deadline(async {
        while running.source.probe().await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    running
}

async fn within_deadline<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work)
        .await
        .expect("done before the deadline")
}

impl Running {
    /// Adds rounds until `done` says so.
    async fn watch(&mut self, store: &mut Store, wanted: &[Wanted], done: impl Fn(&Store) -> bool) {
        within_deadline(async {
            while !done(store) {
                store.add(self.source.fetch(wanted).await);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
    }

    /// Adds rounds until the `n` windows from `start` are there.
    async fn windows(
        &mut self,
        store: &mut Store,
        wanted: &[Wanted],
        of: usize,
        start: SourceMs,
        n: usize,
    ) -> Vec<Window> {
        let query = wanted[of].query.clone();
        let all = |store: &Store| -> Option<Vec<Window>> {
            (0..n)
                .map(|k| store.window(&query, start + 1_000 * k as i64, WIDTH, k))
                .collect()
        };
        self.watch(store, wanted, |store| all(store).is_some()).await;
        all(store).unwrap()
    }
}

#[tokio::test]
async fn windows_of_a_real_server_hold_what_the_exporter_counted() {
    let mut running = running().await;
    let wanted = [
        wants("share", ratio("http_total").read),
        rate("http_total"),
        quantile("t", 0.95),
        gauge("busy", Agg::Sum),
        gauge("idle", Agg::Sum),
        promql("lag", "sum(busy) * 2"),
        promql(
            "summed",
            &format!("count({})", summed::query("http_total", false, None)),
        ),
        promql(
            "summed_buckets",
            &format!("count({})", summed::query("t_bucket", true, None)),
        ),
        promql(
            "summed_mean",
            &format!("count({})", summed::query("busy", false, Some(Agg::Avg))),
        ),
    ];
    let mut store = Store::new(&wanted, Span::seconds(60));
    running
        .watch(&mut store, &wanted, |s| {
            s.reading(&query("http_total"), WIDTH).value.is_ok()
        })
        .await;
    let start = store.source_now().unwrap();
    let shares = running.windows(&mut store, &wanted, 0, start, 4).await;
    for window in shares {
        let Ok(Numbers::Ratio([good, total])) = window.numbers else {
            panic!("{window:?}")
        };
        assert!(
            (good - 0.9 * total).abs() < 1e-9 && (20.0..=60.0).contains(&total),
            "{good} of {total}"
        );
    }
    let rates = running.windows(&mut store, &wanted, 1, start, 4).await;
    let (mut events, mut seconds) = (0.0, 0.0);
    for window in rates {
        let Ok(Numbers::Rate([x, d])) = window.numbers else {
            panic!("{window:?}")
        };
        events += x;
        seconds += d;
    }
    assert!((events / seconds - 40.0).abs() < 4.0, "{events} in {seconds} s");
    for window in running.windows(&mut store, &wanted, 2, start, 4).await {
        let Ok(Numbers::Quantile(counts)) = window.numbers else {
            panic!("{window:?}")
        };
        assert!((counts[0] - 0.8 * counts[2]).abs() < 1e-9, "{counts:?}");
    }
    assert_eq!(store.edges(&query("t")), Some(&[0.1, 0.2][..]));
    assert_eq!(
        running.windows(&mut store, &wanted, 3, start, 1).await[0].numbers,
        Ok(Numbers::Gauge(12.0))
    );
    assert_eq!(
        running.windows(&mut store, &wanted, 5, start, 1).await[0].numbers,
        Ok(Numbers::Gauge(24.0))
    );
    let nan = running
        .windows(&mut store, &wanted, 4, start, 1)
        .await
        .remove(0)
        .numbers
        .unwrap_err();
    assert_eq!(nan.to_string(), "not a number (NaN or infinite): idle");
    // The server understands the question for sums: a value and a time for each target, and for each bucket of it.
    for (name, halves) in [("summed", 2.0), ("summed_buckets", 6.0), ("summed_mean", 2.0)] {
        assert_eq!(
            store.reading(&query(name), Span::ZERO).value.unwrap().0,
            halves,
            "{name}"
        );
    }
    // A busy machine scrapes a little late now and then, and the server says so in the samples' times.
    let interval = store.interval(&query("http_total")).unwrap();
    assert!((200..=350).contains(&interval.0), "{interval}");
}

#[tokio::test]
async fn a_target_that_a_real_server_cannot_scrape_makes_a_sum_incomplete_until_it_is_back() {
    let broken = Arc::new(AtomicBool::new(false));
    let state = Arc::clone(&broken);
    let page = move || {
        let broken = state.load(Ordering::SeqCst);
        async move {
            match broken {
                true => Err(axum::http::StatusCode::SERVICE_UNAVAILABLE),
                false => Ok("busy 5\n"),
            }
        }
    };
    let other = serve(Router::new().route("/metrics", get(page))).await;
    let mut running = running_beside(Some(&other)).await;
    let wanted = [gauge("busy", Agg::Sum)];
    let mut store = Store::new(&wanted, Span::seconds(10));
    let busy = |store: &Store| store.reading(&query("busy"), Span::ZERO);
    let is = |store: &Store, value: f64, partial: bool| {
        let reading = busy(store);
        reading.partial == partial && reading.value.is_ok_and(|level| level.0 == value)
    };
    running.watch(&mut store, &wanted, |s| is(s, 17.0, false)).await;
    broken.store(true, Ordering::SeqCst);
    running.watch(&mut store, &wanted, |s| is(s, 12.0, true)).await;
    broken.store(false, Ordering::SeqCst);
    running.watch(&mut store, &wanted, |s| is(s, 17.0, false)).await;
}

#[tokio::test]
async fn a_restart_and_a_new_label_set_are_counted_as_they_were() {
    let mut running = running().await;
    let wanted = [rate("http_total")];
    let mut store = Store::new(&wanted, Span::seconds(60));
    running
        .watch(&mut store, &wanted, |s| {
            s.reading(&query("http_total"), WIDTH).value.is_ok()
        })
        .await;
    let start = store.source_now().unwrap();
    running.windows(&mut store, &wanted, 0, start, 1).await;
    running.shop.coupons.store(true, Ordering::SeqCst);
    running.windows(&mut store, &wanted, 0, start, 3).await;
    let scrapes = running.shop.scrapes.load(Ordering::SeqCst);
    running.shop.base.store(scrapes, Ordering::SeqCst);
    let windows = running.windows(&mut store, &wanted, 0, start, 6).await;
    let numbers: Vec<f64> = windows
        .iter()
        .map(|w| match w.numbers {
            Ok(Numbers::Rate([events, _])) => events,
            _ => panic!("{w:?}"),
        })
        .collect();
    // Ten a scrape, and seven more once for the new label set, which does not restart with the others.
    let total: f64 = numbers.iter().sum();
    assert!((total % 10.0 - 7.0).abs() < 1e-9, "{numbers:?}");
    let resets: u32 = windows.iter().map(|w| w.marks.resets).sum();
    assert_eq!(resets, 1, "one target restarted once");
}

#[tokio::test]
async fn preflight_learns_the_server_and_refuses_what_gives_no_number() {
    let mut running = running().await;
    let wanted = [
        promql("range", "busy[1m]"),
        promql("syntax", "sum(busy"),
        promql("several", "http_total"),
        promql("text", "\"up\""),
        promql("fine", "sum(busy)"),
        rate("http_total"),
    ];
    within_deadline(async {
        while running.shop.scrapes.load(Ordering::SeqCst) < 4 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let probe = running.source.probe().await.unwrap();
    assert!(
        probe
            .version
            .as_deref()
            .is_some_and(|v| v.starts_with(char::is_numeric)),
        "{probe:?}"
    );
    assert!(probe.skew_ms.abs() < 2_000, "{probe:?}");
    let refused = running.source.refusals(&wanted).await;
    let shown: Vec<String> = refused
        .iter()
        .map(|(q, why)| format!("{}: {why}", q.metric))
        .collect();
    let hint = "; write a query that gives one number, such as sum(rate(…[1m]))";
    assert_eq!(
        shown,
        [
            format!("text: a string where one number was meant: \"up\"{hint}"),
            format!("range: a matrix where one number was meant: busy[1m]{hint}"),
            format!("several: 2 series where one was meant: http_total{hint}"),
            "syntax: query refused: invalid parameter \"query\": 1:9: parse error: unclosed left parenthesis: correct it in the dashboard: sum(busy".to_owned(),
        ]
    );
}
