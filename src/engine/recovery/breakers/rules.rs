//! The lists of rules that a breaker library takes from outside (Sentinel's): read before the drill, put back whole.

use serde_json::Value;

use crate::{
    drivers::{
        error::DriverError,
        place::Fill,
        sentinel::{data, same, set_url},
    },
    engine::recovery::{Scene, StepEnd, by_hand, together, unread},
    model::{
        ids::InstanceName,
        playbook::{Breakers, SentinelRules},
        recovery::{Leftover, StepId, StepState},
        said::{Said, said},
        undo::ChangeIntent,
    },
};

/// Longer than that, a list is no word that a person would type.
const TYPED: usize = 16 * 1024;

/// One list on one instance, as it was before the drill.
struct Kept<'a> {
    instance: &'a InstanceName,
    which: SentinelRules,
    list: &'a [Value],
    /// The command API's base URL there.
    base: Result<String, DriverError>,
}

fn kept(scene: &Scene) -> Vec<Kept<'_>> {
    let entries = &scene.plan.drill.recovery.breakers;
    let kept = scene.snapshot.rules.iter().flat_map(|seen| {
        let api = match entries.get(seen.entry) {
            Some(Breakers::Sentinel { api, .. }) => Some(api),
            _ => None,
        };
        api.into_iter().flat_map(move |api| {
            seen.instances.iter().map(move |instance| Kept {
                instance,
                which: seen.rules,
                list: &seen.list,
                base: base(scene, api, instance),
            })
        })
    });
    kept.collect()
}

fn base(scene: &Scene, api: &str, instance: &InstanceName) -> Result<String, DriverError> {
    let fill = Fill {
        instance: Some(instance),
        name: None,
    };
    Ok(scene.drivers.places().fill(api, fill)?)
}

/// What became of one list.
enum Put {
    /// It was as before.
    AsBefore,
    /// It differed, and was read back as before.
    Back,
    /// It differs, or is not known.
    Left(Leftover),
}

/// Puts every list back that differs from the snapshot's.
pub(super) async fn put_back(scene: &Scene) -> StepEnd {
    let entries = scene.plan.drill.recovery.breakers.iter();
    if !entries
        .into_iter()
        .any(|b| matches!(b, Breakers::Sentinel { .. }))
    {
        return StepEnd::absent();
    }
    let kept = kept(scene);
    if kept.is_empty() {
        let none = said!("the snapshot has no list of rules", "快照中没有规则列表");
        return StepEnd::new(StepState::Nothing, none);
    }
    let total = kept.len();
    scene.working(
        StepId::Breakers,
        said!("{total} lists of rules", "{total} 个规则列表"),
    );
    let (mut back, mut leftovers) = (0, Vec::new());
    for put in together(kept.iter().map(|list| list.put_back(scene))).await {
        match put {
            Put::AsBefore => {}
            Put::Back => back += 1,
            Put::Left(leftover) => leftovers.push(leftover),
        }
    }
    let (well, detail) = match (leftovers.first(), back) {
        (Some(first), _) => {
            let well = total - leftovers.len();
            let detail = said!(
                what = first.what, why = first.why;
                "{well} of {total} lists of rules well; {what}: {why}",
                "{well}/{total} 个规则列表正常；{what}：{why}"
            );
            (StepState::Done, detail)
        }
        (None, 0) => (
            StepState::Nothing,
            said!(
                "{total} lists of rules are as before",
                "{total} 个规则列表与演练前一致"
            ),
        ),
        (None, _) => (
            StepState::Done,
            said!(
                "{back} of {total} lists of rules put back",
                "已还原 {back}/{total} 个规则列表"
            ),
        ),
    };
    StepEnd::of(well, detail, leftovers)
}

/// Lists that are not as before now, or cannot be read.
pub(super) async fn not_as_before(scene: &Scene) -> Vec<Leftover> {
    let kept = kept(scene);
    let look = async |list: &Kept<'_>| match list.is_as_before(scene).await {
        Ok(true) if list.is_unproved(scene) => Some(list.unproved()),
        Ok(true) => None,
        Ok(false) => {
            let why = said!("another list stands there now", "现为另一份列表");
            Some(list.differs(why))
        }
        Err(error) => Some(list.unread(&error)),
    };
    together(kept.iter().map(look))
        .await
        .into_iter()
        .flatten()
        .collect()
}

impl Kept<'_> {
    async fn is_as_before(&self, scene: &Scene) -> Result<bool, DriverError> {
        let base = self.base.as_ref().map_err(Clone::clone)?;
        let read = || scene.drivers.sentinel().rules(base, self.which);
        let now = scene.persist(scene.deadline(), read).await?;
        Ok(same(&now, self.list))
    }

    async fn put_back(&self, scene: &Scene) -> Put {
        match self.is_as_before(scene).await {
            Ok(true) if !self.is_unproved(scene) => return Put::AsBefore,
            // It stands, and whether it would after a restart is not known: set once more, the answer tells.
            Ok(_) => {}
            Err(error) => return Put::Left(self.unread(&error)),
        }
        let change = ChangeIntent::Rules {
            instance: self.instance.clone(),
            rules: self.which,
            count: self.list.len(),
        };
        scene.bus.intend(change).await;
        let base = self.base.as_deref().unwrap_or_default();
        let set = || scene.drivers.sentinel().set(base, self.which, self.list);
        let asked = scene.persist(scene.deadline(), set).await;
        if asked.is_ok() {
            scene.bus.rules_proved(self.instance, self.which);
        }
        match (self.is_as_before(scene).await, asked) {
            // It stands, and was said not to stand where it comes from: it would go with the next change there.
            (Ok(true), Err(error @ DriverError::Refused { status: None, .. })) => {
                Put::Left(self.differs(error.said()))
            }
            (Ok(true), Ok(())) => Put::Back,
            (Ok(true), Err(_)) => Put::Left(self.unproved()),
            (Ok(false), Err(error)) => Put::Left(self.differs(error.said())),
            (Ok(false), Ok(())) => Put::Left(self.differs(said!(
                "set, and another list stands there all the same",
                "已设置，现仍为另一份列表"
            ))),
            (Err(error), _) => Put::Left(self.unread(&error)),
        }
    }

    fn is_unproved(&self, scene: &Scene) -> bool {
        scene.bus.rules_unproved(self.instance, self.which)
    }

    /// It stands in the instance's memory, and nothing has said that it stands where the instance takes its rules from.
    fn unproved(&self) -> Leftover {
        let why = said!(
            "set, and the set was not answered `success`: the source that the instance takes its rules from may have other ones, which come back with its next change or a restart",
            "已设置，但未应答 `success`：实例的规则源中可能是另一份，规则源变更或实例重启后会重新生效"
        );
        Leftover::unknown(StepId::Breakers, self.what(), why, self.by_hand())
    }

    fn what(&self) -> Said {
        let (which, instance) = (self.which, self.instance);
        said!("{which} rules on {instance}", "{instance} 的 {which} 规则")
    }

    fn differs(&self, why: Said) -> Leftover {
        Leftover::seen(StepId::Breakers, self.what(), why, self.by_hand())
    }

    fn unread(&self, error: &DriverError) -> Leftover {
        unread(StepId::Breakers, self.what(), error, self.by_hand())
    }

    fn by_hand(&self) -> Option<String> {
        let (base, data) = (self.base.as_ref().ok()?, data(self.list));
        let form = [("type", self.which.as_str()), ("data", data.as_str())];
        (data.len() <= TYPED).then(|| by_hand::curl_form(&set_url(base), &form))
    }
}
