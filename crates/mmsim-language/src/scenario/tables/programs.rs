//! Workloads that behave as a kind of program: builds, apps, a database that reads.

use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_workload::generators::{
    Amount, AppsConfig, BuildConfig, ItemChoice, LaunchOrder, PRESSURE_WINDOW, ReaderConfig,
    ReuseOrder,
};
use mmsim_workload::law::Varying;

use super::key;
use super::laws::{TIMES, counts, sizes};
use super::tasks::{ARRIVAL, TASK, WINDOWS, until};
use crate::scenario::fields::{TaskCx, between, end, out_of_order};
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Field, Words, rows, words};
use crate::scenario::since::{of_advice, since};
use crate::scenario::units::show_pages;
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Count, Number, Size, Time};

rows! {
    /// `build`.
    BUILD: TASK,
    "workload = \"build\"",
    "Compilations, one after the other in each of `threads` workers (`make -j`). Each touches the compiler's text, reads a source and headers, and allocates anonymous memory in bursts and goes over it. It writes an object and exits, which is a record. One draw places a compilation between the bounds of memory, time and object; what has a law of its own is drawn by that. Give `records` or `duration`.";
    check files_of_build;
    fn build(r, task: &TaskCx<'_>) -> BuildConfig {
        name: {task.name.to_string()};
        threads: {task.threads};
        end: {end(r, "records")?; ..until!("records", "compilations of all workers together")};
        windows: [WINDOWS];
        text: ("text", Size(0), Is("\"20MiB\""),
            "the part of the compiler's text that a compilation uses, mapped executable; `0 pages`: none");
        headers: ("headers", Count(1, 16_000), Is("4000"), "header files that all share");
        header_pages: ("header", Size(1), Is("\"8KiB\""), "size of each");
        header_reads: ("header-reads", Count(0, 100_000), Is("500"),
            "headers that a compilation draws; what it drew before it does not read again");
        header_theta: ("header-zipf", Number(0.0, 10.0), Is("1.0"),
            "exponent of the law by which they are drawn: 0 is uniform");
        sources: ("sources", Count(1, 16_000), Is("3000"),
            "source files, each with an object; after the last one the first is compiled again");
        source_pages: ("source", Size(1), Is("\"20KiB\""), "size of each");
        anon: {amount(r, "anon", ("anon-min", "anon-max"), show)?;
            ("anon-min", Size(1), Is("\"20MiB\""), "anonymous memory of the smallest compilation"),
            ("anon-max", Size(1), Is("\"60MiB\""), "anonymous memory of the largest one"),
            ("anon", sizes(1), Auto("`anon-min` to `anon-max`"),
                "instead of these: anonymous memory of each compilation")};
        bursts: ("bursts", Count(1, 1000), Is("8"), "parts in which it is allocated");
        passes: ("passes", Count(0, 1000), Is("1"),
            "after each part, the number of times that all of it so far is read, and the text \
             touched");
        compute: {amount(r, "compute", ("compute-min", "compute-max"), |time: SimDuration| time)?;
            ("compute-min", Time, Is("\"300ms\""),
                "computing of the smallest compilation, spread over parts and passes"),
            ("compute-max", Time, Is("\"1300ms\""), "computing of the largest one"),
            ("compute", TIMES, Auto("`compute-min` to `compute-max`"),
                "instead of these: computing of each compilation")};
        object: {amount(r, "object", ("object-min", "object-max"), show)?;
            ("object-min", Size(1), Is("\"20KiB\""), "object file of the smallest compilation"),
            ("object-max", Size(1), Is("\"140KiB\""), "object file of the largest one"),
            ("object", sizes(1), Auto("`object-min` to `object-max`"),
                "instead of these: object file of each compilation; a law needs `max`, for which \
                 files are laid out")};
        link_every: ("link-every", Count(0, 1000), Is("12"),
            "number of objects after which a worker reads them back and writes an archive of the \
             same size; 0 is never");
        unmovable: ("unmovable", Count(0, 1_000_000), Is("200"),
            "single unmovable frames of the kernel that a compilation holds");
        reclaimable: ("reclaimable", Count(0, 1_000_000), Is("200"), "reclaimable ones");
    }
}

/// Amount that compilations take: between two bounds, or one value.
fn amount<T, S: std::fmt::Display>(
    r: &Reader<'_>,
    own: &str,
    (low, high): (&str, &str),
    show: fn(T) -> S,
) -> Result<Amount, Error>
where
    T: Field + PartialOrd + Copy,
    Amount: From<(T, T)>,
{
    let Some(value) = r.get::<Option<Varying>>(own)? else {
        return Ok(between::<T, S>(r, low, high, show)?.into());
    };
    for bound in [low, high].into_iter().filter(|key| !r.is_default(key)) {
        r.at_most_one(own, bound)?;
    }
    Ok(Amount::Own(value))
}

fn show(pages: u32) -> String {
    show_pages(u64::from(pages))
}

/// All files of a build have to find room among the pages that a machine can number. The key
/// that asks for most of them is the mistake.
fn files_of_build(r: &Reader<'_>, b: &BuildConfig) -> Result<(), Error> {
    let archives = match b.link_every {
        0 => 0,
        n => u64::from(b.sources.div_ceil(n)) * u64::from(n),
    };
    let parts = [
        // The file, and at least one worker's mapping of it.
        ("text", 2 * u64::from(b.text)),
        ("header", u64::from(b.headers) * u64::from(b.header_pages)),
        ("source", u64::from(b.sources) * u64::from(b.source_pages)),
        (
            if r.has("object") { "object" } else { "object-max" },
            (u64::from(b.sources) + archives).saturating_mul(b.object.bounds().1),
        ),
    ];
    let all: u64 = parts.iter().map(|p| p.1).sum();
    match parts.iter().max_by_key(|p| p.1) {
        Some((key, _)) if all > U32 => {
            let found = format!("all files of the build are {}, too many", show_pages(all));
            let write = match b.object {
                Amount::Own(Varying::Drawn { .. }) if *key == "object" => {
                    "a smaller `max` of the law"
                }
                _ => "a smaller size",
            };
            Err(r.error(key, found, format!("{write}, or fewer files")))
        }
        _ => Ok(()),
    }
}

rows! {
    /// `apps`.
    APPS: TASK,
    "workload = \"apps\"",
    "Apps that are launched one after the other, as on a phone. A launch starts an app or brings a living one back to the front, and is a record. An app that starts touches mapped files, reads others, and fills a heap. Collections give parts of the heap back with `MADV_FREE`. Sizes are those of the middle app. Give `records` or `duration`.";
    check sizes_and_killer;
    fn apps(r, task: &TaskCx<'_>) -> AppsConfig {
        name: {task.name.to_string()};
        end: {end(r, "records")?; ..until!("records", "launches")};
        windows: [WINDOWS];
        apps: ("apps", Count(1, 32_767), Required, "how many apps there are");
        mapped: {size_of_app(r, "mapped")?; ("mapped", sizes(1), Required,
            "mapped files of an app; a law is of sizes of apps, each drawn once")};
        read: {size_of_app(r, "read")?; ("read", sizes(1), Required, "files that it reads through descriptors; the same")};
        heap: {size_of_app(r, "heap")?; ("heap", sizes(1), Required, "its heap; the same")};
        spread: ("spread", Number(1.0, 1000.0), Is("2.0"),
            "the largest app is this many times as large as the middle one, the smallest as many \
             times smaller; sizes with a law have no part in it");
        order: ("order", one of { "random" => LaunchOrder::Random, "fixed" => LaunchOrder::Fixed },
            Is("\"random\""), "order of the launches: every round over the apps anew, or by number");
        interval: {interval(r)?; ("interval", TIMES, Is("\"10s\""),
            "from one launch to the next; at least 100ms, and at least `launch`: what a law has below becomes that")};
        start: ("launch", Time, Is("\"6s\""), "a launch does its work over this time");
        cold: ("cold-permille", Count(0, 1000), Is("500"),
            "launches of a living app, of 1000, that kill it first");
        cached: {r.get::<Option<u32>>("cached")?.map_or_else(|| r.get("apps"), Ok)?;
            ("cached", Count(1, 32_767), Auto("all apps"),
                "apps alive at a time; beyond it the one launched longest ago is killed")};
        partial_stall: {stall(r, "psi-partial-stall", task.machine.kernel)?; ("psi-partial-stall", Time, Auto("no killer"),
            "time within a second in which some thread is stalled on memory, that kills the app in the background launched longest ago; from 1us to 1s. Android's `ro.lmk.psi_partial_stall_ms`: 70ms, with little memory 200ms")};
        complete_stall: {stall(r, "psi-complete-stall", task.machine.kernel)?; ("psi-complete-stall", Time, Auto("no killer"),
            "the same, in which all threads are. Android's `ro.lmk.psi_complete_stall_ms`: 700ms")};
        sequential: ("sequential-permille", Count(0, 1000), Is("700"),
            "touches of mapped files at a start that go in order; the others draw");
        theta: ("zipf", Number(0.0, 10.0), Is("0.8"),
            "exponent of the law by which pages of files are drawn");
        reread: ("reread-permille", Count(0, 1000), Is("200"),
            "pages of the files it reads that a start reads again, always the same ones");
        rereads: {between(r, "reread-min", "reread-max", |count| count)?;
            ("reread-min", Count(0, 1000), Is("1"), "how often again, at least"),
            ("reread-max", Count(0, 1000), Is("4"), "and at most")};
        collections: ("collections", Count(0, 100), Is("2"), "garbage collections during a start");
        free: {given_back(r, "free-permille", task.machine.kernel)?;
            ("free-permille", Count(0, 1000), Is("350"),
            "part of the heap dirtied so far that each gives back with `MADV_FREE` (from kernel 5.5 on)")};
        run: ("free-run", Size(1), Is("\"256KiB\""), "pages that are given back together");
        reuse: ("reuse-permille", Count(0, 1000), Is("250"),
            "part of what was given back that is dirtied again");
        reuse_order: ("reuse-order", one of {
                "random" => ReuseOrder::Random,
                "lifo" => ReuseOrder::Lifo,
                "fifo" => ReuseOrder::Fifo,
            }, Is("\"random\""), "which of it: any, what was given back last, or first");
        reuse_within: ("reuse-within", TIMES, Is("\"1s\""),
            "how soon; a law is drawn for each collection");
        resume: ("resume-permille", Count(0, 1000), Is("400"),
            "part of heap and mapped files that the launch of a living app touches");
        background: ("background", TIMES, Is("\"30s\""),
            "how long an app goes on behind the next ones; a law is drawn each time that it goes there");
        background_touch: ("background-permille", Count(0, 1000), Is("5"),
            "part of heap and files that it then touches in a second");
        trim_after: ("trim-after", TIMES, Is("\"10s\""),
            "when, after going there, it is trimmed; the same");
        trim: {given_back(r, "trim-permille", task.machine.kernel)?;
            ("trim-permille", Count(0, 1000), Is("200"),
            "part of its heap that trimming gives back; 0 is never")};
    }
}

/// The shortest time from one launch to the next.
const SHORTEST: SimDuration = SimDuration::from_millis(100);

/// From one launch to the next: never less than a launch takes.
fn interval(r: &Reader<'_>) -> Result<Varying, Error> {
    let (interval, start): (Varying, SimDuration) = (r.get("interval")?, r.get("launch")?);
    match interval {
        Varying::Always(time) => {
            let time = SimDuration::from_nanos(time);
            if start > time {
                return Err(out_of_order(r, ("launch", start), ("interval", time)));
            }
            if time < SHORTEST {
                let found = format!("{time} is too short");
                return Err(r.error("interval", found, "at least \"100ms\""));
            }
            Ok(interval)
        }
        Varying::Drawn { law, min, max } => {
            let least = start.max(SHORTEST);
            if max < least.as_nanos() {
                let (max, key) = (SimDuration::from_nanos(max), "interval");
                let found =
                    format!("no value of the law is more than {max}, and a launch takes {least}");
                return Err(r.error(key, found, "a larger `max`, or change `launch`"));
            }
            Ok(Varying::Drawn { law, min: min.max(least.as_nanos()), max })
        }
    }
}

/// A size of apps: none may be so large that all of them have no numbers together.
fn size_of_app(r: &Reader<'_>, key: &str) -> Result<Varying, Error> {
    let (size, apps, spread): (Varying, u32, f64) = (r.get(key)?, r.get("apps")?, r.get("spread")?);
    match size {
        Varying::Always(pages) => {
            // No size of an app is more than `spread` times this.
            if pages as f64 * spread * f64::from(apps) > U32 as f64 {
                let found = format!("{} for each of {apps} apps is too much", show_pages(pages));
                return Err(r.error(key, found, "a smaller size, or fewer apps"));
            }
            Ok(size)
        }
        Varying::Drawn { law, min, max } => {
            let most = U32 / u64::from(apps);
            if min > most {
                let least = show_pages(min);
                let found = format!("at least {least} for each of {apps} apps is too much");
                return Err(r.error(key, found, "a smaller `min`, or fewer apps"));
            }
            Ok(Varying::Drawn { law, min, max: max.min(most) })
        }
    }
}

/// A part of a heap that is given back with `MADV_FREE`, which has to be nothing where there is none.
fn given_back(r: &Reader<'_>, key: &str, kernel: Kernel) -> Result<u32, Error> {
    let part = r.get(key)?;
    if part > 0 {
        let free = of_advice("free").expect("it is of 4.5");
        // A default has no place of its own.
        let key = if r.is_default(key) { "workload" } else { key };
        let none = "free-permille = 0 and trim-permille = 0";
        free.check_or(r, key, kernel, "advice \"free\"", none)?;
    }
    Ok(part)
}

/// A threshold of the killer, which listens to pressure; 0 without one.
fn stall(r: &Reader<'_>, key: &str, kernel: Kernel) -> Result<SimDuration, Error> {
    let Some(stall) = r.get::<Option<SimDuration>>(key)? else { return Ok(SimDuration::ZERO) };
    since(Kernel::V5_5, "4.20").check(r, key, kernel, "pressure to listen to")?;
    if stall < SimDuration::from_micros(1) || stall > PRESSURE_WINDOW {
        let found = format!("{stall} within {PRESSURE_WINDOW} are no threshold");
        return Err(r.error(key, found, "a duration from \"1us\" to \"1s\", or leave it out"));
    }
    Ok(stall)
}

/// Laws or the spread set how sizes differ, and a killer needs an app to kill.
fn sizes_and_killer(r: &Reader<'_>, c: &AppsConfig) -> Result<(), Error> {
    for key in ["psi-partial-stall", "psi-complete-stall"] {
        if r.has(key) && c.cached.min(c.apps) == 1 {
            let by = if c.apps == 1 { "apps" } else { "cached" };
            let found = format!("with `{by} = 1` no app is in the background to be killed");
            return Err(r.error(key, found, format!("a larger `{by}`, or leave `{key}` out")));
        }
    }
    let drawn = |size: &Varying| matches!(size, Varying::Drawn { .. });
    if [c.mapped, c.read, c.heap].iter().all(drawn) && !r.is_default("spread") {
        let found = "laws say how sizes differ";
        return Err(r.error("spread", found, "no `spread`, or a size without a law"));
    }
    Ok(())
}

rows! {
    /// `reader`.
    READER: TASK,
    "workload = \"reader\"",
    "A database that only reads, through descriptors. Each of `threads` clients reads one item after the other, block by block, with pages of an index on the way. An item is a transaction, which is a record. Before, memory is filled with what is never used again. Give `records` or `duration`.";
    check items_and_index;
    fn reader(r, task: &TaskCx<'_>) -> ReaderConfig {
        name: {task.name.to_string()};
        clients: {task.threads};
        end: {end(r, "records")?; ..until!("records", "transactions of all clients together")};
        windows: [WINDOWS];
        items: ("items", Count(1, U32), Required, "items");
        item: {size_of_item(r)?;
            ("item", sizes(1), Required,
                "size of an item; a multiple of `block`. A law is of sizes of items, each in the nearest number of blocks; it needs `max`, for which the data is laid out")};
        block: ("block", Size(1), Is("\"32KiB\""),
            "what is read at a time; the blocks of an item lie scattered over the data");
        choice: {choice_of_items(r)?;
            ("choice", one of CHOICES, Is("\"zipf\""), "items by a zipf law, or in turn"),
            ("theta", Number(0.0, 10.0), Is("0.0"),
                "exponent of the law: 0 is uniform; an error with `cyclic`")};
        index: ("index", Size(0), Is("\"0 pages\""), "the index");
        index_reads: ("index-reads", counts(0, U32), Is("0"),
            "pages of it that a transaction reads, drawn uniformly");
        arrival: [ARRIVAL];
        stale: ("stale", Size(0), Is("\"0 pages\""),
            "a file that is read before the work begins and never again");
        stale_reads: {between(r, "stale-min", "stale-max", |count| count)?;
            ("stale-min", Count(1, 1000), Is("2"), "how often: the least-read parts of it"),
            ("stale-max", Count(1, 1000), Is("6"), "and the most-read ones")};
        idle: ("idle", Size(0), Is("\"0 pages\""),
            "anonymous memory that is written before the work begins and never used again");
    }
}

const CHOICES: Words<fn(f64) -> ItemChoice> =
    words! { "zipf" => ItemChoice::Zipf, "cyclic" => |_| ItemChoice::Cyclic };

fn choice_of_items(r: &Reader<'_>) -> Result<ItemChoice, Error> {
    let choice = r.word("choice", &CHOICES)?(r.get("theta")?);
    if choice == ItemChoice::Cyclic && !r.is_default("theta") {
        let found = "items that are taken in turn follow no law";
        return Err(r.error("theta", found, "choice = \"zipf\", or leave `theta` out"));
    }
    Ok(choice)
}

fn size_of_item(r: &Reader<'_>) -> Result<Varying, Error> {
    let (item, block): (Varying, u32) = (r.get("item")?, r.get("block")?);
    match item {
        Varying::Always(pages) if pages % u64::from(block) != 0 => {
            let (shown, block_shown) = (show_pages(pages), show(block));
            let found = format!("{shown} is not a whole number of blocks of {block_shown}");
            let up = pages.next_multiple_of(block.into());
            Err(r.error("item", found, format!("\"{}\"", show_pages(up))))
        }
        item => Ok(item),
    }
}

fn items_and_index(r: &Reader<'_>, c: &ReaderConfig) -> Result<(), Error> {
    let each = u64::from(c.most_blocks()) * u64::from(c.block);
    let data = u64::from(c.items).saturating_mul(each);
    if data > U32 {
        let shown = show_pages(data);
        if let Varying::Drawn { .. } = c.item {
            let found = format!("room for {} of the largest items is {shown}, too much", c.items);
            return Err(r.error("item", found, "a smaller `max` of the law, or fewer items"));
        }
        let found = format!("{} items are {shown}, too many", c.items);
        return Err(r.error("items", found, "fewer items, or smaller ones"));
    }
    if c.index == 0 && !c.index_reads.is_zero() {
        let found = match c.index_reads {
            Varying::Always(n) => format!("{n} reads of an index that is empty"),
            Varying::Drawn { .. } => "reads of an index that is empty".to_string(),
        };
        return Err(r.error("index-reads", found, "0, or give `index` a size"));
    }
    Ok(())
}
