//! Reports: what a run measured, as a document that can be written, read back and
//! compared.
//!
//! Read in the order of the modules. A [`Report`] holds runs as they were, in whole numbers and
//! without any wall-clock value, so that equal runs are equal bytes. Everything computed from them
//! (figures, changes, intervals, the sentences on significant differences) is computed anew from
//! the document, and so works the same for a report that was read from a file. [`compare`] holds
//! two of them against each other. [`opt`] is the bound below all policies. Nothing here prints or
//! opens a file: [`events`] and [`series`] write to what they are given, [`proc`] makes texts.

mod pairs;

mod counters;

mod document;

mod csv;

pub mod acts;
pub mod cells;

pub mod groups;

pub mod blocks;

pub mod derived;

pub mod path;

mod scope;

pub mod numbers;

pub mod statistics;

pub mod closing;

pub mod claim;

pub mod expect;
pub mod explained;

mod notes;

pub mod nearness;

pub mod opt;

pub mod events;

pub mod series;

pub mod proc;

pub mod compare;

mod reading;

mod replayed;

#[cfg(test)]
pub(crate) mod samples;

pub use self::csv::{CSV_HEADER, Rows, Spreadsheet, for_spreadsheets, or_empty};
pub use document::{
    AbsentReport, ActReport, AimReport, BelowUseReport, Bounds, CacheExtReport, ClassReport,
    DaemonReport, DamonReport, DamonStatReport, DiskReport, Ending, ExpectReport, GenerationReport,
    KnobValue, LatencyReport, Monitored, OomProcess, OomReport, PhaseReport, PressureReport,
    QuantilesReport, ReadingReport, RecordReport, Report, ReportError, RunMeta, RunReport, SCHEMA,
    SchemeReport, ShareReport, StuckReport, StuckThread, SwapDeviceReport, SwapOutReport,
    SwapReport, TaskReport, ThreadReport, Throughput, TroubleClass, TroubleReport, TruthReport,
    WhyExample, WhyReport, ZoneReport, json_schema,
};
pub use expect::Expectation;
pub use notes::Swept;
pub use pairs::Pairs;
pub use replayed::ReplayReport;
