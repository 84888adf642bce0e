//! How an event is meant.

use super::Tone;
use crate::model::{
    event::{Body, CheckOutcome, Health, Steadiness},
    recovery::{Recovered, StepState},
    sheet::Verdict,
};

/// How an event is meant: red for a live fault and what is left, yellow for what needs a look, green for what holds.
pub(super) fn tone(body: &Body) -> Tone {
    match body {
        Body::FaultLive { .. } => Tone::Alarm,
        Body::MayRemain(left) if !left.is_empty() => Tone::Alarm,
        Body::FaultGone { .. } | Body::Reached { .. } => Tone::Good,
        Body::FaultFailed { .. }
        | Body::Refused { .. }
        | Body::CannotArm { .. }
        | Body::TakenOver { .. }
        | Body::DeadmanLost { .. }
        | Body::Warning(_)
        | Body::Doubted(_)
        | Body::Notified { error: Some(_), .. } => Tone::Look,
        Body::Recovering { cause } if cause.is_abort() => Tone::Look,
        Body::Check(check) if check.outcome != CheckOutcome::Passed => Tone::Look,
        Body::Baseline(row) if matches!(row.state, Steadiness::Unsteady | Steadiness::TooThin) => Tone::Look,
        Body::Guard(guard) if guard.health == Health::Holds => Tone::Good,
        Body::Guard(_) => Tone::Look,
        Body::Row(row) if row.verdict == Verdict::AsExpected => Tone::Plain,
        Body::Row(_) => Tone::Look,
        Body::Recovery(report) if report.state == StepState::Failed => Tone::Look,
        Body::Closed(outcome) => match outcome.recovered {
            _ if outcome.refused => Tone::Look,
            Recovered::Recovered => Tone::Good,
            Recovered::Leftover | Recovered::Unknown => Tone::Alarm,
        },
        _ => Tone::Plain,
    }
}
