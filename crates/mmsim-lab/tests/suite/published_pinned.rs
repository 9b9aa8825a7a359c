//! Published figures are data that nobody edits by accident: of each file about compaction a
//! fingerprint stands here. Whoever corrects a figure against its source changes it as well, and
//! says why.

use mmsim_core::base::digest::Digest;

const PINNED: &[(&str, u64)] = &[("compaction-redesign.toml", 0x1794_5bc0_a60c_cd8f)];

#[test]
fn published_figures_on_compaction_are_what_they_were() {
    let dir = crate::root().join("evidence/published");
    let mut files: Vec<String> = std::fs::read_dir(&dir)
        .expect("the folder of published figures")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("compaction"))
        .collect();
    files.sort();
    let found: Vec<(&str, u64)> = files
        .iter()
        .map(|name| {
            let text = std::fs::read_to_string(dir.join(name)).expect("a text");
            let mut digest = Digest::new();
            // Line ends are the checkout's, not the file's.
            text.lines().for_each(|line| digest.text(line));
            (name.as_str(), digest.finish())
        })
        .collect();
    assert_eq!(found, PINNED, "a published figure changed");
}
