//! The blocks that a thread holds on behalf of the kernel, by their handles.
//!
//! Workloads count their handles up, so these are a table in parts that exist while something
//! of them is held.

use crate::base::id::Pfn;
use crate::workload::BlockHandle;

/// Handles of a part.
const PART: usize = 256;

/// First frame and order of a block.
type Block = (Pfn, u8);

struct Part {
    held: usize,
    blocks: [Option<Block>; PART],
}

/// Blocks by handle.
#[derive(Default)]
pub(super) struct Blocks {
    parts: Vec<Option<Box<Part>>>,
}

impl Blocks {
    /// The block of a handle.
    pub(super) fn get(&self, handle: BlockHandle) -> Option<Block> {
        let i = handle.0 as usize;
        self.parts.get(i / PART)?.as_ref()?.blocks[i % PART]
    }

    /// Holds a block by a handle.
    ///
    /// # Panics
    /// If one is held by that already.
    pub(super) fn insert(&mut self, handle: BlockHandle, block: Block) {
        let i = handle.0 as usize;
        if self.parts.len() <= i / PART {
            self.parts.resize_with(i / PART + 1, || None);
        }
        let part = self.parts[i / PART]
            .get_or_insert_with(|| Box::new(Part { held: 0, blocks: [None; PART] }));
        let slot = &mut part.blocks[i % PART];
        assert!(slot.is_none(), "{handle:?} is held already");
        *slot = Some(block);
        part.held += 1;
    }

    /// Gives up what is held by a handle, if anything is.
    pub(super) fn remove(&mut self, handle: BlockHandle) -> Option<Block> {
        let i = handle.0 as usize;
        let place = self.parts.get_mut(i / PART)?;
        let part = place.as_mut()?;
        let block = part.blocks[i % PART].take()?;
        part.held -= 1;
        if part.held == 0 {
            *place = None;
        }
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    proptest! {
        /// As a map, whatever is held and given up.
        #[test]
        fn as_a_map(steps in prop::collection::vec((0..700u32, any::<bool>()), 0..400)) {
            let (mut blocks, mut map) = (Blocks::default(), BTreeMap::new());
            for (i, (handle, take)) in steps.into_iter().enumerate() {
                let handle = BlockHandle(handle);
                let block = (Pfn(i as u32), (i % 11) as u8);
                prop_assert_eq!(blocks.get(handle), map.get(&handle).copied());
                if !take {
                    prop_assert_eq!(blocks.remove(handle), map.remove(&handle));
                } else if let Entry::Vacant(entry) = map.entry(handle) {
                    entry.insert(block);
                    blocks.insert(handle, block);
                }
            }
            let parts = blocks.parts.iter().flatten();
            prop_assert_eq!(parts.map(|p| p.held).sum::<usize>(), map.len());
        }
    }
}
