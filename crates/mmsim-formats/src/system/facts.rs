//! Statements of the copies about a machine, checked against one another.

use mmsim_core::base::id::CpuId;
use mmsim_core::config::{Kernel, SwapConfig, ZoneKind};

use super::blocks::{self, Blocks};
use super::copies::{Copies, Text};
use super::note::{Note, Weight};
use super::release::{self, Release};
use super::zoneinfo::{self, Zone, number};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_report::proc::SwapLine;

/// Number of pages of which one may have been given to or taken from the kernel between two copies.
const DRIFT: u64 = 256;
/// CPUs of a scenario.
const MOST_CPUS: u64 = 1024;
/// Frames that have numbers in a scenario.
const MOST_PAGES: u64 = (u32::MAX - (1 << 14)) as u64;

/// Facts about a machine.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The kernel that stands for its own.
    pub kernel: Kernel,
    /// The release that policies should be near to: its own, or that of the kernel asked for.
    pub version: Release,
    /// Its own, as in `6.12.117+deb12-amd64`; empty if it is not known.
    pub release: String,
    /// CPUs that are online.
    pub cpus: u64,
    /// Zones with memory by node, numbered from 0.
    pub nodes: Vec<Vec<(ZoneKind, Zone)>>,
    /// `MemTotal` in pages.
    pub total: Option<u64>,
    /// Free blocks by type.
    pub blocks: Option<Vec<Blocks>>,
    /// log2 of the pages of a pageblock.
    pub pageblock_order: Option<u64>,
    /// Swap devices, those that are used first in front.
    pub swaps: Vec<SwapLine>,
}

/// The release of `/proc/version`: `Linux version 6.12.117+deb12-amd64 (..`.
fn named_release(text: &Text) -> Result<(&str, Release), Error> {
    let word = text.text().strip_prefix("Linux version ").and_then(|t| t.split_whitespace().next());
    let version = word.and_then(|release| {
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some((release, (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)))
    });
    version.ok_or_else(|| text.bad(1, "no version of Linux", "`Linux version 6.12.1 ..`"))
}

/// The kernel of the scenario, the release that its policies should be near to, and the release as
/// the box writes it.
fn kernel(
    copies: &Copies,
    wanted: Option<Kernel>,
    notes: &mut Vec<Note>,
) -> Result<(Kernel, Release, String), Error> {
    let file = "proc/version";
    let Some(text) = copies.get(file) else {
        let kernel = wanted.unwrap_or(Kernel::V6_12);
        return Ok((kernel, release::of_kernel(kernel), String::new()));
    };
    let (name, version) = named_release(text)?;
    let (major, minor) = version;
    if let Some(kernel) = wanted {
        notes.push(Note::new(file, name, format!("kernel {} as asked for", kernel.name())));
        return Ok((kernel, release::of_kernel(kernel), name.to_string()));
    }
    let Some(kernel) = release::kernel(version) else {
        let known = Kernel::ALL.map(Kernel::name).join(", ");
        let error =
            text.bad(1, format!("Linux {major}.{minor} is not modelled"), "older than any that is");
        return Err(error.help(format!("name one that is near with `--kernel`: {known}")));
    };
    if release::of_kernel(kernel) != version {
        let why = format!(
            "{major}.{minor} is not modelled: the rules of kernel {}, the nearest; `--kernel` takes \
             another one",
            kernel.name()
        );
        notes.push(Note::new(file, name, why).weighing(Weight::Machine));
    }
    Ok((kernel, version, name.to_string()))
}

/// Number of CPUs in a list such as `0-3,8`.
fn online(text: &Text) -> Result<u64, Error> {
    let mut n = 0_u64;
    for range in text.word().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bounds = (number(first, 1), number(last, 1));
        let (Ok(first), Ok(last)) = bounds else {
            return Err(text.bad(1, "no list of CPUs", "a list such as `0-3,8`"));
        };
        if last < first || last > 1 << 20 {
            return Err(text.bad(1, "no list of CPUs", "numbers that go up, as in `0-3,8`"));
        }
        n += last - first + 1;
    }
    Ok(n)
}

fn kind(name: &str) -> Option<ZoneKind> {
    ZoneKind::ALL.into_iter().find(|k| k.name() == name)
}

/// Something about a zone that no kernel prints: what was found, and what to write.
fn inconsistency(zone: &Zone) -> Option<(&'static str, &'static str)> {
    let [min, low, high] = zone.marks;
    let rules = [
        (
            zone.managed > zone.spanned && zone.spanned > 0,
            "more pages are managed than it spans",
            "copy /proc/zoneinfo again",
        ),
        (
            zone.protection.is_empty() || zone.pcp.is_empty(),
            "it ends early",
            "all of /proc/zoneinfo: the file is cut off",
        ),
        (
            zone.pcp.iter().any(|p| p.batch == 0),
            "a per-CPU list has no batch",
            "all of /proc/zoneinfo: the file is cut off",
        ),
        (
            min > low || low > high || zone.boost > min,
            "its watermarks fall",
            "min, low and high as /proc/zoneinfo has them",
        ),
        (
            high.saturating_sub(zone.boost) > zone.managed,
            "a watermark is above all that it manages",
            "copy /proc/zoneinfo again",
        ),
        (
            zone.free > zone.managed,
            "more pages are free than it manages",
            "copy /proc/zoneinfo again",
        ),
    ];
    rules.into_iter().find(|r| r.0).map(|(_, found, write)| (found, write))
}

/// Zones with memory, by node.
fn nodes(text: &Text, notes: &mut Vec<Note>) -> Result<Vec<Vec<(ZoneKind, Zone)>>, Error> {
    let file = "proc/zoneinfo";
    let wrong = |bad: zoneinfo::Bad| text.bad(bad.line, "no line of zoneinfo", bad.write);
    let all = zoneinfo::parse(text.text()).map_err(wrong)?;
    let mut nodes: Vec<(u32, Vec<(ZoneKind, Zone)>)> = Vec::new();
    let mut pages = 0_u64;
    for zone in all {
        let at = |found: &str, write: &str| {
            let title = format!("node {}, zone {}: {found}", zone.node, zone.name);
            Err(text.bad(zone.line, title, write))
        };
        if zone.managed == 0 {
            continue;
        }
        let Some(kind) = kind(&zone.name) else {
            let item = format!("Node {}, zone {}", zone.node, zone.name);
            let why = "not modelled: its memory is left out";
            notes.push(Note::new(file, &item, why).weighing(Weight::Machine));
            continue;
        };
        if let Some((found, write)) = inconsistency(&zone) {
            return at(found, write);
        }
        pages = pages.saturating_add(zone.managed);
        if pages > MOST_PAGES {
            return at(
                "more memory than page numbers",
                "the file of a machine of at most 16383 GiB",
            );
        }
        match nodes.last_mut().filter(|n| n.0 == zone.node) {
            Some((_, zones)) => {
                if zones.last().is_some_and(|z| z.0 >= kind) {
                    return at("zones are out of order", "one /proc/zoneinfo, once");
                }
                zones.push((kind, zone));
            }
            None => {
                if nodes.iter().any(|n| n.0 >= zone.node) {
                    return at("nodes are out of order", "one /proc/zoneinfo, once");
                }
                nodes.push((zone.node, vec![(kind, zone)]));
            }
        }
    }
    if nodes.is_empty() {
        return Err(text.bad(1, "no zone has memory", "all of /proc/zoneinfo"));
    }
    for (i, (node, _)) in nodes.iter().enumerate() {
        if *node != i as u32 {
            let why = format!("nodes without memory are left out: it is node {i} in the scenario");
            notes.push(Note::new(file, &format!("Node {node}"), why));
        }
    }
    Ok(nodes.into_iter().map(|n| n.1).collect())
}

fn cpus(copies: &Copies, nodes: &[Vec<(ZoneKind, Zone)>]) -> Result<u64, Error> {
    let online_file = "sys/devices/system/cpu/online";
    let online = copies.get(online_file).map(online).transpose()?;
    let mut counted: Option<u64> = None;
    for (_, zone) in nodes.iter().flatten() {
        let n = zone.pcp.len() as u64;
        if counted.is_some_and(|before| before != n)
            && let Some(text) = copies.get("proc/zoneinfo")
        {
            let found =
                format!("lists of {n} CPUs, and of {} in zones above", counted.unwrap_or(0));
            return Err(text.bad(zone.end, found, "one machine's /proc/zoneinfo, whole"));
        }
        counted = Some(n);
    }
    if let (Some(n), Some(online), Some(text)) = (counted, online, copies.get(online_file))
        && n != online
    {
        let found = format!("{online} CPUs, and /proc/zoneinfo has lists of {n}");
        let error = text.bad(1, found, "copies of one machine, taken together");
        return Err(
            error.help("the files of two machines are mixed, or a CPU went between two copies")
        );
    }
    let n = counted.or(online).unwrap_or(1);
    if n > MOST_CPUS {
        let title = format!("`{}`: {n} CPUs", copies.origin());
        return Err(
            Error::new(ErrorKind::File, title).help(format!("at most {MOST_CPUS} are modelled"))
        );
    }
    Ok(n)
}

/// A value of `/proc/meminfo`, in KiB.
pub(super) fn meminfo(text: &Text, name: &str) -> Result<Option<u64>, Error> {
    for (i, line) in text.text().lines().enumerate() {
        let mut words = line.split_whitespace();
        if words.next().and_then(|w| w.strip_suffix(':')) == Some(name) {
            let n = words.next().and_then(|w| number(w, 1).ok());
            let n =
                n.ok_or_else(|| text.bad(i + 1, format!("{name} has no number"), "a size in kB"))?;
            return Ok(Some(n));
        }
    }
    Ok(None)
}

fn total(
    copies: &Copies,
    nodes: &[Vec<(ZoneKind, Zone)>],
    notes: &mut Vec<Note>,
) -> Result<Option<u64>, Error> {
    let Some(text) = copies.get("proc/meminfo") else { return Ok(None) };
    let Some(kib) = meminfo(text, "MemTotal")? else {
        return Err(text.bad(1, "no MemTotal", "all of /proc/meminfo"));
    };
    let (total, managed) = (kib / 4, nodes.iter().flatten().map(|z| z.1.managed).sum::<u64>());
    if !nodes.is_empty() && total.abs_diff(managed) > managed / DRIFT {
        let why = format!(
            "the zones of /proc/zoneinfo manage {managed} pages, which are taken: a guest may be given \
             its memory while it runs, else the files are not of one moment"
        );
        let note = Note::new("proc/meminfo", &format!("MemTotal {total} pages"), why);
        notes.push(note.weighing(Weight::Machine));
    }
    if nodes.is_empty() && !(256..=MOST_PAGES).contains(&total) {
        let found = format!("MemTotal is {total} pages");
        return Err(text.bad(1, found, "the file of a machine of 1 MiB to 16383 GiB"));
    }
    Ok(Some(total))
}

/// Free blocks, checked against the zones.
fn free_blocks(
    copies: &Copies,
    nodes: &[Vec<(ZoneKind, Zone)>],
    notes: &mut Vec<Note>,
) -> Result<(Option<Vec<Blocks>>, Option<u64>), Error> {
    let buddy = copies.get("proc/buddyinfo").map(|c| Ok::<_, Error>((c, blocks::buddyinfo(c)?)));
    let typed =
        copies.get("proc/pagetypeinfo").map(|c| Ok::<_, Error>((c, blocks::pagetypeinfo(c)?)));
    let (buddy, typed) = (buddy.transpose()?, typed.transpose()?);
    for (text, all) in
        [buddy.as_ref().map(|(c, all)| (*c, all)), typed.as_ref().map(|(c, (_, all))| (*c, all))]
            .into_iter()
            .flatten()
    {
        same_zones(text, all, nodes)?;
    }
    let order = typed.as_ref().map(|t| t.1.0);
    if let Some((text, (order, _))) = &typed
        && !(1..=10).contains(order)
    {
        return Err(text.bad(
            1,
            format!("pageblocks of order {order}"),
            "1 to 10, the orders that are modelled",
        ));
    }
    let Some((text, (_, mut all))) = typed else {
        return Ok((buddy.map(|b| b.1), None));
    };
    let file = "proc/pagetypeinfo";
    for zone in &mut all {
        let other = buddy
            .as_ref()
            .and_then(|(_, b)| b.iter().find(|b| (b.node, &b.zone) == (zone.node, &zone.zone)));
        let item = format!("Node {}, zone {}", zone.node, zone.zone);
        for (of, order) in std::mem::take(&mut zone.cut) {
            // What the kernel stopped counting, the other file has with all types together.
            let rest = zone.of_order(order) - zone.free[of][order];
            if let Some(other) = other {
                zone.free[of][order] =
                    zone.free[of][order].max(other.of_order(order).saturating_sub(rest));
            } else {
                let n = zone.free[of][order];
                notes.push(Note::new(file, &item, format!("at least {n} blocks of order {order}: the kernel counts no further, and buddyinfo is missing")));
            }
        }
        if let Some(other) = other
            && other.pages() != zone.pages()
        {
            let (here, there) = (zone.pages(), other.pages());
            notes.push(Note::new(file, &item, format!("{here} free pages, {there} in buddyinfo a moment before: those of pagetypeinfo are taken")));
        }
        let managed =
            nodes.iter().flatten().find(|z| (z.1.node, &z.1.name) == (zone.node, &zone.zone));
        if managed.is_some_and(|z| zone.pages() > z.1.managed) {
            return Err(text.bad(
                zone.line,
                format!("{} free pages, more than the zone manages", zone.pages()),
                "copies of one machine",
            ));
        }
    }
    Ok((Some(all), order))
}

/// Zones have the names, and no more free pages than, those of zoneinfo.
fn same_zones(text: &Text, all: &[Blocks], nodes: &[Vec<(ZoneKind, Zone)>]) -> Result<(), Error> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mixed = "the files of two machines are mixed, or one is cut off";
    for b in all.iter().filter(|b| kind(&b.zone).is_some()) {
        let zone = nodes.iter().flatten().find(|z| (z.1.node, &z.1.name) == (b.node, &b.zone));
        let Some((_, zone)) = zone else {
            if b.pages() == 0 {
                continue;
            }
            let found = format!("/proc/zoneinfo has no memory in node {}, zone {}", b.node, b.zone);
            return Err(text.bad(b.line, found, "copies of one machine").help(mixed));
        };
        if b.pages() > zone.managed {
            let found = format!(
                "{} free pages, and /proc/zoneinfo says that the zone manages {}",
                b.pages(),
                zone.managed
            );
            return Err(text.bad(b.line, found, "copies of one machine").help(mixed));
        }
    }
    for (_, zone) in nodes.iter().flatten() {
        if !all.iter().any(|b| (b.node, &b.zone) == (zone.node, &zone.name)) {
            let last = text.text().lines().count().max(1);
            let found = format!(
                "no line of node {}, zone {}, which /proc/zoneinfo has",
                zone.node, zone.name
            );
            return Err(text.bad(last, found, "copies of one machine, whole").help(mixed));
        }
    }
    Ok(())
}

fn swaps(text: &Text) -> Result<Vec<SwapLine>, Error> {
    let mut all = Vec::new();
    for (i, line) in text.text().lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Filename", ..] if i == 0 => {}
            [] => {}
            [path, how @ ("partition" | "file"), size, used, priority] => {
                let n = (number(size, 1), number(used, 1), priority.parse::<i64>());
                let (Ok(size), Ok(used), Ok(priority)) = n else {
                    return Err(text.bad(
                        i + 1,
                        "no line of /proc/swaps",
                        "size and used in KiB, and the priority",
                    ));
                };
                let (pages, used) = (size / 4, used / 4);
                if pages >= SwapConfig::MOST_SLOTS || used > pages {
                    return Err(text.bad(
                        i + 1,
                        "no size of swap",
                        "less than 8 TiB, and no more used than there is",
                    ));
                }
                if i16::try_from(priority).is_err() {
                    return Err(text.bad(i + 1, "no priority of swap", "-32768 to 32767"));
                }
                let path = path.to_string();
                if all.iter().any(|s: &SwapLine| s.path == path) {
                    return Err(text.bad(i + 1, "a device that is there already", "each once"));
                }
                all.push(SwapLine { path, file: how == "file", pages, used, priority });
            }
            _ => {
                return Err(text.bad(
                    i + 1,
                    "no line of /proc/swaps",
                    "`/dev/sda2 partition 1048572 0 -2`",
                ));
            }
        }
    }
    // Among equals the kernel takes turns; the first stays first.
    all.sort_by_key(|s: &SwapLine| std::cmp::Reverse(s.priority));
    Ok(all)
}

impl Facts {
    /// Pages of the machine, as far as they are known.
    pub(super) fn pages(&self) -> u64 {
        let managed = self.nodes.iter().flatten().map(|z| z.1.managed).sum();
        if self.nodes.is_empty() { self.total.unwrap_or(0) } else { managed }
    }

    /// Reads the copies.
    ///
    /// # Errors
    /// A line that is none, files of two machines, a kernel that is older than all that are modelled,
    /// or neither zoneinfo nor meminfo.
    pub(super) fn of(
        copies: &Copies,
        wanted: Option<Kernel>,
        notes: &mut Vec<Note>,
    ) -> Result<Facts, Error> {
        let (kernel, version, release) = kernel(copies, wanted, notes)?;
        let nodes = match copies.get("proc/zoneinfo") {
            Some(text) => nodes(text, notes)?,
            None => Vec::new(),
        };
        let cpus = cpus(copies, &nodes)?;
        let total = total(copies, &nodes, notes)?;
        if nodes.is_empty() && total.is_none() {
            let title = format!("`{}` has neither proc/zoneinfo nor proc/meminfo", copies.origin());
            let empty = ["proc/zoneinfo", "proc/meminfo"].iter().any(|f| copies.is_empty(f));
            let help = if empty {
                "they are empty: `tar` and `cp -a` see a size of 0, use `cat` or `mmsim import-system --script`"
            } else {
                "copy one of them: `mmsim import-system --script` prints how"
            };
            return Err(Error::new(ErrorKind::File, title).help(help));
        }
        let (blocks, pageblock_order) = free_blocks(copies, &nodes, notes)?;
        let swaps = copies.get("proc/swaps").map(swaps).transpose()?.unwrap_or_default();
        Ok(Facts { kernel, version, release, cpus, nodes, total, blocks, pageblock_order, swaps })
    }

    /// Pages on the lists of each CPU in a zone.
    pub(super) fn listed(zone: &Zone) -> Vec<(CpuId, u64)> {
        // CPUs of a scenario are numbered from 0, whichever of the machine's are online.
        zone.pcp.iter().enumerate().map(|(i, p)| (CpuId(i as u16), p.count)).collect()
    }

    /// Pages on LRU lists of a zone.
    pub(super) fn on_lru(zone: &Zone) -> u64 {
        const LISTS: [&str; 4] = ["inactive_anon", "active_anon", "inactive_file", "active_file"];
        let of = |list: &str| {
            let of_zone = zone.item(&format!("nr_zone_{list}"));
            of_zone.or_else(|| zone.item(&format!("nr_{list}"))).unwrap_or(0)
        };
        let unevictable = zone.item("nr_zone_unevictable").or_else(|| zone.item("nr_unevictable"));
        LISTS
            .iter()
            .map(|l| of(l))
            .fold(unevictable.unwrap_or(0), u64::saturating_add)
            .min(zone.managed)
    }
}
