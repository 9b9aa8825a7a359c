//! Lines of the kernel's log when the OOM killer acts: memory in pages, processes, the victim.
//!
//! Numbers of processes are those of the model, and all are of user 0. What the model has nothing for
//! is left out: the call chain, zones, slab caches, cpusets.
//!
//! Source: Linux mm/oom_kill.c (`dump_tasks`, `__oom_kill_process`) and mm/show_mem.c
//! (`show_free_areas`), in the form of 5.5 and later. Shared memory has a column of the table since 6.8.

use std::fmt::Write;

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::machine::result::{OomProcess, OomSummary, Shortage};
use mmsim_core::machine::snapshot::Snapshot;

/// Adds formatted text; a string takes everything.
macro_rules! add {
    ($text:expr, $($arg:tt)*) => { write!($text, $($arg)*).expect("writing to a string") };
}

/// The lines, if the OOM killer acted.
pub(super) fn oom(s: &Snapshot) -> Option<String> {
    let oom = s.oom.as_ref()?;
    let mut text = memory(oom);
    tasks(&mut text, oom, s.oom_parts_of_rss);
    let victim = oom.processes.iter().find(|p| p.name == oom.victim)?;
    killed(&mut text, oom.shortage, victim);
    Some(text)
}

/// The sums of the machine, in pages.
fn memory(oom: &OomSummary) -> String {
    const LINES: [&[(&str, &str)]; 5] = [
        &[("active_anon", "nr_active_anon"), ("inactive_anon", "nr_inactive_anon")],
        &[("active_file", "nr_active_file"), ("inactive_file", "nr_inactive_file")],
        &[("unevictable", "nr_unevictable"), ("dirty", "nr_dirty"), ("writeback", "nr_writeback")],
        &[("slab_reclaimable", "nr_slab_reclaimable")],
        &[("mapped", "nr_mapped"), ("shmem", "nr_shmem"), ("pagetables", "nr_page_table_pages")],
    ];
    let mut text = String::from("Mem-Info:\n");
    for (i, line) in LINES.iter().enumerate() {
        for (k, (name, gauge)) in line.iter().enumerate() {
            let pages = oom.gauges.iter().find(|g| g.0 == *gauge).map_or(0, |g| g.1);
            let space = if i + k > 0 { " " } else { "" };
            add!(text, "{space}{name}:{pages}");
        }
        text.push('\n');
    }
    add!(text, " free:{}\n", oom.free);
    text
}

/// The table of processes.
fn tasks(text: &mut String, oom: &OomSummary, parts: bool) {
    let rss = if parts { "rss rss_anon rss_file rss_shmem" } else { "rss" };
    add!(text, "Tasks state (memory values in pages):\n[  pid  ]   uid  tgid total_vm      {rss} ");
    add!(text, "pgtables_bytes swapents oom_score_adj name\n");
    for p in &oom.processes {
        add!(text, "[{:>7}] {:>5} {:>5}", p.pid, 0, p.pid);
        add!(text, " {:>8} {:>8}", p.total_vm, p.resident());
        if parts {
            let [anon, file, shmem] = p.rss;
            add!(text, " {anon:>8} {file:>8} {shmem:>9}");
        }
        add!(text, " {:>8} {:>8}         ", p.tables * PAGE_SIZE, p.swapped);
        add!(text, "{:>5} {}\n", p.oom_score_adj, p.name);
    }
}

/// The line of the victim.
fn killed(text: &mut String, shortage: Shortage, p: &OomProcess) {
    let why = match shortage {
        Shortage::Group => "Memory cgroup out of memory",
        _ => "Out of memory",
    };
    let kib = PAGE_SIZE / 1024;
    let [vm, anon, file, shmem, tables] =
        [p.total_vm, p.rss[0], p.rss[1], p.rss[2], p.tables].map(|pages| pages * kib);
    add!(text, "{why}: Killed process {} ({}) total-vm:{vm}kB", p.pid, p.name);
    add!(text, ", anon-rss:{anon}kB, file-rss:{file}kB, shmem-rss:{shmem}kB");
    add!(text, ", UID:0 pgtables:{tables}kB oom_score_adj:{}\n", p.oom_score_adj);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(oom_parts_of_rss: bool) -> String {
        let mut db = OomProcess::default();
        (db.pid, db.name, db.total_vm, db.rss) = (2, "db".into(), 3000, [100, 20, 1500]);
        (db.swapped, db.tables, db.oom_score_adj) = (7, 4, -5);
        let mut summary = OomSummary::default();
        (summary.victim, summary.processes) = ("db".into(), vec![db]);
        summary.gauges = vec![("nr_shmem", 1600), ("nr_unevictable", 12)];
        let s = Snapshot { oom: Some(summary), oom_parts_of_rss, ..Snapshot::default() };
        oom(&s).expect("it acted")
    }

    /// In the form of each kernel: worked by hand from its formats.
    #[test]
    fn shared_memory_has_its_parts_by_kernel() {
        let new = log(true);
        assert!(
            new.starts_with("Mem-Info:\nactive_anon:0 inactive_anon:0\n active_file:0 "),
            "{new}"
        );
        assert!(new.contains("\n unevictable:12 dirty:0 writeback:0\n"), "{new}");
        assert!(new.contains("\n mapped:0 shmem:1600 pagetables:0\n"), "{new}");
        let head = "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes \
                    swapents oom_score_adj name\n";
        let row = "[      2]     0     2     3000     1620      100       20      1500    16384        \
                   7            -5 db\n";
        assert!(new.contains(&format!("{head}{row}")), "{new}");
        let line = "Out of memory: Killed process 2 (db) total-vm:12000kB, anon-rss:400kB, \
                    file-rss:80kB, shmem-rss:6000kB, UID:0 pgtables:16kB oom_score_adj:-5\n";
        assert!(new.ends_with(line), "{new}");
        let before = log(false);
        assert!(!before.contains("rss_shmem") && before.ends_with(line), "{before}");
        assert!(before.contains(" 3000     1620    16384        7            -5 db\n"), "{before}");
    }
}
