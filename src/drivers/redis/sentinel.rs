//! Sentinels: which server is the master now.

use std::collections::BTreeMap;

use futures::{StreamExt, stream::FuturesUnordered};
use redis::{RedisError, cmd};

use crate::{drivers::error::DriverError, model::text::harmless};

use super::node::Access;

/// The master's address, as the newest decision of the Sentinels has it. More than half of them must answer: one that
/// is cut off may still name a master that the others have replaced.
///
/// # Errors
/// [`DriverError::NotThere`] if no Sentinel knows the name; [`DriverError::Unreachable`] if too few answer; others as
/// they come.
pub(super) async fn master(
    access: &Access,
    what: &str,
    name: &str,
    sentinels: &[String],
) -> Result<String, DriverError> {
    let mut asked: FuturesUnordered<_> = sentinels.iter().map(|s| one(access, what, name, s)).collect();
    let (mut newest, mut answered, mut refused) = (None, 0, None);
    while let Some(answer) = asked.next().await {
        match answer {
            Ok(found) => {
                answered += 1;
                newest = newest.max(Some(found));
            }
            Err(error) => refused = refused.or(Some(error)),
        }
        if let Some((_, address)) = newest.take_if(|_| answered * 2 > sentinels.len()) {
            return Ok(address);
        }
    }
    Err(match refused {
        Some(error) if answered == 0 => error,
        refused => DriverError::Unreachable {
            what: what.to_owned(),
            why: format!(
                "{answered} of {} Sentinels answer, which is not more than half{}",
                sentinels.len(),
                refused.map(|e| format!("; {e}")).unwrap_or_default()
            ),
        },
    })
}

/// One Sentinel's answer: when it was decided (its epoch), and the address.
async fn one(access: &Access, what: &str, name: &str, sentinel: &str) -> Result<(u64, String), DriverError> {
    let mut node = access.open(&format!("{what}: Sentinel"), sentinel).await?;
    let doing = format!("SENTINEL MASTER {}", harmless(name, 100));
    let asked: Result<BTreeMap<String, String>, RedisError> =
        node.ask(cmd("SENTINEL").arg("MASTER").arg(name)).await;
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) if error.to_string().contains("No such master") => {
            return Err(DriverError::NotThere {
                what: format!("{}: {doing}", node.what),
                answer: "it watches no master of that name".into(),
            });
        }
        Err(error) => return Err(node.sorted(&doing, &error)),
    };
    let field = |key: &str| answer.get(key).map(|v| harmless(v, 200));
    let found = || Some((field("config-epoch")?.parse().ok()?, field("ip")?, field("port")?));
    let (epoch, host, port) = found().ok_or_else(|| DriverError::Garbage {
        what: format!("{}: {doing}", node.what),
        why: "no ip, port and config-epoch in it".into(),
    })?;
    Ok((epoch, format!("{host}:{port}")))
}
