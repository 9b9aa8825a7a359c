//! The JSON Schema of scenario files takes what the reader takes. `ranges` tests its refusals for
//! every key, and with each case of `errors`.

use std::path::Path;

use crate::validator::Validator;
use mmsim::Scenario;
use mmsim::machines::Catalogue;
use mmsim::scenario::json_schema;
use mmsim::scenario::tables::all_tables;

fn takes(validator: &Validator, text: &str, what: &str) {
    match validator.judge(text) {
        Some(Ok(())) => {}
        Some(Err(e)) => panic!("{what}: {e}"),
        None => panic!("{what} is not TOML"),
    }
}

#[test]
fn shipped_files_and_their_resolved_forms() {
    let validator = Validator::new(&Catalogue);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut n = 0;
    for entry in std::fs::read_dir(dir).expect("the folder of scenarios") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let what = path.display().to_string();
        takes(&validator, &std::fs::read_to_string(&path).expect("a scenario"), &what);
        let resolved = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}")).resolved();
        takes(&validator, &resolved, &format!("{what}, resolved"));
        n += 1;
    }
    assert!(n >= 15, "only {n} files");
}

#[test]
fn the_example_of_the_documentation() {
    let text = include_str!("../../docs/scenarios.md");
    let example = text.split("```toml\n").nth(1).and_then(|t| t.split("```").next());
    takes(&Validator::new(&Catalogue), example.expect("an example"), "docs/scenarios.md");
}

#[test]
fn every_key_preset_and_knob_is_in_it() {
    let schema = json_schema(&Catalogue);
    let text = schema.to_string();
    for key in all_tables().into_iter().flat_map(|t| t.keys()) {
        assert!(text.contains(&format!("\"{}\":{{", key.name)), "{} is missing", key.name);
    }
    let policy = &schema["$defs"]["policy"]["properties"];
    for preset in Catalogue.presets() {
        let presets = policy["preset"]["enum"].as_array().expect("a list of presets");
        assert!(presets.contains(&preset.as_str().into()), "{preset} is missing");
        for knob in Catalogue.knobs(&preset) {
            let schema = &policy[&knob.key];
            if schema["type"] == "integer" {
                let range = [&schema["minimum"], &schema["maximum"]].map(|n| n.as_i64().unwrap());
                let value: i64 = knob.value.parse().unwrap();
                assert!(range[0] <= value && value <= range[1], "{} of {preset}", knob.key);
                continue;
            }
            // Where numbers may stand in their place, the words are one of two forms.
            let words = schema["anyOf"].get(0).unwrap_or(schema)["enum"].as_array();
            let words = words.expect("a list of words");
            assert!(words.contains(&knob.value.as_str().into()), "{} of {preset}", knob.key);
        }
    }
    // A key of each form, word by word.
    let machine = &schema["$defs"]["machine"];
    assert_eq!(machine["additionalProperties"], false);
    assert_eq!(machine["properties"]["cpus"]["maximum"], 1024);
    assert_eq!(machine["properties"]["cpus"]["default"], 1);
    assert_eq!(machine["properties"]["memory"]["$ref"], "#/$defs/size");
    assert_eq!(schema["required"], serde_json::json!(["machine", "task"]));
}

#[test]
fn quantities_as_the_reader_takes_them() {
    let validator = Validator::new(&Catalogue);
    let with = |memory: &str| {
        format!(
            "[machine]\nmemory = {memory}\n[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n"
        )
    };
    for memory in [
        "\"64MiB\"",
        "\"1.5GiB\"",
        "\" 64 MiB \"",
        "\"40000 pages\"",
        "\"64MB\"",
        "\"64\"",
        "64",
        "\"+64MiB\"",
        "\"-64MiB\"",
        "\"64mib\"",
        "\"1.GiB\"",
        "\"\"",
        "\"64ms\"",
        "true",
        "[\"64MiB\"]",
        "\"1e3MiB\"",
    ] {
        let text = with(memory);
        let read = Scenario::from_str(&text, "x.toml").is_ok();
        let judged = validator.judge(&text).expect("TOML").is_ok();
        assert_eq!(judged, read, "{memory}");
    }
}
