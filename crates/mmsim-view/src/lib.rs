//! Pictures of results. Reports go in, text and bytes come out: nothing here opens a file, prints,
//! asks a clock or draws a random number, so equal runs give equal pictures.
//!
//! - [`glossary`]: what each figure counts, for the terminal and the page
//! - [`rows`]: the rows of the table of variants, which the terminal and the page share
//! - [`table`]: tables of reports and of sweeps as text
//! - [`settings`]: a row for each setting of a sweep, and two axes against each other
//! - [`series`], [`generations`], [`pages`], [`film`]: what is kept of a run while it goes on, for
//!   charts; [`keep`] keeps all of it
//! - [`damon`]: what monitors of accesses recorded, beside the truth
//! - [`sparks`]: the same as a line of characters
//! - [`figure`]: figures in pictures and tables: names, means, and parts of drawings
//! - [`chart`]: one figure of all variants as SVG
//! - [`curve`]: one figure over an axis as SVG, with the optimum
//! - [`over`]: what such a curve shows, in sentences
//! - [`axis`]: values of an axis as places on a scale
//! - [`time_line`]: one run over time as SVG
//! - [`heat`]: a record of DAMON as PNG and SVG
//! - [`folded`]: causes of refaults as folded stacks
//! - [`validation`]: recorded beside simulated as SVG
//! - [`page`]: one HTML file with all of it
//! - [`perfetto`]: events of a run as a trace that Perfetto opens

pub mod glossary;

pub mod rows;

pub mod table;

pub mod settings;

pub mod series;

pub mod keep;

pub mod sparks;

pub mod generations;

pub mod pages;

pub mod heat;

pub mod folded;

pub mod validation;

pub mod film;

pub mod damon;

pub mod figure;

pub mod curve;

pub mod over;

pub mod chart;

pub mod axis;

pub mod time_line;

pub mod page;

pub mod perfetto;
