//! What Kafka's error codes mean for recovery. Source: the error table of the [protocol guide](https://kafka.apache.org/protocol).

use crate::{drivers::error::DriverError, model::text::harmless};

/// `Ok` for code 0; else the error, named as Kafka's tools name it.
pub(super) fn check(code: i16, said: Option<&str>, what: &str) -> Result<(), DriverError> {
    let answer = |name: &str| match said.filter(|s| !s.is_empty()) {
        Some(said) => format!("{name}: {}", harmless(said, 200)),
        None => name.to_owned(),
    };
    let unauthorized = |name| DriverError::Unauthorized {
        what: what.to_owned(),
        answer: answer(name),
    };
    let not_there = |name| DriverError::NotThere {
        what: what.to_owned(),
        answer: answer(name),
    };
    let refused = |status, name: &str| DriverError::Refused {
        what: what.to_owned(),
        status,
        answer: answer(name),
    };
    Err(match code {
        0 => return Ok(()),
        29 => unauthorized("Topic authorization failed"),
        30 => unauthorized("Group authorization failed"),
        31 => unauthorized(
            "Cluster authorization failed: it needs AlterConfigs and DescribeConfigs on the cluster",
        ),
        33 => unauthorized("the broker does not offer this SASL mechanism"),
        58 => unauthorized("Authentication failed"),
        3 => not_there("no such topic or partition"),
        69 => not_there("no such group"),
        // Leaders and coordinators on the move, restarts, overload: they pass.
        5 | 6 | 7 | 8 | 9 | 13 | 14 | 15 | 16 | 41 | 56 | 89 => refused(Some(503), moving(code)),
        _ => refused(None, &format!("error {code}")),
    })
}

fn moving(code: i16) -> &'static str {
    match code {
        5 => "the partition has no leader now",
        6 => "this broker no longer leads the partition",
        14 => "the group's coordinator is loading",
        15 => "the group has no coordinator now",
        16 => "this broker no longer coordinates the group",
        41 => "this broker is not the controller now",
        _ => "the cluster is busy with itself",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_is_not_allowed_is_named() {
        assert!(check(0, None, "x").is_ok());
        assert!(check(6, None, "x").unwrap_err().may_pass());
        assert!(!check(42, Some("no"), "x").unwrap_err().may_pass());
        let refused = check(31, Some("Cluster authorization failed."), "Kafka main").unwrap_err();
        assert!(
            !refused.may_pass() && refused.to_string().contains("AlterConfigs and DescribeConfigs"),
            "{refused}"
        );
        assert!(matches!(
            check(30, None, "x"),
            Err(DriverError::Unauthorized { .. })
        ));
    }
}
