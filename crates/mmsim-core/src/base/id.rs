//! Typed indices. Every table of the machine is indexed by its own type, so that a
//! frame number can never be used as a page number. An index prints with a prefix
//! (`pfn1234`), which is what a broken invariant names.

use super::host;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense index type.
pub trait Idx: Copy + Eq + Ord + fmt::Debug {
    /// The position in a table.
    fn index(self) -> usize;
    /// The index of a position. Positions beyond the type's range are a broken invariant.
    fn from_index(i: usize) -> Self;
}

/// A newtype of an integer that indexes tables, and the prefix that it prints with.
#[macro_export]
macro_rules! typed_index {
    ($(#[$doc:meta])* $name:ident($repr:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $repr);

        impl $crate::base::id::Idx for $name {
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline(always)]
            fn from_index(i: usize) -> Self {
                debug_assert!(i <= <$repr>::MAX as usize);
                $name(i as $repr)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    };
}

/// A fieldless enum that indexes tables: its variants in order.
#[macro_export]
macro_rules! enum_index {
    ($name:ident: $($variant:ident),+) => {
        impl $crate::base::id::Idx for $name {
            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }
            #[inline]
            fn from_index(i: usize) -> Self {
                [$($name::$variant),+][i]
            }
        }
    };
}

typed_index!(
    /// A page frame number: the index of a 4 KiB frame of physical memory.
    Pfn(u32), "pfn");
typed_index!(
    /// A page of some address space or file, in the one global page index (up to 2^32
    /// pages). It is given out in groups of 512: one PTE table of one process, or 512
    /// pages of a file.
    PageIdx(u32), "page");
typed_index!(
    /// A group of 512 page indexes: `PageIdx >> 9`.
    GroupId(u32), "group");
typed_index!(
    /// A process, that is: an address space.
    AsId(u16), "as");
typed_index!(
    /// A virtual memory area of some process.
    VmaId(u32), "vma");
typed_index!(
    /// One page of a swap device.
    SwapSlot(u32), "slot");
typed_index!(
    /// A zone of the machine, counted over all nodes.
    ZoneId(u8), "zone");
typed_index!(
    /// A node: memory, its kswapd and its lruvecs.
    NodeId(u8), "node");
typed_index!(
    /// A monitor of accesses.
    KdamondId(u8), "kdamond.");
typed_index!(
    /// A program of user space that watches memory.
    DaemonId(u8), "daemon");
typed_index!(
    /// A memory cgroup; 0 is the root.
    MemcgId(u16), "memcg");
typed_index!(
    /// A disk for files; 0 is the one that a machine always has.
    DiskId(u8), "disk");
typed_index!(
    /// A file of the page cache.
    FileId(u32), "file");
typed_index!(
    /// A simulated thread.
    ThreadId(u32), "thread");
typed_index!(
    /// A CPU of the simulated machine.
    CpuId(u16), "cpu");
typed_index!(
    /// A block device.
    DeviceId(u8), "dev");
typed_index!(
    /// A list of folios in [`crate::phys::lists::Lists`].
    ListId(u32), "list");
typed_index!(
    /// Lists whose pages are counted together.
    TallyId(u32), "tally");

/// Pages per group of the global page index, and PTEs per PTE table (x86-64).
pub const GROUP_PAGES: u32 = 512;

/// log2 of the pages of a huge page, the largest folio: it is mapped instead of a page table.
pub const HUGE_ORDER: u8 = 9;
/// Bytes per page.
pub const PAGE_SIZE: u64 = 4096;

impl PageIdx {
    /// The group that holds this page.
    #[inline(always)]
    pub fn group(self) -> GroupId {
        GroupId(self.0 >> 9)
    }
}

impl GroupId {
    /// The first page of the group.
    #[inline(always)]
    pub fn first(self) -> PageIdx {
        PageIdx(self.0 << 9)
    }
}

/// A table indexed by a typed index only.
#[derive(Clone)]
pub struct IndexVec<I, T> {
    raw: Vec<T>,
    _index: PhantomData<fn(I)>,
}

impl<I: Idx, T> IndexVec<I, T> {
    /// An empty table.
    pub const fn new() -> Self {
        IndexVec { raw: Vec::new(), _index: PhantomData }
    }
    /// Appends an entry and returns its index.
    pub fn push(&mut self, value: T) -> I {
        self.raw.push(value);
        I::from_index(self.raw.len() - 1)
    }
    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.raw.len()
    }
    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }
    /// All indexes in ascending order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.raw.len()).map(I::from_index)
    }
    /// The table of `n` entries that are computed from their indexes.
    pub fn from_fn(n: usize, entry: impl FnMut(I) -> T) -> Self {
        IndexVec::from((0..n).map(I::from_index).map(entry).collect::<Vec<T>>())
    }
    /// Indexes with their entries.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.raw.iter().enumerate().map(|(i, entry)| (I::from_index(i), entry))
    }
    /// Entries in order of index.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.raw.iter()
    }
    /// Mutable entries in order of index.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.raw.iter_mut()
    }
    /// The entries as a slice.
    #[inline]
    pub fn raw(&self) -> &[T] {
        &self.raw
    }
    /// The entries as a mutable slice.
    #[inline]
    pub(crate) fn raw_mut(&mut self) -> &mut [T] {
        &mut self.raw
    }
    /// The entry, if the index is in range.
    pub fn get(&self, i: I) -> Option<&T> {
        self.raw.get(i.index())
    }
    /// The entry to change, if the index is in range.
    pub fn get_mut(&mut self, i: I) -> Option<&mut T> {
        self.raw.get_mut(i.index())
    }
    /// The index of the first entry that is such.
    #[inline]
    pub fn position(&self, is_such: impl FnMut(&T) -> bool) -> Option<I> {
        self.raw.iter().position(is_such).map(I::from_index)
    }
}

impl<I: Idx, T: Clone> IndexVec<I, T> {
    /// A table of `n` equal entries.
    pub fn filled(n: usize, value: T) -> Self {
        IndexVec { raw: host::table(n, value), _index: PhantomData }
    }
    /// Grows (or shrinks) to `n` entries.
    pub fn resize(&mut self, n: usize, value: T) {
        host::grow(&mut self.raw, n, value);
    }
}

impl<I: Idx, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Idx, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(raw: Vec<T>) -> Self {
        IndexVec { raw, _index: PhantomData }
    }
}

impl<I: Idx, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: I) -> &T {
        &self.raw[i.index()]
    }
}

impl<I: Idx, T> IndexMut<I> for IndexVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.raw[i.index()]
    }
}

impl<I: Idx, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.raw).finish()
    }
}

/// A table of `N` entries indexed by a typed index only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IndexArray<I, T, const N: usize> {
    raw: [T; N],
    _index: PhantomData<fn(I)>,
}

impl<I: Idx, T, const N: usize> IndexArray<I, T, N> {
    /// The table of these entries in order of index.
    pub const fn new(raw: [T; N]) -> Self {
        IndexArray { raw, _index: PhantomData }
    }
    /// The table whose entries are computed from their indexes.
    pub fn from_fn(mut entry: impl FnMut(I) -> T) -> Self {
        IndexArray::new(std::array::from_fn(|i| entry(I::from_index(i))))
    }
    /// The entries in order of index.
    pub const fn raw(&self) -> &[T; N] {
        &self.raw
    }
    /// Entries in order of index.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.raw.iter()
    }
    /// Mutable entries in order of index.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.raw.iter_mut()
    }
    /// Indexes with their entries.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.raw.iter().enumerate().map(|(i, entry)| (I::from_index(i), entry))
    }
}

impl<I: Idx, T: Default, const N: usize> Default for IndexArray<I, T, N> {
    fn default() -> Self {
        IndexArray::from_fn(|_| T::default())
    }
}

impl<I: Idx, T, const N: usize> Index<I> for IndexArray<I, T, N> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: I) -> &T {
        &self.raw[i.index()]
    }
}

impl<I: Idx, T, const N: usize> IndexMut<I> for IndexArray<I, T, N> {
    #[inline(always)]
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.raw[i.index()]
    }
}

impl<I: Idx, T: fmt::Debug, const N: usize> fmt::Debug for IndexArray<I, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.raw).finish()
    }
}
