//! `/proc/PID/maps`: what an address was.
//!
//! The text may hold several snapshots one after the other, as a loop that reads the file
//! while the program runs leaves them. An address belongs to the last line that covers
//! it: where a program unmapped one thing and mapped another, the later one is as a rule
//! what it worked with (the loader's cache file lives for a moment, the heap that takes
//! its place to the end).
//!
//! Only the last part of a path becomes a name in the trace.

use crate::trace::error::TraceError;
use crate::trace::table::USER_PAGES;
use std::collections::BTreeMap;

/// What is mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mapping {
    Anon,
    File { path: String, offset: u32, shared: bool, exec: bool },
}

/// Consecutive pages of one mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) mapping: Mapping,
}

/// All segments, by first page.
pub(super) struct Maps(BTreeMap<u64, Segment>);

impl Maps {
    /// Parses one or more snapshots.
    pub(super) fn parse(text: &str) -> Result<Self, TraceError> {
        let mut maps = Maps(BTreeMap::new());
        let mut segments = Vec::new();
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let segment = parse_line(line).ok_or_else(|| {
                let found = format!("{:?}", line.chars().take(80).collect::<String>());
                let expected = "`start-end perms offset dev inode [path]` as in /proc/PID/maps";
                TraceError::Maps(Box::new(TraceError::line(i as u64 + 1, found, expected)))
            })?;
            if segment.end <= USER_PAGES {
                segments.push(segment);
            }
        }
        for segment in segments.into_iter().rev() {
            maps.insert(segment);
        }
        maps.join();
        Ok(maps)
    }

    /// Adds the parts of a segment that none in the map covers.
    fn insert(&mut self, mut s: Segment) {
        while s.start < s.end {
            if let Some((_, before)) = self.0.range(..=s.start).next_back()
                && before.end > s.start
            {
                s = s.tail(before.end);
                continue;
            }
            let next = self.0.range(s.start..s.end).next().map(|(&start, _)| start);
            let end = next.unwrap_or(s.end);
            let part = Segment { end, ..s.clone() };
            s = s.tail(end);
            self.0.insert(part.start, part);
        }
    }

    /// Joins neighbours that continue one another.
    fn join(&mut self) {
        let mut joined: BTreeMap<u64, Segment> = BTreeMap::new();
        for (_, s) in std::mem::take(&mut self.0) {
            if let Some(mut last) = joined.last_entry() {
                let before = last.get_mut();
                let length = before.end - before.start;
                if before.end == s.start && advance(&before.mapping, length) == s.mapping {
                    before.end = s.end;
                    continue;
                }
            }
            joined.insert(s.start, s);
        }
        self.0 = joined;
    }

    /// The segment of a page.
    pub(super) fn find(&self, page: u64) -> Option<&Segment> {
        let (_, segment) = self.0.range(..=page).next_back()?;
        (page < segment.end).then_some(segment)
    }
}

impl Segment {
    /// The part from page `start` on; empty if there is none.
    fn tail(&self, start: u64) -> Self {
        let start = start.min(self.end);
        Segment { start, end: self.end, mapping: advance(&self.mapping, start - self.start) }
    }
}

fn advance(mapping: &Mapping, pages: u64) -> Mapping {
    match mapping {
        Mapping::Anon => Mapping::Anon,
        Mapping::File { path, offset, shared, exec } => Mapping::File {
            path: path.clone(),
            offset: (u64::from(*offset) + pages).min(u64::from(u32::MAX)) as u32,
            shared: *shared,
            exec: *exec,
        },
    }
}

fn parse_line(line: &str) -> Option<Segment> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()? >> 12;
    let end = u64::from_str_radix(end, 16).ok()? >> 12;
    let perms = fields.next()?.as_bytes();
    let offset = u64::from_str_radix(fields.next()?, 16).ok()? >> 12;
    let (_device, _inode) = (fields.next()?, fields.next()?);
    // A path may hold spaces: it is all that follows.
    let path = match fields.next() {
        Some(first) => &line[first.as_ptr() as usize - line.as_ptr() as usize..],
        None => "",
    };
    let path = path.trim_end().trim_end_matches(" (deleted)");
    if perms.len() != 4 || start > end {
        return None;
    }
    let mapping = if path.starts_with('/') && !path.starts_with("/dev/zero") {
        Mapping::File {
            path: path.to_string(),
            offset: u32::try_from(offset).ok()?,
            shared: perms[3] == b's',
            exec: perms[2] == b'x',
        }
    } else {
        Mapping::Anon
    };
    Some(Segment { start, end, mapping })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
00400000-00410000 r-xp 00002000 08:01 77    /usr/bin/my tool (deleted)
00600000-00604000 rw-p 00000000 00:00 0     [heap]
7f0000000000-7f0000010000 rw-s 00000000 08:01 78 /data/base.db

00400000-00410000 r-xp 00002000 08:01 77    /usr/bin/my tool (deleted)
00600000-00608000 rw-p 00000000 00:00 0     [heap]
";

    #[test]
    fn snapshots_add_up() {
        let maps = Maps::parse(TEXT).unwrap();
        assert_eq!(maps.0.len(), 3);
        let tool = maps.find(0x405).unwrap();
        let path = "/usr/bin/my tool".to_string();
        let mapping = Mapping::File { path, offset: 2, shared: false, exec: true };
        assert_eq!(tool.mapping, mapping);
        let heap = maps.find(0x607).unwrap();
        assert_eq!((heap.start, heap.end), (0x600, 0x608));
        assert!(maps.find(0x608).is_none());
        assert!(matches!(
            maps.find(0x7f0000000).unwrap().mapping,
            Mapping::File { shared: true, .. }
        ));
    }

    #[test]
    fn the_last_line_wins_and_earlier_ones_fill_up() {
        let text = "\
00000000-00008000 r--p 00010000 08:01 5 /f
00002000-00003000 rw-p 00000000 00:00 0
";
        let maps = Maps::parse(text).unwrap();
        assert_eq!(maps.find(2).unwrap().mapping, Mapping::Anon);
        let after = maps.find(5).unwrap();
        assert_eq!((after.start, after.end), (3, 8));
        assert!(matches!(after.mapping, Mapping::File { offset: 0x13, .. }));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let e = Maps::parse("00002000-00003000 rw-p\n").map(|_| ()).unwrap_err().to_string();
        assert!(e.starts_with("the maps: line 1: \"00002000-00003000 rw-p\""), "{e}");
    }
}
