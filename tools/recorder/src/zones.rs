//! Zones as `/proc/zoneinfo` prints them.

use std::fmt;
use std::str::FromStr;

/// A zone at some moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zone {
    /// DMA, DMA32, Normal, ..
    pub name: String,
    /// Managed pages.
    pub managed: u64,
    /// Free pages.
    pub free: u64,
    /// Watermarks: min, low, high.
    pub marks: [u64; 3],
    /// The `protection` line, lowmem_reserve.
    pub reserve: Vec<u64>,
    /// The list of CPU 0: count, high, batch.
    pub pcp: [u64; 3],
}

/// What is read of each zone: begun with its name, then told the words of each line.
pub fn each<Z>(
    zoneinfo: &str,
    begin: impl Fn(&str) -> Z,
    read: impl Fn(&mut Z, &[&str]),
) -> Vec<Z> {
    let mut all: Vec<Z> = Vec::new();
    for line in zoneinfo.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Node", _, "zone", name] = words[..] {
            all.push(begin(name));
        } else if let Some(zone) = all.last_mut() {
            read(zone, &words);
        }
    }
    all
}

/// A number, 0 if it is none.
pub fn number<T: FromStr + Default>(word: &str) -> T {
    word.parse().unwrap_or_default()
}

/// Zones with managed pages, of a machine with one CPU and one node.
pub fn parse(zoneinfo: &str) -> Vec<Zone> {
    let begin = |name: &str| Zone { name: name.into(), ..Zone::default() };
    let mut all = each(zoneinfo, begin, |zone, words| match *words {
        ["pages", "free", n] => zone.free = number(n),
        ["managed", n] => zone.managed = number(n),
        ["min", n] => zone.marks[0] = number(n),
        ["low", n] => zone.marks[1] = number(n),
        ["high", n] => zone.marks[2] = number(n),
        ["count:", n] => zone.pcp[0] = number(n),
        ["high:", n] => zone.pcp[1] = number(n),
        ["batch:", n] => zone.pcp[2] = number(n),
        ["protection:", ref pages @ ..] => {
            let digits = pages.iter().map(|n| n.trim_matches(|c: char| !c.is_ascii_digit()));
            zone.reserve = digits.filter_map(|n| n.parse().ok()).collect();
        }
        _ => {}
    });
    all.retain(|z| z.managed > 0);
    all
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.name, self.managed, self.free)?;
        let [min, low, high] = self.marks;
        let [count, pcp_high, batch] = self.pcp;
        write!(f, "{min} {low} {high} {count} {pcp_high} {batch}")?;
        self.reserve.iter().try_for_each(|r| write!(f, " {r}"))
    }
}

impl Zone {
    /// Reads what was printed.
    pub fn read(line: &str) -> Option<Zone> {
        let (name, rest) = line.split_once(' ')?;
        let n: Vec<u64> = rest.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [managed, free, min, low, high, count, pcp_high, batch, ref reserve @ ..] = n[..]
        else {
            return None;
        };
        Some(Zone {
            name: name.into(),
            managed,
            free,
            marks: [min, low, high],
            reserve: reserve.to_vec(),
            pcp: [count, pcp_high, batch],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONEINFO: &str = "\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 0
  pages free     3808
        boost    0
        min      26
        low      32
        high     38
        spanned  4095
        present  3998
        managed  3840
        cma      0
        protection: (0, 316, 316, 316, 316)
      nr_free_pages 3808
  pagesets
    cpu: 0
              count:    0
              high:     0
              batch:    1
  vm stats threshold: 4
Node 0, zone   Normal
  pages free     0
        min      0
        low      0
        high     0
        managed  0
        protection: (0, 0, 0, 0, 0)
";

    #[test]
    fn zones_are_read_and_empty_ones_left_out() {
        let all = parse(ZONEINFO);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].to_string(), "DMA 3840 3808 26 32 38 0 0 1 0 316 316 316 316");
        assert_eq!(all[0].marks, [26, 32, 38]);
        assert_eq!(all[0].reserve, [0, 316, 316, 316, 316]);
        assert_eq!(Zone::read(&all[0].to_string()).as_ref(), Some(&all[0]));
        assert_eq!(Zone::read("DMA 3840 x"), None);
    }
}
