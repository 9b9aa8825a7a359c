//! Calls about pages of files, and about locked memory.

use super::super::lines::Words;
use super::super::{Command, ScriptError};
use super::Parser;
use mmsim_core::workload::{FileAdvice, Uncached};

impl Parser {
    /// `direct`, `dontcache`, `fadvise`, `mlock` or `munlock`.
    pub(super) fn call(&self, name: &str, w: &mut Words<'_>) -> Result<Command, ScriptError> {
        Ok(match name {
            "direct" | "dontcache" => {
                let range = self.range(w.usage("direct|dontcache region first count"))?;
                let file = self.file_behind(range.region, w)?;
                let how = if name == "direct" { Uncached::Direct } else { Uncached::DontCache };
                Command::ReadUncached { file, first: range.first, count: range.count, how }
            }
            "fadvise" => {
                let usage =
                    "fadvise region first count normal|sequential|random|willneed|noreuse|dontneed";
                let range = self.range(w.usage(usage))?;
                let file = self.file_behind(range.region, w)?;
                let advice = match w.word("the advice")? {
                    "normal" => FileAdvice::Normal,
                    "sequential" => FileAdvice::Sequential,
                    "random" => FileAdvice::Random,
                    "willneed" => FileAdvice::WillNeed,
                    "noreuse" => FileAdvice::NoReuse,
                    "dontneed" => FileAdvice::DontNeed,
                    other => {
                        let known =
                            "write normal, sequential, random, willneed, noreuse or dontneed";
                        return Err(w.error(other, known));
                    }
                };
                Command::Fadvise { file, first: range.first, count: range.count, advice }
            }
            "mlock" => Command::Mlock(self.range(w.usage("mlock region first count"))?),
            _ => Command::Munlock(self.range(w.usage("munlock region first count"))?),
        })
    }
}
