//! Degrade flags.

use crate::spec::{
    shape::{Form, Rule, Shape, may, need},
    shapes::{NAME, TOKEN, WHOLE},
};

pub(in crate::spec) static FLAGS: Shape = Shape {
    name: "a set of flags",
    doc: "Degrade flags of one kind. Only those that the drill caused are deleted.",
    keys: &[need("redis", Form::Map(&REDIS_FLAGS), "Keys in Redis.")],
    rules: &[],
};

static REDIS_FLAGS: Shape = Shape {
    name: "a set of Redis flags",
    doc: "Keys in Redis.",
    keys: &[
        need("server", NAME, "The server's name in the environment."),
        may(
            "match",
            TOKEN,
            "A glob of keys, such as `degrade:order:*`. It cannot begin with a wildcard.",
        ),
        may(
            "prefix",
            TOKEN,
            "How the keys begin, taken literally: `*`, `?`, `[` and `\\` in it mean themselves.",
        ),
        need(
            "at_most",
            WHOLE,
            "More matches than this mean a wrong pattern: refused.",
        ),
    ],
    rules: &[Rule::Choose(&["match", "prefix"])],
};
