//! Size classes: which lengths share zspages, and how many objects those hold.
//!
//! Source: Linux 6.12 mm/zsmalloc.c (`calculate_zspage_chain_size`, `get_size_class_index`,
//! `zs_create_pool`); 6.18 and 7.3 have the same.

use crate::base::id::PAGE_SIZE;

/// Frames of a zspage at most, as distributions build their kernels
/// (`CONFIG_ZSMALLOC_CHAIN_SIZE`).
pub const CHAIN_SIZE: u8 = 8;

/// Bytes in front of each object that name its owner (`ZS_HANDLE_SIZE`).
const HANDLE: u32 = 8;
/// The smallest size, and the step from one size to the next (`ZS_SIZE_CLASS_DELTA`).
const SMALLEST: u32 = 32;
const STEP: u32 = 16;
/// The sizes of objects: 32, 48, .., 4096 bytes.
const SIZES: usize = 255;
const PAGE: u32 = PAGE_SIZE as u32;

/// Objects of about one size, and their zspages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeClass {
    /// Bytes of the largest object, with its handle.
    pub size: u16,
    /// Frames of a zspage.
    pub frames: u8,
    /// Objects that a zspage holds.
    pub objects: u16,
}

impl SizeClass {
    /// The class of a size alone: of the zspages up to `chain` frames, the shortest that wastes
    /// least at its end.
    fn of_size(size: u32, chain: u8) -> SizeClass {
        let waste = |&frames: &u32| (PAGE * frames) % size;
        let frames = match size.is_power_of_two() {
            true => 1,
            false => (1..=u32::from(chain)).min_by_key(waste).unwrap_or(1),
        };
        SizeClass {
            size: size as u16,
            frames: frames as u8,
            objects: (PAGE * frames / size) as u16,
        }
    }

    fn holds_like(&self, other: &SizeClass) -> bool {
        (self.frames, self.objects) == (other.frames, other.objects)
    }
}

/// All classes, the smallest first, and the class of each size.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    pub(super) kept: Vec<SizeClass>,
    of_size: [u8; SIZES],
}

impl Classes {
    /// Classes of zspages up to `chain` frames. Sizes whose zspages would be alike share the class
    /// of the largest of them.
    pub(super) fn new(chain: u8) -> Self {
        let mut kept: Vec<SizeClass> = Vec::new();
        let mut of_size = [0; SIZES];
        for i in (0..SIZES).rev() {
            let class = SizeClass::of_size(SMALLEST + STEP * i as u32, chain);
            if !kept.last().is_some_and(|k| k.holds_like(&class)) {
                kept.push(class);
            }
            of_size[i] = (kept.len() - 1) as u8;
        }
        let last = (kept.len() - 1) as u8;
        of_size.iter_mut().for_each(|class| *class = last - *class);
        kept.reverse();
        Classes { kept, of_size }
    }

    /// The number of the class of objects of `length` bytes, 1..=4096.
    #[inline]
    pub(super) fn of(&self, length: u32) -> usize {
        let size = (length + HANDLE).saturating_sub(SMALLEST).div_ceil(STEP);
        self.of_size[(size as usize).min(SIZES - 1)].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's numbers of classes by frames of a zspage, 4 to 16; a script computed them.
    #[test]
    fn as_many_classes_as_the_kernel_has() {
        let want = [69, 86, 94, 110, 119, 136, 141, 153, 159, 173, 179, 186, 192];
        let got: Vec<usize> = (4..=16).map(|chain| Classes::new(chain).kept.len()).collect();
        assert_eq!(got, want);
    }

    /// Rows of the kernel's table for 8 frames: the largest length of a class, its size, frames and
    /// objects. From the next byte on it is another class.
    #[test]
    fn rows_of_the_table() {
        let classes = Classes::new(CHAIN_SIZE);
        let rows: [(u32, u16, u8, u16); 12] = [
            (24, 32, 1, 128),
            (504, 512, 1, 8),
            (1016, 1024, 1, 4),
            (1352, 1360, 1, 3),
            (1416, 1424, 8, 23),
            (1528, 1536, 3, 8),
            (1672, 1680, 7, 17),
            (2040, 2048, 1, 2),
            (2168, 2176, 8, 15),
            (2712, 2720, 2, 3),
            (3064, 3072, 3, 4),
            (3624, 3632, 8, 9),
        ];
        for (length, size, frames, objects) in rows {
            let class = classes.kept[classes.of(length)];
            assert_eq!(class, SizeClass { size, frames, objects }, "{length}");
            assert_eq!(classes.of(length + 1), classes.of(length) + 1, "{length}");
        }
        let huge = SizeClass { size: 4096, frames: 1, objects: 1 };
        for length in [crate::backing::zsmalloc::HUGE.into(), 4096] {
            assert_eq!(classes.kept[classes.of(length)], huge, "{length}");
        }
        assert_eq!(classes.of(1), 0);
    }
}
