//! Advice to the kernel, as commands name it.

/// Advice to the kernel about pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// `MADV_POPULATE_READ`.
    PopulateRead,
    /// `MADV_PAGEOUT`: not in recorded points, for the measurement of costs.
    Pageout,
    /// `MADV_FREE`.
    Free,
    /// `MADV_DONTNEED`.
    Dontneed,
    /// `MADV_REMOVE`.
    Remove,
}

/// Advice of `posix_fadvise`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileAdvice {
    /// `POSIX_FADV_NORMAL`.
    Normal,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_WILLNEED`.
    WillNeed,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
    /// `POSIX_FADV_DONTNEED`.
    DontNeed,
}
