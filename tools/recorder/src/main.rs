//! Work of the host before and after a recording; `record.sh` and `costs.sh` call it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use mmsim_recorder::record::Recording;
use mmsim_recorder::{add, boot, costs, decisions, point, reclaim, script};

const USAGE: &str = "\
recorder script FILE [PHASE]             the commands, checked, up to a snapshot
                                         FILE is a script, or POINTS.json:ID[:REPETITION]
recorder phases OUTPUT                   what was counted, phase by phase
recorder point EXPERIMENT ID MIB OUT..   a file of one point, an output per repetition;
                                         OUT may be BOOT.json, what `recorder boot` printed
recorder add POINTS.json:ID OUT..        the file with further repetitions of a point
recorder boot OUTPUT MEMORY              where memory was free when `record.sh -d` read it out
recorder costs OUTPUT..                  nanoseconds of each step, by kernel
recorder reclaim OUTPUT..               what a pass and its folios take, of traces by `reclaim.sh`
recorder decisions POINT OUTPUT          single calls of reclaim, of a trace by `decisions.sh`";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["script", file] => commands(file, None),
        ["script", file, phase] => commands(file, Some(phase)),
        ["phases", output] => recording(output).map(|r| phases(&r)),
        ["point", experiment, id, mib, ref outputs @ ..] => made(experiment, id, mib, outputs),
        ["add", point, ref outputs @ ..] if !outputs.is_empty() => added(point, outputs),
        ["boot", output, memory] => booted(output, memory),
        ["decisions", point, output] => text(output)
            .and_then(|t| decisions::document(point, &t).map_err(|e| format!("{output}: {e}"))),
        ["costs", ref outputs @ ..] if !outputs.is_empty() => fitted(outputs),
        ["reclaim", ref outputs @ ..] if !outputs.is_empty() => {
            let table = |path: &&str| {
                let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
                reclaim::table(&name, &text(path)?).map_err(|e| format!("{path}: {e}"))
            };
            outputs.iter().map(table).collect()
        }
        _ => Err(format!("usage:\n{USAGE}")),
    };
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::from(2)
        }
    }
}

fn text(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    // Firmware prints what is no UTF-8.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn recording(path: &str) -> Result<Recording, String> {
    Recording::read(&text(path)?).map_err(|e| format!("{path}: {e}"))
}

fn commands(file: &str, phase: Option<&str>) -> Result<String, String> {
    let bad = |e: String| format!("{file}: {e}");
    let mut script = match file.split_once(".json:") {
        Some((stem, rest)) => {
            let (id, repetition) = rest.split_once(':').unwrap_or((rest, "0"));
            let repetition = repetition
                .parse()
                .map_err(|_| bad(format!("repetition `{repetition}`, write a number")))?;
            point::script_of(&text(&format!("{stem}.json"))?, id, repetition).map_err(bad)?
        }
        None => text(file)?,
    };
    if let Some(phase) = phase {
        script = script::until(&script, phase).map_err(bad)?;
    }
    script::parse(&script).map_err(|e| bad(e.to_string()))?;
    Ok(script)
}

fn phases(recording: &Recording) -> String {
    let mut out = format!("kernel {}\n", recording.kernel);
    for p in &recording.phases {
        out += &format!("{}: {:.3} ms\n", p.name, p.ns as f64 / 1e6);
        for (name, n) in p.counters.iter().chain(&p.gauges) {
            out += &format!("  {name:<32}{n:>10}\n");
        }
        for z in &p.zones {
            out += &format!("  zone {z}\n");
        }
    }
    out
}

fn made(experiment: &str, id: &str, mib: &str, outputs: &[&str]) -> Result<String, String> {
    let mib = mib.parse().map_err(|_| format!("`{mib}` MiB, write a number"))?;
    let (boots, outputs): (Vec<&str>, Vec<&str>) =
        outputs.iter().partition(|o| o.ends_with(".json"));
    let all = outputs.iter().map(|o| recording(o)).collect::<Result<Vec<_>, _>>()?;
    let layout =
        |path: &&str| serde_json::from_str(&text(path)?).map_err(|e| format!("{path}: {e}"));
    let boot = boots.iter().map(layout).collect::<Result<Vec<_>, _>>()?;
    point::experiment(experiment, id, mib, &boot, &all)
}

fn added(point: &str, outputs: &[&str]) -> Result<String, String> {
    let (stem, id) = point.split_once(".json:").ok_or("write POINTS.json:ID")?;
    let file = format!("{stem}.json");
    let all = outputs.iter().map(|o| recording(o)).collect::<Result<Vec<_>, _>>()?;
    add::with(&text(&file)?, id, &all).map_err(|e| format!("{file}: {e}"))
}

/// The machine was looked at behind a snapshot, at which it printed `/proc/zoneinfo`.
fn booted(output: &str, memory: &str) -> Result<String, String> {
    let printed = text(output)?;
    let recording = Recording::read(&printed).map_err(|e| format!("{output}: {e}"))?;
    let last = recording.phases.last().ok_or_else(|| format!("{output}: no snapshot"))?;
    let unevictable = last.gauges.get("nr_unevictable").copied().unwrap_or(0);
    let dump = std::fs::read(memory).map_err(|e| format!("{memory}: {e}"))?;
    let zones = boot::Span::parse(&printed).map_err(|e| format!("{output}: {e}"))?;
    let layout = boot::layout(&dump, &zones, unevictable);
    Ok(format!("{}\n", layout.map_err(|e| format!("{memory}: {e}"))?))
}

fn fitted(outputs: &[&str]) -> Result<String, String> {
    let mut kernels: BTreeMap<String, Vec<costs::Row>> = BTreeMap::new();
    for path in outputs {
        let r = recording(path)?;
        let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
        kernels.entry(r.kernel.clone()).or_default().extend(costs::rows(&name, &r)?);
    }
    let table = |(kernel, rows): (&String, &Vec<costs::Row>)| costs::table(kernel, rows);
    kernels.iter().map(table).collect()
}
