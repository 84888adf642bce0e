//! The built-in environment: the range, as an environment like any other.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use super::error::Failure;
use crate::{
    model::{
        environment::{Environment, MetricsSource, Redis, RedisPlace, Stage},
        ids::{EnvironmentName, InstanceName, ServerName, ServiceName},
        time::Span,
    },
    range::Endpoints,
};

/// How often the range's instances are read: its drills use windows of one second.
const EVERY: Span = Span::millis(500);

/// How long the range's door is knocked at: it is on this machine.
const KNOCK: Duration = Duration::from_secs(2);

/// Refuses the practice range while nobody has opened it: the first thing that a newcomer meets.
pub fn is_open(environment: &Environment) -> Result<(), Failure> {
    let gateways = environment
        .gateways
        .values()
        .filter(|_| environment.stage == Stage::Practice);
    let doors = gateways.filter_map(|address| address.parse::<SocketAddr>().ok());
    for door in doors {
        TcpStream::connect_timeout(&door, KNOCK).map_err(|error| {
            Failure::Refused(format!(
                "the practice range is not open at {door} ({error}): `allclear range up` in another terminal opens it, \
                 `allclear demo` brings its own"
            ))
        })?;
    }
    Ok(())
}

/// The environment of a range with these endpoints.
pub fn environment(endpoints: &Endpoints) -> Result<Environment, Failure> {
    let mut services: BTreeMap<ServiceName, BTreeMap<InstanceName, String>> = BTreeMap::new();
    for one in &endpoints.instances {
        let service = ServiceName::new(&one.service).map_err(Failure::usage)?;
        let instance = InstanceName::new(&one.instance).map_err(Failure::usage)?;
        services
            .entry(service)
            .or_default()
            .insert(instance, one.address.clone());
    }
    let server = |name: &str| ServerName::new(name).map_err(Failure::usage);
    let address = endpoints
        .redis
        .trim_start_matches("redis://")
        .trim_end_matches('/')
        .to_owned();
    let redis = Redis {
        place: RedisPlace::Address(address),
        user: None,
        password: None,
        db: 0,
        tls: None,
    };
    Ok(Environment {
        name: EnvironmentName::new("range").map_err(Failure::usage)?,
        stage: Stage::Practice,
        metrics: MetricsSource::Scrape {
            every: EVERY,
            path: "/metrics".into(),
        },
        services,
        redis: BTreeMap::from([(server("main")?, redis)]),
        kafka: BTreeMap::new(),
        rocketmq: BTreeMap::new(),
        kubernetes: None,
        gateways: BTreeMap::from([(server("lb")?, endpoints.gateway_runtime.clone())]),
        lease: None,
        notify: Vec::new(),
    })
}
