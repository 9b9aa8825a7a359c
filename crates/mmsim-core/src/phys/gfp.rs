//! Requests for memory: what is wanted, and how far the allocator may go for it.
//!
//! Source: Linux 6.12 include/linux/gfp_types.h, mm/page_alloc.c (`gfp_to_alloc_flags`).

use crate::base::migratetype::Migratetype;
use crate::config::ZoneKind;

/// Permissions and demands of a request (`__GFP_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GfpFlags(u16);

impl GfpFlags {
    /// None of them: as hard as the order of the request deserves.
    pub const NORMAL: GfpFlags = GfpFlags(0);
    /// The caller may sleep and reclaim memory itself (`__GFP_DIRECT_RECLAIM`).
    pub const DIRECT_RECLAIM: GfpFlags = GfpFlags(1);
    /// kswapd is woken when memory is low (`__GFP_KSWAPD_RECLAIM`).
    pub const KSWAPD_RECLAIM: GfpFlags = GfpFlags(1 << 1);
    /// Reclaim may start input and output (`__GFP_IO`).
    pub const IO: GfpFlags = GfpFlags(1 << 2);
    /// Reclaim may call into file systems (`__GFP_FS`).
    pub const FS: GfpFlags = GfpFlags(1 << 3);
    /// May use half of the min reserve (`__GFP_HIGH`).
    pub const HIGH: GfpFlags = GfpFlags(1 << 4);
    /// Gives up instead of trying hard (`__GFP_NORETRY`).
    pub const NORETRY: GfpFlags = GfpFlags(1 << 5);
    /// Retries costly orders too, but fails in the end (`__GFP_RETRY_MAYFAIL`).
    pub const RETRY_MAYFAIL: GfpFlags = GfpFlags(1 << 6);
    /// Never fails (`__GFP_NOFAIL`).
    pub const NOFAIL: GfpFlags = GfpFlags(1 << 7);

    /// From the nearest node or not at all (`__GFP_THISNODE`).
    pub const THISNODE: GfpFlags = GfpFlags(1 << 8);
    /// Stays out of all reserves, sleeping or not (`__GFP_NOMEMALLOC`).
    pub(crate) const NOMEMALLOC: GfpFlags = GfpFlags(1 << 9);
    /// One of several pages that are allocated together (`alloc_pages_bulk`): the fast path does
    /// not avoid fragmentation. This is no flag of the kernel's own.
    pub const BULK: GfpFlags = GfpFlags(1 << 10);

    /// Both sets together.
    pub const fn with(self, other: GfpFlags) -> GfpFlags {
        GfpFlags(self.0 | other.0)
    }
    /// This set without those of `other`.
    pub const fn without(self, other: GfpFlags) -> GfpFlags {
        GfpFlags(self.0 & !other.0)
    }
    /// True if all of `other` are set.
    #[inline]
    pub const fn has(self, other: GfpFlags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Cannot sleep, and so may go deeper into the reserves than others.
    #[inline]
    pub const fn atomic(self) -> bool {
        !self.has(GfpFlags::DIRECT_RECLAIM)
    }
}

/// Direct reclaim and kswapd (`__GFP_RECLAIM`).
const RECLAIM: GfpFlags = GfpFlags::DIRECT_RECLAIM.with(GfpFlags::KSWAPD_RECLAIM);
/// Reclaim without input or output.
pub const GFP_NOIO: GfpFlags = RECLAIM;
/// Reclaim that may do input and output but not call into file systems.
pub const GFP_NOFS: GfpFlags = GFP_NOIO.with(GfpFlags::IO);
/// Flags that the kernel uses for itself when it may sleep.
pub const GFP_KERNEL: GfpFlags = GFP_NOFS.with(GfpFlags::FS);
/// On behalf of a process. The same as [`GFP_KERNEL`] here: cpusets are not modelled.
pub const GFP_USER: GfpFlags = GFP_KERNEL;
/// From interrupts: no sleeping, and access to reserves.
pub const GFP_ATOMIC: GfpFlags = GfpFlags::HIGH.with(GfpFlags::KSWAPD_RECLAIM);
/// No sleeping, no reserves, but kswapd is woken.
pub const GFP_NOWAIT: GfpFlags = GfpFlags::KSWAPD_RECLAIM;
/// Huge pages of processes, without any effort (`GFP_TRANSHUGE_LIGHT`): neither reclaim nor kswapd.
pub(crate) const GFP_TRANSHUGE_LIGHT: GfpFlags =
    GFP_USER.without(RECLAIM).with(GfpFlags::NOMEMALLOC);
/// Pages of processes. Movable and for the highest zone: see [`AllocRequest::USER`].
pub(crate) const GFP_HIGHUSER_MOVABLE: GfpFlags = GFP_USER;

/// Requests above this order are costly: the allocator tries less hard for them.
pub const PAGE_ALLOC_COSTLY_ORDER: u8 = 3;
/// The largest order there is: 4 MiB.
pub const MAX_PAGE_ORDER: u8 = 10;

/// A request for one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocRequest {
    /// log2 of the pages wanted, up to [`MAX_PAGE_ORDER`].
    pub order: u8,
    /// Unmovable, movable or reclaimable.
    pub migratetype: Migratetype,
    /// The highest zone that will do.
    pub highest: ZoneKind,
    /// Permissions of the allocator.
    pub flags: GfpFlags,
}

impl AllocRequest {
    /// A page of a process or of the page cache (`GFP_HIGHUSER_MOVABLE`).
    pub const USER: AllocRequest = AllocRequest {
        order: 0,
        migratetype: Migratetype::Movable,
        highest: ZoneKind::Movable,
        flags: GFP_HIGHUSER_MOVABLE,
    };
    /// A page of the kernel: a page table, slab.
    pub const KERNEL: AllocRequest = AllocRequest {
        order: 0,
        migratetype: Migratetype::Unmovable,
        highest: ZoneKind::Normal,
        flags: GFP_KERNEL,
    };
    /// A page that is read ahead: not worth any effort.
    pub const READAHEAD: AllocRequest =
        AllocRequest { flags: GFP_HIGHUSER_MOVABLE.with(GfpFlags::NORETRY), ..AllocRequest::USER };
    /// True if the order is costly.
    #[inline]
    pub const fn costly(&self) -> bool {
        self.order > PAGE_ALLOC_COSTLY_ORDER
    }
}

/// Permissions of one attempt (`ALLOC_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllocFlags {
    /// Takes only whole pageblocks from other types (`ALLOC_NOFRAGMENT`).
    pub nofragment: bool,
    /// May use half of the min reserve (`ALLOC_MIN_RESERVE`).
    pub min_reserve: bool,
    /// Cannot sleep (`ALLOC_NON_BLOCK`).
    pub non_block: bool,
    /// May use the pageblocks kept for it (`ALLOC_HIGHATOMIC`).
    pub highatomic: bool,
    /// Keeps the pageblock that it gets for requests like it.
    pub keeps_block: bool,
    /// Passes over zones that have given their share (`ALLOC_FAIR`).
    pub fair: bool,
}

impl AllocFlags {
    /// Those of the slow path (`gfp_to_alloc_flags`).
    pub fn of(req: &AllocRequest) -> Self {
        let min_reserve = req.flags.has(GfpFlags::HIGH);
        let non_block = req.flags.atomic() && !req.flags.has(GfpFlags::NOMEMALLOC);
        let highatomic = non_block && min_reserve && req.order > 0;
        AllocFlags {
            nofragment: false,
            min_reserve,
            non_block,
            highatomic,
            keeps_block: highatomic,
            fair: false,
        }
    }
    /// True if reserves are open to it.
    #[inline]
    pub fn reserves(self) -> bool {
        self.min_reserve || self.non_block || self.highatomic
    }
}
