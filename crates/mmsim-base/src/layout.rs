//! Layouts of memory as text: what `--emit layout` writes and a `fragment` task loads.
//!
//! ```text
//! mmsim-layout 1
//! zone Normal node 0 first 0 frames 1024 pageblock 512
//! types Movable Unmovable
//! frames kernel*32 unmovable free*479 program*12 free*500
//! list 0 Movable 33
//! list 1 Movable 34
//! list 2 Movable cpu 0 36+2
//! ```
//!
//! The first line has the number of the form. Each zone has a line with what it is, lines with the
//! types of its pageblocks, lines with the uses of its frames, and lines with free lists: order,
//! type, perhaps whose per-CPU list it is, and the first frames of its blocks, the one that is
//! handed out next first. `x*n` is n times x; `p+n` are n blocks from p upwards, one after the
//! other, `p-n` n blocks downwards. Long lines go on in the next one, which begins with the same
//! words. Uses are `free`, `kernel`, `program`, and, for memory that workloads hold on behalf of
//! the kernel, `unmovable`, `movable` and `reclaimable`, by the type of the request.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use mmsim_core::base::id::{CpuId, NodeId, Pfn};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::{FrameUse, FreeListLayout, Layout, ZoneLayout};
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;

use crate::error::{Error, ErrorKind};
use crate::files;

/// The form that this program writes and reads.
const FORM: &str = "mmsim-layout 1";
/// Columns of a line.
const WIDTH: usize = 100;
/// Frames of a layout at most: 256 GiB.
const MOST_FRAMES: u64 = 1 << 26;

const USES: [(&str, FrameUse); 6] = [
    ("free", FrameUse::Free),
    ("kernel", FrameUse::Kernel),
    ("program", FrameUse::Program),
    ("unmovable", FrameUse::Held(Migratetype::Unmovable)),
    ("movable", FrameUse::Held(Migratetype::Movable)),
    ("reclaimable", FrameUse::Held(Migratetype::Reclaimable)),
];

// ---- writing ----

/// Adds words to lines that all begin with `head`.
fn lines(text: &mut String, head: &str, words: impl Iterator<Item = String>) {
    let mut column = 0;
    for word in words {
        if column == 0 || column + 1 + word.len() > WIDTH {
            text.push_str(if column == 0 { "" } else { "\n" });
            text.push_str(head);
            column = head.len();
        }
        text.push(' ');
        text.push_str(&word);
        column += 1 + word.len();
    }
    text.push('\n');
}

/// `x*3 y` for `x x x y`.
fn repeated<'a, T: PartialEq>(
    all: &'a [T],
    name: impl Fn(&T) -> &'static str + 'a,
) -> impl Iterator<Item = String> + 'a {
    all.chunk_by(|a, b| a == b).map(move |run| match run.len() {
        1 => name(&run[0]).to_string(),
        n => format!("{}*{n}", name(&run[0])),
    })
}

/// `8+3 1` for the blocks 8, 9, 10, 1 of order 0.
fn blocks(list: &FreeListLayout) -> Vec<String> {
    let size = 1i64 << list.order;
    let at = |i: usize| i64::from(list.blocks[i].0);
    let mut words = Vec::new();
    let mut i = 0;
    while i < list.blocks.len() {
        let mut end = i + 1;
        let step = if end < list.blocks.len() { at(end) - at(i) } else { 0 };
        while step.abs() == size && end < list.blocks.len() && at(end) - at(end - 1) == step {
            end += 1;
        }
        let sign = if step > 0 { '+' } else { '-' };
        words.push(match end - i {
            1 => at(i).to_string(),
            n => format!("{}{sign}{n}", at(i)),
        });
        i = end;
    }
    words
}

/// A layout as text.
pub fn text(layout: &Layout) -> String {
    let mut text = format!("{FORM}\n");
    for z in &layout.zones {
        let (kind, node, first, n) = (z.kind.name(), z.node.0, z.first.0, z.frames.len());
        let block = 1u32 << z.pageblock_order;
        writeln!(text, "zone {kind} node {node} first {first} frames {n} pageblock {block}")
            .expect("writing to a string");
        lines(&mut text, "types", repeated(&z.types, |t| t.name()));
        let name = |u: &FrameUse| USES.iter().find(|n| n.1 == *u).map_or("kernel", |n| n.0);
        lines(&mut text, "frames", repeated(&z.frames, name));
        for l in &z.lists {
            let cpu = l.cpu.map_or(String::new(), |c| format!(" cpu {}", c.0));
            let head = format!("list {} {}{cpu}", l.order, l.migratetype.name());
            lines(&mut text, &head, blocks(l).into_iter());
        }
    }
    text
}

// ---- reading ----

/// Error in a text: place, text found, and text to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Bad {
    at: Range<usize>,
    found: String,
    write: String,
}

/// A word of a line with its place.
#[derive(Clone, Copy)]
struct Word<'a> {
    at: usize,
    text: &'a str,
}

impl Word<'_> {
    fn bad(&self, write: impl Into<String>) -> Bad {
        let found = match self.text {
            "" => "the line ends here".to_string(),
            text => format!("found `{text}`"),
        };
        Bad { at: self.at..self.at + self.text.len(), found, write: write.into() }
    }

    fn number(&self, most: u64, what: &str) -> Result<u64, Bad> {
        let n: Option<u64> = self.text.parse().ok().filter(|&n| n <= most);
        n.ok_or_else(|| self.bad(format!("{what}, at most {most}")))
    }

    /// The word before a sign and the number after it.
    fn split(&self, signs: &[char]) -> Option<(Self, char, Self)> {
        let i = self.text.find(signs)?;
        let sign = self.text[i..].chars().next()?;
        let word = |at: usize, text| Word { at: self.at + at, text };
        Some((word(0, &self.text[..i]), sign, word(i + 1, &self.text[i + 1..])))
    }

    /// `x*n`: x and n.
    fn times(&self) -> Result<(Self, u64), Bad> {
        match self.split(&['*']) {
            Some((word, _, n)) => Ok((word, n.number(MOST_FRAMES, "how often")?.max(1))),
            None => Ok((*self, 1)),
        }
    }
}

struct Words<'a> {
    rest: std::vec::IntoIter<Word<'a>>,
    end: usize,
}

impl<'a> Words<'a> {
    fn of(at: usize, line: &'a str) -> Words<'a> {
        let mut words = Vec::new();
        let mut i = 0;
        for part in line.split(' ') {
            if !part.is_empty() {
                words.push(Word { at: at + i, text: part });
            }
            i += part.len() + 1;
        }
        Words { rest: words.into_iter(), end: at + line.len() }
    }

    /// The next word; empty at the end.
    fn next(&mut self) -> Word<'a> {
        self.rest.next().unwrap_or(Word { at: self.end, text: "" })
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), Bad> {
        let word = self.next();
        if word.text == keyword { Ok(()) } else { Err(word.bad(format!("`{keyword}`"))) }
    }

    fn number_of(&mut self, keyword: &str, most: u64) -> Result<u64, Bad> {
        self.keyword(keyword)?;
        self.next().number(most, "a whole number")
    }
}

fn one_of<T: Copy>(word: Word<'_>, names: &[(&str, T)]) -> Result<T, Bad> {
    let known = || names.iter().map(|n| format!("`{}`", n.0)).collect::<Vec<_>>().join(", ");
    let found = names.iter().find(|n| n.0 == word.text).map(|n| n.1);
    found.ok_or_else(|| word.bad(format!("one of {}", known())))
}

fn zone(words: &mut Words<'_>) -> Result<(ZoneLayout, u64), Bad> {
    let kind = one_of(words.next(), &ZoneKind::ALL.map(|k| (k.name(), k)))?;
    let node = NodeId(words.number_of("node", 255)? as u8);
    let first = Pfn(words.number_of("first", u32::MAX.into())? as u32);
    let frames = words.number_of("frames", MOST_FRAMES)?;
    words.keyword("pageblock")?;
    let word = words.next();
    let block = word.number(1 << MAX_PAGE_ORDER, "pages of a pageblock")?;
    if !block.is_power_of_two() {
        return Err(word.bad("a power of two"));
    }
    let pageblock_order = block.ilog2() as u8;
    let (types, lists) = (Vec::new(), Vec::new());
    Ok((
        ZoneLayout { kind, node, first, pageblock_order, types, frames: Vec::new(), lists },
        frames,
    ))
}

fn list(words: &mut Words<'_>, z: &mut ZoneLayout) -> Result<(), Bad> {
    let order = words.next().number(MAX_PAGE_ORDER.into(), "an order")? as u8;
    let migratetype = one_of(words.next(), &Migratetype::ALL.map(|t| (t.name(), t)))?;
    let (mut cpu, mut word) = (None, words.next());
    if word.text == "cpu" {
        cpu = Some(CpuId(words.next().number(u16::MAX.into(), "the number of a CPU")? as u16));
        word = words.next();
    }
    let same = |l: &FreeListLayout| (l.cpu, l.order, l.migratetype) == (cpu, order, migratetype);
    let i = z.lists.iter().position(same).unwrap_or_else(|| {
        z.lists.push(FreeListLayout { cpu, order, migratetype, blocks: Vec::new() });
        z.lists.len() - 1
    });
    let frames = z.frames.len() as u64;
    let end = u64::from(z.first.0) + frames;
    while !word.text.is_empty() {
        let one = Word { at: word.at, text: "1" };
        let (p, sign, n) = word.split(&['+', '-']).unwrap_or((word, '+', one));
        let first = p.number(end, "the first frame of a block")?;
        for k in 0..n.number(frames, "how many blocks")? {
            let by = k << order;
            let at = if sign == '+' { Some(first + by) } else { first.checked_sub(by) };
            let at = at.filter(|&p| p < end).ok_or_else(|| word.bad("blocks of the zone"))?;
            z.lists[i].blocks.push(Pfn(at as u32));
        }
        word = words.next();
    }
    Ok(())
}

/// A zone that is being read: where it began, and the frames that it should have.
struct Open {
    zone: ZoneLayout,
    at: Range<usize>,
    frames: u64,
}

impl Open {
    /// The zone, if it is complete and can be.
    fn close(self) -> Result<ZoneLayout, Bad> {
        let (has, wants) = (self.zone.frames.len() as u64, self.frames);
        let bad = |found: String| Bad {
            at: self.at.clone(),
            found,
            write: "a zone that can be".to_string(),
        };
        if has != wants {
            return Err(bad(format!("{has} frames follow, not {wants}")));
        }
        self.zone.check().map_err(|e| bad(e.to_string()))?;
        Ok(self.zone)
    }

    fn line(&mut self, keyword: Word<'_>, words: &mut Words<'_>) -> Result<(), Bad> {
        let z = &mut self.zone;
        match keyword.text {
            "types" | "frames" => loop {
                let word = words.next();
                if word.text.is_empty() {
                    return Ok(());
                }
                let (name, n) = word.times()?;
                let has = if keyword.text == "types" { z.types.len() } else { z.frames.len() };
                if has as u64 + n > self.frames {
                    let write = format!("at most {} in all", self.frames);
                    return Err(word.bad(write));
                }
                if keyword.text == "types" {
                    let t = one_of(name, &Migratetype::ALL.map(|t| (t.name(), t)))?;
                    z.types.extend(std::iter::repeat_n(t, n as usize));
                } else {
                    z.frames.extend(std::iter::repeat_n(one_of(name, &USES)?, n as usize));
                }
            },
            "list" => list(words, z),
            _ => Err(keyword.bad("`zone`, `types`, `frames` or `list`")),
        }
    }
}

fn parse(text: &str) -> Result<Layout, Bad> {
    let mut layout = Layout::default();
    let mut open: Option<Open> = None;
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let begin = at;
        at += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        if i == 0 {
            if line != FORM {
                return Err(Word { at: 0, text: line }.bad(format!("`{FORM}`")));
            }
            continue;
        }
        let mut words = Words::of(begin, line);
        let keyword = words.next();
        match (keyword.text, &mut open) {
            ("", _) => {}
            ("zone", _) => {
                if let Some(open) = open.take() {
                    layout.zones.push(open.close()?);
                }
                let (zone, frames) = zone(&mut words)?;
                let more = words.next();
                if !more.text.is_empty() {
                    return Err(more.bad("nothing more in this line"));
                }
                open = Some(Open { zone, at: begin..begin + line.len(), frames });
            }
            (_, Some(open)) => open.line(keyword, &mut words)?,
            (_, None) => return Err(keyword.bad("`zone` first")),
        }
    }
    match open {
        Some(open) => layout.zones.push(open.close()?),
        None => return Err(Word { at: text.len(), text: "" }.bad(format!("`{FORM}` and a zone"))),
    }
    Ok(layout)
}

/// Reads a layout. `origin` is what messages call the text.
///
/// # Errors
/// The text is not of the form that the module tells, or no memory can lie like that: the message
/// points at the place.
pub fn from_text(text: &str, origin: &str) -> Result<Layout, Error> {
    parse(text).map_err(|bad| {
        let title = format!("`{origin}` is no layout: {}, write {}", bad.found, bad.write);
        let label = format!("write {}", bad.write);
        Error::new(ErrorKind::File, title).at(origin, &text.into(), bad.at, label)
    })
}

/// Reads the layout in a file.
///
/// # Errors
/// The file cannot be read, or see [`from_text`].
pub fn load(path: &Path) -> Result<Layout, Error> {
    let text = files::read_text(path, "a layout")?;
    from_text(&text, &path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the module, with what stays free on lists.
    const TEXT: &str = "\
mmsim-layout 1
zone Normal node 0 first 0 frames 1024 pageblock 512
types Movable Unmovable
frames kernel*32 unmovable free*479 program*12 free*500
list 0 Movable 33
list 1 Movable 34
list 2 Movable cpu 0 40-2
list 2 Movable 44+2 60
";

    #[test]
    fn a_text_is_read_as_it_is_meant_and_written_as_it_was() {
        let layout = from_text(TEXT, "x").unwrap_or_else(|e| panic!("{e}"));
        let z = &layout.zones[0];
        assert_eq!(
            (z.kind, z.node, z.first, z.frames.len()),
            (ZoneKind::Normal, NodeId(0), Pfn(0), 1024)
        );
        assert_eq!(z.types, [Migratetype::Movable, Migratetype::Unmovable]);
        let at = |i: usize| z.frames[i];
        assert_eq!([at(31), at(32), at(33)], [USES[1].1, USES[3].1, FrameUse::Free]);
        assert_eq!(
            [at(511), at(512), at(523), at(524)].map(|u| u == FrameUse::Program),
            [false, true, true, false]
        );
        assert_eq!(z.lists[2].cpu, Some(CpuId(0)));
        assert_eq!(z.lists[2].blocks, [Pfn(40), Pfn(36)]);
        assert_eq!(z.lists[3].blocks, [Pfn(44), Pfn(48), Pfn(60)]);
        let again = text(&layout);
        assert_eq!(again, TEXT);
        assert_eq!(from_text(&again, "x"), Ok(layout));
    }

    /// Lists that run on for lines, upwards and downwards and neither.
    #[test]
    fn long_lists_are_lines() {
        let list = |order, blocks: &[u32]| FreeListLayout {
            cpu: None,
            order,
            migratetype: Migratetype::Movable,
            blocks: blocks.iter().map(|&p| Pfn(p)).collect(),
        };
        assert_eq!(blocks(&list(0, &[5, 6, 7, 9, 8, 3, 100])), ["5+3", "9-2", "3", "100"]);
        assert_eq!(blocks(&list(1, &[4, 6, 2, 0])), ["4+2", "2-2"]);
        assert_eq!(blocks(&list(0, &[])), [""; 0]);
        let far: Vec<u32> = (0..60).map(|i| 1000 + 2 * i).collect();
        let mut text = String::new();
        lines(&mut text, "list 0 Movable", blocks(&list(0, &far)).into_iter());
        assert!(
            text.lines().count() > 2 && text.lines().all(|l| l.starts_with("list 0 Movable 1"))
        );
        assert!(text.lines().all(|l| l.len() <= WIDTH));
    }

    /// Each change of one place, the message, and its place: line and column.
    #[test]
    fn mistakes_are_pointed_at() {
        for (from, to, says, line, column) in [
            ("mmsim-layout 1", "mmsim-layout 2", "write `mmsim-layout 1`", 1, 1),
            ("Normal node", "Usual node", "one of `DMA`", 2, 6),
            ("first 0", "first x", "a whole number", 2, 26),
            ("512\ntypes", "500\ntypes", "a power of two", 2, 50),
            ("512\ntypes", "512 1\ntypes", "nothing more", 2, 54),
            ("types Movable", "types Moveable", "`Movable`", 3, 7),
            ("types Movable", "types", "1 types for 2 pageblocks", 2, 1),
            ("unmovable free*479", "pinned free*479", "one of `free`", 4, 18),
            ("free*500", "free*501", "at most 1024 in all", 4, 48),
            ("free*500", "free*499", "1023 frames follow", 2, 1),
            ("list 0", "lists 0", "`zone`, `types`, `frames` or `list`", 5, 1),
            ("list 0 Movable 33", "list 11 Movable 33", "an order, at most 10", 5, 6),
            (
                "list 0 Movable 33",
                "list 0 Movable 32",
                "pfn32 is on a free list and not free",
                2,
                1,
            ),
            ("44+2 60", "44+2 2000", "the first frame of a block", 8, 21),
            ("44+2 60", "44-20 60", "blocks of the zone", 8, 16),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let e = from_text(&TEXT.replacen(from, to, 1), "x").expect_err(to);
            assert!(e.to_string().contains(says), "{to}: {e}");
            assert_eq!(e.position(), Some(("x", line, column)), "{to}: {e}");
        }
        let cut = TEXT.lines().next().unwrap_or_default();
        assert!(from_text(cut, "x").expect_err("no zone").to_string().contains("and a zone"));
        assert!(from_text("", "x").is_err());
    }
}
