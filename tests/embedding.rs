//! The examples of docs/embedding.md print everywhere what stands there.
//!
//! `MMSIM_BLESS=1 cargo test --test embedding` rewrites the blocks after the marks.

#[path = "../examples/allocator.rs"]
mod allocator;
#[path = "../examples/compaction.rs"]
mod compaction;
#[path = "../examples/miss_curve.rs"]
mod miss_curve;
#[path = "../examples/own_policy.rs"]
mod own_policy;
#[path = "../examples/own_workload.rs"]
mod own_workload;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/embedding.md");

/// The document with the block after the mark of an example replaced by what it prints.
fn with_block(text: &str, name: &str, printed: &str) -> String {
    let mark = format!("<!-- example {name} -->\n");
    let (before, after) = text.split_once(&mark).unwrap_or_else(|| panic!("no mark of {name}"));
    let rest = match after.strip_prefix("```\n") {
        Some(block) => block.split_once("```\n").expect("a block that ends").1,
        None => after,
    };
    format!("{before}{mark}```\n{printed}```\n{rest}")
}

#[test]
fn the_document_shows_what_the_examples_print() {
    let text = std::fs::read_to_string(FILE).expect("docs/embedding.md");
    let policy = own_policy::table().unwrap_or_else(|e| panic!("{e}"));
    let curve = miss_curve::table().unwrap_or_else(|e| panic!("{e}"));
    let ring = own_workload::table().unwrap_or_else(|e| panic!("{e}"));
    let mut new = text.clone();
    for (name, printed) in [
        ("miss_curve", &curve),
        ("own_policy", &policy),
        ("own_workload", &ring),
        ("allocator", &allocator::table()),
        ("compaction", &compaction::table()),
    ] {
        new = with_block(&new, name, printed);
    }
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(FILE, new).expect("rewriting it");
    } else {
        assert_eq!(text, new, "MMSIM_BLESS=1 rewrites docs/embedding.md");
    }
}
