//! Physical memory: an address leads to a frame, and that to a folio with all of its mappings.
//!
//! An access by anybody counts, also one by a system call. An action walks the frames of a
//! region one by one, free and unmovable ones too, which is what makes it expensive on a large
//! machine.
//!
//! A page that is to be paged out is checked once more: by reclaim, which keeps it if its accessed
//! bit is still set from its last use, or (from 6.10 on) by a filter that keeps whatever was used
//! since it was last marked old. A page that was never sampled was never marked, so either way it
//! goes at the second application only.
//!
//! A huge folio that is to be paged out is split before it is taken, as by `MADV_PAGEOUT`; Linux
//! splits it in reclaim, or writes it in one piece.
//!
//! Linux 6.12 mm/damon/paddr.c. Left out: pages that are shared by merging (KSM).

use super::{PAGE_SHIFT, frames_of};
use crate::config::{DamonConfig, LruPrio, PageoutRef};
use crate::damos::filter::{Filter, FilterType, rejects_rest};
use crate::damos::scheme::{Action, Scheme};
use crate::region::Region;
use mmsim_core::base::id::{NodeId, Pfn};
use mmsim_core::memory::{Memory, SAMPLE_BATCH};
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::monitor::Doors;

/// The frames at the sampling addresses of a batch of regions; those beyond all memory are none.
fn frames_at(regions: &[Region]) -> [Pfn; SAMPLE_BATCH] {
    let mut frames = [Pfn(u32::MAX); SAMPLE_BATCH];
    for (pfn, r) in frames.iter_mut().zip(regions) {
        *pfn = Pfn(u32::try_from(r.sampling_addr >> PAGE_SHIFT).unwrap_or(u32::MAX));
    }
    frames
}

pub(super) fn mkold(mem: &mut Memory, regions: &[Region]) {
    mem.mkold_frames(&frames_at(regions)[..regions.len()]);
}

pub(super) fn young(mem: &mut Memory, regions: &[Region], young: &mut Vec<bool>) {
    mem.young_frames(&frames_at(regions)[..regions.len()], young);
}

/// True if filters leave a page out: the first that applies to it decides, and if none applies the
/// last one (`damos_pa_filter_out()`).
fn filter_out<'a>(
    mem: &mut Memory,
    folio: FolioId,
    filters: impl Iterator<Item = &'a Filter>,
    rejects_rest: bool,
) -> bool {
    for filter in filters.filter(|f| !f.is_core()) {
        if speaks_of(mem, folio, filter) {
            return !filter.allow;
        }
    }
    rejects_rest
}

/// True if a filter applies to a page. The check marks a young one old.
fn speaks_of(mem: &mut Memory, folio: FolioId, filter: &Filter) -> bool {
    let of_the_type = match filter.kind {
        FilterType::Anon => mem.frames.kind(folio) == FrameKind::Anon,
        FilterType::Memcg(id) => mem.frames.memcg(folio).0 == id,
        FilterType::Young => {
            let young = mem.is_young(folio);
            if young {
                mem.mkold(folio);
            }
            young
        }
        FilterType::Active => mem.frames.has(folio, flag::ACTIVE),
        FilterType::HugepageSize(min, max) => {
            (min..=max).contains(&(mem.frames.pages(folio) << PAGE_SHIFT))
        }
        FilterType::Unmapped => mem.mapcount(folio) == 0,
        FilterType::Addr(_) | FilterType::Target(_) => unreachable!("judged before the action"),
    };
    of_the_type == filter.matching
}

/// Applies an action and returns the bytes for which it worked.
pub(super) fn apply(
    doors: &mut dyn Doors,
    region: &Region,
    scheme: &Scheme,
    config: &DamonConfig,
    taken: &mut Vec<FolioId>,
) -> u64 {
    // A filter checks if a page to be paged out is young, and reclaim does not.
    let again = config.pageout_ref == PageoutRef::YoungFilter;
    let young = Filter::new(FilterType::Young, true);
    let pageout = scheme.action == Action::Pageout;
    let has_young = scheme.filters.iter().any(|f| f.kind == FilterType::Young);
    let more = (pageout && again && !has_young).then_some(&young);
    let allowed = scheme.state.core_allowed;
    let rejects_rest = rejects_rest(&scheme.filters, false);
    let mut pages = 0;
    let (mem, policy) = doors.parts();
    let mut each = |mem: &mut Memory, folio: FolioId| {
        let filters = scheme.filters.iter().chain(more);
        if !allowed && filter_out(mem, folio, filters, rejects_rest) {
            return;
        }
        match scheme.action {
            Action::Pageout | Action::MigrateHot | Action::MigrateCold => {
                take(mem, policy, folio, pageout, taken);
            }
            Action::LruPrio => {
                match config.lru_prio {
                    LruPrio::MarkAccessed => mem.mark_accessed(policy, folio),
                    LruPrio::Activate => mem.lru_activate(policy, folio),
                }
                pages += mem.frames.pages(folio);
            }
            Action::LruDeprio => {
                mem.lru_deactivate(policy, folio);
                pages += mem.frames.pages(folio);
            }
            _ => {}
        }
    };
    match scheme.action {
        Action::Pageout
        | Action::LruPrio
        | Action::LruDeprio
        | Action::MigrateHot
        | Action::MigrateCold => mem.for_each_listed(frames_of(region), &mut each),
        _ => return 0,
    }
    if !taken.is_empty() {
        pages = match scheme.target_nid {
            _ if pageout => doors.reclaim_pages(taken, again),
            Some(node) => doors.migrate_pages(taken, NodeId(node as u8)),
            None => doors.put_back(taken),
        };
        taken.clear();
    }
    pages << PAGE_SHIFT
}

/// Number of pages on LRU lists in these regions on a node, and on all nodes; of a huge folio as
/// many as lie in the region. Each folio costs what a frame without one costs (Linux 7.3
/// `damos_calc_eligible_bytes()`).
pub(super) fn eligible(mem: &mut Memory, regions: &[Region], node: NodeId) -> (u64, u64) {
    let (mut of_node, mut all) = (0, 0);
    let last = mem.zones.nr_frames() as u32;
    for region in regions {
        let mut range = frames_of(region);
        range.end.0 = range.end.0.min(last);
        let mut count = |mem: &mut Memory, folio: FolioId| {
            mem.acting.now += mem.given.cost.t_frame_walk;
            let end = range.end.0.min(folio.0 + mem.frames.pages(folio) as u32);
            let pages = u64::from(end - folio.0.max(range.start.0));
            all += pages;
            of_node += if mem.zones[mem.zones.of(folio)].node == node { pages } else { 0 };
            end
        };
        // The walk goes from folio to folio, and may begin amid one.
        let amid = (range.start < range.end).then(|| mem.listed_folio(range.start)).flatten();
        let from = match amid.filter(|&folio| folio < range.start) {
            Some(folio) => Pfn(count(mem, folio)),
            None => range.start,
        };
        mem.for_each_listed(from..range.end, |mem, folio| {
            count(mem, folio);
        });
    }
    (of_node, all)
}

/// Takes a folio off its list to page it out, or to move it.
fn take(
    mem: &mut Memory,
    policy: &mut dyn ReclaimPolicy,
    folio: FolioId,
    pageout: bool,
    taken: &mut Vec<FolioId>,
) {
    if pageout {
        mem.frames.clear(folio, flag::REFERENCED | flag::YOUNG);
    }
    let pages = mem.frames.pages(folio) as u32;
    let split = pageout && pages > 1 && !mem.frames.has(folio, flag::UNEVICTABLE);
    if split {
        policy.folio_split(mem, folio);
    }
    for folio in (folio.0..folio.0 + if split { pages } else { 1 }).map(Pfn) {
        if mem.isolate_from(policy, folio) {
            mem.acting.now += mem.given.cost.t_isolate;
            if pageout {
                mem.frames.clear(folio, flag::ACTIVE);
            }
            taken.push(folio);
        }
    }
}
