//! Summary of an import, in words.

use std::fmt;

/// Summary of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportSummary {
    /// The format.
    pub format: String,
    /// Lines or binary records read.
    pub lines: u64,
    /// Accesses in the input, counted by page.
    pub accesses_read: u64,
    /// Pages touched by the records of the trace, counted each time.
    pub accesses_kept: u64,
    /// Records of the trace.
    pub records: u64,
    /// Processes.
    pub processes: usize,
    /// Regions.
    pub regions: usize,
    /// Distinct pages.
    pub distinct_pages: u64,
    /// Assumptions, a sentence each; also stored in the trace.
    pub assumptions: Vec<String>,
}

impl fmt::Display for ImportSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "read      {} records of {}", self.lines, self.format)?;
        writeln!(f, "accesses  {} read, {} kept", self.accesses_read, self.accesses_kept)?;
        writeln!(f, "records   {}", self.records)?;
        writeln!(f, "processes {}, regions {}", self.processes, self.regions)?;
        writeln!(f, "pages     {} distinct", self.distinct_pages)?;
        writeln!(f, "assumed:")?;
        for a in &self.assumptions {
            writeln!(f, "  - {a}")?;
        }
        Ok(())
    }
}
