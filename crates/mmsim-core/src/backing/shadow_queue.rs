//! Tree nodes that hold only shadows, oldest first: the kernel's list of them.
//!
//! A node is on the list while all its entries are shadows, and at the end whenever that begins
//! anew. It leaves it at any time, when a page comes back or the last shadow goes; here it just
//! stays in the queue then, and its owner knows by the time in it that it does not count any more.
//! Such leftovers are swept out when they are many.

use std::collections::VecDeque;

/// When a node became one of shadows only. Times are unique in a machine.
pub(crate) type Since = u64;

/// Nodes by the time at which they became nodes of shadows only.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShadowQueue(VecDeque<(Since, u32)>);

impl ShadowQueue {
    /// A node holds only shadows from now on, which is later than all before.
    #[inline]
    pub(crate) fn push(&mut self, since: Since, node: u32) {
        debug_assert!(self.0.back().is_none_or(|b| b.0 < since), "node {node} out of order");
        match self.0.back_mut() {
            Some(back) if back.1 == node => back.0 = since,
            _ => self.0.push_back((since, node)),
        }
    }

    /// True if leftovers are more than the `nodes` that count, so that a sweep pays.
    #[inline]
    pub(crate) fn is_littered(&self, nodes: u64) -> bool {
        self.0.len() as u64 > 2 * nodes + 256
    }

    /// Keeps what counts: what `counts` says of a node and its time.
    #[cold]
    #[inline(never)]
    pub(crate) fn sweep(&mut self, counts: impl Fn(Since, u32) -> bool) {
        self.0.retain(|&(since, node)| counts(since, node));
    }

    /// The oldest that counts; what does not count before it is swept out.
    pub(crate) fn oldest(&mut self, counts: impl Fn(Since, u32) -> bool) -> Option<(Since, u32)> {
        while let Some(&(since, node)) = self.0.front() {
            if counts(since, node) {
                return Some((since, node));
            }
            self.0.pop_front();
        }
        None
    }

    /// All of them, leftovers too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Since, u32)> {
        self.0.iter().copied()
    }
}
