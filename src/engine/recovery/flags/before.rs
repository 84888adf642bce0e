//! How the degrade flags stand before the drill.

use crate::{
    drivers::{
        Drivers,
        error::DriverError,
        redis::{Glob, Key},
    },
    engine::recovery::{
        gently,
        snapshot::{Part, check},
    },
    model::{
        event::CheckOutcome,
        plan::Plan,
        playbook::Flags,
        said::{Said, said},
        snapshot::FlagsSeen,
    },
};

use super::kept;

/// Why some flags are not compared, and what to do about it.
fn not_compared() -> Said {
    said!(
        "a change of the others is not seen: more than 1,000, too large, of a type that is not read, or no right to read them (docs/drivers/redis.md)",
        "其余的改动看不到：超过 1,000 个、过大、类型不读取，或无读取权限（docs/drivers/redis.md）"
    )
}

pub(in crate::engine::recovery) async fn read_flags(plan: &Plan, drivers: &Drivers) -> Part<FlagsSeen> {
    let entries = plan.drill.recovery.flags.iter().enumerate();
    let parts = entries.map(async |(entry, flags)| {
        let Flags::Redis {
            server,
            pattern,
            at_most,
        } = flags;
        let what = said!(
            "flags {pattern} in Redis {server}",
            "Redis {server} 中的开关 {pattern}"
        );
        let look = async {
            let (redis, glob) = (drivers.redis(server)?, Glob::new(pattern)?);
            let keys = redis.matching(&glob, *at_most).await?.all()?;
            let removal = redis.can_remove(&glob).await?;
            let values = match kept::read(&redis, &keys, &plan.run, plan.drill.recovery.flags.len()).await {
                Err(DriverError::Unauthorized { .. }) => Vec::new(),
                values => values?,
            };
            Ok::<_, DriverError>((keys, values, removal))
        };
        match look.await {
            Err(error) => Part::refused(what, &error),
            Ok((keys, values, removal)) => {
                let compared = values.iter().filter(|flag| flag.digest.is_some()).count();
                let (outcome, next) = match compared < keys.len() {
                    true => (CheckOutcome::Warned, Some(not_compared())),
                    false => (CheckOutcome::Passed, None),
                };
                let (count, may) = (keys.len(), removal.command());
                let there = said!("{count} there already, to be kept", "已有 {count} 个，将保留");
                let there = match keys.is_empty() {
                    true => there,
                    false => said!(
                        there;
                        "{there}, {compared} of them compared by value at the end",
                        "{there}，其中 {compared} 个在结束时比对值"
                    ),
                };
                let shown = said!(there; "{there}; may {may}", "{there}；可执行 {may}");
                Part {
                    found: vec![FlagsSeen {
                        entry,
                        keys: keys.iter().map(Key::to_string).collect(),
                        kept: values,
                        removal,
                    }],
                    checks: vec![check(what, outcome, shown, next)],
                }
            }
        }
    });
    Part::join(gently(parts).await)
}
