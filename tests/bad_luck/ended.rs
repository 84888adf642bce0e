//! Signals and lost terminals.

use std::io::Read;

use rustix::process::Signal;

use crate::{
    RUN,
    luck_support::{Shop, any_verdict, until},
    place_at,
};

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
    assert_eq!(
        status.exit_code(),
        6,
        "it goes on, and nobody here knows how it ends"
    );
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
