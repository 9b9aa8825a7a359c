//! The machine and its memory have few fields, each a part with a type of its own.

use std::fs;

use crate::manifests::root;

/// Fields of a struct in the text of a file.
fn fields(text: &str, name: &str) -> Vec<String> {
    let begin = format!("pub struct {name} {{");
    let body = text.split_once(&begin).expect("the struct is there").1;
    let body = body.split_once("\n}").expect("it ends").0;
    let lines = body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
    lines.map(|l| l.trim_start_matches("pub ").split(':').next().unwrap().to_string()).collect()
}

#[test]
fn machine_and_memory_have_at_most_twelve_fields() {
    for (file, name) in [("machine", "Machine"), ("memory", "Memory")] {
        let path = root().join(format!("crates/mmsim-core/src/{file}/mod.rs"));
        let fields = fields(&fs::read_to_string(path).expect("it is read"), name);
        assert!((8..=12).contains(&fields.len()), "{name}: {} fields: {fields:?}", fields.len());
    }
}
