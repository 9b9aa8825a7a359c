//! `/proc/zoneinfo` as kernels print it, from 4.1 on.
//!
//! A zone begins with `Node 0, zone   Normal`. Sizes and watermarks stand in lines of their own, so
//! do counters of the node and of the zone, then come the lists of each CPU. Names came and went;
//! an unknown one is kept as a counter. This file needs nothing but the standard library: the
//! recorder in `tools/recorder` includes it.

/// The list of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pcp {
    /// Number of the CPU.
    pub cpu: u32,
    /// Pages on its lists.
    pub count: u64,
    /// Pages at which some go back.
    pub high: u64,
    /// Pages moved at a time.
    pub batch: u64,
    /// The least that the kernel tunes `high` to; newer kernels print it (6.18 does, 6.12 does not).
    pub high_min: Option<u64>,
}

/// A zone at some moment. All sizes are in pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Zone {
    /// Line of its head, from 1.
    pub line: usize,
    /// Number of its node.
    pub node: u32,
    /// DMA, DMA32, Normal, ..
    pub name: String,
    /// Free pages.
    pub free: u64,
    /// Temporary addition to the watermarks.
    pub boost: u64,
    /// Watermarks as they stand there, boosted: min, low, high.
    pub marks: [u64; 3],
    /// From the first frame to the last.
    pub spanned: u64,
    /// Pages given to the allocator.
    pub managed: u64,
    /// The `protection` line, lowmem_reserve.
    pub protection: Vec<u64>,
    /// First frame.
    pub start_pfn: u64,
    /// Counters of the node, if it is the first zone of one, and of the zone.
    pub items: Vec<(String, u64)>,
    /// The lists of each CPU.
    pub pcp: Vec<Pcp>,
    /// The last of its lines, from 1.
    pub end: usize,
}

impl Zone {
    /// A counter by its name.
    pub fn item(&self, name: &str) -> Option<u64> {
        self.items.iter().find(|i| i.0 == name).map(|i| i.1)
    }
}

/// Error in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bad {
    /// Where, from 1.
    pub line: usize,
    /// Text to write, or action to take, instead.
    pub write: String,
}

/// A whole number of a line.
pub fn number(word: &str, line: usize) -> Result<u64, Bad> {
    let write = || Bad { line, write: "a whole number of at most 19 digits".into() };
    word.parse().ok().filter(|&n| n <= i64::MAX as u64).ok_or_else(write)
}

/// The zones of a text, those without memory too.
///
/// # Errors
/// A line that no kernel prints, or a zone that ends early.
pub fn parse(text: &str) -> Result<Vec<Zone>, Bad> {
    let mut all: Vec<Zone> = Vec::new();
    for (i, of_line) in text.lines().enumerate() {
        let line = i + 1;
        let words: Vec<&str> = of_line.split_whitespace().collect();
        if let ["Node", node, "zone", name] = words[..] {
            let node = number(node.trim_end_matches(','), line)?;
            let node = u32::try_from(node)
                .map_err(|_| Bad { line, write: "the number of a node".into() })?;
            all.push(Zone { line, node, name: name.into(), ..Zone::default() });
            continue;
        }
        if words.is_empty() {
            continue;
        }
        let Some(zone) = all.last_mut() else {
            return Err(Bad {
                line,
                write: "`Node 0, zone      DMA` first, as in /proc/zoneinfo".into(),
            });
        };
        zone.line_of(&words, line)?;
        zone.end = line;
    }
    if all.is_empty() {
        let write =
            "the text of /proc/zoneinfo; `cat` copies it, `tar` and `cp -a` see a size of 0";
        return Err(Bad { line: 1, write: write.into() });
    }
    Ok(all)
}

impl Zone {
    fn line_of(&mut self, words: &[&str], line: usize) -> Result<(), Bad> {
        let number = |word: &str| number(word, line);
        match *words {
            ["pages", "free", n] => self.free = number(n)?,
            ["boost", n] => self.boost = number(n)?,
            ["min", n] => self.marks[0] = number(n)?,
            ["low", n] => self.marks[1] = number(n)?,
            ["high", n] => self.marks[2] = number(n)?,
            ["spanned", n] => self.spanned = number(n)?,
            ["managed", n] => self.managed = number(n)?,
            ["start_pfn:", n] => self.start_pfn = number(n)?,
            ["protection:", ref pages @ ..] => {
                let digits = pages.iter().map(|n| n.trim_matches(['(', ')', ',']));
                self.protection = digits.map(number).collect::<Result<_, _>>()?;
            }
            ["cpu:", n] => {
                let cpu = u32::try_from(number(n)?);
                let cpu = cpu.map_err(|_| Bad { line, write: "the number of a CPU".into() })?;
                self.pcp.push(Pcp { cpu, ..Pcp::default() });
            }
            [name @ ("count:" | "high:" | "batch:" | "high_min:"), n] => {
                let Some(list) = self.pcp.last_mut() else {
                    return Err(Bad { line, write: "`cpu: 0` before its list".into() });
                };
                match name {
                    "count:" => list.count = number(n)?,
                    "high:" => list.high = number(n)?,
                    "batch:" => list.batch = number(n)?,
                    _ => list.high_min = Some(number(n)?),
                }
            }
            ["per-node", "stats"] | ["pagesets"] => {}
            // `high_max:`, `vm stats threshold: 4`, `node_unreclaimable:  0`.
            [.., name, n] if name.ends_with(':') => drop(number(n)?),
            [name, n] => self.items.push((name.into(), number(n)?)),
            _ => {
                return Err(Bad {
                    line,
                    write: "a line of /proc/zoneinfo: a name and a number".into(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 7
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
              count:    2
              high:     9
              batch:    1
              high_min: 8
              high_max: 480
  vm stats threshold: 4
  node_unreclaimable:  0
  start_pfn:           1
Node 0, zone   Normal
  pages free     0
        min      0
        low      0
        high     0
        managed  0
        protection: (0, 0, 0, 0, 0)
";

    #[test]
    fn a_zone_is_read_with_its_lists() {
        let all = parse(TEXT).unwrap();
        assert_eq!(all.len(), 2);
        let z = &all[0];
        assert_eq!((z.node, z.name.as_str(), z.free, z.managed), (0, "DMA", 3808, 3840));
        assert_eq!(
            (z.marks, z.spanned, z.start_pfn, z.line, z.end),
            ([26, 32, 38], 4095, 1, 1, 24)
        );
        assert_eq!(z.protection, [0, 316, 316, 316, 316]);
        let pcp = Pcp { cpu: 0, count: 2, high: 9, batch: 1, high_min: Some(8) };
        assert_eq!(z.pcp, [pcp]);
        assert_eq!(
            [z.item("nr_inactive_anon"), z.item("present"), z.item("x")],
            [Some(7), Some(3998), None]
        );
        assert_eq!(all[1].managed, 0);
    }

    #[test]
    fn mistakes_have_their_lines() {
        let line = |from: &str, to: &str| parse(&TEXT.replacen(from, to, 1)).unwrap_err().line;
        assert_eq!(line("26", "2x"), 6);
        assert_eq!(line("    cpu: 0\n", ""), 16);
        assert_eq!(line("(0, 316,", "(0, ,"), 13);
        assert_eq!(line("Node 0, zone      DMA\n", ""), 1);
        assert_eq!(line("3998", "99999999999999999999"), 10);
        assert_eq!(parse("").unwrap_err().line, 1);
    }
}
