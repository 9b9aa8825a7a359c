//! `/proc/swaps`. Source: Linux 6.12 mm/swapfile.c (`swap_show`).

use std::fmt::Write as _;

use mmsim_core::machine::snapshot::{Snapshot, SwapArea};

/// One device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwapLine {
    /// `/dev/zram0`, `/swapfile`.
    pub path: String,
    /// True if it is a file on a file system.
    pub file: bool,
    /// Usable pages.
    pub pages: u64,
    /// Pages in use.
    pub used: u64,
    /// The device with the largest is used first.
    pub priority: i64,
}

/// The text, of devices in the order of `swapon`.
pub fn swaps(lines: &[SwapLine]) -> String {
    let mut text = String::from("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    for line in lines {
        let how = if line.file { "file\t" } else { "partition" };
        let [size, used] = [line.pages * 4, line.used * 4];
        // Numbers of up to seven digits get another tab.
        let tab = |kib: u64| if kib < 10_000_000 { "\t" } else { "" };
        let path = &line.path;
        let (more, last) = (tab(size), tab(used));
        writeln!(text, "{path:<39} {how}\t{size}\t{more}{used}\t{last}{}", line.priority)
            .expect("writing to a string");
    }
    text
}

/// The lines of a simulated machine: devices of one kind are numbered.
pub(super) fn areas_of(s: &Snapshot) -> Vec<SwapLine> {
    let line = |(i, a): (usize, &SwapArea)| SwapLine {
        path: format!(
            "/dev/{}{}",
            a.device,
            s.swaps[..i].iter().filter(|before| before.device == a.device).count()
        ),
        file: false,
        pages: a.slots.into(),
        used: a.used.into(),
        priority: a.priority.into(),
    };
    s.swaps.iter().enumerate().map(line).collect()
}
