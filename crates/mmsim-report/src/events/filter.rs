//! Which events are written, as `--events-filter` says it.

use mmsim_core::base::id::ThreadId;
use mmsim_core::memory::trace::{TraceKind, TraceKinds};
use mmsim_workload::events::{EVENTS, EventKind, Wanted, kind_of};

/// Which events are written. Conditions of one kind are alternatives, conditions of
/// different kinds must all hold; an event that has no thread (no page) does not meet a
/// condition on threads (pages).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EventFilter {
    /// Names of events; empty: all.
    pub kinds: Vec<String>,
    /// Tasks, as the scenario names them, or threads by number; empty: all.
    pub tasks: Vec<String>,
    /// First and last page; `None`: all.
    pub pages: Option<(u32, u32)>,
}

/// Error in the text of an [`EventFilter`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A clause is no pair.
    #[error("`{0}` has no `=`, write `kind=..`, `task=..` or `pages=a-b`")]
    NoPair(String),
    /// There is no such event; the nearest name, if one is near.
    #[error("there is no event `{0}`{near}", near = did_you_mean(*.1))]
    NoEvent(String, Option<&'static str>),
    /// Not a range of pages.
    #[error("`{0}` is not a range of pages, write `pages=0-511`")]
    NoRange(String),
    /// No such key.
    #[error("`{0}` is not one of `kind`, `task`, `pages`")]
    NoKey(String),
}

impl EventFilter {
    /// The events that it lets pass, in a run whose tasks have these threads.
    pub(super) fn wanted(&self, threads_of: impl Fn(&str) -> Vec<ThreadId>) -> Wanted {
        let kinds: Vec<TraceKind> = self.kinds.iter().filter_map(|name| kind_of(name)).collect();
        let all = self.kinds.is_empty();
        let threads = || self.tasks.iter().flat_map(|task| threads_of(task)).collect();
        Wanted {
            kinds: if all { TraceKinds::ALL } else { TraceKinds::of(&kinds) },
            threads: (!self.tasks.is_empty()).then(threads),
            pages: self.pages,
        }
    }

    /// Reads `kind=sim_evict,kind=sim_refault,task=ebizzy,pages=0-511`.
    ///
    /// # Errors
    ///
    /// The first clause that means nothing.
    pub fn parse(text: &str) -> Result<EventFilter, FilterError> {
        let mut filter = EventFilter::default();
        for clause in text.split(',').filter(|c| !c.is_empty()) {
            let (key, value) =
                clause.split_once('=').ok_or_else(|| FilterError::NoPair(clause.into()))?;
            match key {
                "kind" => {
                    if !EVENTS.iter().any(|e| e.name == value) {
                        return Err(FilterError::NoEvent(value.into(), nearest(value)));
                    }
                    filter.kinds.push(value.to_string());
                }
                "task" => filter.tasks.push(value.to_string()),
                "pages" => filter.pages = Some(parse_pages(value)?),
                _ => return Err(FilterError::NoKey(key.into())),
            }
        }
        Ok(filter)
    }
}

/// The event whose name is near, if one is.
fn nearest(name: &str) -> Option<&'static str> {
    let distance = |e: &EventKind| strsim::damerau_levenshtein(name, e.name);
    let nearest = EVENTS.iter().min_by_key(|e| distance(e))?;
    (distance(nearest) <= 5).then_some(nearest.name)
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!(", did you mean `{name}`?"))
}

fn parse_pages(text: &str) -> Result<(u32, u32), FilterError> {
    let wrong = || FilterError::NoRange(text.into());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: u32 = first.parse().map_err(|_| wrong())?;
    let last: u32 = last.parse().map_err(|_| wrong())?;
    if first > last { Err(wrong()) } else { Ok((first, last)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_says_what_to_write() {
        let error = |text: &str| EventFilter::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("kind=sim_evicted"),
            "there is no event `sim_evicted`, did you mean `sim_evict`?"
        );
        assert_eq!(error("pages=9-3"), "`9-3` is not a range of pages, write `pages=0-511`");
        assert_eq!(error("thread=1"), "`thread` is not one of `kind`, `task`, `pages`");
        assert!(error("sim_evict").contains("has no `=`"));
    }
}
