//! Files that a program of user space reads.
//!
//! Source: Linux 6.12 mm/show_mem.c (`si_mem_available`), fs/proc/base.c (`proc_oom_score`),
//! mm/memcontrol.c (`memory_stat_format`). Left out: `Slab`; the second in which statistics of groups
//! may be stale.

use crate::base::id::{AsId, MemcgId, PageIdx, ThreadId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::reclaim::oom::badness;
use crate::memory::memcg_tree::ROOT;
use crate::policy::daemon::{GroupFiles, Meminfo, Pid, Process};
use crate::virt::pages::Entry;
use crate::workload::Played;

impl Machine {
    /// Sizes of the lists of a group on all nodes, the unevictable one last; the root's are those of all
    /// groups.
    fn lists_of(&self, memcg: MemcgId) -> [u64; 5] {
        let mut sizes = [0; 5];
        for node in self.daemons.kswapds.ids() {
            let lists = self.policies.lru.snapshot(&self.mem, node, memcg).lists;
            let names = [
                "nr_inactive_anon",
                "nr_active_anon",
                "nr_inactive_file",
                "nr_active_file",
                "nr_unevictable",
            ];
            for (size, name) in sizes.iter_mut().zip(names) {
                *size += lists.iter().filter(|l| l.0 == name).map(|l| l.1).sum::<u64>();
            }
        }
        sizes
    }

    /// `/proc/meminfo`.
    pub(in crate::machine) fn meminfo(&self) -> Meminfo {
        let mem = &self.mem;
        let lists = self.lists_of(MemcgId(0));
        let [inactive_anon, active_anon, inactive_file, active_file, unevictable] = lists;
        let zones = || mem.zones.ids().map(|z| &mem.zones[z]);
        let low: u64 = zones().map(|z| z.watermark[1] + z.boost).sum();
        let part = |pages: u64| pages - low.min(pages / 2);
        let free = mem.zones.nr_free();
        let slab = mem.kernel.slab();
        Meminfo {
            mem_total: zones().map(|z| u64::from(z.managed)).sum(),
            mem_free: free,
            mem_available: free.saturating_sub(mem.zones.totalreserve)
                + part(inactive_file + active_file)
                + part(slab),
            anon_pages: mem.virt.spaces.anon_mapped,
            active_anon,
            inactive_anon,
            active_file,
            inactive_file,
            unevictable,
            cached: mem.cache.files.nr_cached + mem.cache.files.nr_shmem,
            shmem: mem.cache.files.nr_shmem,
            swap_total: mem.swap.as_ref().map_or(0, |s| s.total().into()),
            swap_free: mem.swap.as_ref().map_or(0, |s| s.nr_free().into()),
        }
    }

    /// Sums of the watermarks of zones, each with the zone's largest reserve.
    pub(super) fn sums_of_watermarks(&self) -> [u64; 3] {
        let mut sums = [0; 3];
        for z in self.mem.zones.ids().map(|z| &self.mem.zones[z]) {
            let reserve = z.lowmem_reserve.iter().max().copied().unwrap_or(0);
            sums.iter_mut().zip(z.watermark).for_each(|(sum, mark)| *sum += mark + reserve);
        }
        sums
    }

    /// A counter of a group and of those below it; the root has those of the machine.
    pub(super) fn stat_of(&self, memcg: MemcgId, event: VmEvent) -> u64 {
        let memcgs = &self.mem.memcgs;
        match memcg {
            ROOT => self.mem.stats.vmstat[event] + memcgs.vmstat(ROOT)[event],
            _ => memcgs.tree.walk(memcg).map(|m| memcgs.vmstat(m)[event]).sum(),
        }
    }

    /// The files of a group.
    pub(super) fn files_of(&self, memcg: MemcgId) -> GroupFiles {
        let g = &self.mem.memcgs[memcg];
        let spaces = self.mem.virt.spaces.ids().map(|a| &self.mem.virt.spaces[a]);
        let living = spaces.filter(|s| !s.dead && self.mem.memcgs.tree.holds(memcg, s.memcg));
        let (mut processes, mut anon) = (0, 0);
        living.for_each(|s| (processes, anon) = (processes + 1, anon + s.rss_anon));
        let (current, swap_current) = match memcg {
            ROOT => {
                let info = self.meminfo();
                (info.mem_total - info.mem_free, info.swap_total - info.swap_free)
            }
            _ => (g.usage, g.swap),
        };
        let [lists @ .., _] = self.lists_of(memcg);
        let file = match memcg {
            ROOT => self.mem.cache.files.nr_cached + self.mem.cache.files.nr_shmem,
            _ => lists[2] + lists[3],
        };
        GroupFiles {
            current,
            swap_current,
            min: g.config.min,
            low: g.config.low,
            high: g.config.high,
            max: g.config.max,
            anon,
            file,
            lists,
            pgscan: VmEvent::SCANNED.iter().map(|&e| self.stat_of(memcg, e)).sum(),
            processes,
        }
    }

    /// All living processes but that of a thread.
    pub(super) fn processes_but(&self, tid: ThreadId) -> Vec<Process> {
        let own = self.work.threads[tid].space;
        let spaces = &self.mem.virt.spaces;
        let total = self.oom_total_pages(None);
        let of = |id: Pid, name: String, [rss, swap, tables]: [u64; 3], oom_score_adj| {
            let points = badness(rss + swap + tables, oom_score_adj, total, true);
            let score = |points: i64| (1000 + points * 1000 / total.max(1) as i64) * 2 / 3;
            let oom_score = points.map_or(0, |p| score(p).max(0) as u64);
            let memcg = spaces[id.space].memcg;
            Process { id, name, memcg, rss, swap, oom_score_adj, oom_score }
        };
        let mut all = Vec::new();
        for id in spaces.ids().filter(|&a| a != own && !spaces[a].dead) {
            let played = self.all_played(id);
            for (_, p) in &played {
                let [rss, swap] = self.sizes_of(id, p);
                let pid = Pid { space: id, played: Some(p.number) };
                all.push(of(pid, p.name.clone(), [rss, swap, 0], p.oom_score_adj));
            }
            if played.is_empty() {
                let s = &spaces[id];
                let sizes = [s.rss(), s.swapents, s.tables];
                all.push(of(id.into(), s.name.clone(), sizes, s.oom_score_adj));
            }
        }
        all
    }

    /// Processes that threads of a space play, with the thread of each.
    fn all_played(&self, space: AsId) -> Vec<(ThreadId, Played)> {
        let threads = &self.work.threads;
        let of_space = threads.ids().filter(|&t| threads[t].space == space);
        of_space
            .flat_map(|t| threads[t].workload.played().into_iter().map(move |p| (t, p)))
            .collect()
    }

    /// The process of a number, if it is one that is played.
    pub(super) fn played(&self, id: Pid) -> Option<(ThreadId, Played)> {
        let number = id.played?;
        self.all_played(id.space).into_iter().find(|(_, p)| p.number == number)
    }

    /// True if a process lives.
    pub(super) fn lives(&self, id: Pid) -> bool {
        !self.mem.virt.spaces[id.space].dead && (id.played.is_none() || self.played(id).is_some())
    }

    /// Pages of a played process in memory and in swap.
    pub(super) fn sizes_of(&self, space: AsId, played: &Played) -> [u64; 2] {
        let (virt, mut sizes) = (&self.mem.virt, [0; 2]);
        for vma in played.regions.iter().filter_map(|&r| virt.spaces.region(space, r)) {
            let vma = virt.spaces.vma(vma);
            for i in 0..vma.pages {
                match virt.pages.entry(PageIdx(vma.start.0 + i)) {
                    Entry::Frame(_) => sizes[0] += 1,
                    Entry::Swap(_) => sizes[1] += 1,
                    _ => {}
                }
            }
        }
        sizes
    }
}
