//! Who is told.

use super::SECRET;
use crate::spec::{
    shape::{Form, Shape, may, need},
    shapes::URL,
};

pub(super) static NOTIFIER: Shape = Shape {
    name: "a notifier",
    doc: "Who gets a message when the guard aborts, or when recovery is incomplete.",
    keys: &[need("webhook", Form::Map(&WEBHOOK), "An HTTP endpoint.")],
    rules: &[],
};

static WEBHOOK: Shape = Shape {
    name: "a webhook",
    doc: "An HTTP endpoint that gets the news as JSON.",
    keys: &[
        need("url", URL, "Where it is posted."),
        may("token", SECRET, "A bearer token."),
    ],
    rules: &[],
};
