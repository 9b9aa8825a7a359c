//! Operations drawn at random.

use super::{KernelModel, Outcome, Page, PageId, Pass};

/// One call, with pages named by their place among those that qualify, so that any number means
/// something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    NewAnon,
    NewFile,
    Refault(usize),
    Touch(usize),
    Map { nth: usize, exec: bool },
    Unmap(usize),
    MarkAccessed(usize),
    Dirty(usize),
    Clean(usize),
    Deactivate(usize),
    Write(usize),
    FreeLazily(usize),
    PageOut { nth: usize, ignore_references: bool },
    Free(usize),
    AgeNode,
    FinishRun,
    Shrink(Pass),
}

impl KernelModel {
    /// The page that an operation means, if any qualifies. `next` is the id of a new page.
    pub(crate) fn subject(&self, op: Op, next: PageId) -> Option<PageId> {
        let pick = |nth: usize, ids: Vec<PageId>| (!ids.is_empty()).then(|| ids[nth % ids.len()]);
        let resident = |nth, accept: fn(&Page) -> bool| {
            let ids = self.pages.iter().filter(|(_, p)| accept(p)).map(|(id, _)| *id);
            pick(nth, ids.collect())
        };
        match op {
            Op::NewAnon | Op::NewFile => Some(next),
            Op::Refault(nth) => pick(nth, self.evicted()),
            Op::Touch(nth) => resident(nth, |p| p.mapped),
            Op::Map { nth, .. } => resident(nth, |p| p.file && !p.mapped),
            Op::Unmap(nth) => resident(nth, |p| p.file && p.mapped),
            Op::Dirty(nth) => resident(nth, |p| p.file),
            Op::Clean(nth) => resident(nth, |p| p.file && p.dirty),
            Op::MarkAccessed(nth) | Op::Deactivate(nth) => resident(nth, |_| true),
            Op::Write(nth) => resident(nth, |p| !p.file && p.mapped),
            Op::FreeLazily(nth) => {
                let resident = self.pages.iter().filter(|(_, p)| !p.file).map(|(id, _)| *id);
                let out = self.out.iter().filter(|(_, file)| !**file).map(|(id, _)| *id);
                pick(nth, resident.chain(out).collect())
            }
            Op::PageOut { nth, .. } => resident(nth, |_| true),
            Op::Free(nth) => pick(nth, [self.resident(), self.evicted()].concat()),
            Op::AgeNode | Op::FinishRun | Op::Shrink(_) => None,
        }
    }

    /// Applies an operation to its [`Self::subject`]; an operation that has none does nothing.
    pub(crate) fn apply(&mut self, op: Op, subject: Option<PageId>) -> Outcome {
        match (op, subject) {
            (Op::AgeNode, _) => self.age_node(),
            (Op::FinishRun, _) => self.finish_run(),
            (Op::Shrink(pass), _) => return self.shrink_node(pass),
            (_, None) => {}
            (Op::NewAnon, Some(id)) => self.add_new_anon(id),
            (Op::NewFile, Some(id)) => self.add_new_file(id),
            (Op::Refault(_), Some(id)) => self.refault(id),
            (Op::Touch(_), Some(id)) => self.touch(id),
            (Op::Map { exec, .. }, Some(id)) => self.map(id, exec),
            (Op::Unmap(_), Some(id)) => self.unmap(id),
            (Op::MarkAccessed(_), Some(id)) => self.mark_accessed(id),
            (Op::Dirty(_), Some(id)) => self.dirty(id),
            (Op::Clean(_), Some(id)) => self.clean(id),
            (Op::Deactivate(_), Some(id)) => self.deactivate(id),
            (Op::Write(_), Some(id)) => self.write(id),
            (Op::FreeLazily(_), Some(id)) => self.free_lazily(id),
            (Op::PageOut { ignore_references, .. }, Some(id)) => {
                let evicted = self.page_out(id, ignore_references).into_iter().collect();
                return Outcome { evicted, ..Outcome::default() };
            }
            (Op::Free(_), Some(id)) => self.free(id),
        }
        Outcome::default()
    }
}
