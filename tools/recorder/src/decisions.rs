//! Single decisions of reclaim, out of a trace that `decisions.sh` had recorded.
//!
//! A call begins with its probe and ends with the next one of the same thread. What is traced in
//! between is what came of it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns of a record of the classic LRU, a call of `shrink_lruvec()` each. Pages, but for `phase`
/// (index), `kswapd`, `priority` and the flags.
pub const CLASSIC: [&str; 24] = [
    "phase",
    "kswapd",
    "priority",
    "nr_to_reclaim",
    "nr_reclaimed",
    "anon_cost",
    "file_cost",
    "cache_trim_mode",
    "file_is_tiny",
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
    "target_inactive_anon",
    "target_active_anon",
    "target_inactive_file",
    "target_active_file",
    "scanned_anon",
    "reclaimed_anon",
    "scanned_file",
    "reclaimed_file",
    "taken_active",
    "deactivated",
    "may_deactivate",
];

/// Columns of a record of MGLRU: a visit of `shrink_one()`, a step of `evict_folios()`, or an aging
/// by `try_to_inc_max_seq()`. `n31` is the file pages of the generation with index 3.
pub const MGLRU: [&str; 21] = [
    "phase",
    "kswapd",
    "priority",
    "step",
    "max_seq",
    "min_seq_anon",
    "min_seq_file",
    "n00",
    "n01",
    "n10",
    "n11",
    "n20",
    "n21",
    "n30",
    "n31",
    "nr_to_scan",
    "scanned_anon",
    "scanned_file",
    "taken",
    "reclaimed",
    "nr_to_reclaim",
];

/// Words of `step` of MGLRU, in this order.
pub const STEPS: [&str; 3] = ["visit", "evict", "age"];

/// One line of a trace.
struct Line<'a> {
    thread: &'a str,
    event: &'a str,
    rest: &'a str,
}

impl<'a> Line<'a> {
    /// `kswapd0-44  [000] d..1.  3.024: event: text`; other lines are none.
    fn read(line: &'a str) -> Option<Line<'a>> {
        let (thread, rest) = line.trim_start().split_once(" [")?;
        let (_, rest) = rest.split_once(": ")?;
        let (event, rest) = rest.split_once(": ")?;
        Some(Line { thread: thread.trim(), event, rest })
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.rest.split(' ').find_map(|w| w.strip_prefix(name)?.strip_prefix('='))
    }

    fn number(&self, name: &str) -> Result<i64, String> {
        let word = self.word(name).ok_or_else(|| format!("{}: no {name}", self.event))?;
        // Pointers and garbage of the stack do not fit, and are no numbers.
        word.parse::<i128>()
            .map(|n| n.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
            .map_err(|_| format!("{}: {name}={word} is no number", self.event))
    }
}

/// A call under way or done.
struct Call {
    values: BTreeMap<&'static str, i64>,
    /// Where a target may be: words of the stack, or registers.
    words: Vec<i64>,
}

/// The decisions of a recording as a JSON document: a head, and a line for each call.
///
/// # Errors
/// The trace lost events, has none, or the kernel's structures are not where the probes looked.
pub fn document(point: &str, printed: &str) -> Result<String, String> {
    let kernel = tagged(printed, "@kernel ").ok_or("no @kernel: this is no recording")?;
    let script: Vec<&str> = printed.lines().filter_map(|l| l.strip_prefix("@script ")).collect();
    let setting = |path: &str| {
        script.iter().find_map(|l| l.split_once(path)?.1.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let mglru = setting("/lru_gen/enabled ") != 0;
    if let Some(count) = printed.lines().find_map(|l| l.split_once("entries-written: ")) {
        let (kept, written) = count.1.trim().split_once('/').unwrap_or(("", ""));
        let written = written.split(' ').next().unwrap_or("");
        if kept != written {
            return Err(format!("the trace kept {kept} of {written} events: end earlier with -u"));
        }
    }
    let (calls, phases) = match mglru {
        true => Reader::read(printed, &Reader::mglru)?,
        false => Reader::read(printed, &Reader::classic)?,
    };
    if calls.is_empty() {
        return Err("no call was traced: the point does not reclaim, or a probe is missing".into());
    }
    let columns: &[&str] = if mglru { &MGLRU } else { &CLASSIC };
    let calls = if mglru { with_budgets(calls)? } else { with_targets(calls)? };
    let point = point.rsplit('/').next().unwrap_or(point);
    let (file, id) = point.split_once(".json:").ok_or("the point is not POINTS.json:ID")?;
    let (id, repetition) = match id.rsplit_once(':') {
        Some((id, r)) if r.parse::<u32>().is_ok() => (id, r.to_string()),
        _ => (id, "0".to_string()),
    };
    let quoted =
        |words: &[&str]| words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
    let phases: Vec<&str> = phases.iter().map(String::as_str).collect();
    let mut out = format!(
        "{{\n \"kernel\": \"{kernel}\",\n \"lru\": \"{}\",\n \"experiment\": \"{file}\",\n \
         \"point\": \"{id}\",\n \"repetition\": {repetition},\n \"swappiness\": {},\n \
         \"phases\": [{}],\n \"columns\": [{}],\n \"calls\": [\n",
        if mglru { "mglru" } else { "classic" },
        setting("/vm/swappiness "),
        quoted(&phases),
        quoted(columns),
    );
    for (i, call) in calls.iter().enumerate() {
        let row: Vec<String> =
            columns.iter().map(|c| call.values.get(c).copied().unwrap_or(0).to_string()).collect();
        let comma = if i + 1 < calls.len() { "," } else { "" };
        let _ = writeln!(out, "  [{}]{comma}", row.join(","));
    }
    out += " ]\n}\n";
    Ok(out)
}

fn tagged<'a>(printed: &'a str, tag: &str) -> Option<&'a str> {
    printed.lines().find_map(|l| l.strip_prefix(tag)).map(str::trim)
}

/// Reads a trace line by line.
struct Reader {
    calls: Vec<Call>,
    /// The call under way of each thread.
    open: BTreeMap<String, usize>,
    phases: Vec<String>,
    /// Where the counters of a zone begin the sizes of lists.
    lists_at: i64,
    /// Priority of the visit under way of each thread.
    visit: BTreeMap<String, i64>,
}

type OneLine<'a> = &'a dyn Fn(&mut Reader, &Line<'_>) -> Result<(), String>;

impl Reader {
    fn read(printed: &str, each: OneLine<'_>) -> Result<(Vec<Call>, Vec<String>), String> {
        let at = |name: &str| printed.lines().position(|l| l.split(' ').next() == Some(name));
        let lists_at = match (at("nr_free_pages"), at("nr_zone_inactive_anon")) {
            (Some(a), Some(b)) if b > a => (b - a) as i64,
            _ => return Err("/proc/vmstat is not printed".into()),
        };
        let mut reader = Reader {
            calls: Vec::new(),
            open: BTreeMap::new(),
            phases: Vec::new(),
            lists_at,
            visit: BTreeMap::new(),
        };
        let mut ended = Vec::new();
        for line in printed.lines().filter(|l| !l.starts_with('@')).filter_map(Line::read) {
            if line.event == "tracing_mark_write" {
                if let Some(name) = line.rest.strip_prefix("phase ") {
                    ended.push((name.trim().to_string(), reader.calls.len()));
                    reader.open.clear();
                }
                continue;
            }
            each(&mut reader, &line)?;
        }
        // A phase is named at its end; what comes behind the last name is not kept.
        let last = ended.last().map_or(0, |e| e.1);
        reader.calls.truncate(last);
        let mut from = 0;
        for (name, until) in ended {
            let phase = reader.phases.len() as i64;
            if until > from {
                for call in &mut reader.calls[from..until] {
                    call.values.insert("phase", phase);
                }
                reader.phases.push(name);
            }
            from = until;
        }
        Ok((reader.calls, reader.phases))
    }

    fn begin(&mut self, line: &Line<'_>, values: BTreeMap<&'static str, i64>, words: Vec<i64>) {
        self.open.insert(line.thread.to_string(), self.calls.len());
        let mut call = Call { values, words };
        call.values.insert("kswapd", line.thread.starts_with("kswapd").into());
        self.calls.push(call);
    }

    fn current(&mut self, line: &Line<'_>) -> Option<&mut Call> {
        let i = *self.open.get(line.thread)?;
        self.calls.get_mut(i)
    }

    fn add(&mut self, line: &Line<'_>, name: &'static str, n: i64) {
        if let Some(call) = self.current(line) {
            *call.values.entry(name).or_default() += n;
        }
    }

    fn classic(&mut self, line: &Line<'_>) -> Result<(), String> {
        match line.event {
            "lruvec" => {
                let names = [
                    ("priority", "prio"),
                    ("nr_to_reclaim", "want"),
                    ("nr_reclaimed", "got"),
                    ("anon_cost", "ac"),
                    ("file_cost", "fc"),
                    ("cache_trim_mode", "trim"),
                    ("file_is_tiny", "tiny"),
                ];
                let mut values = BTreeMap::new();
                for (name, word) in names {
                    values.insert(name, line.number(word)?);
                }
                // Deactivating by force opens both lists.
                let open = if line.number("force")? != 0 { 3 } else { line.number("deact")? };
                values.insert("may_deactivate", open);
                let lists = ["inactive_anon", "active_anon", "inactive_file", "active_file"];
                for (i, list) in lists.into_iter().enumerate() {
                    let at = self.lists_at + i as i64;
                    values.insert(list, line.number(&format!("z{at}"))?);
                }
                self.begin(line, values, Vec::new());
            }
            "plug" => {
                let words =
                    (1..=60).map(|i| line.number(&format!("s{i}"))).collect::<Result<_, _>>()?;
                if let Some(call) = self.current(line).filter(|c| c.words.is_empty()) {
                    call.words = words;
                }
            }
            "mm_vmscan_lru_shrink_inactive" => {
                let file = line.rest.contains("RECLAIM_WB_FILE");
                let names = if file {
                    ["scanned_file", "reclaimed_file"]
                } else {
                    ["scanned_anon", "reclaimed_anon"]
                };
                self.add(line, names[0], line.number("nr_scanned")?);
                self.add(line, names[1], line.number("nr_reclaimed")?);
            }
            "mm_vmscan_lru_shrink_active" => {
                self.add(line, "taken_active", line.number("nr_taken")?);
                self.add(line, "deactivated", line.number("nr_deactivated")?);
            }
            _ => {}
        }
        Ok(())
    }

    fn mglru(&mut self, line: &Line<'_>) -> Result<(), String> {
        const SIZES: [&str; 8] = ["n00", "n01", "n10", "n11", "n20", "n21", "n30", "n31"];
        match line.event {
            "visit" | "evict" | "age" => {
                let step = STEPS.iter().position(|s| *s == line.event).unwrap_or(0);
                let max = line.number("max")?;
                if max != line.number("at")? {
                    return Err(format!(
                        "max_seq is {max}, and where decisions.sh looks for it is {}: this kernel has \
                         another struct lruvec, write its offset of lrugen there",
                        line.number("at")?
                    ));
                }
                let mut values = BTreeMap::from([
                    ("step", step as i64),
                    ("max_seq", max),
                    ("min_seq_anon", line.number("min0")?),
                    ("min_seq_file", line.number("min1")?),
                ]);
                for name in SIZES {
                    let sum =
                        line.number(&format!("{name}0"))? + line.number(&format!("{name}1"))?;
                    values.insert(name, sum);
                }
                let thread = line.thread.to_string();
                if let Some(priority) =
                    line.word("prio").map(|_| line.number("prio")).transpose()?
                {
                    self.visit.insert(thread.clone(), priority);
                    values.insert("nr_to_reclaim", line.number("want")?);
                }
                values.insert("priority", self.visit.get(&thread).copied().unwrap_or(0));
                let registers = ["bx", "bp", "r12", "r13", "r14", "r15"];
                let words = match line.event {
                    "evict" => {
                        registers.iter().map(|r| line.number(r)).collect::<Result<_, _>>()?
                    }
                    _ => Vec::new(),
                };
                self.begin(line, values, words);
            }
            "mm_vmscan_lru_isolate" => {
                let file = line.word("lru").is_some_and(|l| l.ends_with("_file"));
                let name = if file { "scanned_file" } else { "scanned_anon" };
                self.add(line, name, line.number("nr_scanned")?);
                self.add(line, "taken", line.number("nr_taken")?);
            }
            "mm_vmscan_lru_shrink_inactive" => {
                self.add(line, "reclaimed", line.number("nr_reclaimed")?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// `shrink_lruvec()` keeps its targets twice on the stack, five lists each, when it starts to plug:
/// the last place where nearly all calls have two equal fives. One word earlier they may be equal as
/// well, for the fifth list is never scanned. A call is left out if another thread plugged first.
fn with_targets(mut calls: Vec<Call>) -> Result<Vec<Call>, String> {
    let twice = |words: &[i64], at: usize| {
        words.len() >= at + 10
            && words[at..at + 5] == words[at + 5..at + 10]
            && words[at + 4] == 0
            && words[at..at + 4].iter().all(|&n| (0..1 << 40).contains(&n))
    };
    let found = |at: usize| {
        let some = |c: &&Call| twice(&c.words, at) && c.words[at..at + 4].iter().any(|&n| n > 0);
        calls.iter().filter(some).count()
    };
    let held = |at: usize| calls.iter().filter(|c| twice(&c.words, at)).count();
    let most = (0..50).map(found).max().unwrap_or(0);
    let at = (0..50)
        .filter(|&at| found(at) * 100 >= most * 99 && held(at) * 100 >= calls.len() * 90)
        .max()
        .filter(|_| most > 0)
        .ok_or("shrink_lruvec() of this kernel does not keep its targets on the stack")?;
    calls.retain(|c| twice(&c.words, at));
    for call in &mut calls {
        for (i, name) in CLASSIC[13..17].iter().enumerate() {
            call.values.insert(name, call.words[at + i]);
        }
    }
    Ok(calls)
}

/// The number of pages that a step of MGLRU may still look at is in a register of
/// `evict_folios()`'s caller: the one that holds a number of pages in all steps, follows the
/// priority, and has the most values.
fn with_budgets(mut calls: Vec<Call>) -> Result<Vec<Call>, String> {
    let steps = || calls.iter().filter(|c| !c.words.is_empty());
    let pages = |c: &Call| -> i64 { MGLRU[7..15].iter().map(|n| c.values[n]).sum() };
    let plausible = |c: &Call, r: usize| (1..=pages(c).max(1)).contains(&c.words[r]);
    // Of those that hold one, the register whose number follows the priority.
    let follows = |r: usize| {
        steps().filter(|c| (c.words[r] >> 2) <= pages(c) >> c.values["priority"]).count()
    };
    let spread = |r: usize| {
        let mut all: Vec<i64> = steps().map(|c| c.words[r]).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let register = (0..6)
        .filter(|&r| steps().filter(|c| plausible(c, r)).count() * 100 >= steps().count() * 95)
        .max_by_key(|&r| (follows(r), spread(r), std::cmp::Reverse(r)))
        .ok_or(
            "the caller of evict_folios() does not keep its budget in a register on this kernel",
        )?;
    for call in &mut calls {
        if let Some(&n) = call.words.get(register) {
            call.values.insert("nr_to_scan", n);
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "@kernel 6.12.117\n@script write /sys/kernel/mm/lru_gen/enabled 0\n\
                        @script write /proc/sys/vm/swappiness 60\n\
                        nr_free_pages 1\nnr_zone_inactive_anon 2\n\
                        # entries-in-buffer/entries-written: 4/4   #P:1\n";

    fn line(thread: &str, event: &str, rest: &str) -> String {
        format!("  {thread} [000] d..1.  3.024: {event}: {rest}\n")
    }

    fn call(thread: &str) -> String {
        let rest = "(shrink_lruvec+0x0/0xeb0) prio=11 want=32 got=0 ac=4 fc=0 trim=0 tiny=0 deact=1 \
                    force=0 z0=1096 z1=64330 z2=7 z3=1 z4=0";
        line(thread, "lruvec", rest)
    }

    fn plug(thread: &str, at: usize) -> String {
        let word = |i: usize| match i {
            i if i == at || i == at + 5 => 5,
            i if i > at + 9 || i < at => 1000 + i,
            _ => 0,
        };
        let words: Vec<String> = (1..=60).map(|i| format!("s{i}={}", word(i))).collect();
        line(thread, "plug", &format!("(blk_start_plug+0x4/0x80) {}", words.join(" ")))
    }

    /// A call of kswapd and one of a thread in between: each gets what its own thread did.
    #[test]
    fn results_go_to_the_thread_that_had_them() {
        let scan = "nid=0 nr_scanned=5 nr_reclaimed=2 flags=RECLAIM_WB_ANON|RECLAIM_WB_ASYNC";
        let trace = [
            HEAD.to_string(),
            call("kswapd0-44"),
            plug("kswapd0-44", 28),
            call("init-1"),
            plug("init-1", 28),
            line("kswapd0-44", "mm_vmscan_lru_shrink_inactive", scan),
            line("init-1", "tracing_mark_write", "phase populate"),
        ];
        let text = document("evidence/zipf-anon.json:p", &trace.concat()).expect("good");
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("  [")).collect();
        assert_eq!(
            rows,
            [
                "  [0,1,11,32,0,4,0,0,0,64330,7,1,0,5,0,0,0,5,2,0,0,0,0,1],",
                "  [0,0,11,32,0,4,0,0,0,64330,7,1,0,5,0,0,0,0,0,0,0,0,0,1]"
            ]
        );
        assert!(text.contains("\"experiment\": \"zipf-anon\",\n \"point\": \"p\""), "{text}");
    }

    #[test]
    fn a_trace_that_lost_events_is_refused() {
        let lost = HEAD.replace("4/4", "4/9");
        let said = document("a.json:p", &lost).expect_err("lost");
        assert_eq!(said, "the trace kept 4 of 9 events: end earlier with -u");
        let said = document("a.json:p", HEAD).expect_err("no call");
        assert!(said.starts_with("no call was traced"), "{said}");
    }
}
