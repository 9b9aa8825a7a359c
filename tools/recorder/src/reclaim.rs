//! Times of the steps of reclaim, from a trace by `reclaim.sh`.
//!
//! Each figure is a median of times between two uninterrupted events of one task. A batch is an
//! `mm_vmscan_lru_shrink_inactive`; a pass begins where `shrink_node()` is entered:
//!
//! ```text
//!   begin   shrink_node   batch   batch   shrink_node   batch   end
//!     | way in  | head + folios | folios |    tail    |  ...  | tail |
//! ```
//!
//! A pass takes its head and its tail, whatever it finds. Under MGLRU, which has no active list, a
//! batch also passes folios over without counting them: the trace does not separate a head and a
//! folio kept.

use std::collections::BTreeMap;

/// A batch of fewer folios tells little of what one takes.
const FEW: u64 = 11;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Begin,
    Node,
    /// Folios kept and evicted.
    Batch(u64, u64),
    /// Folios taken from the active list.
    Refill(u64),
    End,
}

/// Times of one trace, in ns.
#[derive(Default)]
struct Times {
    kept: Vec<f64>,
    evicted: Vec<f64>,
    refill: Vec<f64>,
    way_in: Vec<f64>,
    /// From the beginning of a pass to its first batch, and the folios of that.
    heads: Vec<(f64, u64, u64)>,
    tails: Vec<f64>,
    /// Lag of kswapd when it was first woken.
    owed: Option<i64>,
}

impl Times {
    fn note(&mut self, before: Event, event: Event, ns: f64) {
        use Event::{Batch, Begin, End, Node, Refill};
        match (before, event) {
            (Batch(..) | Refill(_), Batch(n, 0)) if n >= FEW => self.kept.push(ns / n as f64),
            (Batch(..) | Refill(_), Batch(0, n)) if n >= FEW => self.evicted.push(ns / n as f64),
            (Batch(..) | Refill(_) | Node, Refill(n)) if n >= FEW => {
                self.refill.push(ns / n as f64);
            }
            (Node, Batch(kept, evicted)) => self.heads.push((ns, kept, evicted)),
            (Batch(..) | Refill(_), Node | End) => self.tails.push(ns),
            (Begin, Node) => self.way_in.push(ns),
            _ => {}
        }
    }

    fn of(trace: &str) -> Times {
        let (mut times, mut last) = (Times::default(), BTreeMap::new());
        let mut lags = BTreeMap::new();
        for line in trace.lines() {
            let Some((task, ns, name, rest)) = parts(line) else { continue };
            let number = |key: &str| {
                let at = rest.find(key)? + key.len();
                let end = rest[at..].find(|c: char| !c.is_ascii_digit() && c != '-');
                rest[at..].get(..end.unwrap_or(rest.len() - at))?.parse::<i64>().ok()
            };
            let count = |key: &str| number(key).and_then(|n| u64::try_from(n).ok());
            let event = match name {
                "sched_switch" => {
                    last.clear();
                    continue;
                }
                "wakes" => {
                    if let (Some(lag), Some(pid)) = (number("lag="), number("woken=")) {
                        lags.entry(pid).or_insert(lag);
                    }
                    continue;
                }
                "mm_vmscan_direct_reclaim_begin" => Some(Event::Begin),
                "mm_vmscan_direct_reclaim_end" => Some(Event::End),
                "shrink_node" => Some(Event::Node),
                "mm_vmscan_lru_shrink_inactive" => {
                    let scanned = count("nr_scanned=").zip(count("nr_reclaimed="));
                    scanned.and_then(|(n, freed)| Some(Event::Batch(n.checked_sub(freed)?, freed)))
                }
                "mm_vmscan_lru_shrink_active" => count("nr_taken=").map(Event::Refill),
                _ => None,
            };
            let Some(event) = event else { continue };
            if let (None, Some(pid)) = (times.owed, task.strip_prefix("kswapd0-")) {
                times.owed = pid.parse().ok().and_then(|pid: i64| lags.get(&pid).copied());
            }
            if let Some((at, before)) = last.insert(task, (ns, event)) {
                times.note(before, event, ns - at);
            }
        }
        times
    }

    fn table(&self, name: &str) -> String {
        let (kept, evicted) = (median(&self.kept), median(&self.evicted));
        let beyond = |&(ns, k, e): &(f64, u64, u64)| {
            let of =
                |each: Option<f64>, n: u64| if n == 0 { Some(0.0) } else { Some(each? * n as f64) };
            Some(ns - of(kept, k)? - of(evicted, e)?)
        };
        let classic = !self.refill.is_empty();
        let heads = self.heads.iter().filter(|_| classic).filter_map(beyond).collect::<Vec<f64>>();
        let rows = [
            ("folio kept", kept.filter(|_| classic), self.kept.len()),
            ("folio evicted", evicted, self.evicted.len()),
            ("folio of the active list", median(&self.refill), self.refill.len()),
            ("head of a pass", median(&heads), heads.len()),
            ("tail of a pass", median(&self.tails), self.tails.len()),
            ("way into direct reclaim", median(&self.way_in), self.way_in.len()),
        ];
        let mut out = format!("{name}\n");
        for (what, ns, n) in rows {
            let ns = ns.map_or("-".into(), |ns| format!("{ns:.0} ns"));
            out += &format!("  {what:<26}{ns:>10}  of {n}\n");
        }
        if let Some(owed) = self.owed {
            out += &format!("  {:<26}{owed:>7} ns\n", "owed to kswapd at first");
        }
        out
    }
}

/// Task, time in ns, name and the rest of a line of a trace.
fn parts(line: &str) -> Option<(&str, f64, &str, &str)> {
    let (task, rest) = line.trim_start().split_once(" ")?;
    let (_, rest) = rest.split_once("] ")?;
    let (_, rest) = rest.trim_start().split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let end = rest.find([':', ' ']).unwrap_or(rest.len());
    let seconds: f64 = time.parse().ok()?;
    Some((task, (seconds * 1e9).round(), &rest[..end], &rest[end..]))
}

fn median(all: &[f64]) -> Option<f64> {
    let mut all = all.to_vec();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// The times of a trace, as a table.
///
/// # Errors
/// There is no reclaim in it.
pub fn table(name: &str, trace: &str) -> Result<String, String> {
    let times = Times::of(trace);
    if times.tails.is_empty() && times.way_in.is_empty() {
        return Err("no pass of reclaim in it, write the output of `reclaim.sh`".into());
    }
    Ok(times.table(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(task: &str, us: u64, event: &str) -> String {
        format!("         {task}      [000] .....     3.{us:06}: {event}\n")
    }

    #[test]
    fn times_of_a_made_up_trace_are_found() {
        let batch = |scanned: u64, freed: u64| {
            format!(
                "mm_vmscan_lru_shrink_inactive: nid=0 nr_scanned={scanned} nr_reclaimed={freed} nr_dirty=0"
            )
        };
        let mut trace = String::new();
        let mut at = |us, event: &str| trace += &line("kswapd0-44", us, event);
        // A folio kept takes 2 us, one evicted 10, a head 5, a tail 11.
        at(0, "wakes: (enqueue_task_fair+0x4/0x810) lag=4000000 woken=44 fl=9");
        at(0, "wakes: (enqueue_task_fair+0x4/0x810) lag=-7 woken=44 fl=9");
        at(1, "shrink_node <-balance_pgdat");
        at(1 + 5 + 40, &batch(20, 0));
        at(46 + 40, &batch(20, 0));
        at(86 + 200, &batch(20, 20));
        at(286 + 30, "mm_vmscan_lru_shrink_active: nid=0 nr_taken=20 nr_active=0");
        at(316 + 11, "shrink_node <-balance_pgdat");
        // Who is interrupted tells nothing.
        at(400, "sched_switch: prev_comm=kswapd0 prev_pid=44 ==> next_comm=init next_pid=1");
        at(900, &batch(20, 0));
        trace += &line("init-1", 910, "mm_vmscan_direct_reclaim_begin: order=0");
        trace += &line("init-1", 913, "shrink_node <-do_try_to_free_pages");
        let table = table("made up", &trace).unwrap_or_else(|e| panic!("{e}"));
        let found: Vec<&str> = table.lines().skip(1).map(|l| l[28..].trim()).collect();
        let expected =
            ["2000 ns  of 1", "10000 ns  of 1", "1500 ns  of 1", "5000 ns  of 1", "11000 ns  of 1"];
        assert_eq!(found[..5], expected, "{table}");
        assert_eq!(found[5..], ["3000 ns  of 1", "4000000 ns"], "{table}");
    }

    #[test]
    fn a_trace_without_reclaim_is_refused() {
        assert!(table("x", "@kernel 6.1\n").is_err_and(|e| e.contains("reclaim.sh")));
    }
}
