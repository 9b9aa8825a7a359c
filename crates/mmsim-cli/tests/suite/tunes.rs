//! Tunings as their users have them, and the commands of docs/tuning.md.

use std::io::Write as _;
use std::process::Stdio;

use crate::harness::{Folder, repository};

/// The files that a document shows.
pub(crate) fn of_document(text: &str) -> Folder {
    let f = Folder::new();
    for piece in text.split("<!-- file ").skip(1) {
        let (name, rest) = piece.split_once(" -->\n```").expect("a file");
        let (_, rest) = rest.split_once('\n').expect("its language");
        f.write(name, rest.split("```").next().expect("its end"));
    }
    f
}

fn document() -> String {
    std::fs::read_to_string(repository("docs/tuning.md")).expect("docs/tuning.md")
}

/// Output of the program with this on stdin.
fn answered(f: &Folder, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = f.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starting mmsim");
    // It may have ended by then.
    let _ = child.stdin.take().expect("its stdin").write_all(input.as_bytes());
    let out = child.wait_with_output().expect("its end");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Does the `cat FILE >> FILE` of a text.
fn append(f: &Folder, text: &str) {
    for line in text.lines().filter_map(|l| l.strip_prefix("cat ")) {
        let (from, to) = line.split_once(" >> ").expect("a file to append to");
        f.write(to, f.read(to) + &f.read(from));
    }
}

/// The commands of docs/tuning.md print what stands below them. `MMSIM_BLESS=1` rewrites that.
#[test]
fn commands_of_the_document() {
    commands("docs/tuning.md", "tune");
}

/// Holds what a document prints below its commands of this mark, or rewrites it.
pub(crate) fn commands(document: &str, mark: &str) {
    let text = std::fs::read_to_string(repository(document)).expect(document);
    let f = of_document(&text);
    let boxes = |name: &str| std::fs::read(repository("tests/formats/boxes").join(name));
    f.write("box.txt", boxes("7.3.txt").expect("a box"));
    f.write("table.txt.gz", boxes("7.3-table.txt.gz").expect("a record"));
    let begin = format!("<!-- {mark} -->\n```console\n$ mmsim ");
    let mut pieces = text.split(&begin);
    let mut new = pieces.next().expect("a first piece").to_string();
    for piece in pieces {
        let (command, rest) = piece.split_once('\n').expect("a command");
        let (old, after) = rest.split_once("```\n").expect("its end");
        let (line, input) = match command.split_once(" < ") {
            Some((line, file)) => (line, f.read(file)),
            None => (command, String::new()),
        };
        let args: Vec<&str> = line.split_whitespace().collect();
        let (code, stdout, stderr) = answered(&f, &args, &input);
        assert_eq!(code, Some(0), "{command}: {stderr}");
        if std::env::var_os("MMSIM_BLESS").is_none() {
            assert_eq!(old, stdout, "$ mmsim {command}: run with MMSIM_BLESS=1 and look");
        }
        new += &format!("{begin}{command}\n{stdout}```\n{after}");
        append(&f, after);
    }
    if new != text {
        std::fs::write(repository(document), new).expect("rewriting the document");
    }
}

/// Every form has the front of the table, for any number of jobs.
#[test]
fn every_form_and_any_jobs() {
    let f = of_document(&document());
    let tuned = |args: &[&str]| {
        let said = f.mmsim(&[&["tune", "pressure.toml", "--budget", "40"], args].concat());
        assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
        said.stdout
    };
    let json = tuned(&["--format", "json", "--jobs", "1"]);
    assert_eq!(tuned(&["--format", "json", "--jobs", "3"]), json);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let tuning = &json["tuning"];
    let front = tuning["front"].as_array().expect("a front");
    assert!(!front.is_empty() && tuning["spent"]["runs"].as_u64() <= Some(40), "{tuning}");
    let csv = tuned(&["--format", "csv"]);
    let own_is_outside = usize::from(!front.iter().any(|s| s["own"] == true));
    assert_eq!(csv.lines().count(), front.len() + 1 + own_is_outside, "{csv}");
    let own = csv.lines().find(|l| l.starts_with("own,60,10,")).expect("its values");
    let decision = tuning["advice"]["decision"].as_str().expect("a decision");
    assert_eq!(own.ends_with(",change nothing"), decision == "change nothing", "{own}");
    assert!(tuned(&[]).contains(&format!("\nAdvice: {decision}. ")));
    let first = front.iter().find(|s| s["own"] == false).expect("another setting");
    let swappiness = first["knobs"]["machine.vm.swappiness"].as_str().expect("a value");
    assert!(csv.lines().any(|l| l.starts_with(&format!("1,{swappiness},"))), "{csv}");
    let write = &first["writes"][0]["file"];
    assert_eq!(write["path"], "/proc/sys/vm/swappiness");
    assert_eq!(write["value"], swappiness);
    // Another program can get the same figures of a setting as a search.
    let knobs = first["knobs"].as_object().expect("knobs").iter();
    let knobs: serde_json::Map<String, serde_json::Value> = knobs
        .map(|(k, v)| (k.clone(), v.as_str().and_then(|v| v.parse::<i64>().ok()).into()))
        .collect();
    let line = format!("{}\n", serde_json::json!({ "id": "again", "knobs": knobs }));
    let (code, out, _) = answered(&f, &["tune", "pressure.toml", "--ask-tell"], &line);
    let answer = out.lines().nth(1).and_then(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let answer = answer.expect("an answer");
    assert_eq!((code, &answer["id"]), (Some(0), &"again".into()));
    assert_eq!(answer["objectives"]["pswpout"], first["objectives"][1]["mean"]);
    assert_eq!(answer["objectives"]["memory-pressure"], first["objectives"][0]["mean"]);
}

/// An answer of `--ask-tell` as JSON.
fn answers(f: &Folder, plan: &str, lines: &str) -> Vec<serde_json::Value> {
    let (code, out, said) = answered(f, &["tune", plan, "--ask-tell"], lines);
    assert_eq!(code, Some(0), "{said}");
    out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

/// The advice on settings that others request is that of a search: nothing, where the requested
/// setting does the same or worse; a setting with its price, where it helps. Less than all seeds
/// count for nothing, and the present setting is known by its values.
#[test]
fn advice_on_what_was_asked() {
    let f = of_document(&document());
    let ask = |mib: u64| format!("{{\"knobs\": {{\"machine.memory\": {}}}}}\n", mib << 20);
    let nothing = answers(&f, "memory.toml", "{\"id\": 1, \"advise\": true}\n");
    assert_eq!(nothing[0]["own"], serde_json::json!({ "machine.memory": 12 << 20 }));
    assert_eq!((&nothing[1]["id"], &nothing[1]["runs"]), (&1.into(), &6.into()));
    assert_eq!(nothing[1]["advice"]["decision"], "change nothing");
    assert_eq!(nothing[1]["front"][0]["own"], true);

    let few = "{\"knobs\": {\"machine.memory\": 25165824}, \"seeds\": 2}\n";
    let lines = format!("{}{few}{{\"advise\": true}}\n", ask(12));
    let same = answers(&f, "memory.toml", &lines);
    assert_eq!((&same[1]["runs"], &same[1]["change"]["swap-ins"]), (&3.into(), &().into()));
    let change = &same[2]["change"]["swap-ins"]["mean"];
    assert!(change.as_f64().is_some_and(|mean| mean < 0.0), "{}", same[2]);
    assert_eq!(same[3]["advice"]["decision"], "change nothing", "{}", same[3]);

    let help = answers(&f, "memory.toml", &format!("{}{{\"advise\": true}}\n", ask(24)));
    let advice = &help[2]["advice"];
    assert_eq!(advice["decision"], "change", "{advice}");
    let [setting] = &advice["settings"].as_array().expect("settings")[..] else {
        panic!("{advice}");
    };
    assert_eq!(setting["knobs"]["machine.memory"], "24MiB");
    assert_eq!(setting["better"][0]["figure"], "swap-ins");
    assert_eq!(setting["worse"][0]["figure"], "peak_resident");
    let place = setting["setting"].as_u64().expect("a place") as usize;
    assert_eq!(help[2]["front"][place]["knobs"], setting["knobs"]);
}

/// A run that kills is named with what it killed, in an answer and in the table.
#[test]
fn kills_are_named() {
    let f = of_document(&document());
    let ask = "{\"knobs\": {\"reclaim.min-ttl-ms\": 60000}, \"seeds\": 1}\n";
    let all = answers(&f, "ttl.toml", ask);
    assert_eq!((&all[1]["done"], &all[1]["objectives"]["swap-ins"]), (&false.into(), &().into()));
    let failed = &all[1]["failed"][0];
    assert_eq!((&failed["seed"], &failed["outcome"]), (&1.into(), &"out of memory".into()));
    let cause = "was killed: no page was older than min_ttl_ms";
    assert!(failed["cause"].as_str().is_some_and(|c| c.contains(cause)), "{failed}");
    let said = f.mmsim(&["tune", "ttl.toml", "--budget", "21"]);
    assert!(said.stdout.contains(cause), "{}", said.stdout);
}

/// `mmsim schema tuning` is a document of its own.
#[test]
fn the_schema_of_tunings() {
    let said = Folder::new().mmsim(&["schema", "tuning"]);
    let schema: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert!(schema["properties"]["tuning"].is_object(), "{schema}");
}

/// A line that makes no sense ends it: earlier questions are answered, and the error has the place.
#[test]
fn lines_that_make_no_sense() {
    let f = of_document(&document());
    for (line, place, title) in [
        ("{\"knobs\": ", "stdin:2:10", "line 2: no JSON: EOF while parsing a value"),
        ("[1]", "stdin:2:1", "line 2: no object"),
        ("{\"knob\": {}}", "stdin:2:3", "line 2: unknown key `knob`"),
        ("{\"seeds\": 4}", "stdin:2:3", "line 2: seeds: there are 1 to 3"),
        ("{\"held-out\": 1}", "stdin:2:3", "line 2: held-out: no flag"),
        ("{\"advise\": 1}", "stdin:2:3", "line 2: advise: found no `true`"),
        (
            "{\"advise\": true, \"seeds\": 1}",
            "stdin:2:19",
            "line 2: seeds: advice is on all settings so far",
        ),
        (
            "{\"knobs\": {\"machine.vm.swapiness\": 1}}",
            "stdin:2:13",
            "line 2: unknown knob `machine.vm.swapiness`, did you mean `machine.vm.swappiness`?",
        ),
        (
            "{\"knobs\": {\"machine.vm.swappiness\": 201}}",
            "stdin:2:13",
            "line 2: machine.vm.swappiness: 201 is none of its values, write a number from 0 to 200",
        ),
    ] {
        let input = format!("{{\"id\": 1, \"seeds\": 1}}\n{line}\n");
        let (code, out, said) = answered(&f, &["tune", "pressure.toml", "--ask-tell"], &input);
        assert_eq!((code, out.lines().count()), (Some(2), 2), "{line}: {said}");
        assert!(said.contains(title) && said.contains(place), "{line}: {said}");
    }
}
