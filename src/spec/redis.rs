//! The Redis servers of an environment.

use super::{
    diagnostic::Problem,
    fields::Fields,
    secret,
    values::{self, Bad},
};
use crate::model::environment::{ClientCert, Redis, RedisCluster, RedisPlace, Sentinels, Tls};

pub(super) fn read(fields: &Fields) -> Option<Redis> {
    let place = read_place(fields);
    let user = fields.one("user", values::token);
    let password = secret::read(fields, "password");
    let db = fields.one_or("db", values::whole(0, 65_535));
    if fields.has("cluster") && db.is_some_and(|db| db != 0) {
        let bad = Bad::new("a cluster has no database but 0").help("leave `db` out");
        fields.wrong("db", Problem::Conflict, bad);
    }
    let tls = match fields.has("tls") {
        true => Some(read_tls(&fields.map("tls")?)?),
        false => None,
    };
    Some(Redis {
        place: place?,
        user,
        password,
        db: db?,
        tls,
    })
}

fn read_place(fields: &Fields) -> Option<RedisPlace> {
    if let Some(sentinel) = fields.map("sentinel") {
        let (master, addresses) = (sentinel.one("master", values::token), addresses(&sentinel));
        return Some(RedisPlace::Sentinel(Sentinels {
            master: master?,
            addresses: addresses?,
            user: sentinel.one("user", values::token),
            password: secret::read(&sentinel, "password"),
        }));
    }
    if let Some(cluster) = fields.map("cluster") {
        let addresses = addresses(&cluster)?;
        return Some(RedisPlace::Cluster(RedisCluster { addresses }));
    }
    fields.one("address", values::address).map(RedisPlace::Address)
}

fn addresses(fields: &Fields) -> Option<Vec<String>> {
    if fields.is_empty_list("addresses") {
        let bad = Bad::new("no address is listed").help("name at least one, such as `[\"host:7000\"]`");
        fields.wrong("addresses", Problem::MissingKey, bad);
    }
    let all = fields.ones("addresses", values::address);
    (!all.is_empty()).then_some(all)
}

fn read_tls(fields: &Fields) -> Option<Tls> {
    for (one, other) in [("cert", "key"), ("key", "cert")] {
        if fields.has(one) && !fields.has(other) {
            let bad = Bad::new(format!("`{one}` without `{other}`")).help("mutual TLS needs both files");
            fields.wrong(one, Problem::MissingKey, bad);
        }
    }
    let pair = fields
        .one("cert", values::token)
        .zip(fields.one("key", values::token));
    Some(Tls {
        ca_file: fields.one("ca", values::token),
        client_cert: pair.map(|(cert_file, key_file)| ClientCert { cert_file, key_file }),
    })
}
