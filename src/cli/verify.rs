//! `verify`: is a bundle whole and unchanged?

use super::{error::Failure, options::Verify};
use crate::{model::exit::Exit, report};

pub fn verify(args: &Verify) -> Result<Exit, Failure> {
    let verified = report::verify(&args.bundle).map_err(Failure::usage)?;
    if args.json {
        let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
        println!(
            "{}",
            serde_json::json!({
                "run": verified.run, "ok": verified.ok(), "sound": verified.sound,
                "missing_evidence": verified.missing_evidence, "problems": problems,
            })
        );
    } else {
        for problem in &verified.problems {
            println!("{problem}");
        }
        let bundle = args.bundle.display();
        if verified.ok() {
            println!("{bundle}: whole and unchanged");
        } else {
            println!("{bundle}: {} problem(s)", verified.problems.len());
        }
    }
    Ok(if verified.ok() { Exit::Held } else { Exit::Findings })
}
