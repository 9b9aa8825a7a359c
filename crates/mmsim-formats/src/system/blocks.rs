//! `/proc/buddyinfo` and `/proc/pagetypeinfo`: free blocks by order, by type as well, and
//! pageblocks by type.

use mmsim_core::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use mmsim_core::phys::buddy::NR_ORDERS;

use super::copies::Text;
use super::zoneinfo::{Bad, number};
use mmsim_base::error::Error;

/// Free blocks of each order.
pub type Orders = [u64; NR_ORDERS];

/// Known free blocks of a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Line of the zone, from 1.
    pub line: usize,
    /// Node.
    pub node: u32,
    /// Name of the zone.
    pub zone: String,
    /// Blocks of each migratetype; of a type that is not known, those of movable memory.
    pub free: [Orders; NR_MIGRATETYPES],
    /// Lists whose count the kernel cut off: type and order.
    pub cut: Vec<(usize, usize)>,
    /// Pageblocks of each migratetype; `None` if the copies do not say.
    pub pageblocks: Option<[u64; NR_MIGRATETYPES]>,
}

impl Blocks {
    fn new(line: usize, node: u32, zone: &str) -> Blocks {
        let free = [[0; NR_ORDERS]; NR_MIGRATETYPES];
        Blocks { line, node, zone: zone.into(), free, cut: Vec::new(), pageblocks: None }
    }

    /// Free blocks of an order, whatever their type.
    pub fn of_order(&self, order: usize) -> u64 {
        self.free.iter().map(|of_type| of_type[order]).sum()
    }

    /// Pages of its free blocks.
    pub fn pages(&self) -> u64 {
        (0..NR_ORDERS).map(|o| self.of_order(o).saturating_mul(1 << o)).fold(0, u64::saturating_add)
    }
}

/// Columns of orders.
fn orders(words: &[&str], line: usize) -> Result<(Orders, Vec<usize>), Bad> {
    let (mut orders, mut cut) = ([0; NR_ORDERS], Vec::new());
    if words.len() != NR_ORDERS {
        let write =
            format!("{NR_ORDERS} numbers, orders 0 to {}: others are not modelled", NR_ORDERS - 1);
        return Err(Bad { line, write });
    }
    for (i, word) in words.iter().enumerate() {
        orders[i] = number(word.trim_start_matches('>'), line)?;
        if orders[i] > 1 << 40 {
            return Err(Bad { line, write: "a number of blocks that memory has room for".into() });
        }
        if word.starts_with('>') {
            cut.push(i);
        }
    }
    Ok((orders, cut))
}

/// `Node 0, zone   Normal`, and the words behind.
fn head<'a, 'w>(words: &'w [&'a str], line: usize) -> Result<(u32, &'a str, &'w [&'a str]), Bad> {
    match words {
        ["Node", node, "zone", zone, rest @ ..] => {
            let node = u32::try_from(number(node.trim_end_matches(','), line)?);
            let node = node.map_err(|_| Bad { line, write: "the number of a node".into() })?;
            Ok((node, zone.trim_end_matches(','), rest))
        }
        _ => Err(Bad { line, write: "a line that begins with `Node 0, zone   Normal`".into() }),
    }
}

/// Reads `/proc/buddyinfo`. All blocks count as movable.
///
/// # Errors
/// A line that is none of it.
pub fn buddyinfo(copy: &Text) -> Result<Vec<Blocks>, Error> {
    let mut all = Vec::new();
    for (i, line) in copy.text().lines().enumerate().filter(|l| !l.1.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let read = || {
            let (node, zone, rest) = head(&words, i + 1)?;
            let mut blocks = Blocks::new(i + 1, node, zone);
            blocks.free[Migratetype::Movable as usize] = orders(rest, i + 1)?.0;
            Ok(blocks)
        };
        all.push(read().map_err(|bad: Bad| copy.bad(bad.line, "no line of buddyinfo", bad.write))?);
    }
    Ok(all)
}

/// Reads `/proc/pagetypeinfo`: log2 of the pages of a pageblock, and the zones.
///
/// # Errors
/// A line that is none of it, or an early end.
pub fn pagetypeinfo(copy: &Text) -> Result<(u64, Vec<Blocks>), Error> {
    let (mut all, mut order, mut types): (Vec<Blocks>, _, Vec<&str>) =
        (Vec::new(), None, Vec::new());
    for (i, text) in copy.text().lines().enumerate() {
        let line = i + 1;
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut read = || -> Result<(), Bad> {
            match words[..] {
                [] | ["Pages", "per", "block:", _] => {}
                ["Page", "block", "order:", n] => order = Some(number(n, line)?),
                ["Free", "pages", "count", ..] => {}
                ["Number", "of", "blocks", "type", ref names @ ..] => types = names.to_vec(),
                ["Number", "of", "mixed", ..] => types.clear(),
                ["Node", ..] if text.contains(", type ") => {
                    let (node, zone, rest) = head(&words, line)?;
                    let ["type", name, counts @ ..] = rest else {
                        return Err(Bad { line, write: "`type` and the name of one".into() });
                    };
                    let known = Migratetype::ALL.iter().position(|t| t.name() == *name);
                    let Some(known) = known else {
                        let names = Migratetype::ALL.map(Migratetype::name).join(", ");
                        return Err(Bad {
                            line,
                            write: format!("a type that is modelled: {names}"),
                        });
                    };
                    let (counts, cut) = orders(counts, line)?;
                    let at = all.iter().position(|b| (b.node, b.zone.as_str()) == (node, zone));
                    let at = at.unwrap_or_else(|| {
                        all.push(Blocks::new(line, node, zone));
                        all.len() - 1
                    });
                    all[at].free[known] = counts;
                    all[at].cut.extend(cut.into_iter().map(|order| (known, order)));
                }
                ["Node", ..] if !types.is_empty() => {
                    let (node, zone, counts) = head(&words, line)?;
                    let at = all.iter().position(|b| (b.node, b.zone.as_str()) == (node, zone));
                    let (Some(at), true) = (at, counts.len() == types.len()) else {
                        let write = format!("{} numbers, of a zone from above", types.len());
                        return Err(Bad { line, write });
                    };
                    let mut blocks = [0; NR_MIGRATETYPES];
                    for (name, n) in types.iter().zip(counts) {
                        let known = Migratetype::ALL.iter().position(|t| t.name() == *name);
                        blocks[known.unwrap_or(Migratetype::Movable as usize)] +=
                            number(n, line)? & ((1 << 40) - 1);
                    }
                    all[at].pageblocks = Some(blocks);
                }
                _ => return Err(Bad { line, write: "a line of /proc/pagetypeinfo".into() }),
            }
            Ok(())
        };
        read().map_err(|bad| copy.bad(bad.line, "no line of pagetypeinfo", bad.write))?;
    }
    let last = copy.text().lines().count().max(1);
    let (Some(order), false) = (order, all.is_empty()) else {
        let all = "all of /proc/pagetypeinfo, which root alone can read";
        return Err(copy.bad(last, "it ends early", all));
    };
    if let Some(cut) = all.iter().find(|b| b.pageblocks.is_none()) {
        let found =
            format!("it ends before the pageblocks of node {}, zone {}", cut.node, cut.zone);
        return Err(copy.bad(last, found, "all of /proc/pagetypeinfo"));
    }
    Ok((order, all))
}
