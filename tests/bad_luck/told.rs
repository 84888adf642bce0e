//! Who is told, and the evidence that is kept.

use std::{
    fs::File,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::HeaderMap, routing::post};

use crate::{
    RUN,
    luck_support::{Place, Program, Shop, any_verdict, drill, say, until},
};

/// A hook that is told of an abort, and looks whether the faults are gone by then.
struct Hook {
    shop: Arc<Shop>,
    told: AtomicBool,
    with_rules: AtomicBool,
    with_token: AtomicBool,
}

const SECRET: &str = "hunter2-do-not-log-me";

async fn told(State(hook): State<Arc<Hook>>, headers: HeaderMap, body: String) -> &'static str {
    hook.with_rules
        .store(hook.shop.has_rules().await, Ordering::SeqCst);
    let token = headers.get("authorization").and_then(|h| h.to_str().ok());
    hook.with_token
        .store(token == Some(&format!("Bearer {SECRET}")), Ordering::SeqCst);
    assert!(body.contains("\"aborted\""), "{body}");
    hook.told.store(true, Ordering::SeqCst);
    "thanks"
}

/// Every file below, with its bytes; compressed ones as they are.
fn files(below: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(below).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.display().to_string(), std::fs::read(&path).expect("read")));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_pages_when_the_faults_are_gone_and_no_secret_is_written_anywhere() {
    let shop = Arc::new(Shop::open(&["--weakness", "breaker-stays-open"]).await);
    let hook = Arc::new(Hook {
        shop: Arc::clone(&shop),
        told: AtomicBool::new(false),
        with_rules: AtomicBool::new(true),
        with_token: AtomicBool::new(false),
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = Router::new()
        .route("/hook", post(told))
        .with_state(Arc::clone(&hook));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    let notify =
        format!("    notify: [{{webhook: {{url: \"http://{address}/hook\", token: \"${{HOOK_TOKEN}}\"}}}}]");
    let place = Place::with(&shop.environment("scrape: {every: 1s}", &notify));
    place.file(
        "drill.yaml",
        any_verdict(&[
            (
                "metric: order_threads_busy, scope: targets, at_most: 1000",
                "metric: degraded, scope: targets, at_most: 60/s",
            ),
            ("duration: 10s", "duration: 5m"),
        ]),
    );
    let mut command = place.command(&RUN);
    command.env("HOOK_TOKEN", SECRET);
    let ended = Program::start(command).ended().await.with_code(3);
    for word in ["degraded order-0", "FAULTS GONE", "USERS OK", "told"] {
        assert!(ended.out.contains(word), "`{word}` was not said:\n{}", ended.out);
    }
    let times = ended
        .out
        .lines()
        .find(|l| l.starts_with("FAULTS GONE"))
        .expect("three times");
    assert!(!times.contains("--"), "each of the three has come: {times}");
    assert!(ended.out.trim_end().ends_with("ALL CLEAR"), "{}", ended.out);
    until("the hook was told", async || hook.told.load(Ordering::SeqCst)).await;
    assert!(
        !hook.with_rules.load(Ordering::SeqCst),
        "told before the faults were gone"
    );
    assert!(
        hook.with_token.load(Ordering::SeqCst),
        "the hook's token was not sent"
    );
    shop.is_as_before().await;

    place.run(&["export", "--out", "bundle"]).await.with_code(0);
    let shown = place.run(&["show", "--json"]).await.with_code(0);
    let said = [
        ("screen", &ended.out),
        ("screen", &ended.err),
        ("show", &shown.out),
    ];
    let said = said.map(|(name, text)| (name.to_owned(), text.clone().into_bytes()));
    for (name, bytes) in files(&place.state())
        .into_iter()
        .chain(files(&place.path("bundle")))
        .chain(said)
    {
        let found = bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes());
        assert!(!found, "the secret is in {name}");
    }
    let recovered = place.run(&["recover"]).await.with_code(0);
    assert!(recovered.out.contains("nothing to recover"), "{}", recovered.out);
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_evidence_of_a_run_is_whole_until_a_byte_is_changed_and_machines_can_read_it() {
    let shop = Shop::alone(&[]).await;
    let place = Place::with(&shop.scraped());
    place.file("expectations/drill.yaml", drill(&[]));
    let redis = shop
        .endpoint("redis")
        .trim_start_matches("redis://")
        .trim_end_matches('/');
    say(redis, "SET degrade:order:before 1").await.expect("set");
    let run = place
        .run(&["run", "drill", "--plain"])
        .await
        .with_code(0)
        .saying("HELD");
    assert!(run.out.trim_end().ends_with("ALL CLEAR"), "{}", run.out);
    assert!(
        say(redis, "GET degrade:order:before")
            .await
            .expect("answered")
            .contains('1'),
        "the flag is kept"
    );

    for out in ["bundle", "bundle.tar.gz"] {
        place.run(&["export", "latest", "--out", out]).await.with_code(0);
        let verified = place.run(&["verify", out, "--json"]).await.with_code(0).json();
        assert_eq!(verified[0]["ok"], true, "{verified:?}");
        place
            .run(&["judge", out])
            .await
            .with_code(0)
            .saying("AS EXPECTED");
    }
    for (command, lang) in [
        ("list", "en"),
        ("list", "zh"),
        ("runs", "en"),
        ("runs", "zh"),
        ("show", "en"),
        ("show", "zh"),
    ] {
        let page = place.run(&[command, "--lang", lang]).await.with_code(0);
        let wide = page
            .out
            .lines()
            .find(|line| unicode_width::UnicodeWidthStr::width(*line) > 80);
        assert_eq!(wide, None, "{command} in {lang} on 80 columns");
    }
    let replay = place
        .run(&["replay", "bundle", "--plain", "--speed", "50"])
        .await
        .with_code(0);
    let replay = replay.saying("HELD");
    assert!(replay.out.trim_end().ends_with("ALL CLEAR"), "{}", replay.out);
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full disk");
    let mut unwritten = place.command(&["replay", "bundle", "--plain", "--speed", "50"]);
    let status = unwritten.stdout(full).status().await.expect("it starts");
    assert_eq!(status.code(), Some(6), "nobody has seen its end");
    let judged = place.run(&["judge", "--json"]).await.with_code(0).json();
    assert_eq!(judged.len(), 4);

    for args in [
        &["list", "--json"][..],
        &["runs", "--json"],
        &["show", "--json"],
        &["check", "drill", "--json"],
    ] {
        let ended = place.run(args).await.with_code(0);
        let _ = ended.json();
    }
    for (name, bytes) in files(&place.path("bundle")) {
        let mut changed = bytes.clone();
        match changed.len() {
            0 => changed.push(b'x'),
            n => changed[n / 2] ^= 1,
        }
        std::fs::write(&name, changed).expect("written");
        let verified = place.run(&["verify", "bundle"]).await;
        // A manifest that is no JSON any more makes it no bundle at all.
        let known = verified.code == 1 || (verified.code == 2 && name.ends_with("manifest.json"));
        assert!(known, "{name} was changed: {} {}", verified.out, verified.err);
        std::fs::write(&name, bytes).expect("written");
    }
    place.run(&["verify", "bundle"]).await.with_code(0);
    place.file("bundle/more.txt", "added");
    place
        .run(&["verify", "bundle"])
        .await
        .with_code(1)
        .saying("more.txt");

    let id = place.run(&["runs", "--json"]).await.json()[0]["run"]
        .as_str()
        .expect("an id")
        .to_owned();
    place
        .run(&["recover", &id])
        .await
        .with_code(0)
        .saying("is over: it ended recovered; nothing was changed");
}
