//! `verify`: is a bundle whole and unchanged?

use super::{error::Failure, options::Verify, print};
use crate::{model::exit::Exit, report};

pub fn verify(args: &Verify) -> Result<Exit, Failure> {
    let verified = report::verify(&args.bundle).map_err(Failure::usage)?;
    if args.json {
        let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
        print::json(&serde_json::json!({
            "run": verified.run, "ok": verified.ok(), "sound": verified.sound,
            "missing_evidence": verified.missing_evidence, "problems": problems,
        }))?;
    } else {
        for problem in &verified.problems {
            print::line(problem)?;
        }
        let bundle = args.bundle.display();
        if verified.ok() {
            print::line(format_args!("{bundle}: whole and unchanged"))?;
        } else {
            print::line(format_args!("{bundle}: {} problem(s)", verified.problems.len()))?;
        }
    }
    Ok(if verified.ok() { Exit::Held } else { Exit::Findings })
}
