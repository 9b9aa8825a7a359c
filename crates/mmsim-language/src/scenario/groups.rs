//! Paths of groups: which groups a path stands for, and what to remark on them.
//!
//! An entry with a `count` makes numbered groups, `pod-0` and so on. The path without the number stands
//! for all of them.

use std::collections::BTreeMap;

use mmsim_core::config::{MemcgConfig, PAGE_COUNTER_MAX};
use mmsim_core::memory::memcg_tree::parent_path;

use super::units::show_pages;

/// The groups that a path stands for: the one of this path, or all that have it with numbers, in
/// their order.
pub(crate) fn instances(groups: &[MemcgConfig], path: &str) -> Vec<usize> {
    if let Some(i) = groups.iter().position(|g| g.name == path) {
        return vec![i];
    }
    let is_instance = |g: &&MemcgConfig| {
        let (mut of, mut asked) = (g.name.split('/'), path.split('/'));
        loop {
            match (of.next(), asked.next()) {
                (None, None) => return true,
                (Some(part), Some(asked)) if part == asked || numbered(part, asked) => {}
                _ => return false,
            }
        }
    };
    let all = groups.iter().enumerate();
    all.filter(|(_, g)| is_instance(g)).map(|(i, _)| i).collect()
}

/// A remark on groups that declare more protection than the group above them has. Linux allows it, and
/// it has no effect.
pub fn overlooked(groups: &[MemcgConfig]) -> Option<String> {
    let by_path: BTreeMap<_, _> = groups.iter().map(|g| (g.name.as_str(), g)).collect();
    let of_parent = |g: &MemcgConfig| by_path.get(parent_path(&g.name)?).copied();
    let more = |g: &&MemcgConfig| {
        let beyond = |above: &MemcgConfig| g.low > above.low || g.min > above.min;
        g.low + g.min > 0 && of_parent(g).is_some_and(beyond)
    };
    let first = groups.iter().find(more)?;
    let others = match groups.iter().filter(more).count() - 1 {
        0 => String::new(),
        1 => " and another".to_string(),
        n => format!(" and {n} others"),
    };
    let declare = if others.is_empty() { "declares" } else { "declare" };
    let above = of_parent(first)?;
    let (file, own, has) = match first.low > above.low {
        true => ("memory.low", first.low, above.low),
        false => ("memory.min", first.min, above.min),
    };
    Some(format!(
        "group `{}`{others} {declare} {file} of {}, and `{}` above it {}: it has no more than that",
        first.name,
        shown(own),
        above.name,
        shown(has)
    ))
}

/// A protection as a file of a group shows it.
fn shown(pages: u64) -> String {
    if pages == PAGE_COUNTER_MAX { "max".to_string() } else { show_pages(pages) }
}

/// True if a name is another one with a number behind it; slices of pods have it before `.slice`.
fn numbered(name: &str, of: &str) -> bool {
    let stem = |name| str::strip_suffix(name, ".slice");
    let (name, of, sign) = match (stem(name), stem(of)) {
        (Some(name), Some(of)) => (name, of, '_'),
        _ => (name, of, '-'),
    };
    let number = name.strip_prefix(of).and_then(|rest| rest.strip_prefix(sign));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_beyond_that_of_the_parent_is_told() {
        let group = |name: &str, low| MemcgConfig { low, ..MemcgConfig::new(name) };
        let some = overlooked(&[group("pod", 0), group("pod/a", 256), group("pod/b", 256)]);
        let said = "group `pod/a` and another declare memory.low of 1MiB, and `pod` above it";
        assert!(some.is_some_and(|s| s.starts_with(said)));
        let all = overlooked(&[group("pod", 256), group("pod/a", PAGE_COUNTER_MAX)]);
        let said = "group `pod/a` declares memory.low of max, and `pod` above it 1MiB:";
        assert!(all.is_some_and(|s| s.starts_with(said)));
        assert_eq!(overlooked(&[group("pod", 512), group("pod/a", 256), group("x", 9)]), None);
    }

    #[test]
    fn a_path_stands_for_numbered_groups() {
        let names =
            ["pods", "pods/pod-0", "pods/pod-1", "pods/pod-0/app", "pods/pod-1/app", "pods/x-a"];
        let groups: Vec<_> = names.into_iter().map(MemcgConfig::new).collect();
        assert_eq!(instances(&groups, "pods/pod"), [1, 2]);
        assert_eq!(instances(&groups, "pods/pod/app"), [3, 4]);
        assert_eq!(instances(&groups, "pods/pod-1"), [2]);
        assert_eq!(instances(&groups, "pods/x"), [0; 0]);
        assert_eq!(instances(&groups, "pod"), [0; 0]);
        let slices = ["x-poda_0.slice", "x-poda_1.slice", "x-podb.slice"].map(MemcgConfig::new);
        assert_eq!(instances(&slices, "x-poda.slice"), [0, 1]);
    }
}
