//! Zones: watermarks, the page allocator's front, per-CPU lists.
//!
//! A zone hands out blocks of an order and a migratetype. So far only blocks of order 0
//! are asked for, and free frames are a stack; the interface is the buddy allocator's, and
//! event counts do not depend on which frame is handed out.
//!
//! Free memory that was never touched is an address range, not a list: a large machine
//! costs what is in use.
//!
//! Sources: Linux 6.12 mm/page_alloc.c (`__setup_per_zone_wmarks`,
//! `calculate_min_free_kbytes`, `setup_per_zone_lowmem_reserve`, `__zone_watermark_ok`,
//! `zone_batchsize`, `zone_highsize`, `nr_pcp_alloc`, `nr_pcp_free`). Left out: drift of
//! per-CPU counters (free pages are exact).

use crate::base::id::{CpuId, IndexVec, NodeId, Pfn, ZoneId};
use crate::machine::config::{Kernel, MachineConfig, VmSysctl, ZoneConfig, ZoneKind};

/// Which watermark a request is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// `WMARK_MIN`.
    Min,
    /// `WMARK_LOW`.
    Low,
    /// `WMARK_HIGH`.
    High,
}

/// A per-CPU list of free pages of one zone.
#[derive(Clone, Debug, Default)]
struct Pcp {
    pages: Vec<u32>,
    alloc_factor: u32,
    free_count: u32,
}

/// A per-CPU list as `/proc/zoneinfo` shows it, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcpView {
    /// Pages in it.
    pub count: u32,
    /// Above so many, pages go back to the zone; 0: there is no list.
    pub high: u32,
    /// Pages of one refill.
    pub batch: u32,
}

/// One zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Which kind.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
    /// First frame.
    pub first: Pfn,
    /// Pages given to the allocator.
    pub managed: u32,
    /// Watermarks min, low, high, in pages.
    pub watermark: [u64; 3],
    /// Temporary increase of the watermarks.
    pub boost: u64,
    /// Pages kept from requests that could use a higher zone, by kind of that zone.
    pub lowmem_reserve: [u64; 4],
    /// `NR_FREE_PAGES`; pages in per-CPU lists do not count.
    pub free: u64,
    /// Frames from here to the end were never handed out.
    untouched: u32,
    reserved: u32,
    stack: Vec<u32>,
    pcp: Vec<Pcp>,
    pcp_high: u32,
    pcp_batch: u32,
    pcp_scales: bool,
}

impl Zone {
    fn mark(&self, m: Mark) -> u64 {
        self.watermark[m as usize] + self.boost
    }

    /// Whether a request of order 0 for zones up to `highest` leaves more than the mark.
    #[inline]
    pub fn watermark_ok(&self, mark: Mark, highest: ZoneKind) -> bool {
        self.free > self.mark(mark) + self.lowmem_reserve[highest as usize]
    }

    /// Last frame plus one.
    pub fn end(&self) -> Pfn {
        Pfn(self.first.0 + self.managed)
    }

    /// Takes one frame off the free lists.
    fn take_block(&mut self) -> Option<Pfn> {
        let pfn = match self.stack.pop() {
            Some(p) => p,
            None if self.untouched < self.managed => {
                self.untouched += 1;
                self.first.0 + self.untouched - 1
            }
            None => return None,
        };
        self.free -= 1;
        Some(Pfn(pfn))
    }

    fn put_block(&mut self, pfn: Pfn) {
        self.stack.push(pfn.0);
        self.free += 1;
    }

    /// How many pages a refill of a per-CPU list takes. 6.12 doubles the batch with each
    /// refill in a row, as far as the list's high mark leaves room; older kernels take
    /// one batch.
    fn nr_pcp_alloc(&mut self, cpu: usize) -> u32 {
        let base = self.pcp_batch;
        let p = &mut self.pcp[cpu];
        if !self.pcp_scales || self.pcp_high < base {
            return base.max(1);
        }
        let room = self.pcp_high.saturating_sub(p.pages.len() as u32 + base).max(base);
        let batch = base << p.alloc_factor;
        if p.alloc_factor < 5 && batch <= room {
            p.alloc_factor += 1;
        }
        batch.min(room)
    }

    /// Takes one page, through the per-CPU list. `None`: no free page at all.
    #[inline]
    pub fn alloc_page(&mut self, cpu: usize) -> Option<Pfn> {
        if self.pcp_high == 0 {
            return self.take_block();
        }
        match self.pcp[cpu].pages.pop() {
            Some(p) => Some(Pfn(p)),
            None => self.refill_pcp(cpu),
        }
    }

    /// Refills an empty per-CPU list and takes one page of it.
    #[inline(never)]
    fn refill_pcp(&mut self, cpu: usize) -> Option<Pfn> {
        let n = self.nr_pcp_alloc(cpu);
        let mut got: Vec<u32> = std::mem::take(&mut self.pcp[cpu].pages);
        for _ in 0..n {
            match self.take_block() {
                Some(p) => got.push(p.0),
                None => break,
            }
        }
        // The head of the list is handed out first: the block taken first.
        got.reverse();
        let first = got.pop();
        self.pcp[cpu].pages = got;
        first.map(Pfn)
    }

    /// Gives one page back, through the per-CPU list.
    #[inline]
    pub fn free_page(&mut self, cpu: usize, pfn: Pfn) {
        if self.pcp_high == 0 {
            return self.put_block(pfn);
        }
        let high = self.pcp_high;
        let batch = self.pcp_batch;
        let p = &mut self.pcp[cpu];
        p.alloc_factor >>= 1;
        p.free_count = (p.free_count + 1).min(batch << 5);
        p.pages.push(pfn.0);
        if p.pages.len() as u32 >= high {
            self.shrink_pcp(cpu);
        }
    }

    /// Gives the older pages of a full per-CPU list back.
    #[inline(never)]
    fn shrink_pcp(&mut self, cpu: usize) {
        let (high, batch) = (self.pcp_high, self.pcp_batch);
        let p = &mut self.pcp[cpu];
        let most = high.saturating_sub(batch).max(batch);
        let n = if self.pcp_scales { p.free_count.clamp(batch, most) } else { batch };
        let n = (n as usize).min(p.pages.len());
        for b in p.pages.drain(..n) {
            self.stack.push(b);
        }
        self.free += n as u64;
    }

    /// Gives the pages of all per-CPU lists back.
    pub fn drain_pcp(&mut self) {
        for cpu in 0..self.pcp.len() {
            for p in std::mem::take(&mut self.pcp[cpu].pages) {
                self.put_block(Pfn(p));
            }
        }
    }

    /// The list of a CPU.
    pub fn pcp(&self, cpu: CpuId) -> PcpView {
        let count = self.pcp[usize::from(cpu.0)].pages.len() as u32;
        PcpView { count, high: self.pcp_high, batch: self.pcp_batch }
    }

    /// Pages in per-CPU lists.
    pub fn pcp_count(&self) -> u64 {
        self.pcp.iter().map(|p| p.pages.len() as u64).sum()
    }

    /// Frames that the kernel held from the start.
    pub fn reserved(&self) -> u64 {
        self.reserved.into()
    }

    /// Frames that were handed out at least once, by offset.
    pub fn touched(&self) -> u32 {
        self.untouched
    }
}

/// The zones of the machine, in address order, nodes one after the other.
#[derive(Clone, Debug)]
pub struct Zones {
    zones: IndexVec<ZoneId, Zone>,
    by_node: IndexVec<NodeId, Vec<ZoneId>>,
    /// First frame of each zone, for `of`.
    starts: Vec<u32>,
    nr_frames: u32,
    /// Σ of the larger of reserve and high watermark: what is not dirtyable.
    pub totalreserve: u64,
}

impl Zones {
    /// Sets up the zones of a machine: addresses, watermarks, reserves, per-CPU lists.
    pub fn new(config: &MachineConfig) -> Self {
        let mut zones = IndexVec::new();
        let mut by_node = IndexVec::new();
        let mut starts = Vec::new();
        let mut next = 0u32;
        for (n, node) in config.nodes.iter().enumerate() {
            let mut ids = Vec::new();
            for z in node.zones.iter().filter(|z| z.managed > 0) {
                starts.push(next);
                ids.push(zones.push(new_zone(z, NodeId(n as u8), Pfn(next), config.cpus)));
                next += z.managed;
            }
            by_node.push(ids);
        }
        let mut this = Zones { zones, by_node, starts, nr_frames: next, totalreserve: 0 };
        this.setup(config);
        this
    }

    fn setup(&mut self, config: &MachineConfig) {
        let configs: Vec<&ZoneConfig> =
            config.nodes.iter().flat_map(|n| n.zones.iter().filter(|z| z.managed > 0)).collect();
        let lowmem: u64 = self.lowmem();
        let min_free = min_free_kbytes(lowmem, &config.vm);
        for (z, c) in self.zones.iter_mut().zip(&configs) {
            z.watermark = c.watermarks.map_or_else(
                || watermarks(z.kind, z.managed.into(), lowmem, min_free, &config.vm),
                |w| w.map(u64::from),
            );
        }
        for ids in self.by_node.iter() {
            for (i, &id) in ids.iter().enumerate() {
                let kind = self.zones[id].kind;
                let ratio = match kind {
                    ZoneKind::Dma | ZoneKind::Dma32 => 256,
                    ZoneKind::Normal => 32,
                    ZoneKind::Movable => 0,
                };
                let explicit = configs[id.0 as usize].lowmem_reserve;
                for highest in ZoneKind::ALL {
                    if highest <= kind {
                        continue;
                    }
                    let above: u64 = ids[i + 1..]
                        .iter()
                        .filter(|&&j| self.zones[j].kind <= highest)
                        .map(|&j| u64::from(self.zones[j].managed))
                        .sum();
                    self.zones[id].lowmem_reserve[highest as usize] = match explicit {
                        Some(e) => e.into(),
                        None if ratio == 0 => 0,
                        None => above / ratio,
                    };
                }
            }
        }
        for (z, c) in self.zones.iter_mut().zip(&configs) {
            let (high, batch) = c.pcp.unwrap_or_else(|| pcp_sizes(z, config));
            z.pcp_high = high;
            z.pcp_batch = (batch >> config.batch_shift).max(1);
            z.pcp_scales = config.kernel >= Kernel::V6_12;
        }
        self.totalreserve = self
            .zones
            .iter()
            .map(|z| {
                let r = z.lowmem_reserve.iter().copied().max().unwrap_or(0);
                (r + z.watermark[2]).min(z.managed.into())
            })
            .sum();
    }

    fn lowmem(&self) -> u64 {
        self.zones
            .iter()
            .filter(|z| z.kind != ZoneKind::Movable)
            .map(|z| u64::from(z.managed))
            .sum()
    }

    /// All zones.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ZoneId> + use<> {
        self.zones.ids()
    }
    /// The zones of a node, in address order.
    pub fn of_node(&self, n: NodeId) -> &[ZoneId] {
        &self.by_node[n]
    }
    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        self.by_node.len()
    }
    /// Frames of all zones.
    pub fn nr_frames(&self) -> usize {
        self.nr_frames as usize
    }
    /// The zone of a frame.
    #[inline]
    pub fn of(&self, pfn: Pfn) -> ZoneId {
        // The first zone starts at 0: a machine of one zone asks nothing.
        let above = self.starts[1..].iter().rposition(|&start| start <= pfn.0);
        ZoneId(above.map_or(0, |i| i as u8 + 1))
    }
    /// Free pages of all zones.
    pub fn nr_free(&self) -> u64 {
        self.zones.iter().map(|z| z.free).sum()
    }
    /// Whether some zone of the node up to `highest` is above its high watermark.
    pub fn balanced(&self, node: NodeId, highest: ZoneKind) -> bool {
        self.by_node[node].iter().any(|&z| {
            let z = &self.zones[z];
            z.kind <= highest && z.watermark_ok(Mark::High, highest)
        })
    }
}

impl std::ops::Index<ZoneId> for Zones {
    type Output = Zone;
    #[inline(always)]
    fn index(&self, z: ZoneId) -> &Zone {
        &self.zones[z]
    }
}
impl std::ops::IndexMut<ZoneId> for Zones {
    #[inline(always)]
    fn index_mut(&mut self, z: ZoneId) -> &mut Zone {
        &mut self.zones[z]
    }
}

fn new_zone(c: &ZoneConfig, node: NodeId, first: Pfn, cpus: u32) -> Zone {
    let free = c.free_at_start.unwrap_or(c.managed).min(c.managed - c.pcp_at_start);
    let mut pcp = vec![Pcp::default(); cpus as usize];
    let listed = c.managed - free - c.pcp_at_start..c.managed - free;
    pcp[0].pages = listed.map(|i| first.0 + i).collect();
    Zone {
        kind: c.kind,
        node,
        first,
        managed: c.managed,
        watermark: [0; 3],
        boost: 0,
        lowmem_reserve: [0; 4],
        free: free.into(),
        // Frames at the bottom are the kernel's own.
        untouched: c.managed - free,
        reserved: c.managed - free - c.pcp_at_start,
        stack: Vec::new(),
        pcp,
        pcp_high: 0,
        pcp_batch: 1,
        pcp_scales: false,
    }
}

/// `vm.min_free_kbytes`: floor(sqrt(16 x lowmem in KiB)), clamped to [128, 262144]
/// (without transparent huge pages).
pub fn min_free_kbytes(lowmem_pages: u64, vm: &VmSysctl) -> u64 {
    vm.min_free_kbytes.unwrap_or_else(|| (lowmem_pages * 4 * 16).isqrt().clamp(128, 262_144))
}

/// Watermarks min, low, high of a zone in pages.
pub fn watermarks(
    kind: ZoneKind,
    managed: u64,
    lowmem: u64,
    min_free_kbytes: u64,
    vm: &VmSysctl,
) -> [u64; 3] {
    let pages_min = min_free_kbytes / 4;
    let share = (pages_min * managed).checked_div(lowmem).unwrap_or(0);
    let min = if kind == ZoneKind::Movable { (managed / 1024).clamp(32, 128) } else { share };
    let d = (share / 4).max(managed * u64::from(vm.watermark_scale_factor) / 10_000);
    [min, min + d, min + 2 * d]
}

/// Refill size of per-CPU lists: a quarter of a 1024th of the zone, at most 64 pages,
/// rounded to a power of two minus one.
pub fn pcp_batch(managed: u64) -> u32 {
    let b = ((managed / 1024).min(256) / 4).max(1);
    let b = b + b / 2;
    (1u32 << b.ilog2()) - 1
}

fn pcp_sizes(z: &Zone, config: &MachineConfig) -> (u32, u32) {
    let batch = pcp_batch(z.managed.into()).max(1);
    let cpus = u64::from(config.cpus.max(1));
    let f = u64::from(config.vm.percpu_pagelist_high_fraction);
    let base = match u64::from(z.managed).checked_div(f) {
        Some(share) => share / cpus,
        None if config.kernel <= Kernel::V5_9 => 6 * u64::from(batch),
        None => z.watermark[1] / cpus,
    };
    let high =
        if f == 0 && config.kernel <= Kernel::V5_9 { base } else { base.max(4 * u64::from(batch)) };
    (high as u32, batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: default factors, one lowmem zone.
    #[test]
    fn watermarks_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        for (managed, kb, want) in [
            (25_600, 1280, [320, 400, 480]),
            (65_536, 2048, [512, 640, 768]),
            (262_144, 4096, [1024, 1286, 1548]),
            (1_048_576, 8192, [2048, 3096, 4144]),
            (4_194_304, 16384, [4096, 8290, 12484]),
        ] {
            let m = min_free_kbytes(managed, &vm);
            assert_eq!(m, kb);
            assert_eq!(watermarks(ZoneKind::Normal, managed, managed, m, &vm), want);
        }
        let steep = VmSysctl { watermark_scale_factor: 100, ..VmSysctl::linux() };
        assert_eq!(
            watermarks(ZoneKind::Normal, 262_144, 262_144, 4096, &steep),
            [1024, 3645, 6266]
        );
    }

    /// Worked by hand: DMA 3840 and DMA32 256 000.
    #[test]
    fn two_zones_as_worked_by_hand() {
        let vm = VmSysctl::linux();
        let m = min_free_kbytes(259_840, &vm);
        assert_eq!(m, 4077);
        assert_eq!(watermarks(ZoneKind::Dma, 3840, 259_840, m, &vm), [15, 18, 21]);
        assert_eq!(watermarks(ZoneKind::Dma32, 256_000, 259_840, m, &vm), [1003, 1259, 1515]);
    }

    /// Worked by hand: a 1 GiB zone, a small one, a tiny one.
    #[test]
    fn pcp_batch_as_worked_by_hand() {
        assert_eq!(pcp_batch(262_144), 63);
        assert_eq!(pcp_batch(20_000), 3);
        assert_eq!(pcp_batch(3_000), 0);
    }

    fn zones_of(managed: &[(ZoneKind, u32)]) -> Zones {
        let zone = |&(kind, managed): &(ZoneKind, u32)| ZoneConfig {
            kind,
            managed,
            free_at_start: None,
            watermarks: None,
            lowmem_reserve: None,
            pcp: Some((0, 1)),
            pcp_at_start: 0,
        };
        let device = |name| crate::backing::device::DeviceConfig::preset(name, 1).unwrap();
        Zones::new(&MachineConfig {
            kernel: Kernel::V6_12,
            cpus: 1,
            nodes: vec![crate::machine::config::NodeConfig {
                zones: managed.iter().map(zone).collect(),
            }],
            swap: None,
            file_device: device("nvme"),
            vm: VmSysctl::linux(),
            memcgs: Vec::new(),
            os_overhead: 0,
            lru_batch: None,
            batch_shift: 0,
            quantum: crate::base::time::SimDuration::from_millis(3),
            run_ahead: crate::base::time::SimDuration::ZERO,
            cost: crate::machine::cost::CostModel::measured(),
        })
    }

    /// Worked by hand: a 1 GiB zone with 1300 free pages passes at its low mark of 1286, and
    /// passes no more with 1286.
    #[test]
    fn a_mark_is_passed_by_more_than_it() {
        let mut zones = zones_of(&[(ZoneKind::Normal, 262_144)]);
        let z = &mut zones[ZoneId(0)];
        z.free = 1300;
        assert!(z.watermark_ok(Mark::Low, ZoneKind::Normal));
        assert!(!z.watermark_ok(Mark::High, ZoneKind::Normal));
        z.free = 1286;
        assert!(!z.watermark_ok(Mark::Low, ZoneKind::Normal));
        z.boost = 512;
        z.free = 1024 + 512;
        assert!(!z.watermark_ok(Mark::Min, ZoneKind::Normal), "every mark includes the boost");
    }

    /// Worked by hand: DMA keeps 256000 / 256 = 1000 pages from requests that could use DMA32,
    /// so a user page is taken from it only above 18 + 1000.
    #[test]
    fn a_low_zone_is_reserved_against_high_requests() {
        let mut zones = zones_of(&[(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 256_000)]);
        let dma = &mut zones[ZoneId(0)];
        assert_eq!(dma.lowmem_reserve[ZoneKind::Movable as usize], 1000);
        assert_eq!(dma.lowmem_reserve[ZoneKind::Dma as usize], 0);
        dma.free = 1018;
        assert!(!dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 1019;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Movable));
        dma.free = 19;
        assert!(dma.watermark_ok(Mark::Low, ZoneKind::Dma));
    }
}
