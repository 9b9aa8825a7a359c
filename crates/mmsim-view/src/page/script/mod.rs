//! The script of the page: its files one behind the other, as they are listed and within one
//! function, so that what one of them declares the others have.

/// A part of a page that not every page has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Views of any run.
    Runs,
    /// A figure over one axis or two.
    Curve,
    /// Evictions over pages and time.
    Pages,
    /// Classes of refaults.
    Why,
    /// Pageblocks over time.
    Film,
    /// Views of monitors.
    Damon,
    /// Settings of a sweep.
    Settings,
    /// Recorded beside simulated.
    Validation,
}

/// The files, in their order: helpers, views, and the page that shows them. A file of a part is only
/// in pages that have it.
const FILES: &[(Option<Part>, &str)] = &[
    (None, include_str!("base.js")),
    (None, include_str!("canvas.js")),
    (Some(Part::Runs), include_str!("state.js")),
    (Some(Part::Runs), include_str!("charts.js")),
    (Some(Part::Runs), include_str!("said.js")),
    (Some(Part::Damon), include_str!("damon.js")),
    (Some(Part::Curve), include_str!("curve.js")),
    (Some(Part::Settings), include_str!("settings.js")),
    (Some(Part::Runs), include_str!("variants.js")),
    (Some(Part::Runs), include_str!("time_line.js")),
    (Some(Part::Runs), include_str!("lists.js")),
    (Some(Part::Pages), include_str!("pages.js")),
    (Some(Part::Why), include_str!("why.js")),
    (Some(Part::Film), include_str!("film.js")),
    (Some(Part::Validation), include_str!("validation.js")),
    (Some(Part::Runs), include_str!("counters.js")),
    (None, include_str!("page.js")),
];

/// The script of a page of these parts.
pub(super) fn script(parts: &[Part]) -> String {
    let wanted = FILES.iter().filter(|(part, _)| part.is_none_or(|part| parts.contains(&part)));
    wanted.map(|f| f.1).collect()
}
