//! `fragment`: keys that bring free memory into a state.

use std::path::PathBuf;
use std::sync::Arc;

use mmsim_core::base::settings::Formed as _;
use mmsim_core::base::time::SimDuration;
use mmsim_core::memory::Layout;
use mmsim_core::phys::gfp::GfpFlags;
use mmsim_workload::generators::{
    Figure, FragmentConfig, FragmentTask, Gfp, KeepLaw, Retry, Target, check_request,
    flags_of_request,
};

use super::key;
use super::laws::TIMES;
use super::settings::placed;
use super::tasks::TASK;
use crate::scenario::fields::{TaskCx, file, within};
use crate::scenario::keys::{Fallback, Kind, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Words, names_of, rows, words};
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Count, File, Size, Table, Time};

/// Permissions of a request, by `gfp` and `retry`.
fn gfp(r: &Reader<'_>) -> Result<GfpFlags, Error> {
    let (gfp, retry) = (r.word("gfp", &GFP)?, r.word("retry", &RETRY)?);
    check_request(gfp, retry).map_err(|misfit| placed(r, misfit))?;
    Ok(flags_of_request(gfp, retry))
}

/// Permissions of a request for memory of the kernel.
const GFP: Words<Gfp> = Words { names: names_of(Gfp::FORM), values: Gfp::ALL };

/// Effort of such a request.
const RETRY: Words<Retry> = Words { names: names_of(Retry::FORM), values: Retry::ALL };

/// The laws by their names, each with the length of a run.
const KEEP_LAWS: Words<fn(u32) -> KeepLaw> = words! {
    "uniform" => |_| KeepLaw::Uniform,
    "rotate" => |_| KeepLaw::Rotate,
    "fixed" => KeepLaw::Fixed,
    "geometric" => KeepLaw::Geometric,
};

/// Number of pages, of 1000 taken, that stay where only a target is given: enough of both kinds to
/// exchange.
const KEPT_FOR_TARGET: u32 = 500;

rows! {
    /// `fragment`.
    FRAGMENT: TASK,
    "workload = \"fragment\"",
    "A fragmentation machine. It takes memory page by page on behalf of the kernel until there is none. It keeps part of the memory where a law says, and frees the rest. What it keeps is neither reclaimed nor moved, and outlives the process; what all of them keep has to fit into memory.";
    check kinds_and_churn;
    fn fragment(r, _task: &TaskCx<'_>) -> FragmentConfig {
        loaded: {r.has("load"); ("load", File, Auto("it takes memory"),
            "a file of `--emit layout`: memory begins like that, and the task holds what was held; only `target`, `churn` and `age` go on from there")};
        take: ("memory", Size(1), Auto("all"), "what it takes at most");
        movable_permille: ("movable-permille", Count(0, 1000), Is("0"),
            "pages, of 1000, that are requested as movable memory; the rest is unmovable");
        reclaimable_permille: ("reclaimable-permille", Count(0, 1000), Is("0"),
            "pages, of 1000, that are requested as reclaimable memory");
        cluster: ("cluster", Count(1, U32), Is("1"), "pages of one kind that are taken in a row");
        reclaimable_cluster: {
            r.get::<Option<u32>>("reclaimable-cluster")?.map_or_else(|| r.get("cluster"), Ok)?;
            ("reclaimable-cluster", Count(1, U32), Auto("`cluster`"),
                "the same of reclaimable pages; shares of kinds stay what they are")};
        flags: {gfp(r)?;
            ("gfp", one of GFP, Is("\"user\""), "what a request may do: `GFP_` in lower case"),
            ("retry", one of RETRY, Is("\"noretry\""), "how hard it tries: `__GFP_` in lower case")};
        failures: ("failures", Count(1, 1000), Is("3"), "failures after which it takes no more");
        pause: ("pause", TIMES, Is("\"5s\""), "sleep after a failure");
        keep_permille: {kept(r)?; ("keep-permille", Count(0, 1000),
            Auto("required; with `target` 500; nothing with `load`"),
            "pages, of 1000 taken, that stay")};
        law: {law(r)?;
            ("law", one of KEEP_LAWS, Is("\"uniform\""),
                "which: any; those that a list leaves that is turned by 0 to 511 entries before each one is freed; runs of frames in address order, of a fixed length or of geometric ones"),
            ("run", Count(1, U32), Is("1"), "frames of a run, on average if they differ")};
        target: {within(r, "target", &FRAGMENT_TARGET, |t| fragment_target(t, ()))?; ("target", Table(&FRAGMENT_TARGET), Auto("the share alone decides"),
            "a figure of fragmentation that it brings about by exchanging pages, and holds while memory ages")};
        release: ("release", Size(0), Is("\"0 pages\""),
            "a random part of what it frees that is freed first, for others to take");
        settle: ("settle", TIMES, Is("\"0ns\""), "sleep between that part and the rest");
        churn: ("churn", Count(0, U32), Is("0"), "pages freed and taken again in a second");
        age: ("age", Time, Is("\"0ns\""), "for how long");
    }
}

fn law(r: &Reader<'_>) -> Result<KeepLaw, Error> {
    let run = r.get("run")?;
    let law = r.word("law", &KEEP_LAWS)?(run);
    if run != 1 && matches!(law, KeepLaw::Uniform | KeepLaw::Rotate) {
        let found = format!("{run} frames in a law without runs");
        return Err(r.error("run", found, "`law = \"fixed\"` or \"geometric\", or no `run`"));
    }
    Ok(law)
}

fn kept(r: &Reader<'_>) -> Result<u32, Error> {
    match r.get("keep-permille")? {
        Some(share) => Ok(share),
        None if r.has("load") || r.has("target") => Ok(KEPT_FOR_TARGET),
        None => r.get("keep-permille"),
    }
}

fn kinds_and_churn(r: &Reader<'_>, c: &FragmentConfig) -> Result<(), Error> {
    let (movable, reclaimable) = (c.movable_permille, c.reclaimable_permille);
    if movable + reclaimable > 1000 {
        let found =
            format!("{reclaimable} with movable-permille = {movable} are more than all pages");
        let write = format!("at most {}", 1000 - movable);
        return Err(r.error("reclaimable-permille", found, write));
    }
    if c.churn > 0 && c.age == SimDuration::ZERO {
        return Err(r.error("churn", "churn that lasts no time", "`age` too, such as \"10s\""));
    }
    Ok(())
}

/// Work of a fragmenter, and the layout that it begins with.
pub(in crate::scenario) fn fragmenter(
    r: &Reader<'_>,
    task: &TaskCx<'_>,
) -> Result<FragmentTask, Error> {
    let config = fragment(r, task)?;
    Ok(FragmentTask { load: layout(r, task)?, config })
}

/// A layout to begin with. What would have made one contradicts it.
fn layout(r: &Reader<'_>, task: &TaskCx<'_>) -> Result<Option<(PathBuf, Arc<Layout>)>, Error> {
    if !r.has("load") {
        return Ok(None);
    }
    for key in ["keep-permille", "memory"] {
        r.at_most_one("load", key)?;
    }
    if r.get::<u32>("processes")? > 1 {
        return Err(r.error("processes", "several that would hold the same pages", "1"));
    }
    let path = file(r, "load", task.dir)?;
    let layout = mmsim_base::layout::load(&path)?;
    Ok(Some((path, Arc::new(layout))))
}

rows! {
    /// `target` of `fragment`.
    FRAGMENT_TARGET,
    "target of workload = \"fragment\"",
    "A figure of all free memory, in thousandths: `target = { order = 9, unusable = 800 }`. Give `unusable` or `index`. If it is out of reach, the task goes back to the closest state that it saw, and the report says which. `mmsim run` then ends with exit code 1.";
    fn fragment_target(r, _cx: ()) -> Target {
        order: ("order", Count(1, 10), Required, "log2 of the pages of the block in question");
        figure: {figure(r)?.0;
            ("unusable", Count(0, 1000), Auto("`index` decides"),
                "the share of free memory that such a block cannot use (`extfrag/unusable_index`)"),
            ("index", Count(0, 1000), Auto("`unusable` decides"),
                "why a request for one would fail: towards 0 lack of memory, towards 1000 fragmentation (`extfrag/extfrag_index`)")};
        permille: {figure(r)?.1};
        tolerance: ("tolerance", Count(0, 1000), Is("10"), "how far from it is close enough");
        patience: ("patience", Count(1, 100_000), Is("64"),
            "looks without a closer value after which it is out of reach");
    }
}

fn figure(r: &Reader<'_>) -> Result<(Figure, u32), Error> {
    r.one_of("unusable", "index")?;
    Ok(match r.get("index")? {
        Some(permille) => (Figure::Index, permille),
        None => (Figure::Unusable, r.get("unusable")?),
    })
}
