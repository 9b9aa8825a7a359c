//! `/proc/vmstat` as numbers by name.

use std::collections::BTreeMap;

/// `/proc/vmstat`.
pub type Vmstat = BTreeMap<String, u64>;

/// Reads `/proc/vmstat`.
pub fn read(text: &str) -> Vmstat {
    let pair =
        |l: &str| l.split_once(' ').and_then(|(k, v)| Some((k.to_string(), v.parse().ok()?)));
    text.lines().filter_map(pair).collect()
}
