//! A script up to one of its snapshots.

/// The lines up to the snapshot of this name, which is included.
///
/// # Errors
/// There is none.
pub fn until(text: &str, name: &str) -> Result<String, String> {
    let is_it = |line: &str| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("snap" | "snapx")) && words.next() == Some(name)
    };
    let lines: Vec<&str> = text.lines().collect();
    match lines.iter().position(|l| is_it(l)) {
        Some(i) => Ok(lines[..=i].iter().flat_map(|l| [l, "\n"]).collect()),
        None => Err(format!("the script has no snapshot `{name}`")),
    }
}
