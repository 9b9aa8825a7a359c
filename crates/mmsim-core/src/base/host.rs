//! Host memory of tables that have an entry for each frame, page or slot.
//!
//! The host finds memory at the first touch, 4 KiB at a time, and looks up each such page whenever a
//! path comes by. Large tables ask for huge pages (`madvise(MADV_HUGEPAGE)`), which Linux gives where
//! it can. A host that has none, or does not know them, changes no result.
//!
//! Where a loop knows early which entries it is going to need, [`prefetch`] lets the processor fetch
//! them meanwhile. It changes no result either.

/// Tables below this many bytes gain nothing: a huge page has 2 MiB.
const LARGE: usize = 16 << 20;

/// A table of `n` equal entries. Entries that are all zero take no memory until they are used.
pub(crate) fn table<T: Clone>(n: usize, value: T) -> Vec<T> {
    let table = vec![value; n];
    ask_for_huge_pages(&table);
    table
}

/// Grows a table to `n` entries. A large one gets room for an eighth more and not for twice as many:
/// what it may become has to be known before a run.
pub(crate) fn grow<T: Clone>(table: &mut Vec<T>, n: usize, value: T) {
    if table.capacity() == 0 {
        *table = self::table(n, value);
        return;
    }
    if n > table.capacity() {
        let more =
            if n * size_of::<T>() >= LARGE { n + n / 8 } else { n.max(2 * table.capacity()) };
        table.reserve_exact(more - table.len());
        ask_for_huge_pages(table);
    }
    table.resize(n, value);
}

/// Appends an entry to a table.
pub(crate) fn push<T>(table: &mut Vec<T>, value: T) {
    if table.len() == table.capacity() {
        table.reserve(1);
        ask_for_huge_pages(table);
    }
    table.push(value);
}

/// Asks for huge pages in all of a large table's memory.
fn ask_for_huge_pages<T>(table: &Vec<T>) {
    const PAGE: usize = 4096;
    let start = table.as_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let bytes = table.capacity() * size_of::<T>();
    if bytes >= LARGE {
        advise(start.wrapping_add(skipped), (bytes - skipped) / PAGE * PAGE);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[allow(
    unsafe_code,
    reason = "advice on a table's own memory; the crates with a safe call know no huge pages"
)]
fn advise(start: *const u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    // SAFETY: `MADV_HUGEPAGE` changes neither contents nor addresses, only the size of pages that are
    // found from now on. The range lies in one allocation, which its owner lends for the call.
    let answer = unsafe { madvise(start.cast_mut().cast(), bytes, Advice::LinuxHugepage) };
    // A host without huge pages refuses. Small pages do as well.
    answer.unwrap_or_default();
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_: *const u8, _: usize) {}

/// Has memory fetch an entry of a table, so that whoever reads it later need not wait. An index
/// beyond the end is allowed, and changes nothing either.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], i: usize) {
    prefetch_at(table.as_ptr().wrapping_add(i).cast());
}

/// The same for all of a value.
#[inline(always)]
pub(crate) fn prefetch_all<T>(one: &T) {
    let first: *const u8 = std::ptr::from_ref(one).cast();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        prefetch_at(first.wrapping_add(line * LINE));
    }
}

/// Bytes that memory fetches together.
const LINE: usize = 64;

#[inline(always)]
#[allow(
    unsafe_code,
    reason = "a hint to the processor; the standard library has no safe one on stable Rust"
)]
fn prefetch_at(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing that the program could see, and an address that is
        // not mapped is no fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables around the size from which the host gives huge pages hold the same as a `Vec`.
    #[test]
    fn tables_have_their_entries() {
        for n in [0, 1, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 513] {
            let mut table = table(n, 0u64);
            assert_eq!(table, vec![0; n]);
            grow(&mut table, n + 700, 7);
            push(&mut table, 8);
            assert_eq!(table.len(), n + 701);
            assert!(table[n..n + 700].iter().all(|&e| e == 7) && table[n + 700] == 8, "{n}");
            assert!(table[..n].iter().all(|&e| e == 0), "{n}");
        }
    }
}
