//! What is refused, and how that is said.

use rustix::process::Signal;

use crate::{
    RUN,
    luck_support::{Ended, Place, Shop, drill, say},
    place_at, run_id,
};

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
    looker.ended().await.with_code(6).saying("goes on");
    reader.signal(Signal::HUP);
    reader.ended().await.with_code(6).saying("goes on");
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut unread = place.command(&["attach", "--plain"]);
    let unread = unread.stdout(full.expect("a device")).status().await;
    assert_eq!(
        unread.expect("ended").code(),
        Some(6),
        "nobody has seen a line of it"
    );
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
