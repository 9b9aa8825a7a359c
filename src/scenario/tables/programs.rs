//! Workloads that behave as a kind of program: builds, apps, a database that reads.

use mmsim_core::base::time::SimDuration;
use mmsim_workload::generators::{
    AppsConfig, BuildConfig, ItemChoice, LaunchOrder, ReaderConfig, ReuseOrder,
};
use mmsim_workload::law::Varying;

use super::key;
use super::laws::counts;
use super::tasks::{ARRIVAL, TASK, WINDOWS, until};
use crate::error::Error;
use crate::scenario::fields::{TaskCx, between, end, out_of_order};
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Words, rows, words};
use crate::scenario::units::show_pages;

use Fallback::{Auto, Is, Required};
use Kind::{Count, Number, Size, Time};

rows! {
    /// `build`.
    BUILD: TASK,
    "workload = \"build\"",
    "Compilations, one after the other in each of `threads` workers (`make -j`). Each touches the compiler's text, reads a source and headers, and allocates anonymous memory in bursts and goes over it. It writes an object and exits, which is a record. One draw places a compilation between the bounds of memory, time and object. Give `records` or `duration`.";
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
        anon: {between(r, "anon-min", "anon-max", show)?;
            ("anon-min", Size(1), Is("\"20MiB\""), "anonymous memory of the smallest compilation"),
            ("anon-max", Size(1), Is("\"60MiB\""), "anonymous memory of the largest one")};
        bursts: ("bursts", Count(1, 1000), Is("8"), "parts in which it is allocated");
        passes: ("passes", Count(0, 1000), Is("1"),
            "after each part all of it so far is read so many times, and the text touched");
        compute: {between(r, "compute-min", "compute-max", |time| time)?;
            ("compute-min", Time, Is("\"300ms\""),
                "computing of the smallest compilation, spread over parts and passes"),
            ("compute-max", Time, Is("\"1300ms\""), "computing of the largest one")};
        object: {between(r, "object-min", "object-max", show)?;
            ("object-min", Size(1), Is("\"20KiB\""), "object file of the smallest compilation"),
            ("object-max", Size(1), Is("\"140KiB\""), "object file of the largest one")};
        link_every: ("link-every", Count(0, 1000), Is("12"),
            "after so many objects a worker reads them back and writes an archive of the same size; 0 is never");
        unmovable: ("unmovable", Count(0, 1_000_000), Is("200"),
            "single unmovable frames of the kernel that a compilation holds");
        reclaimable: ("reclaimable", Count(0, 1_000_000), Is("200"), "reclaimable ones");
    }
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
        ("object-max", (u64::from(b.sources) + archives) * u64::from(b.object.1)),
    ];
    let all: u64 = parts.iter().map(|p| p.1).sum();
    match parts.iter().max_by_key(|p| p.1) {
        Some((key, _)) if all > U32 => {
            let found = format!("all files of the build are {}, too many", show_pages(all));
            Err(r.error(key, found, "a smaller size, or fewer files"))
        }
        _ => Ok(()),
    }
}

rows! {
    /// `apps`.
    APPS: TASK,
    "workload = \"apps\"",
    "Apps that are launched one after the other, as on a phone. A launch starts an app or brings a living one back to the front, and is a record. An app that starts touches mapped files, reads others, and fills a heap. Collections give parts of the heap back with `MADV_FREE`. Sizes are those of the middle app. Give `records` or `duration`.";
    check launches_and_sizes;
    fn apps(r, task: &TaskCx<'_>) -> AppsConfig {
        name: {task.name.to_string()};
        end: {end(r, "records")?; ..until!("records", "launches")};
        windows: [WINDOWS];
        apps: ("apps", Count(1, 32_767), Required, "how many apps there are");
        mapped: ("mapped", Size(1), Required, "mapped files of an app");
        read: ("read", Size(1), Required, "files that it reads through descriptors");
        heap: ("heap", Size(1), Required, "its heap");
        spread: ("spread", Number(1.0, 1000.0), Is("2.0"),
            "the largest app is so many times as large as the middle one, the smallest so many times smaller");
        order: ("order", one of { "random" => LaunchOrder::Random, "fixed" => LaunchOrder::Fixed },
            Is("\"random\""), "order of the launches: every round over the apps anew, or by number");
        interval: ("interval", Time, Is("\"10s\""), "from one launch to the next; at least 100ms");
        start: ("launch", Time, Is("\"6s\""), "a launch does its work over this time");
        cold: ("cold-permille", Count(0, 1000), Is("500"),
            "of 1000 launches of a living app so many kill it first");
        cached: {r.get::<Option<u32>>("cached")?.map_or_else(|| r.get("apps"), Ok)?;
            ("cached", Count(1, 32_767), Auto("all apps"),
                "apps alive at a time; beyond it the one launched longest ago is killed")};
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
        free: ("free-permille", Count(0, 1000), Is("350"),
            "part of the heap dirtied so far that each gives back with `MADV_FREE`");
        run: ("free-run", Size(1), Is("\"256KiB\""), "pages that are given back together");
        reuse: ("reuse-permille", Count(0, 1000), Is("250"),
            "part of what was given back that is dirtied again");
        reuse_order: ("reuse-order", one of {
                "random" => ReuseOrder::Random,
                "lifo" => ReuseOrder::Lifo,
                "fifo" => ReuseOrder::Fifo,
            }, Is("\"random\""), "which of it: any, what was given back last, or first");
        reuse_within: ("reuse-within", Time, Is("\"1s\""), "how soon");
        resume: ("resume-permille", Count(0, 1000), Is("400"),
            "part of heap and mapped files that the launch of a living app touches");
        background: ("background", Time, Is("\"30s\""), "how long an app goes on behind the next ones");
        background_touch: ("background-permille", Count(0, 1000), Is("5"),
            "part of heap and files that it then touches in a second");
        trim_after: ("trim-after", Time, Is("\"10s\""), "when, after going there, it is trimmed");
        trim: ("trim-permille", Count(0, 1000), Is("200"),
            "part of its heap that trimming gives back; 0 is never");
    }
}

fn launches_and_sizes(r: &Reader<'_>, c: &AppsConfig) -> Result<(), Error> {
    if c.start > c.interval {
        return Err(out_of_order(r, ("launch", c.start), ("interval", c.interval)));
    }
    if c.interval < SimDuration::from_millis(100) {
        let found = format!("{} is too short", c.interval);
        return Err(r.error("interval", found, "at least \"100ms\""));
    }
    for (key, pages) in [("mapped", c.mapped), ("read", c.read), ("heap", c.heap)] {
        // No size of an app is more than `spread` times this.
        if f64::from(pages) * c.spread * f64::from(c.apps) > U32 as f64 {
            let found = format!("{} for each of {} apps is too much", show(pages), c.apps);
            return Err(r.error(key, found, "a smaller size, or fewer apps"));
        }
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
        blocks: {blocks_of_item(r)?;
            ("item", Size(1), Required, "size of an item; a multiple of `block`")};
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

fn blocks_of_item(r: &Reader<'_>) -> Result<u32, Error> {
    let (item, block): (u32, u32) = (r.get("item")?, r.get("block")?);
    if item % block != 0 {
        let found = format!("{} is not a whole number of blocks of {}", show(item), show(block));
        let up = u64::from(item).next_multiple_of(block.into());
        return Err(r.error("item", found, format!("\"{}\"", show_pages(up))));
    }
    Ok(item / block)
}

fn items_and_index(r: &Reader<'_>, c: &ReaderConfig) -> Result<(), Error> {
    let data = u64::from(c.items) * u64::from(c.blocks * c.block);
    if data > U32 {
        let found = format!("{} items are {}, too many", c.items, show_pages(data));
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
