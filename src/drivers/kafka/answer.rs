//! What Kafka's error codes mean for recovery. Source: the error table of the [protocol guide](https://kafka.apache.org/protocol).

use crate::{drivers::error::DriverError, model::text::harmless};

/// `Ok` for code 0; else the error, named as Kafka's tools name it.
pub(super) fn check(code: i16, said: Option<&str>, what: &str) -> Result<(), DriverError> {
    let what = what.to_owned();
    let answer = |name: &str| match said.filter(|s| !s.is_empty()) {
        Some(said) => format!("{name}: {}", harmless(said, 200)),
        None => name.to_owned(),
    };
    Err(match code {
        0 => return Ok(()),
        29 => DriverError::Unauthorized {
            what,
            answer: answer("Topic authorization failed"),
        },
        30 => DriverError::Unauthorized {
            what,
            answer: answer("Group authorization failed"),
        },
        31 => DriverError::Unauthorized {
            what,
            answer: answer(
                "Cluster authorization failed: it needs AlterConfigs and DescribeConfigs on the cluster",
            ),
        },
        33 => DriverError::Unauthorized {
            what,
            answer: answer("the broker does not offer this SASL mechanism"),
        },
        58 => DriverError::Unauthorized {
            what,
            answer: answer("Authentication failed"),
        },
        3 => DriverError::NotThere {
            what,
            answer: answer("no such topic or partition"),
        },
        69 => DriverError::NotThere {
            what,
            answer: answer("no such group"),
        },
        // Leaders and coordinators on the move, restarts, overload: they pass.
        5 | 6 | 7 | 8 | 9 | 13 | 14 | 15 | 16 | 41 | 56 | 89 => DriverError::Refused {
            what,
            status: Some(503),
            answer: answer(moving(code)),
        },
        _ => DriverError::Refused {
            what,
            status: None,
            answer: answer(&format!("error {code}")),
        },
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
