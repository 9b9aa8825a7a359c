//! The sysctls of memory management, a row each: `/proc/sys/vm`, and a few files of `/sys`.

use super::thp::{Thp, ThpDefrag, ThpSize};
use crate::base::kernel::NEWEST;
use crate::base::settings::{Form, Formed, MANY, Row, Settings as _, Value};
use crate::base::time::SimDuration;
use crate::settings;

/// Largest value of a sysctl in KiB or centiseconds: the kernel holds both as an `int`.
const INT: u64 = i32::MAX as u64;
/// Hundredths of a second.
const CENTISECOND: u64 = 10_000_000;

settings! {
    /// The knobs of `/proc/sys/vm`, under their names, and some of `/sys`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct VmSysctl {
        /// weight of anonymous memory in reclaim; at most 100 before kernel 5.8
        swappiness: u32 = 60,
            .range(0, 100).range_since("5.8", 0, 200).file("/proc/sys/vm/swappiness").kernel("vm_swappiness");
        /// how readily lazily freed memory is reclaimed from a list of its own, as posted in 2015 and
        /// never merged; needs `lazyfree = "own-list-2015a"` or another such value
        lazyfreeness: Option<u32> = None,
            .range(0, 100).auto("40, with `own-list-2015b` 20").file("/proc/sys/vm/lazyfreeness").kernel("vm_lazyfreeness");
        /// easily reclaimed memory below which kswapd makes more of it ready, 1/1000 of memory with the
        /// free pages; 0 is off; of mmsim alone, for the classic LRU
        easy_pool_low: Option<u32> = None,
            .unit("1/1000").range(0, 1000).auto("0");
        /// up to which it does then; at least the other
        easy_pool_high: Option<u32> = None,
            .unit("1/1000").range(0, 1000).auto("one and a half of `easy_pool_low`");
        /// log2 of the pages of swap readahead
        page_cluster as "page-cluster": u32 = 3,
            .range(0, 31).file("/proc/sys/vm/page-cluster");
        /// base of the watermarks, KiB; only the kernel's own choice is held between 128 and 262144
        /// (65536 before 5.8), and raised for transparent huge pages
        min_free_kbytes: Option<u64> = None,
            .unit("KiB").range(0, INT).auto("by formula").file("/proc/sys/vm/min_free_kbytes");
        /// distance of the watermarks, 1/10000 of a zone, from kernel 5.5 on; at most 1000 before
        /// 6.1
        watermark_scale_factor: u32 = 10,
            .unit("1/10000").since("4.6").range(1, 1000).range_since("6.1", 1, 3000)
            .file("/proc/sys/vm/watermark_scale_factor");
        /// boost after fragmentation, 1/10000 of the high watermark, from kernel 5.5 on
        watermark_boost_factor: u32 = 15_000,
            .unit("1/10000").since("5.0").range(0, 1_000_000)
            .file("/proc/sys/vm/watermark_boost_factor");
        /// size of per-CPU lists as a fraction of the zone, from kernel 6.1 on; 0 is the kernel's
        /// rule, else at least 8
        percpu_pagelist_high_fraction: u32 = 0,
            .since("5.14").range(0, u32::MAX as u64).fraction(8)
            .file("/proc/sys/vm/percpu_pagelist_high_fraction");
        /// percent of available memory at which writeback begins; half of the other threshold if
        /// not below it
        dirty_background as "dirty_background_ratio": DirtyLimit = DirtyLimit::Ratio(10),
            .unit("%").range(0, 100).or("dirty_background_bytes")
            .file("/proc/sys/vm/dirty_background_ratio");
        /// percent at which writers are throttled
        dirty as "dirty_ratio": DirtyLimit = DirtyLimit::Ratio(20),
            .unit("%").range(0, 100).or("dirty_bytes").file("/proc/sys/vm/dirty_ratio").kernel("vm_dirty_ratio");
        /// age at which dirty pages are written, 1/100 s
        dirty_expire as "dirty_expire_centisecs": SimDuration = SimDuration::from_secs(30),
            .count_of_nanos(CENTISECOND).range(0, INT).file("/proc/sys/vm/dirty_expire_centisecs").kernel("dirty_expire_interval");
        /// time between two looks for such pages, 1/100 s; 0 is off
        dirty_writeback as "dirty_writeback_centisecs": SimDuration = SimDuration::from_secs(5),
            .count_of_nanos(CENTISECOND).range(0, INT)
            .file("/proc/sys/vm/dirty_writeback_centisecs").kernel("dirty_writeback_interval");
        /// largest file readahead, KiB
        ra_pages as "read_ahead_kb": u32 = 32,
            .per_page(4).unit("KiB").range(0, 1 << 20)
            .file("/sys/block/DEVICE/queue/read_ahead_kb").kernel("VM_READAHEAD_PAGES");
        /// window that a file fault maps, a power of two; 4096: the faulting page alone
        fault_around as "fault_around_bytes": u32 = 16,
            .per_page(4096).unit("bytes").range(4096, 1 << 21)
            .file("/sys/kernel/debug/fault_around_bytes");
        /// how little fragmentation kcompactd leaves in the background, from kernel 5.9 on; 0 is
        /// off
        compaction_proactiveness: u32 = 20,
            .since("5.9").range(0, 100).file("/proc/sys/vm/compaction_proactiveness").kernel("sysctl_compaction_proactiveness");
        /// fragmentation index up to which memory is reclaimed rather than compacted
        extfrag_threshold: u32 = 500,
            .range(0, 1000).file("/proc/sys/vm/extfrag_threshold").kernel("sysctl_extfrag_threshold");
        /// whether requests stay out of pageblocks of other migratetypes until reclaim and
        /// compaction fail, from kernel 6.18 on
        defrag_mode: bool = false,
            .flag("0", "1").since("6.16").file("/proc/sys/vm/defrag_mode");
        /// whether compaction moves pages of locked mappings
        compact_unevictable_allowed: bool = true,
            .flag("0", "1").file("/proc/sys/vm/compact_unevictable_allowed").kernel("sysctl_compact_unevictable_allowed");
        /// huge pages of hugetlbfs, set aside from free memory before anything runs
        nr_hugepages: u32 = 0,
            .range(0, u32::MAX as u64).file("/proc/sys/vm/nr_hugepages").kernel("max_huge_pages");
        /// anonymous mappings whose first write takes a huge page: all, those with advice, none;
        /// the first two raise the kernel's choice of `min_free_kbytes`
        thp as "transparent_hugepage": Thp = Thp::Never,
            .file("/sys/kernel/mm/transparent_hugepage/enabled");
        /// faults that compact and reclaim for a huge page, as `transparent_hugepage/defrag`
        thp_defrag: ThpDefrag = ThpDefrag::Always, "4.6" => ThpDefrag::Madvise,
            .auto("\"madvise\", up to kernel 4.5 \"always\"")
            .file("/sys/kernel/mm/transparent_hugepage/defrag");
        /// anonymous mappings whose first write takes a folio of 16 KiB, if it gets none of a larger
        /// size; `inherit`: as `transparent_hugepage`
        size_16 as "hugepages-16kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled");
        /// anonymous mappings whose first write takes a folio of 32 KiB
        size_32 as "hugepages-32kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-32kB/enabled");
        /// anonymous mappings whose first write takes a folio of 64 KiB
        size_64 as "hugepages-64kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled");
        /// anonymous mappings whose first write takes a folio of 128 KiB
        size_128 as "hugepages-128kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled");
        /// anonymous mappings whose first write takes a folio of 256 KiB
        size_256 as "hugepages-256kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-256kB/enabled");
        /// anonymous mappings whose first write takes a folio of 512 KiB
        size_512 as "hugepages-512kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-512kB/enabled");
        /// anonymous mappings whose first write takes a folio of 1024 KiB
        size_1024 as "hugepages-1024kB": ThpSize = ThpSize::Never,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled");
        /// anonymous mappings whose first write takes a huge page; `inherit`: as `transparent_hugepage`
        size_2048 as "hugepages-2048kB": ThpSize = ThpSize::Inherit,
            .since("6.8").file("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled");
    }
    more {
        /// the same on kernels up to 5.9
        percpu_pagelist_high_fraction as "percpu_pagelist_fraction": u32,
            after "percpu_pagelist_high_fraction",
            .until("5.13").range(0, u32::MAX as u64).fraction(8)
            .file("/proc/sys/vm/percpu_pagelist_fraction");
        /// bytes at which writeback begins, instead of the ratio
        dirty_background as "dirty_background_bytes": DirtyLimit, after "dirty_ratio",
            .unit("bytes").range(1, MANY).auto("`dirty_background_ratio`")
            .file("/proc/sys/vm/dirty_background_bytes");
        /// bytes at which writers are throttled, instead of the ratio
        dirty as "dirty_bytes": DirtyLimit, after "dirty_background_bytes",
            .unit("bytes").range(8192, MANY).auto("`dirty_ratio`")
            .file("/proc/sys/vm/dirty_bytes").kernel("vm_dirty_bytes");
    }
}

impl VmSysctl {
    /// The values that the newest Linux boots with, but for huge pages, which are off.
    pub const fn linux() -> Self {
        VmSysctl::of(NEWEST)
    }

    /// True if a pool of easily reclaimed memory is kept.
    pub fn has_easy_pool(&self) -> bool {
        self.easy_pool_low.is_some_and(|low| low > 0)
    }

    /// Sizes of that pool between which kswapd keeps it, free pages included, of `managed` pages.
    pub fn easy_pool(&self, managed: u64) -> (u64, u64) {
        let low = self.easy_pool_low.unwrap_or_default();
        let high = self.easy_pool_high.unwrap_or(low + low / 2).max(low);
        (managed * u64::from(low) / 1000, managed * u64::from(high) / 1000)
    }

    /// The settings after a write to the files.
    #[must_use]
    pub fn written(&self, write: SysctlWrite) -> VmSysctl {
        let mut vm = self.clone();
        vm.fill(write.row, write.number);
        vm
    }
}

/// A write to one of the files of [`VmSysctl`] while a machine runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SysctlWrite {
    row: &'static Row,
    number: u64,
}

impl SysctlWrite {
    /// A write of a number, or of the word at that place, to the sysctl of that name; `None`: there
    /// is none.
    pub fn of(name: &str, number: u64) -> Option<SysctlWrite> {
        Some(SysctlWrite { row: VmSysctl::row(name)?, number })
    }

    /// The sysctl's name.
    pub const fn name(&self) -> &'static str {
        self.row.name
    }
}

/// A threshold of dirty pages. In the kernel a ratio and bytes exclude each other: the last one
/// written counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirtyLimit {
    /// Percent of the memory that can be dirty.
    Ratio(u32),
    /// Bytes.
    Bytes(u64),
}

impl Formed for DirtyLimit {
    const FORM: Form = Form::Whole;
}
impl Value for DirtyLimit {
    fn number(&self, row: &Row) -> Option<u64> {
        match (*self, row.unit) {
            (DirtyLimit::Ratio(percent), "%") => Some(percent.into()),
            (DirtyLimit::Bytes(bytes), "bytes") => Some(bytes),
            _ => None,
        }
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        *self = match row.unit {
            "bytes" => DirtyLimit::Bytes(n),
            _ => DirtyLimit::Ratio(u32::try_from(n).unwrap_or(u32::MAX)),
        };
    }
}

impl DirtyLimit {
    /// Pages of a writeback domain in which `available` can be dirty, of `all` on the machine. Bytes
    /// are those of the whole machine: a part of it has the same share, in 1/4096 (`domain_dirty_limits`).
    pub fn pages(self, available: u64, all: u64) -> u64 {
        match self {
            DirtyLimit::Ratio(percent) => available * u64::from(percent) / 100,
            DirtyLimit::Bytes(bytes) if available == all => bytes.div_ceil(4096),
            DirtyLimit::Bytes(bytes) => bytes.div_ceil(all.max(1)).min(4096) * available / 4096,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::kernel::Kernel;

    /// Each default of each kernel fits its own row, and reads back as it was written.
    #[test]
    fn defaults_fit_their_rows() {
        for kernel in Kernel::ALL {
            let vm = VmSysctl::of(kernel);
            for row in VmSysctl::ROWS.iter().filter(|row| row.is_of(kernel)) {
                let Some(n) = vm.number(row) else { continue };
                assert_eq!(row.refuses(kernel, n), None, "{}", row.name);
                let mut again = VmSysctl::linux();
                again.set(row.name, &row.text(Some(n))).expect(row.name);
                assert_eq!(again.number(row), Some(n), "{}", row.name);
            }
        }
    }

    #[test]
    fn the_last_of_two_names_counts() {
        let write = |name, n| SysctlWrite::of(name, n).expect("a sysctl");
        let vm = VmSysctl::linux().written(write("dirty_bytes", 65_536));
        assert_eq!(vm.dirty, DirtyLimit::Bytes(65_536));
        assert_eq!(
            (vm.get("dirty_ratio").as_deref(), vm.number(VmSysctl::row("dirty_bytes").unwrap())),
            (Some(""), Some(65_536))
        );
        assert_eq!(vm.written(write("dirty_ratio", 3)).dirty, DirtyLimit::Ratio(3));
        assert_eq!(VmSysctl::linux().written(write("read_ahead_kb", 64)).ra_pages, 16);
        assert_eq!(SysctlWrite::of("nr_hugepage", 1), None);
    }
}
