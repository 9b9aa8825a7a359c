//! `/proc/meminfo`, in KiB. Source: Linux 6.12 fs/proc/meminfo.c (`meminfo_proc_show`),
//! mm/hugetlb.c (`hugetlb_report_meminfo`).

use std::fmt::Write;

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::machine::snapshot::{PageCounts, Snapshot};
use mmsim_core::memory::HUGE_ORDER;

/// KiB of a page.
const KIB: u64 = PAGE_SIZE / 1024;

/// Sizes, in the order of the file.
const SIZES: &str = "MemTotal MemFree MemAvailable Buffers Cached SwapCached Active Inactive \
                     Active(anon) Inactive(anon) Active(file) Inactive(file) Unevictable Mlocked \
                     SwapTotal SwapFree Zswap Zswapped Dirty Writeback AnonPages Mapped Shmem \
                     KReclaimable Slab SReclaimable SUnreclaim KernelStack PageTables \
                     SecPageTables NFS_Unstable Bounce WritebackTmp CommitLimit Committed_AS \
                     VmallocTotal VmallocUsed VmallocChunk Percpu HardwareCorrupted AnonHugePages \
                     ShmemHugePages ShmemPmdMapped FileHugePages FilePmdMapped CmaTotal CmaFree \
                     Unaccepted";

/// `/proc/meminfo`.
pub fn meminfo(s: &Snapshot) -> String {
    let mut text = String::new();
    let counts = s.zones.iter().fold(PageCounts::default(), |sum, z| sum.plus(&z.counts));
    for name in SIZES.split(' ') {
        line(&mut text, name, size(s, &counts, name));
    }
    let [total, free, reserved] = s.hugetlb;
    for (name, n) in [("Total", total), ("Free", free), ("Rsvd", reserved), ("Surp", 0)] {
        writeln!(text, "{:<16}{n:>8}", format!("HugePages_{name}:")).expect("writing to a string");
    }
    let huge = KIB << HUGE_ORDER;
    line(&mut text, "Hugepagesize", huge);
    line(&mut text, "Hugetlb", total * huge);
    text
}

fn line(text: &mut String, name: &str, kib: u64) {
    writeln!(text, "{:<16}{kib:>8} kB", format!("{name}:")).expect("writing to a string");
}

/// A size in KiB; 0 for what the model does not have.
fn size(s: &Snapshot, c: &PageCounts, name: &str) -> u64 {
    let slots = || s.swaps.iter().map(|a| (u64::from(a.slots), u64::from(a.used)));
    let pages = match name {
        "MemTotal" => s.zones.iter().map(|z| z.managed).sum(),
        "MemFree" => s.zones.iter().map(|z| z.free).sum(),
        "MemAvailable" => s.available,
        "Cached" => c.file,
        "SwapCached" => c.swapcached,
        "Active" => c.lru[1] + c.lru[3],
        "Inactive" => c.lru[0] + c.lru[2],
        "Active(anon)" => c.lru[1],
        "Inactive(anon)" => c.lru[0],
        "Active(file)" => c.lru[3],
        "Inactive(file)" => c.lru[2],
        "Unevictable" => c.lru[4],
        "Mlocked" => c.mlocked,
        "SwapTotal" => slots().map(|a| a.0).sum(),
        "SwapFree" => slots().map(|a| a.0 - a.1).sum(),
        "Zswap" => s.zswap_pool,
        "Zswapped" => s.groups.first().map_or(0, |root| root.zswap.pages),
        "Dirty" => c.dirty,
        "Writeback" => c.writeback,
        "AnonPages" => c.anon_mapped,
        "Mapped" => c.file_mapped,
        "Shmem" => c.shmem,
        "KReclaimable" | "Slab" | "SReclaimable" => c.slab,
        "PageTables" => c.page_tables,
        "AnonHugePages" => c.anon_thp,
        _ => 0,
    };
    pages * KIB
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::machine::snapshot::{SwapArea, ZoneSnapshot};

    /// A machine of 100 MiB with shared memory that is on the anonymous lists and in the cache, and
    /// locked pages that are on no other list: worked by hand.
    #[test]
    fn shared_and_locked_memory_have_their_lines() {
        let counts = PageCounts {
            lru: [1000, 24, 10, 6, 256, 0],
            anon_mapped: 512,
            file: 640,
            shmem: 512,
            mlocked: 128,
            swapcached: 3,
            ..PageCounts::default()
        };
        let zone = ZoneSnapshot { managed: 25_600, free: 7, counts, ..ZoneSnapshot::default() };
        let mut swap = SwapArea::new("zram".into(), 1024, 0);
        swap.used = 24;
        let hugetlb = [4, 3, 1];
        let s = Snapshot { zones: vec![zone], swaps: vec![swap], hugetlb, ..Snapshot::default() };
        let text = meminfo(&s);
        for line in [
            "MemTotal:         102400 kB",
            "MemFree:              28 kB",
            "Cached:             2560 kB",
            "SwapCached:           12 kB",
            "Active:              120 kB",
            "Active(anon):         96 kB",
            "Inactive(anon):     4000 kB",
            "Unevictable:        1024 kB",
            "Mlocked:             512 kB",
            "SwapTotal:          4096 kB",
            "SwapFree:           4000 kB",
            "AnonPages:          2048 kB",
            "Shmem:              2048 kB",
            "HugePages_Total:       4",
            "HugePages_Rsvd:        1",
            "Hugetlb:            8192 kB",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
    }
}
