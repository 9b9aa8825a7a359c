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

/// What the program prints with this on stdin.
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
    assert_eq!(csv.lines().count(), front.len() + 2, "{csv}");
    let swappiness = front[0]["knobs"]["machine.vm.swappiness"].as_str().expect("a value");
    assert!(csv.lines().nth(2).is_some_and(|l| l.starts_with(&format!("1,{swappiness},"))));
    let write = &front[0]["writes"][0]["file"];
    assert_eq!(write["path"], "/proc/sys/vm/swappiness");
    assert_eq!(write["value"], swappiness);
    // What a search says of a setting somebody else can have again.
    let knobs = front[0]["knobs"].as_object().expect("knobs").iter();
    let knobs: serde_json::Map<String, serde_json::Value> = knobs
        .map(|(k, v)| (k.clone(), v.as_str().and_then(|v| v.parse::<i64>().ok()).into()))
        .collect();
    let line = format!("{}\n", serde_json::json!({ "id": "again", "knobs": knobs }));
    let (code, out, _) = answered(&f, &["tune", "pressure.toml", "--ask-tell"], &line);
    let answer = out.lines().nth(1).and_then(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let answer = answer.expect("an answer");
    assert_eq!((code, &answer["id"]), (Some(0), &"again".into()));
    assert_eq!(answer["objectives"]["pswpout"], front[0]["objectives"][1]["mean"]);
    assert_eq!(answer["objectives"]["memory-pressure"], front[0]["objectives"][0]["mean"]);
}

/// A line that makes no sense ends it: what was asked before is answered, and the place is told.
#[test]
fn lines_that_make_no_sense() {
    let f = of_document(&document());
    for (line, place, title) in [
        ("{\"knobs\": ", "stdin:2:10", "line 2: no JSON: EOF while parsing a value"),
        ("[1]", "stdin:2:1", "line 2: no object"),
        ("{\"knob\": {}}", "stdin:2:3", "line 2: unknown key `knob`"),
        ("{\"seeds\": 4}", "stdin:2:3", "line 2: seeds: there are 1 to 3"),
        ("{\"held-out\": 1}", "stdin:2:3", "line 2: held-out: no flag"),
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
