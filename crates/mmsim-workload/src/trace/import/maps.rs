//! `/proc/PID/maps`: what an address was.
//!
//! The text may hold several snapshots one after the other, as a loop that reads the file
//! while the program runs leaves them. An address belongs to the last line that covers
//! it: where a program unmapped one thing and mapped another, the later one is as a rule
//! what it worked with (the loader's cache file lives for a moment, the heap that takes
//! its place to the end).
//!
//! Only the last part of a path becomes a name in the trace.
//!
//! Not every path is a file of a disk. Shared memory (System V, memfd, `/dev/shm`, ashmem, shared
//! mappings of `/dev/zero`, buffers of graphics drivers) is kept in files that the kernel makes on a
//! file system of its own. Equal names of deleted files are different objects, which the inode tells
//! apart; buffers of a graphics device lie at different offsets of one file. A private mapping of such
//! memory is anonymous, as what is written to it is. Mappings of hugetlbfs have paths too, and pages
//! that no reclaim takes: they are imported as anonymous memory. Other paths below `/dev` are devices,
//! whose memory is no disk's either.

use crate::trace::error::TraceError;
use crate::trace::table::USER_PAGES;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mapping {
    Anon,
    /// Memory that has the name of a file and lies on no disk.
    Nameless(Nameless),
    /// An object of shared memory, by a name that no other has.
    Shared {
        path: String,
        offset: u32,
    },
    File {
        path: String,
        offset: u32,
        shared: bool,
        exec: bool,
    },
}

/// Kinds of memory that has the name of a file and lies on no disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Nameless {
    /// Shared memory, mapped privately.
    Shared,
    /// Huge pages of hugetlbfs.
    HugeTlb,
    /// Memory of a device.
    Device,
}

impl Nameless {
    pub(super) const ALL: [Nameless; 3] = [Nameless::Shared, Nameless::HugeTlb, Nameless::Device];

    /// Assumption of the import about it, for people.
    pub(super) const fn assumption(self) -> &'static str {
        match self {
            Nameless::Shared => {
                "shared memory that is mapped privately are anonymous memory, as if it were written"
            }
            Nameless::HugeTlb => {
                "hugetlbfs are anonymous memory: there is no pool of huge pages in a trace, and \
                 reclaim may take them"
            }
            Nameless::Device => {
                "devices are anonymous memory: what a driver maps lies on no disk, and reclaim may \
                 take it"
            }
        }
    }
}

/// Paths and beginnings of paths of such memory. Those of files without a folder (`/memfd:name`) are
/// made by the kernel, which adds ` (deleted)`.
const NAMELESS: &[(&str, Nameless)] = &[
    ("/SYSV", Nameless::Shared),
    ("/memfd:", Nameless::Shared),
    ("/dev/shm/", Nameless::Shared),
    ("/run/shm/", Nameless::Shared),
    ("/dev/zero", Nameless::Shared),
    ("/dev/ashmem", Nameless::Shared),
    ("/drm mm object", Nameless::Shared),
    ("/i915", Nameless::Shared),
    ("/dev/dri/", Nameless::Shared),
    ("/dev/dma_heap/", Nameless::Shared),
    ("/dmabuf:", Nameless::Shared),
    ("/anon_hugepage", Nameless::HugeTlb),
    ("/dev/hugepages", Nameless::HugeTlb),
    ("/[aio]", Nameless::Device),
    ("/dev/", Nameless::Device),
];

/// The kind of such memory, if a path is of any. `made`: it was deleted, and lies in no folder.
fn nameless(path: &str, made: bool) -> Option<Nameless> {
    let of = |(start, _): &&(&str, Nameless)| {
        let folder = start.starts_with("/dev/") || start.starts_with("/run/");
        path.starts_with(start) && (folder || made)
    };
    NAMELESS.iter().find(of).map(|n| n.1)
}

/// True for buffers of a device, which lie at offsets of its one file.
fn is_buffer(path: &str) -> bool {
    path.starts_with("/dev/dri/") || path.starts_with("/dev/dma_heap/")
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
        let mut of_shmem = BTreeSet::new();
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let (segment, device) = parse_line(line).ok_or_else(|| {
                let found = format!("{:?}", line.chars().take(80).collect::<String>());
                let expected = "`start-end perms offset dev inode [path]` as in /proc/PID/maps";
                TraceError::Maps(Box::new(TraceError::line(i as u64 + 1, found, expected)))
            })?;
            // The kernel's own file systems have devices of major number 0, one each.
            let of_kernel = device.starts_with("00:");
            if matches!(segment.mapping, Mapping::Shared { .. }) && of_kernel {
                of_shmem.insert(device);
            }
            if segment.end <= USER_PAGES {
                segments.push((segment, device));
            }
        }
        for (mut segment, device) in segments.into_iter().rev() {
            if let Mapping::File { path, offset, shared, .. } = &mut segment.mapping
                && of_shmem.contains(device)
            {
                segment.mapping = match *shared {
                    true => Mapping::Shared { path: std::mem::take(path), offset: *offset },
                    false => Mapping::Nameless(Nameless::Shared),
                };
            }
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
        Mapping::Nameless(kind) => Mapping::Nameless(*kind),
        Mapping::Shared { path, offset } => {
            Mapping::Shared { path: path.clone(), offset: further(*offset, pages) }
        }
        Mapping::File { path, offset, shared, exec } => Mapping::File {
            path: path.clone(),
            offset: further(*offset, pages),
            shared: *shared,
            exec: *exec,
        },
    }
}

fn further(offset: u32, pages: u64) -> u32 {
    (u64::from(offset) + pages).min(u64::from(u32::MAX)) as u32
}

/// A line, and the device of its file.
fn parse_line(line: &str) -> Option<(Segment, &str)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()? >> 12;
    let end = u64::from_str_radix(end, 16).ok()? >> 12;
    let perms = fields.next()?.as_bytes();
    let offset = u64::from_str_radix(fields.next()?, 16).ok()? >> 12;
    let (device, inode) = (fields.next()?, fields.next()?);
    // A path may hold spaces: it is all that follows.
    let whole = match fields.next() {
        Some(first) => line[first.as_ptr() as usize - line.as_ptr() as usize..].trim_end(),
        None => "",
    };
    let path = whole.trim_end_matches(" (deleted)");
    if perms.len() != 4 || start > end {
        return None;
    }
    let shared = perms[3] == b's';
    let made = path.len() < whole.len() && path.rfind('/') == Some(0);
    let deleted = path.len() < whole.len();
    let mapping = if path.starts_with("[anon_shmem:") {
        Mapping::Shared { path: format!("{path}#{inode}"), offset: u32::try_from(offset).ok()? }
    } else if !path.starts_with('/') || path == "/dev/zero" && !shared {
        Mapping::Anon
    } else if let Some(kind) = nameless(path, made) {
        match kind {
            Nameless::Shared if shared && is_buffer(path) => {
                Mapping::Shared { path: format!("{path}#{inode}@{offset:x}"), offset: 0 }
            }
            Nameless::Shared if shared => {
                let path = if deleted { format!("{path}#{inode}") } else { path.to_string() };
                Mapping::Shared { path, offset: u32::try_from(offset).ok()? }
            }
            _ => Mapping::Nameless(kind),
        }
    } else {
        Mapping::File {
            path: path.to_string(),
            offset: u32::try_from(offset).ok()?,
            shared,
            exec: perms[2] == b'x',
        }
    };
    Some((Segment { start, end, mapping }, device))
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

    /// Names that the kernel prints of each kind, and files of disks with names that are alike.
    #[test]
    fn memory_with_the_name_of_a_file_is_no_file() {
        use Nameless::{Device, HugeTlb, Shared};
        for (line, kind) in [
            ("rw-s 00000000 00:01 1000 /SYSV00000000 (deleted)", Some(Shared)),
            ("rw-s 00000000 00:01 65537 /SYSV51010d2a (deleted)", Some(Shared)),
            ("rw-s 00000000 00:01 1024 /dev/zero (deleted)", Some(Shared)),
            ("rw-s 00000000 00:01 3 /memfd:wayland-shm (deleted)", Some(Shared)),
            ("r-xs 00000000 00:01 3 /memfd:doublemapper (deleted)", Some(Shared)),
            ("rw-s 00000000 00:1a 5 /dev/shm/PostgreSQL.1804289383", Some(Shared)),
            ("rw-s 00000000 00:1a 5 /dev/shm/sem.x (deleted)", Some(Shared)),
            ("rw-s 00000000 00:04 8 /dev/ashmem/dalvik-jit-code-cache (deleted)", Some(Shared)),
            ("rw-s 00000000 00:01 9 /drm mm object (deleted)", Some(Shared)),
            ("rw-s 00000000 00:01 9 /i915 (deleted)", Some(Shared)),
            ("rw-s 1009ab000 00:06 9 /dev/dri/card0", Some(Shared)),
            ("rw-s 00000000 00:01 9 [anon_shmem:pool]", Some(Shared)),
            ("rw-p 00000000 00:0f 9 /anon_hugepage (deleted)", Some(HugeTlb)),
            ("rw-s 00000000 00:2b 9 /dev/hugepages/rtemap_0", Some(HugeTlb)),
            ("rw-s 00000000 00:0d 9 /[aio] (deleted)", Some(Device)),
            ("rw-s 00000000 00:06 9 /dev/nvidia0", Some(Device)),
            ("rw-s 00000000 08:01 9 /data/dev/shm/x", None),
            ("rw-s 00000000 08:01 9 /memfd:x", None),
            ("rw-s 00000000 08:01 9 /tmp/SYSV00000000 (deleted)", None),
            ("r-xs 00000000 08:01 9 /usr/lib/i915_dri.so (deleted)", None),
        ] {
            let maps = Maps::parse(&format!("00001000-00002000 {line}\n")).unwrap();
            let found = match maps.find(1).unwrap().mapping {
                Mapping::Nameless(kind) => Some(kind),
                Mapping::Shared { .. } => Some(Shared),
                _ => None,
            };
            assert_eq!(found, kind, "{line}");
        }
        for line in ["rw-p 00000000 00:06 4 /dev/zero", "rw-p 00000000 00:00 0 [anon:x]"] {
            let maps = Maps::parse(&format!("00001000-00002000 {line}\n")).unwrap();
            assert_eq!(maps.find(1).unwrap().mapping, Mapping::Anon, "{line}");
        }
    }

    /// `/shm/x` of a container is on the file system that another line shows to be shared memory;
    /// a file of another device is not.
    #[test]
    fn one_device_is_one_file_system() {
        let text = "\
00001000-00002000 rw-s 00000000 00:4d 3 /shm/x
00002000-00003000 rw-s 00000000 00:4d 2 /dev/shm/y
00003000-00004000 rw-s 00000000 00:4e 2 /overlay/z
";
        let maps = Maps::parse(text).unwrap();
        let shared = |page| matches!(maps.find(page).unwrap().mapping, Mapping::Shared { .. });
        assert_eq!([1, 2, 3].map(shared), [true, true, false]);
    }

    /// Two segments of System V without a key have one name and different inodes. Buffers of a device
    /// are objects of their own. A private mapping is anonymous.
    #[test]
    fn objects_are_told_apart() {
        let text = "\
00001000-00003000 rw-s 00001000 00:01 65537 /SYSV00000000 (deleted)
00003000-00004000 rw-s 00000000 00:01 65538 /SYSV00000000 (deleted)
00004000-00005000 rw-s 1009ab000 00:06 9 /dev/dri/card0
00005000-00006000 rw-s 00002000 00:1a 5 /dev/shm/PostgreSQL.1
00006000-00007000 rw-p 00000000 00:01 3 /memfd:x (deleted)
";
        let maps = Maps::parse(text).unwrap();
        for (page, name, at) in [
            (2, "/SYSV00000000#65537", 2),
            (3, "/SYSV00000000#65538", 0),
            (4, "/dev/dri/card0#9@1009ab", 0),
            (5, "/dev/shm/PostgreSQL.1", 2),
        ] {
            let segment = maps.find(page).unwrap();
            let (path, offset) = (name.to_string(), at - (page - segment.start) as u32);
            assert_eq!(segment.mapping, Mapping::Shared { path, offset });
        }
        assert_eq!(maps.find(6).unwrap().mapping, Mapping::Nameless(Nameless::Shared));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let e = Maps::parse("00002000-00003000 rw-p\n").map(|_| ()).unwrap_err().to_string();
        assert!(e.starts_with("the maps: line 1: \"00002000-00003000 rw-p\""), "{e}");
    }
}
