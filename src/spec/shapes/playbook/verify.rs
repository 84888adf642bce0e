//! When it is over.

use crate::spec::{
    shape::{Shape, or},
    shapes::DURATION,
};

pub(in crate::spec) static VERIFY: Shape = Shape {
    name: "a verification",
    doc: "When it is over: every guard holds and every metric of the sheet is back inside its baseline.",
    keys: &[
        or("hold", DURATION, "30s", "How long everything must hold."),
        or("within", DURATION, "5m", "How long verifying may take in all."),
    ],
    rules: &[],
};
