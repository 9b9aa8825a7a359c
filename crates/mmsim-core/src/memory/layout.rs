//! The layout of physical memory: what every frame is, what type every pageblock has, and which
//! blocks are free in which order.
//!
//! A layout can be read off at any time and put on a machine that has not started yet. So a
//! state that took long to build is built once, and what it was depends on no allocator's choice
//! the second time: every frame lies where it lay, and every list hands out its blocks in the
//! same order.
//!
//! What the kernel and its drivers hold is put back. What belongs to programs is not, since a
//! layout knows nothing of page tables and LRU lists: these frames are free afterwards, as if
//! the programs had ended. How the batches of per-CPU lists have grown is not part of a layout
//! either, nor what the watermarks were boosted by.
//!
//! Source of the lists: Linux 6.12 include/linux/mmzone.h (`struct free_area`, `struct
//! per_cpu_pages`).

use super::Memory;
use crate::base::id::{CpuId, NodeId, Pfn, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::config::ZoneKind;
use crate::phys::buddy::NR_ORDERS;
use crate::phys::frames::FrameKind;
use crate::phys::zone::Zone;
use std::collections::BTreeSet;
use std::fmt;

/// Use of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FrameUse {
    /// In a free block or a per-CPU list.
    Free,
    /// Held by the kernel itself: for good from the start, or for zram's store.
    Kernel,
    /// Held by a workload on behalf of the kernel, asked for as memory of this type, one of
    /// [`Migratetype::REQUESTS`]. It stays where it is, whatever the type.
    Held(Migratetype),
    /// Of a program: its pages, page tables, the page cache.
    Program,
}

/// The free blocks of one list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreeListLayout {
    /// The CPU whose list it is; `None`: the zone's.
    pub cpu: Option<CpuId>,
    /// log2 of the pages of a block.
    pub order: u8,
    /// Type of the list.
    pub migratetype: Migratetype,
    /// First frames of its blocks, the one that is handed out next first.
    pub blocks: Vec<Pfn>,
}

/// The layout of one zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneLayout {
    /// Which kind.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
    /// First frame.
    pub first: Pfn,
    /// log2 of the pages of a pageblock.
    pub pageblock_order: u8,
    /// Types of its pageblocks, in address order.
    pub types: Vec<Migratetype>,
    /// Use of its frames, in address order.
    pub frames: Vec<FrameUse>,
    /// Its free lists that have blocks. Free frames on none of them are given back in address
    /// order when the layout is put on a machine.
    pub lists: Vec<FreeListLayout>,
}

/// The layout of all zones, in address order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The zones.
    pub zones: Vec<ZoneLayout>,
}

/// Why a layout cannot be, or not on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutError {
    /// Not as many types as pageblocks.
    Types {
        /// Types.
        types: usize,
        /// Pageblocks.
        pageblocks: usize,
    },
    /// A block begins where none of its order can.
    Misplaced {
        /// Its first frame.
        pfn: Pfn,
        /// Its order.
        order: u8,
    },
    /// A block is not in its zone.
    Outside {
        /// Its first frame.
        pfn: Pfn,
        /// Its order.
        order: u8,
    },
    /// A frame on a free list is not free.
    NotFree(Pfn),
    /// A frame is on two free lists.
    Twice(Pfn),
    /// Two free buddies below a pageblock are no block.
    Apart {
        /// The first frames of both.
        pfns: [Pfn; 2],
        /// Their order.
        order: u8,
    },
    /// Another number of zones.
    Zones {
        /// Number in the layout.
        of: usize,
        /// Number in this machine.
        has: usize,
    },
    /// A zone of another place or size.
    Zone {
        /// That of the layout, in words.
        of: String,
        /// That of this machine.
        has: String,
    },
    /// Blocks of an order that this machine does not have.
    Order {
        /// Their order.
        order: u8,
        /// The largest here.
        most: u8,
    },
    /// A frame that the kernel of this machine holds from the start, and that of the layout's does
    /// not.
    KernelHolds(Pfn),
    /// The machine has a pool of huge pages already.
    HugePool,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Types { types, pageblocks } => {
                write!(f, "{types} types for {pageblocks} pageblocks")
            }
            LayoutError::Misplaced { pfn, order } => {
                write!(f, "a block of order {order} cannot begin at {pfn}")
            }
            LayoutError::Outside { pfn, order } => {
                write!(f, "{pfn} of order {order} is outside of the zone")
            }
            LayoutError::NotFree(pfn) => write!(f, "{pfn} is on a free list and not free"),
            LayoutError::Twice(pfn) => write!(f, "{pfn} is on two free lists"),
            LayoutError::Apart { pfns: [a, b], order } => {
                write!(f, "{a} and {b}, free buddies of order {order}, are no block")
            }
            LayoutError::Zones { of, has } => {
                write!(f, "it is of a machine with {of} zones, this one has {has}")
            }
            LayoutError::Zone { of, has } => {
                write!(f, "it is of a machine with {of}, this one has {has}")
            }
            LayoutError::Order { order, most } => {
                write!(f, "it has blocks of order {order}, this machine none above {most}")
            }
            LayoutError::KernelHolds(pfn) => write!(
                f,
                "it is of a machine whose kernel does not hold {pfn}, as that of this one does \
                 from the start"
            ),
            LayoutError::HugePool => f.write_str("the pool of huge pages lies in the way"),
        }
    }
}

impl std::error::Error for LayoutError {}

impl ZoneLayout {
    /// Checks that blocks can lie like this: complete, inside the zone, each frame on one list.
    ///
    /// # Errors
    ///
    /// The first thing that cannot be.
    pub fn check(&self) -> Result<(), LayoutError> {
        let (first, end) = (self.first.0, self.first.0 + self.frames.len() as u32);
        let nr = (end - first).div_ceil(1 << self.pageblock_order) as usize;
        if self.types.len() != nr {
            return Err(LayoutError::Types { types: self.types.len(), pageblocks: nr });
        }
        let mut seen = vec![false; self.frames.len()];
        for list in &self.lists {
            for &b in &list.blocks {
                let size = 1u32 << list.order;
                if !b.0.is_multiple_of(size) {
                    return Err(LayoutError::Misplaced { pfn: b, order: list.order });
                }
                if b.0 < first || b.0.checked_add(size).is_none_or(|e| e > end) {
                    return Err(LayoutError::Outside { pfn: b, order: list.order });
                }
                for p in b.0..b.0 + size {
                    let i = (p - first) as usize;
                    if self.frames[i] != FrameUse::Free {
                        return Err(LayoutError::NotFree(Pfn(p)));
                    }
                    if std::mem::replace(&mut seen[i], true) {
                        return Err(LayoutError::Twice(Pfn(p)));
                    }
                }
            }
        }
        self.check_buddies()
    }

    /// Free buddies below a pageblock are one block.
    fn check_buddies(&self) -> Result<(), LayoutError> {
        for order in 0..self.pageblock_order {
            let of_order = |l: &&FreeListLayout| l.cpu.is_none() && l.order == order;
            let lists = self.lists.iter().filter(of_order);
            let blocks: BTreeSet<Pfn> = lists.flat_map(|l| l.blocks.iter().copied()).collect();
            if let Some(b) = blocks.iter().find(|b| blocks.contains(&Pfn(b.0 ^ 1 << order))) {
                let buddy = Pfn(b.0 ^ 1 << order);
                return Err(LayoutError::Apart { pfns: [*b, buddy], order });
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Use of a frame of a zone.
    fn frame_use(&self, zone: &Zone, head: &mut FrameUse, p: u32) -> FrameUse {
        let pfn = Pfn(p);
        *head = match self.frames.kind(pfn) {
            _ if zone.is_reserved(pfn) => FrameUse::Kernel,
            FrameKind::Tail => *head,
            FrameKind::Free | FrameKind::Buddy | FrameKind::Pcp => FrameUse::Free,
            FrameKind::Kernel => FrameUse::Kernel,
            FrameKind::KernelOther | FrameKind::HugeTlb => {
                FrameUse::Held(self.frames.block_migratetype(pfn))
            }
            FrameKind::Anon
            | FrameKind::File
            | FrameKind::Shmem
            | FrameKind::PageTable
            | FrameKind::Slab
            | FrameKind::Fresh => FrameUse::Program,
        };
        *head
    }

    fn zone_layout(&self, z: ZoneId) -> ZoneLayout {
        let zone = &self.zones[z];
        let (buddy, mut lists) = (zone.buddy(), Vec::new());
        for migratetype in Migratetype::ALL {
            for order in 0..NR_ORDERS as u8 {
                let blocks: Vec<Pfn> = buddy.list(order, migratetype).collect();
                lists.push(FreeListLayout { cpu: None, order, migratetype, blocks });
            }
        }
        for (cpu, order, migratetype, blocks) in zone.pcp_lists() {
            lists.push(FreeListLayout { cpu: Some(cpu), order, migratetype, blocks });
        }
        lists.retain(|l| !l.blocks.is_empty());
        let mut head = FrameUse::Free;
        ZoneLayout {
            kind: zone.kind,
            node: zone.node,
            first: zone.first,
            pageblock_order: buddy.rules().pageblock_order,
            types: buddy.pageblocks().map(|b| b.1).collect(),
            frames: (zone.first.0..zone.end().0)
                .map(|p| self.frame_use(zone, &mut head, p))
                .collect(),
            lists,
        }
    }

    /// The layout of memory as it is.
    pub fn layout(&self) -> Layout {
        Layout { zones: self.zones.ids().map(|z| self.zone_layout(z)).collect() }
    }

    /// Puts a layout in the place of memory that is all free, but for the frames that the kernel
    /// holds from the start. Returns the frames that a thread has to hold from now on, in address
    /// order; each is one block of order 0, with the type of its request.
    ///
    /// # Errors
    ///
    /// The layout is of another machine or cannot be. Nothing was changed.
    pub fn set_layout(&mut self, layout: &Layout) -> Result<Vec<(Pfn, Migratetype)>, LayoutError> {
        let own = self.layout();
        if own.zones.len() != layout.zones.len() {
            let (of, has) = (layout.zones.len(), own.zones.len());
            return Err(LayoutError::Zones { of, has });
        }
        for (new, own) in layout.zones.iter().zip(&own.zones) {
            same_zone(new, own)?;
            new.check()?;
        }
        for (z, new) in self.zones.ids().zip(&layout.zones) {
            let most = self.zones[z].buddy().rules().max_order;
            if let Some(l) = new.lists.iter().find(|l| l.order > most) {
                return Err(LayoutError::Order { order: l.order, most });
            }
        }
        let mut held = Vec::new();
        for (z, (new, own)) in self.zones.ids().zip(layout.zones.iter().zip(&own.zones)) {
            self.zones[z].clear(&mut self.frames, &new.types);
            for (i, (&u, &was)) in new.frames.iter().zip(&own.frames).enumerate() {
                let pfn = Pfn(new.first.0 + i as u32);
                let mt = match u {
                    _ if was == FrameUse::Kernel => continue,
                    FrameUse::Held(mt) => mt,
                    FrameUse::Kernel => Migratetype::Unmovable,
                    FrameUse::Free | FrameUse::Program => continue,
                };
                self.frames.reset_block(pfn, FrameKind::KernelOther, 0, mt);
                held.push((pfn, mt));
            }
            new.lists.iter().for_each(|l| {
                self.zones[z].restore_list(
                    &mut self.frames,
                    l.cpu,
                    l.order,
                    l.migratetype,
                    &l.blocks,
                );
            });
            for (pfn, loose) in loose_frames(new) {
                if loose {
                    self.zones[z].give(&mut self.frames, pfn);
                }
            }
        }
        self.kernel.nr_other += held.len() as u64;
        Ok(held)
    }
}

/// Which frames of a zone are to be free and on no list.
fn loose_frames(z: &ZoneLayout) -> impl Iterator<Item = (Pfn, bool)> {
    let mut loose: Vec<bool> =
        z.frames.iter().map(|u| matches!(u, FrameUse::Free | FrameUse::Program)).collect();
    for l in &z.lists {
        for b in &l.blocks {
            let at = (b.0 - z.first.0) as usize;
            loose[at..at + (1 << l.order)].fill(false);
        }
    }
    let first = z.first.0;
    loose.into_iter().enumerate().map(move |(i, l)| (Pfn(first + i as u32), l))
}

/// Checks that a layout fits a zone.
fn same_zone(new: &ZoneLayout, own: &ZoneLayout) -> Result<(), LayoutError> {
    let name = |z: &ZoneLayout| {
        let (kind, n, b) = (z.kind.name(), z.frames.len(), 1u32 << z.pageblock_order);
        format!(
            "zone {kind} of node {} with {n} frames from {} in pageblocks of {b}",
            z.node.0, z.first
        )
    };
    if name(new) != name(own) {
        return Err(LayoutError::Zone { of: name(new), has: name(own) });
    }
    for (i, (&n, &o)) in new.frames.iter().zip(&own.frames).enumerate() {
        if o == FrameUse::Kernel && n != FrameUse::Kernel {
            return Err(LayoutError::KernelHolds(Pfn(new.first.0 + i as u32)));
        }
    }
    Ok(())
}
