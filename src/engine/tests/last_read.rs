//! What the last read proves, and what it does once more.

use super::*;

#[tokio::test]
async fn a_last_read_that_finds_no_fault_is_no_proof_while_one_may_still_land() {
    let rules = axum::routing::get(async || axum::Json(serde_json::json!({"rules": []})));
    let injector = axum::Router::new().route("/chaos/rules", rules);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(axum::serve(listener, injector).into_future());
    let plan = plan(environment(&[("order", "order-0", &address)]), nothing_to_do());
    let intent = FaultIntent {
        undo: UndoFault::Rule {
            base: format!("http://{address}"),
        },
        ..journal::story::intent()
    };
    for (late, left) in [(Span::seconds(60), 1), (Span::ZERO, 0)] {
        let patience = Patience {
            late,
            step: Span::millis(300),
            ..Patience::default()
        };
        let Stage {
            mut engine, mut done, ..
        } = stage(plan.clone());
        let drivers = Drivers::with_patience(&plan, Secrets::none(), patience);
        engine.drivers = Arc::new(drivers.unwrap());
        let fact = FaultFact {
            intent: intent.clone(),
            intended_at: Moment::default(),
            state: FaultState::Intended,
            hits: Hits::default(),
        };
        engine.faults.insert(intent.id.clone(), Track::inherited(&fact));
        engine.read_everything();
        let (found, again) = last_read(&mut done).await;
        assert_eq!((found.len(), again), (left, vec![StepId::Faults]), "{found:?}");
    }
}

#[tokio::test]
async fn the_last_read_restarts_nobody_for_a_pool_that_was_given_up() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("restarted");
    let metric = MetricId::new("order_threads_busy").unwrap();
    let pool = PoolDrain {
        metric: metric.clone(),
        scope: None,
        idle_at_most: 5.0,
        scrape_holds: 0.0,
        wait: Span::millis(100),
        if_stuck: Some(Restart::Command {
            run: touches(&file),
            timeout: Span::seconds(20),
        }),
        ready: None,
    };
    let book = Playbook {
        pools: vec![pool],
        ..nothing_to_do()
    };
    let Stage {
        mut engine, mut done, ..
    } = stage(plan(environment(&[("order", "order-0", "127.0.0.1:9")]), book));
    let query = Query::new(&metric, None).of_instance(&InstanceName::new("order-0").unwrap());
    let busy = Reading {
        value: Ok(Level(50.0)),
        age: Span::ZERO,
        sampled: 1,
        partial: false,
    };
    engine.shared.set_readings([(query.clone(), busy)].into());
    recovery::Bus::stuck(&*engine.bus, &query, true);
    engine.read_everything();
    let (found, again) = last_read(&mut done).await;
    assert!(!again.contains(&StepId::Pools), "{again:?}");
    assert!(found.iter().any(|l| l.step == StepId::Pools), "{found:?}");
    assert!(!file.exists());
}
