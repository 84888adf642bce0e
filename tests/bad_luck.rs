//! What bad input and bad luck get, through the binary.

mod luck_support;

use std::{
    io::Read,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use luck_support::{Ended, Place, Program, Shop, any_verdict, drill, say, until};
use rustix::process::Signal;
use serde_json::Value;

const RUN: [&str; 3] = ["run", "drill.yaml", "--plain"];

/// A place with the environment of a range, and a drill.
fn place_at(shop: &Shop, drill: &str) -> Place {
    let place = Place::with(&shop.environment("scrape: {every: 1s}", ""));
    place.file("drill.yaml", drill);
    place
}

async fn run_id(run: &Program) -> String {
    let line = run.says(" @ PREPROD shop").await;
    let mut words = line.split_whitespace().skip_while(|w| *w != "run");
    words.nth(1).expect("an id").to_owned()
}

/// Runs a drill that must be refused with this text, and sees that nothing was touched.
async fn refused(place: &Place, shop: &Shop, drill: &str, saying: &str) -> Ended {
    place.file("drill.yaml", drill);
    let ended = place.run(&RUN).await.with_code(5).saying(saying);
    assert!(!ended.out.contains("BASELINE"), "{}", ended.out);
    assert!(!ended.out.contains("about to"), "{}", ended.out);
    shop.is_as_before().await;
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_aimed_stopped_or_put_back_is_refused_and_nothing_is_touched() {
    let shop = Shop::open(&[]).await;
    let place = place_at(&shop, "");
    let one = "instances: [order-0]";
    let all = format!(
        "instances: [{}]",
        (0..8)
            .map(|i| format!("order-{i}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    refused(
        &place,
        &shop,
        &drill(&[(one, &all)]),
        "that is every instance of order",
    )
    .await;
    refused(
        &place,
        &shop,
        &drill(&[("point: coupon.query", "point: coupon.qurey")]),
        "coupon.query",
    )
    .await;

    let before = shop.status().await["breakers"].clone();
    let misspelt = drill(&[("names: [coupon]", "names: [cuopon]")]);
    refused(&place, &shop, &misspelt, "did you mean `coupon`").await;
    assert_eq!(
        shop.status().await["breakers"],
        before,
        "asking for a breaker by name must not create it"
    );

    let redis = shop
        .endpoint("redis")
        .trim_start_matches("redis://")
        .trim_end_matches('/');
    for flag in ["a", "b", "c"] {
        say(redis, &format!("SET degrade:order:{flag} 1"))
            .await
            .expect("set");
    }
    let too_many = drill(&[("at_most: 1000", "at_most: 2")]);
    refused(&place, &shop, &too_many, "at_most").await;
    assert!(
        say(redis, "GET degrade:order:b")
            .await
            .expect("answered")
            .contains('1'),
        "the flags stay"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_file_is_said_with_its_line_and_what_to_write_instead() {
    let place = Place::with("environments: {}\n");
    let cases = [
        (
            "instances: [order-0]",
            "instances: []",
            "drill.yaml:18",
            "instance",
        ),
        ("    duration: 30s\n", "", "drill.yaml:20", "duration"),
        (
            "max_concurrent: 40",
            "max_concurent: 40",
            "drill.yaml:23",
            "max_concurrent",
        ),
        ("within: 2pp", "within: 2%", "drill.yaml:30", "pp"),
        ("baseline: 30s", "baseline: 30", "drill.yaml:7", "30s"),
        (
            "metric: degraded,",
            "metric: degarded,",
            "drill.yaml:27",
            "degraded",
        ),
        (
            "drill: coupon-slow",
            "drill: coupon-slow\ndrill: again",
            "drill.yaml:3",
            "twice",
        ),
    ];
    for (from, to, line, hint) in cases {
        place.file("drill.yaml", drill(&[(from, to)]));
        let ended = place.run(&["check", "drill.yaml"]).await.with_code(2);
        assert!(
            ended.err.contains(line) && ended.err.contains(hint),
            "{from} → {to}:\n{}",
            ended.err
        );
        place.run(&RUN).await.with_code(2);
    }
    let whole = drill(&[]);
    let no_recovery = &whole[..whole.find("recovery:").expect("a recovery")];
    place.file("drill.yaml", no_recovery);
    place
        .run(&["check", "drill.yaml"])
        .await
        .with_code(2)
        .saying("recovery");
    let of_machines = "    - {metric: payment_backlog, at_most: 200}\n";
    let guard = whole
        .lines()
        .filter(|l| !l.contains("window: 5s"))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(guard.contains(of_machines.trim_end()));
    place.file("drill.yaml", guard);
    place
        .run(&["check", "drill.yaml"])
        .await
        .with_code(2)
        .saying("business");

    for (name, bytes) in [
        ("binary.yaml", vec![0, 255, 128, 10]),
        ("large.yaml", vec![b'a'; (1 << 20) + 1]),
    ] {
        place.file(name, bytes);
        place.run(&["check", name]).await.with_code(2).saying(name);
    }
    place
        .run(&["check", "not-there.yaml"])
        .await
        .with_code(2)
        .saying("neither a file nor a name");
    place
        .run(&["check", "dashboards"])
        .await
        .with_code(2)
        .saying("dashboards");
    place
        .run(&["run", "coupon-slwo"])
        .await
        .with_code(2)
        .saying("did you mean `coupon-slow`?");
    place
        .run(&["run", "coupon-slow", "--env", "shpo"])
        .await
        .with_code(2)
        .saying("no environment `shpo`");
    assert!(
        !place
            .state()
            .join("runs")
            .read_dir()
            .is_ok_and(|mut d| d.next().is_some()),
        "no run was made"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_drill_on_the_environment_is_refused_by_name_and_others_may_look() {
    let shop = Shop::open(&[]).await;
    let place = place_at(&shop, &drill(&[("baseline: 30s", "baseline: 10m")]));
    let first = place.start(&RUN);
    let id = run_id(&first).await;
    first.says("BASELINE").await;
    let runs = place.run(&["runs", "--json"]).await.with_code(0).json();
    let keeper = runs[0]["keeper"].as_i64().expect("a keeper");

    let second = place.run(&RUN).await.with_code(5).saying(&id);
    let _ = second.saying(&keeper.to_string());
    assert_eq!(
        place.run(&["runs", "--json"]).await.json().len(),
        1,
        "the refused run leaves no trace"
    );

    let looker = place.start(&["attach", "--plain"]);
    looker.says("BASELINE").await;
    let reader = place.start(&["attach", &id, "--plain", "--read-only"]);
    reader.says("BASELINE").await;
    looker.signal(Signal::TERM);
    looker.ended().await.with_code(0).saying("goes on");
    reader.signal(Signal::HUP);
    reader.ended().await.with_code(0).saying("goes on");
    assert_eq!(
        place.run(&["runs", "--json"]).await.json()[0]["keeper"],
        keeper,
        "the run goes on"
    );

    first.signal(Signal::INT);
    let ended = first.ended().await.with_code(130);
    assert!(!ended.out.contains("about to"), "{}", ended.out);
    shop.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn int_term_and_hup_to_a_plain_run_put_everything_back_and_exit_130() {
    let shop = Shop::open(&[]).await;
    let place = place_at(&shop, &any_verdict(&[("duration: 10s", "duration: 5m")]));
    for (signal, name) in [
        (Signal::INT, "SIGINT"),
        (Signal::TERM, "SIGTERM"),
        (Signal::HUP, "SIGHUP"),
    ] {
        let run = place.start(&RUN);
        run.says(" LIVE").await;
        assert!(shop.has_rules().await);
        run.signal(signal);
        run.ended().await.with_code(130).saying(name).saying("ALL CLEAR");
        shop.is_as_before().await;
    }
    assert_eq!(place.processes(), [] as [i32; 0]);
}

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

#[tokio::test(flavor = "multi_thread")]
async fn smoke_runs_drills_one_after_another_and_reports_them_to_the_pipeline() {
    let shop = Shop::alone(&["--weakness", "no-coupon-fallback"]).await;
    let place = Place::with(&shop.scraped());
    place.file("a.yaml", drill(&[("drill: coupon-slow", "drill: first")]));
    let sound = [
        ("drill: coupon-slow", "drill: second"),
        ("scope: marked, rises: {}", "scope: marked, stays: {within: 5/s}"),
        (
            "stays: {within: 2pp}\n        otherwise",
            "falls: {}\n        otherwise",
        ),
    ];
    place.file("b.yaml", drill(&sound));
    let ended = place
        .run(&["smoke", "a.yaml", "b.yaml", "--junit", "smoke.xml"])
        .await
        .with_code(1);
    let ended = ended.saying("FALSIFIED").saying("HELD");
    assert_eq!(ended.out.matches("\nALL CLEAR").count(), 2, "{}", ended.out);
    let xml = std::fs::read_to_string(place.path("smoke.xml")).expect("a report");
    assert!(xml.contains("first") && xml.contains("second"), "{xml}");
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    shop.is_as_before().await;

    // A slip in the last file costs no minute of the first.
    place.file("b.yaml", "drill: broken");
    let ended = place.run(&["smoke", "a.yaml", "b.yaml"]).await.with_code(2);
    assert!(!ended.out.contains("=="), "{}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_terminal_leaves_the_run_alone_and_another_one_ends_it() {
    let shop = Shop::open(&[]).await;
    let place = place_at(&shop, &any_verdict(&[("duration: 10s", "duration: 5m")]));
    let terminal = portable_pty::native_pty_system();
    let pair = terminal
        .openpty(portable_pty::PtySize {
            rows: 24,
            cols: 80,
            ..Default::default()
        })
        .expect("a pty");
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_allclear"));
    command.args(["run", "drill.yaml", "--mono"]);
    command.cwd(place.path(""));
    command.env("XDG_RUNTIME_DIR", place.path("xdg"));
    command.env("ALLCLEAR_STATE_DIR", place.state());
    let mut console = pair.slave.spawn_command(command).expect("started");
    drop(pair.slave);
    let mut screen = pair.master.try_clone_reader().expect("a reader");
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // A pty ends with an error when its last program has gone.
        let _ = screen.read_to_end(&mut all);
        all
    });
    until("a run has begun", async || {
        !place.run(&["runs", "--json"]).await.json().is_empty()
    })
    .await;
    let looker = place.start(&["attach", "--plain"]);
    looker.says(" LIVE").await;
    let pid = console.process_id().expect("a process id");
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("small")).expect("a process id");
    rustix::process::kill_process(pid, Signal::HUP).expect("signalled");
    let status = tokio::task::spawn_blocking(move || console.wait())
        .await
        .expect("joined")
        .expect("waited for");
    assert!(status.success(), "{status:?}");
    drop(pair.master);
    let shown = reader.join().expect("read");
    assert!(
        String::from_utf8_lossy(&shown).contains("\u{1b}[?1049l"),
        "the terminal is given back"
    );

    assert!(shop.has_rules().await, "the run goes on");
    let recover = place
        .run(&["recover"])
        .await
        .with_code(0)
        .saying("is told to put everything back");
    assert!(recover.out.contains("ALL CLEAR"), "{}", recover.out);
    looker.ended().await.with_code(130);
    shop.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_from_anywhere_are_judged_line_by_line() {
    let place = Place::with("environments: {}\n");
    let document: Value = serde_json::from_str(include_str!("judge/vectors.json")).expect("JSON");
    let cases = document["cases"].as_array().expect("cases");
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    place.file("cases.jsonl", lines.join("\n") + "\n\nno case\n");
    let mut command = place.command(&["judge", "--series", "-"]);
    command.stdin(std::fs::File::open(place.path("cases.jsonl")).expect("opened"));
    let ended = Program::start(command).ended().await.with_code(2);
    let judged = ended.json();
    assert_eq!(judged.len(), cases.len() + 1);
    for (case, got) in cases.iter().zip(&judged) {
        assert_eq!(got["verdict"], case["want"]["verdict"], "{}", case["name"]);
    }
    let wrong = judged.last().expect("an error");
    assert_eq!(wrong["line"], cases.len() + 2, "{wrong}");
    place
        .run(&["judge", "--series", "nowhere.jsonl"])
        .await
        .with_code(2)
        .saying("nowhere.jsonl");
}

#[tokio::test(flavor = "multi_thread")]
async fn colour_is_a_choice_and_never_in_a_pipe() {
    let place = Place::with("environments: {}\ndefualt: shop\n");
    for (key, value) in [("NO_COLOR", "1"), ("TERM", "xterm-256color")] {
        let mut command = place.command(&["list"]);
        command.env(key, value);
        let ended = Program::start(command).ended().await.with_code(2);
        assert!(ended.err.contains("default"), "{}", ended.err);
        assert!(!ended.err.contains('\u{1b}'), "{:?}", ended.err);
    }
}
