//! The mappings of a folio, in order of mapping.

use super::{Page, Pte};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Maps(Vec<(Page, Pte)>);

impl Maps {
    /// The mapping at a virtual page, which is made if there is none.
    pub(crate) fn at(&mut self, at: Page) -> &mut Pte {
        if !self.contains(at) {
            self.0.push((at, Pte::default()));
        }
        self.get_mut(at).unwrap()
    }
    pub(crate) fn get_mut(&mut self, at: Page) -> Option<&mut Pte> {
        self.0.iter_mut().find(|m| m.0 == at).map(|m| &mut m.1)
    }
    pub(crate) fn contains(&self, at: Page) -> bool {
        self.0.iter().any(|m| m.0 == at)
    }
    pub(crate) fn remove(&mut self, at: Page) -> Option<Pte> {
        let i = self.0.iter().position(|m| m.0 == at)?;
        Some(self.0.remove(i).1)
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Page, Pte)> {
        self.0.iter()
    }
    pub(crate) fn ptes_mut(&mut self) -> impl Iterator<Item = &mut Pte> {
        self.0.iter_mut().map(|m| &mut m.1)
    }
    pub(crate) fn any(&self, is: impl Fn(&Pte) -> bool) -> bool {
        self.0.iter().any(|m| is(&m.1))
    }
    pub(crate) fn nr(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
