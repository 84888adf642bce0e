//! Words of events that only screens and reports need.

use crate::model::{
    event::{CheckOutcome, Health, Steadiness},
    recovery::Certainty,
    text::{Lang, Word},
};

impl Word for Health {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Health::Holds => lang.pick("holds", "成立"),
            Health::Bad => lang.pick("BAD", "越限"),
            Health::Broken => lang.pick("BROKEN", "已破"),
            Health::Blind => lang.pick("BLIND", "失明"),
            Health::BlindTooLong => lang.pick("BLIND TOO LONG", "失明过久"),
        }
    }
}

impl Word for Steadiness {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Steadiness::Watching => lang.pick("WATCHING", "观察中"),
            Steadiness::Steady => lang.pick("STEADY", "平稳"),
            Steadiness::Moving => lang.pick("MOVING", "有波动"),
            Steadiness::Unsteady => lang.pick("UNSTEADY", "不平稳"),
            Steadiness::TooThin => lang.pick("TOO THIN", "数据不足"),
        }
    }
}

impl Word for CheckOutcome {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            CheckOutcome::Passed => lang.pick("passed", "通过"),
            CheckOutcome::Warned => lang.pick("WARNED", "注意"),
            CheckOutcome::Refused => lang.pick("REFUSED", "拒绝"),
        }
    }
}

impl Word for Certainty {
    fn word(&self, lang: Lang) -> &'static str {
        match self {
            Certainty::Seen => lang.pick("seen", "已确认"),
            Certainty::Unknown => lang.pick("not seen to be gone", "未能确认已清"),
        }
    }
}
