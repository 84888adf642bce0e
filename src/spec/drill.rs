//! Drills: the file as a whole, and what must be true of it as a whole.

use super::{
    diagnostic::Problem,
    fields::Fields,
    guard,
    look::Look,
    order, playbook,
    report::Report,
    shapes::drill::DRILL,
    single, steps,
    tree::Node,
    values::{self, Bad},
};
use crate::model::{
    dashboard::Dashboard,
    drill::{Action, Drill, Risk, Step, Targets},
    ids::{DashboardName, DrillName, InstanceName, ServiceName},
    text::Localized,
    time::Span,
};

/// The judge needs this many usable windows of the baseline.
const BASELINE_WINDOWS: usize = 20;
/// And this many of the injection, after settling.
const INJECTION_WINDOWS: usize = 6;
/// The judge leaves out this many windows after a fault's start unless told otherwise.
const SETTLE_WINDOWS: usize = 3;

pub(super) fn read(
    report: &Report,
    tree: &Node,
    dashboards: &dyn Fn(&DashboardName) -> Option<Dashboard>,
) -> Option<Drill> {
    let fields = Fields::open(report, tree, &DRILL)?;
    let name = fields.name("drill", DrillName::new);
    let title = fields.localized("title");
    let hypothesis = fields.localized("hypothesis");
    let dashboard = find_dashboard(&fields, dashboards);
    let look = Look {
        dashboard: dashboard.as_ref(),
    };
    let risk = fields.map("risk").and_then(|risk| read_risk(&risk));
    let window = fields.some_time("window");
    let baseline = read_baseline(&fields, window);
    let settle = fields.one("settle", values::duration);
    let guard = fields
        .map("guard")
        .and_then(|guard| guard::read(&guard, look, window));
    let targets = fields.map("targets").and_then(|targets| read_targets(&targets));
    let step_fields = fields.maps("steps");
    if fields.is_empty_list("steps") {
        fields.wrong("steps", Problem::MissingKey, Bad::new("a drill without a step"));
    }
    let read: Vec<Option<Step>> = step_fields
        .iter()
        .map(|step| steps::read(step, look, targets.as_ref()))
        .collect();
    order::check_names(report, &step_fields);
    let recovery = fields
        .map("recovery")
        .and_then(|recovery| playbook::read(&recovery, look));
    let accept_no_expiry = fields.one_or("accept_no_expiry", values::flag);
    let steps: Vec<Step> = read.into_iter().collect::<Option<_>>()?;
    order::check_times(report, &step_fields, &steps);
    check_windows(&step_fields, &steps, window?, settle);
    check_reach(&fields, &steps);
    let name = name?;
    let title = title.unwrap_or_else(|| Localized::plain(name.as_str()));
    Some(Drill {
        name,
        title,
        hypothesis: hypothesis?,
        dashboard: dashboard?.with_rates_and_means(),
        risk,
        baseline: baseline?,
        window: window?,
        settle,
        guard: guard?,
        targets: targets?,
        steps,
        recovery: recovery?,
        accept_no_expiry: accept_no_expiry?,
    })
}

fn find_dashboard(
    fields: &Fields,
    dashboards: &dyn Fn(&DashboardName) -> Option<Dashboard>,
) -> Option<Dashboard> {
    let name = fields.name("dashboard", DashboardName::new)?;
    let found = dashboards(&name);
    if found.is_none() {
        let bad = Bad::new(format!("there is no dashboard `{name}`"))
            .help("a dashboard's name stands in its file, after `dashboard:`");
        fields.wrong("dashboard", Problem::UnknownName, bad);
    }
    found
}

fn read_risk(fields: &Fields) -> Option<Risk> {
    let number = |key| fields.one(key, values::whole(1, 5)).map(|n| n as u8);
    let (likelihood, impact, detection) = (number("likelihood"), number("impact"), number("detection"));
    Some(Risk {
        likelihood: likelihood?,
        impact: impact?,
        detection: detection?,
    })
}

fn read_baseline(fields: &Fields, window: Option<Span>) -> Option<Span> {
    let baseline = fields.some_time("baseline")?;
    let window = window?;
    let windows = baseline.windows(window);
    if windows < BASELINE_WINDOWS {
        let bad = Bad::new(format!(
            "a baseline of {baseline} has {windows} windows of {window}; the judge needs {BASELINE_WINDOWS}"
        ))
        .help(format!("watch for {} at least", window * BASELINE_WINDOWS as u64));
        fields.wrong("baseline", Problem::Unsafe, bad);
    }
    Some(baseline)
}

fn read_targets(fields: &Fields) -> Option<Targets> {
    let service = fields.name("service", ServiceName::new);
    let instances = fields.ones("instances", |text| single::name(text, InstanceName::new));
    super::dashboard::each_once(fields.report, fields.list("instances").into_iter());
    if fields.is_empty_list("instances") {
        let bad = Bad::new("no target instance")
            .help("name the instances that may be hit: one of several is enough");
        fields.wrong("instances", Problem::Unsafe, bad);
    }
    Some(Targets {
        service: service?,
        instances,
    })
}

/// Rows that cannot be established, because too few windows are left after settling.
fn check_windows(fields: &[Fields], steps: &[Step], window: Span, settle: Option<Span>) {
    for (fields, step) in fields.iter().zip(steps) {
        if step.expect.is_empty() {
            continue;
        }
        let all = step.duration.windows(window);
        let left_out = match step.settle.or(settle) {
            Some(settle) => settle.0.div_ceil(window.0.max(1)) as usize,
            None => SETTLE_WINDOWS.min(all / 3),
        };
        let left = all.saturating_sub(left_out);
        if left < INJECTION_WINDOWS {
            let needed = window * (INJECTION_WINDOWS + left_out) as u64;
            let bad = Bad::new(format!(
                "step `{}` leaves {left} windows of {window} after settling; its rows need {INJECTION_WINDOWS} or end with NO DATA",
                step.name
            ))
            .help(format!("let it last {needed} at least"));
            fields.doubtful("duration", bad);
        }
    }
}

/// A drill must break or send something, and expect something, or it says nothing.
fn check_reach(fields: &Fields, steps: &[Step]) {
    if steps.is_empty() {
        return;
    }
    if steps.iter().all(|step| step.expect.is_empty()) {
        let bad = Bad::new("no step expects anything: the sheet stays empty").help("add `expect:` to a step");
        fields.report.warn(&fields.place("steps"), Problem::Weak, bad);
    }
    if steps.iter().all(|step| step.action == Action::Observe) {
        let bad =
            Bad::new("no step breaks anything or sends a load").help("add `fault:` or `load:` to a step");
        fields.report.warn(&fields.place("steps"), Problem::Weak, bad);
    }
}
