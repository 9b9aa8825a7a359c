//! Zones as `/proc/zoneinfo` prints them.

use std::fmt;

use crate::zoneinfo;

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

/// Zones with managed pages, of a machine with one CPU and one node; none if the text is another one.
pub fn parse(zoneinfo: &str) -> Vec<Zone> {
    let all = zoneinfo::parse(zoneinfo).unwrap_or_default();
    let of = |z: zoneinfo::Zone| {
        let pcp = z.pcp.first().copied().unwrap_or_default();
        Zone {
            name: z.name,
            managed: z.managed,
            free: z.free,
            marks: z.marks,
            reserve: z.protection,
            pcp: [pcp.count, pcp.high, pcp.batch],
        }
    };
    all.into_iter().filter(|z| z.managed > 0).map(of).collect()
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
