//! `judge`: a run judged again from its record, or windows from anywhere.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use super::{
    context::Context,
    error::Failure,
    options::{Common, Judge},
    print, replay,
};
use crate::{
    engine,
    journal::{self, History},
    judge::{self, parse_case},
    model::{
        exit::Exit,
        sheet::{RowState, Verdict},
        text::harmless,
    },
};

/// A case with the most windows that the judge takes fits in.
const MAX_LINE: u64 = 64 << 20;

/// The longest damage that is told, in characters.
const LONGEST: usize = 300;

/// Cases that are judged together: enough for all cores, few enough for a stream to flow.
const BATCH: usize = 512;

pub fn judge(common: &Common, args: &Judge) -> Result<Exit, Failure> {
    match &args.series {
        Some(path) if path.as_os_str() == "-" => series(io::stdin().lock()),
        Some(path) => {
            series(BufReader::new(std::fs::File::open(path).map_err(|e| {
                Failure::Usage(format!("{} cannot be read: {e}; name a file of cases, one JSON object a line, or - for standard input", path.display()))
            })?))
        }
        None => again(common, args),
    }
}

/// One case a line in, one verdict a line out, in order. A bad line gets an error in its place.
fn series(mut input: impl BufRead) -> Result<Exit, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut worst = Exit::Held;
    let mut number = 0;
    loop {
        let batch = read_batch(&mut input)?;
        if batch.is_empty() {
            out.flush().map_err(Failure::Unwritten)?;
            return Ok(worst);
        }
        for (line, judged) in batch.iter().zip(judge_all(&batch)) {
            number += 1;
            if line.trim().is_empty() {
                continue;
            }
            match judged {
                Ok((text, verdict)) => {
                    worst = worst.max(verdict.into());
                    writeln!(out, "{text}").map_err(Failure::Unwritten)?;
                }
                Err(why) => {
                    worst = worst.max(Exit::Usage);
                    let error = serde_json::json!({ "line": number, "error": why });
                    writeln!(out, "{error}").map_err(Failure::Unwritten)?;
                }
            }
        }
        out.flush().map_err(Failure::Unwritten)?;
    }
}

fn read_batch(input: &mut impl BufRead) -> Result<Vec<String>, Failure> {
    let mut batch = Vec::new();
    while batch.len() < BATCH {
        let mut line = String::new();
        let n = input.by_ref().take(MAX_LINE).read_line(&mut line)?;
        if n == 0 {
            break;
        }
        if n as u64 == MAX_LINE {
            return Err(Failure::usage(
                "a line of more than 64 MiB is no case: write one JSON object a line, with fewer or wider windows",
            ));
        }
        batch.push(line);
    }
    Ok(batch)
}

type Judged = Result<(String, Verdict), String>;

fn judge_all(lines: &[String]) -> Vec<Judged> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = lines.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = lines
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(|l| judge_line(l)).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|p| p.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn judge_line(line: &str) -> Judged {
    if line.trim().is_empty() {
        return Err("an empty line".into());
    }
    let case = parse_case(line).map_err(|e| e.to_string())?;
    let judged = judge::verdict(&case);
    Ok((judged.to_json(case.id.as_ref()).to_string(), judged.verdict))
}

/// Judges a run again, from the windows that it recorded, and says where that differs from what the run said.
fn again(common: &Common, args: &Judge) -> Result<Exit, Failure> {
    let context = Context::open(common)?;
    let record = replay::record(&context, &args.run)?;
    let plan = record.dir().plan()?;
    let history = journal::read(record.dir())?;
    let judged = engine::rejudge(&plan, &history).map_err(Failure::usage)?;
    let damage = not_judged(&history);
    let mut worst = Exit::Held;
    for row in &judged.rows {
        worst = worst.max(row.verdict.into());
        if args.json {
            let damage = &damage;
            print::json(&JsonRow { row, damage })?;
            continue;
        }
        let step = &plan.drill.steps[row.row.step];
        let expectation = &step.expect[row.row.row];
        let scope = expectation
            .scope
            .as_ref()
            .map(|s| format!(" {s}"))
            .unwrap_or_default();
        let differs = match judged.recorded.get(&row.row) {
            Some(said) if said.verdict != row.verdict => format!("  (the run said {})", said.verdict),
            _ => String::new(),
        };
        print::line(format_args!(
            "{} {}{scope}  {}  ({}){differs}",
            step.name,
            expectation.metric,
            row.verdict,
            row.reason.get(context.lang)
        ))?;
    }
    if !args.json {
        for what in &damage {
            print::line(format_args!("! not judged: {what}"))?;
        }
    }
    Ok(worst)
}

/// A row with what the judge had not.
#[derive(serde::Serialize)]
struct JsonRow<'a> {
    #[serde(flatten)]
    row: &'a RowState,
    damage: &'a [String],
}

/// As many damaged lines are named one by one.
const NAMED: usize = 20;

/// What was recorded and could not be read: a window, a counter, another fault may have stood there.
fn not_judged(history: &History) -> Vec<String> {
    let damage = history.damage.iter().take(NAMED);
    let mut all: Vec<String> = damage.map(|d| harmless(&d.to_string(), LONGEST)).collect();
    let more = history.damage.len().saturating_sub(NAMED);
    all.extend((more > 0).then(|| format!("and {more} damaged lines more")));
    let out = history.left_out;
    all.extend((out > 0).then(|| format!("the last {out} events: more than are held at once")));
    all
}
