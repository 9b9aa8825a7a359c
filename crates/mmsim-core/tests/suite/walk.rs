//! Walks of page tables against a brute force over virtual addresses, on random address
//! spaces: mappings that share tables or reach over several, some of which no walk enters,
//! with pages of two nodes and groups, of every kind, in any state.

use mmsim_core::base::id::{AsId, GroupId, MemcgId, NodeId, PageIdx, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig, MemcgConfig, NodeConfig, ZoneConfig, ZoneKind};
use mmsim_core::memory::{Memory, TableWalk, WalkScope};
use mmsim_core::phys::frames::{FrameKind, flag};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::virt::pages::{Entry, Owner, pte};
use mmsim_core::virt::space::VmaKind;
use mmsim_core::workload::{RegionId, VmaFlags};
use proptest::prelude::*;
use std::collections::BTreeMap;

const PLAIN: VmaFlags = VmaFlags::NONE;

fn machine(nodes: usize, groups: usize) -> MachineConfig {
    let zone = || ZoneConfig::new(ZoneKind::Normal, 8192).bare([8, 10, 12]);
    MachineConfig {
        nodes: (0..nodes).map(|_| NodeConfig { zones: vec![zone()] }).collect(),
        memcgs: (0..groups).map(|i| MemcgConfig::new(format!("group {i}"))).collect(),
        run_ahead: SimDuration::ZERO,
        ..MachineConfig::new(Kernel::V6_12, Vec::new())
    }
}

/// A mapping, in virtual pages.
struct Mapping {
    from: u64,
    to: u64,
    anon: bool,
    flags: VmaFlags,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Pte {
    present: bool,
    young: bool,
    dirty: bool,
    touched: bool,
    /// None: empty, or the zero page.
    folio: Option<Pfn>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Folio {
    node: NodeId,
    memcg: MemcgId,
    file: bool,
    swapbacked: bool,
    swapcache: bool,
    dirty: bool,
}

/// The same address space twice.
struct Both {
    mem: Memory,
    space: AsId,
    /// Input of the brute force: mappings, and everything in them by virtual page.
    mappings: Vec<Mapping>,
    ptes: BTreeMap<u64, Pte>,
    folios: BTreeMap<Pfn, Folio>,
    /// First virtual pages of tables, with their groups.
    tables: BTreeMap<u64, GroupId>,
}

impl Both {
    fn random(seed: u64) -> Both {
        let rng = &mut Rng::for_purpose(seed, "walks");
        let (nodes, groups) = (1 + rng.below(2) as usize, 2 * rng.below(2) as usize);
        let mut mem = Memory::new(&machine(nodes, groups));
        let memcg = |rng: &mut Rng| MemcgId(rng.below(groups as u64 + 1) as u16);
        let space = mem.virt.spaces.create("walked".into(), memcg(rng));
        let mut both = Both {
            mem,
            space,
            mappings: Vec::new(),
            ptes: BTreeMap::new(),
            folios: BTreeMap::new(),
            tables: BTreeMap::new(),
        };
        // Index space is handed out in the order of mapping: the highest address comes first.
        let (va, nr) = (0x30_0000 + rng.below(512), 1 + rng.below(300));
        both.map(rng, va, nr);
        both.mem.virt.spaces.reserve_span(&mut both.mem.virt.pages, space, 0x20_0000, 3 * 512);
        let mut va = 0x20_0000 + rng.below(200) * rng.below(2);
        loop {
            let nr = [1, 1 + rng.below(70), 1 + rng.below(600)][rng.below(3) as usize];
            if va + nr > 0x20_0000 + 3 * 512 {
                break;
            }
            both.map(rng, va, nr);
            va += nr + rng.below(2) * rng.below(100);
        }
        both.fill(rng, memcg);
        both
    }

    fn map(&mut self, rng: &mut Rng, va: u64, nr: u64) {
        let often = |rng: &mut Rng| rng.below(6) == 0;
        let flags = VmaFlags {
            exec: often(rng),
            locked: often(rng),
            seq_read: often(rng),
            rand_read: often(rng),
            noreuse: often(rng),
        };
        let flags = if rng.below(2) == 0 { PLAIN } else { flags };
        let anon = rng.below(3) > 0;
        let region = RegionId(self.mappings.len() as u16);
        let kind = if anon {
            VmaKind::Anon
        } else {
            let file = self.mem.open_file(&format!("file {region:?}"), nr as u32);
            VmaKind::File { file, offset: 0, shared: false }
        };
        let (pages, nr32) = (&mut self.mem.virt.pages, nr as u32);
        self.mem.virt.spaces.mmap(pages, self.space, region, nr32, kind, flags, Some(va));
        self.mappings.push(Mapping { from: va, to: va + nr, anon, flags });
    }

    /// Gives some page tables frames, and fills their PTEs with anything.
    fn fill(&mut self, rng: &mut Rng, memcg: impl Fn(&mut Rng) -> MemcgId) {
        for i in 0..self.mem.virt.pages.nr_groups() {
            let g = GroupId(i as u32);
            let group = *self.mem.virt.pages.group(g);
            if group.owner != Owner::Process(self.space) || rng.below(8) == 0 {
                continue;
            }
            let node = NodeId(0);
            let frame = self.mem.try_alloc(node, &AllocRequest::KERNEL, None).unwrap();
            self.mem.set_table(g, frame);
            self.tables.insert(group.base << 9, g);
        }
        let dense = 1 + rng.below(20);
        // Where nothing was ever freed lazily or is in the swap cache, dirt of anonymous memory is not
        // asked for. There is no swap here: the one counter speaks for both.
        let plain = rng.below(2) == 0;
        self.mem.count(VmEvent::PgLazyFree, u64::from(!plain));
        for (i, m) in self.mappings.iter().enumerate() {
            let vma = self.mem.virt.spaces.region(self.space, RegionId(i as u16)).unwrap();
            let start = self.mem.virt.spaces.vma(vma).start.0;
            for va in m.from..m.to {
                let page = PageIdx(start + (va - m.from) as u32);
                if !self.tables.contains_key(&(va & !511)) {
                    continue;
                }
                let [present, young, dirty, touched] =
                    [dense * 5, 10, 50, 1].map(|percent| rng.below(100) < percent);
                let mut hot = 0;
                for (is, bit) in [
                    (young && present, pte::YOUNG),
                    (dirty && present, pte::DIRTY),
                    (touched, pte::TOUCHED),
                ] {
                    hot |= if is { bit } else { 0 };
                }
                let mut now = Pte { present, touched, ..Pte::default() };
                if present {
                    (now.young, now.dirty) = (young, dirty);
                    if rng.below(10) == 0 {
                        self.mem.virt.pages.set_entry(page, Entry::Zero, 0);
                    } else {
                        let node = NodeId(rng.below(self.mem.zones.nr_nodes() as u64) as u8);
                        let folio = self.mem.try_alloc(node, &AllocRequest::USER, None).unwrap();
                        let is = Folio {
                            node: self.mem.node_of(folio),
                            memcg: memcg(rng),
                            file: !m.anon && rng.below(3) > 0,
                            swapbacked: rng.below(4) > 0,
                            swapcache: rng.below(4) == 0,
                            dirty: rng.below(3) == 0,
                        };
                        let is = Folio {
                            swapbacked: (is.swapbacked || plain) && !is.file,
                            swapcache: is.swapcache && is.swapbacked && !is.file && !plain,
                            ..is
                        };
                        let f = &mut self.mem.frames;
                        f.reset(folio, if is.file { FrameKind::File } else { FrameKind::Anon });
                        f.set_memcg(folio, is.memcg);
                        for (bit, on) in [
                            (flag::SWAPBACKED, is.swapbacked),
                            (flag::SWAPCACHE, is.swapcache),
                            (flag::DIRTY, is.dirty),
                        ] {
                            f.set(folio, if on { bit } else { 0 });
                        }
                        self.mem.map(page, folio, 0);
                        self.folios.insert(folio, is);
                        now.folio = Some(folio);
                    }
                }
                let kept = self.mem.virt.pages.hot(page);
                self.mem.virt.pages.set_hot(page, kept | hot);
                self.ptes.insert(va, now);
            }
        }
    }

    /// The page of a virtual address, if it is mapped and has a page table.
    fn page(&self, va: u64) -> PageIdx {
        PageIdx(self.tables[&(va & !511)].first().0 + (va & 511) as u32)
    }

    fn mapping(&self, va: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|m| m.from <= va && va < m.to)
    }

    fn enters(&self, va: u64, scope: &WalkScope) -> bool {
        self.mapping(va).is_some_and(|m| {
            let f = m.flags;
            !(f.locked || f.seq_read || f.rand_read || f.noreuse || m.anon && !scope.anon)
        })
    }

    /// Harvests addresses one by one: the folios of young PTEs, and how many were present.
    fn harvest(
        &mut self,
        vas: impl Iterator<Item = u64>,
        scope: &WalkScope,
    ) -> (Vec<Pfn>, u64, u64) {
        let (mut found, mut present, mut dirtied) = (Vec::new(), 0, 0);
        for va in vas {
            let Some(p) = self.ptes.get_mut(&va) else { continue };
            present += u64::from(p.present);
            let Some(pfn) = p.folio else { continue };
            let folio = self.folios.get_mut(&pfn).unwrap();
            let of_scope = folio.node == scope.node
                && folio.memcg == scope.memcg
                && (scope.anon || !folio.swapbacked);
            if !(p.young && of_scope) {
                continue;
            }
            p.young = false;
            found.push(pfn);
            let written_when_swapped = folio.swapbacked && !folio.swapcache;
            if p.dirty && !folio.dirty && !written_when_swapped {
                folio.dirty = true;
                dirtied += u64::from(folio.file);
            }
        }
        (found, present, dirtied)
    }

    /// Everything that walks may change.
    fn compare(&self) {
        for (&va, p) in &self.ptes {
            let hot = self.mem.virt.pages.hot(self.page(va));
            let real = Pte {
                present: hot & pte::PRESENT != 0,
                young: hot & pte::YOUNG != 0,
                dirty: hot & pte::DIRTY != 0,
                touched: hot & pte::TOUCHED != 0,
                folio: p.folio,
            };
            assert_eq!(real, *p, "page {va:#x}");
        }
        for (&pfn, f) in &self.folios {
            assert_eq!(self.mem.frames.has(pfn, flag::DIRTY), f.dirty, "{pfn} is dirty");
        }
    }

    fn walk(&mut self, rng: &mut Rng) {
        let scope = self.scope(rng);
        let mut tables = vec![GroupId(77)];
        self.mem.walk_tables(self.space, &scope, &mut tables);
        let entered = |&va: &u64| (va..va + 512).any(|va| self.enters(va, &scope));
        let wanted: Vec<u64> = self.tables.keys().copied().filter(entered).collect();
        let groups = wanted.iter().map(|va| self.tables[va]);
        assert!(groups.eq(tables[1..].iter().copied()), "{:?} for {wanted:x?}", &tables[1..]);
        for va in wanted {
            let vas: Vec<u64> = (va..va + 512).filter(|&va| self.enters(va, &scope)).collect();
            let slots = vas.len() as u32;
            // Those of executable mappings come last.
            let exec = |&va: &u64| self.mapping(va).unwrap().flags.exec;
            let (last, first): (Vec<u64>, Vec<u64>) = vas.into_iter().partition(exec);
            let (mut folios, mut present, mut dirtied) = self.harvest(first.into_iter(), &scope);
            let (others, more, dirty_too) = self.harvest(last.into_iter(), &scope);
            let exec = others.len() as u32;
            folios.extend(others);
            (present, dirtied) = (present + more, dirtied + dirty_too);
            let (began, dirty) = (self.mem.acting.now, self.mem.cache.files.nr_dirty);
            let mut young = vec![Pfn(1)];
            let met = self.mem.walk_table(self.tables[&va], &scope, &mut young);
            let young_ptes = folios.len() as u32;
            assert_eq!(met, TableWalk { slots, young: young_ptes, exec }, "table {va:#x}");
            assert_eq!(young[1..], folios);
            assert_eq!(self.mem.acting.now.since(began).0, 5 * present + 50 * folios.len() as u64);
            assert_eq!(self.mem.cache.files.nr_dirty - dirty, dirtied);
        }
        self.compare();
    }

    /// Looks around some pages, whether they were accessed or not.
    fn look_around(&mut self, rng: &mut Rng) {
        let all: Vec<u64> = self.ptes.keys().copied().collect();
        for _ in 0..20 {
            let Some(&va) = all.get(rng.below(all.len().max(1) as u64) as usize) else { return };
            let page = self.page(va);
            let scope = self.scope(rng);
            // The query for references came before.
            self.mem.virt.pages.test_clear_hot(page, pte::YOUNG);
            self.ptes.get_mut(&va).unwrap().young = false;
            let m = self.mapping(va).unwrap();
            let exec = m.flags.exec;
            let (from, to) = (m.from.max(va & !511), m.to.min((va & !511) + 512));
            // Of all windows of 64 pages, that whose begin is nearest to 32 pages before.
            let begins = from..=to.saturating_sub(64).max(from);
            let begin = begins.min_by_key(|b| b.abs_diff(va - 32)).unwrap();
            let end = to.min(begin + 64);
            let mut young = Vec::new();
            let met = self.mem.look_around(page, &scope, &mut young);
            assert_eq!(u64::from(met.slots), end - begin);
            let (folios, ..) = match end - begin {
                1 => Default::default(),
                _ => self.harvest(begin..end, &scope),
            };
            assert_eq!(met.young, 1 + folios.len() as u32);
            assert_eq!(met.exec, if exec { folios.len() as u32 } else { 0 });
            assert_eq!(young, folios, "around {va:#x} in {from:#x}..{to:#x}");
        }
        self.compare();
    }

    fn tables_touched(&mut self, rng: &mut Rng) {
        for (&va, &g) in &self.tables {
            let touched = self.ptes.range(va..va + 512).any(|(_, p)| p.touched);
            assert_eq!(self.mem.pmd_young(g), touched);
            if rng.below(2) == 0 {
                assert_eq!(self.mem.pmd_test_clear_young(g), touched);
                self.ptes.range_mut(va..va + 512).for_each(|(_, p)| p.touched = false);
                assert!(!self.mem.pmd_young(g));
            }
        }
        self.compare();
    }

    fn scope(&self, rng: &mut Rng) -> WalkScope {
        WalkScope {
            node: NodeId(rng.below(self.mem.zones.nr_nodes() as u64) as u8),
            memcg: MemcgId(rng.below(self.mem.memcgs.len() as u64) as u16),
            anon: rng.below(3) > 0,
            listed: false,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn walks_agree_with_a_brute_force(seed: u64) {
        let mut both = Both::random(seed);
        let rng = &mut Rng::for_purpose(seed, "steps");
        both.compare();
        for _ in 0..6 {
            match rng.below(3) {
                0 => both.walk(rng),
                1 => both.look_around(rng),
                _ => both.tables_touched(rng),
            }
        }
    }
}

/// An address space with a page table and one region of `pages` anonymous pages.
fn one_region(pages: u32) -> (Memory, AsId, PageIdx) {
    let mut mem = Memory::new(&machine(1, 0));
    let space = mem.virt.spaces.create("one".into(), MemcgId(0));
    let (kind, region) = (VmaKind::Anon, RegionId(0));
    let vma = mem.virt.spaces.mmap(&mut mem.virt.pages, space, region, pages, kind, PLAIN, None);
    let start = mem.virt.spaces.vma(vma).start;
    let frame = mem.try_alloc(NodeId(0), &AllocRequest::KERNEL, None).unwrap();
    mem.set_table(start.group(), frame);
    (mem, space, start)
}

fn touch(mem: &mut Memory, page: PageIdx) -> Pfn {
    let folio = mem.try_alloc(NodeId(0), &AllocRequest::USER, None).unwrap();
    mem.frames.reset(folio, FrameKind::Anon);
    mem.frames.set(folio, flag::SWAPBACKED);
    mem.map(page, folio, pte::ACCESSED | pte::DIRTY | pte::WRITABLE);
    folio
}

const ROOT: WalkScope = WalkScope { node: NodeId(0), memcg: MemcgId(0), anon: true, listed: false };

/// Worked by hand: three of 100 pages, the second of them read again after the walk.
#[test]
fn a_walk_takes_each_access_once() {
    let (mut mem, space, start) = one_region(100);
    let folios = [3, 4, 99].map(|i| touch(&mut mem, PageIdx(start.0 + i)));
    let mut tables = Vec::new();
    mem.walk_tables(space, &ROOT, &mut tables);
    assert_eq!(tables, [start.group()]);
    let mut young = Vec::new();
    let met = mem.walk_table(tables[0], &ROOT, &mut young);
    assert_eq!((met, &young[..]), (TableWalk { slots: 100, young: 3, exec: 0 }, &folios[..]));
    let second = PageIdx(start.0 + 4);
    mem.virt.pages.set_hot(second, mem.virt.pages.hot(second) | pte::ACCESSED);
    young.clear();
    let met = mem.walk_table(tables[0], &ROOT, &mut young);
    assert_eq!((met.young, &young[..]), (1, &folios[1..2]));
    assert_eq!(mem.page_of(folios[1]), Some(second));
    // 3 present PTEs were examined twice, and 3 folios found, then one.
    assert_eq!(mem.acting.now.0, 2 * 3 * 5 + 4 * 50);
}

/// The entry above a PTE stays accessed whatever becomes of the PTE, until it is cleared.
#[test]
fn an_accessed_table_stays_so_without_its_pages() {
    let (mut mem, _, start) = one_region(100);
    assert!(!mem.pmd_young(start.group()));
    let folio = touch(&mut mem, start);
    mem.unmap_for_copy(start, folio);
    assert_eq!(mem.virt.pages.entry(start), Entry::None);
    mem.virt.pages.set_entry(start, Entry::Zero, pte::YOUNG);
    assert!(mem.pmd_test_clear_young(start.group()));
    // A PTE that the kernel installs young says nothing of the entry above.
    mem.virt.pages.set_entry(start, Entry::None, 0);
    mem.virt.pages.set_entry(start, Entry::Zero, pte::YOUNG);
    assert!(!mem.pmd_young(start.group()));
}

/// A group's list has its living processes in order of creation; each is used once.
#[test]
fn processes_are_listed_by_group_and_used_once() {
    let mut mem = Memory::new(&machine(1, 1));
    let [a, b, c, d] =
        [0, 1, 0, 0].map(|g| mem.virt.spaces.create(format!("process of {g}"), MemcgId(g)));
    mem.virt.spaces[c].dead = true;
    let list = |mem: &Memory, g| mem.mm_list(MemcgId(g)).collect::<Vec<_>>();
    assert_eq!(list(&mem, 1).iter().map(|m| m.1).collect::<Vec<_>>(), [b]);
    let root = list(&mem, 0);
    assert_eq!(root.iter().map(|m| m.1).collect::<Vec<_>>(), [a, d]);
    assert!(root[0].0 < root[1].0);
    assert!(mem.take_used(a), "new processes are used");
    assert!(!mem.take_used(a));
    mem.virt.spaces[a].used = true;
    assert!(mem.take_used(a));
}
