//! Contents of pages, measured from the bytes of a file: to how many bytes each page compresses.
//!
//! The file is read page by page, and its last page is filled up with zeros, as in the page cache. A
//! page is of zeros, of one word, or compressed alone, as zram and zswap do. Lengths are those of
//! `lz4_flex` and of the reference library of zstd at level 3. The kernel's own compressors find
//! other matches in places, so a length may differ from the kernel's by some bytes.

use std::io::{self, Read};

use mmsim_base::error::Error;
use mmsim_core::backing::contents::Content;
use mmsim_core::backing::zsmalloc::{SizeClass, Zsmalloc};
use mmsim_core::base::id::{PAGE_SIZE, Pfn};
use mmsim_report::numbers;

/// Bytes of a page.
const PAGE: usize = PAGE_SIZE as usize;
/// Level of zstd in the kernel (`ZSTD_DEF_LEVEL`, Linux 6.12 crypto/zstd.c).
const ZSTD_LEVEL: i32 = 3;

/// A compressor, by the kernel's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compressor {
    /// `lz4`.
    Lz4,
    /// `zstd`.
    Zstd,
}

/// Compressors and their names.
const COMPRESSORS: [(&str, Compressor); 2] = [("lz4", Compressor::Lz4), ("zstd", Compressor::Zstd)];

impl Compressor {
    /// The compressor of that name.
    ///
    /// # Errors
    /// If it is another one, of which the error says what to measure in its place.
    pub fn named(name: &str) -> Result<Compressor, Error> {
        let known = COMPRESSORS.iter().find(|c| c.0 == name);
        known.map(|c| c.1).ok_or_else(|| match name {
            "lzo" | "lzo-rle" | "lz4hc" | "842" | "deflate" => {
                let title = format!("--compressor: mmsim has no `{name}`");
                let near = if name == "deflate" { "zstd" } else { "lz4" };
                let help =
                    format!("write `--compressor {near}`, whose lengths are near those of it");
                Error::of_option(title).help(help)
            }
            _ => Error::unknown_word(
                "--compressor: unknown compressor",
                name,
                &COMPRESSORS.map(|c| c.0),
            ),
        })
    }
}

/// Pages of a file by what they hold.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Number of pages.
    pub pages: u64,
    /// Pages of zeros.
    pub zeros: u64,
    /// Pages of one word that is not zero.
    pub same: u64,
    /// All other pages by their compressed length, 0..=4096 bytes; those of 4096 do not compress.
    pub of_length: Vec<u64>,
    /// Objects that zram stores.
    zram: Zsmalloc,
    /// Objects that zswap stores.
    zswap: Zsmalloc,
}

impl Measured {
    /// Measures all pages of an input.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub fn read(mut input: impl Read, compressor: Compressor) -> io::Result<Measured> {
        let mut m = Measured {
            pages: 0,
            zeros: 0,
            same: 0,
            of_length: vec![0; PAGE + 1],
            zram: Zsmalloc::default(),
            zswap: Zsmalloc::default(),
        };
        let mut compress = Compress::new(compressor)?;
        let mut page = [0; PAGE];
        loop {
            let read = read_page(&mut input, &mut page)?;
            if read == 0 {
                return Ok(m);
            }
            page[read..].fill(0);
            m.add(&page, &mut compress)?;
        }
    }

    fn add(&mut self, page: &[u8; PAGE], compress: &mut Compress) -> io::Result<()> {
        self.pages += 1;
        let word = &page[..size_of::<u64>()];
        let same = page.chunks_exact(word.len()).all(|w| w == word);
        if same && word.iter().all(|&b| b == 0) {
            self.zeros += 1;
            return Ok(());
        }
        let length = compress.length(page)?;
        store(&mut self.zswap, length);
        if same {
            self.same += 1;
            return Ok(());
        }
        self.of_length[usize::from(length)] += 1;
        store(&mut self.zram, Content::bytes(length).in_zram());
        Ok(())
    }

    /// Pages that are neither of zeros nor of one word.
    fn others(&self) -> u64 {
        self.pages - self.zeros - self.same
    }

    /// Bytes of such a page, of which `permille` of them have no more.
    fn quantile(&self, permille: u64) -> u64 {
        let nth = (self.others() * permille).div_ceil(1000).max(1);
        let mut sum = 0;
        let at = self.of_length.iter().position(|n| {
            sum += n;
            sum >= nth
        });
        at.unwrap_or(0) as u64
    }

    /// Names and values of a summary.
    pub fn summary(&self) -> Vec<(String, String)> {
        let of = |n: u64, whole: u64| {
            let share = 100.0 * n as f64 / whole.max(1) as f64;
            format!("{} ({share:.1} %)", grouped(n))
        };
        let frames = |pool: &Zsmalloc| {
            let n = pool.nr_frames();
            let ratio = self.pages as f64 / n.max(1) as f64;
            let ratio = if n == 0 { String::new() } else { format!(", ratio {ratio:.2}") };
            format!("{} frames for {} objects{ratio}", grouped(n), grouped(pool.nr_objects()))
        };
        let mut rows = vec![
            ("pages".to_string(), grouped(self.pages)),
            ("zeros".into(), of(self.zeros, self.pages)),
            ("of one word".into(), of(self.same, self.pages)),
            ("incompressible".into(), of(self.of_length[PAGE], self.pages)),
        ];
        if self.others() > 0 {
            let marks = [10, 100, 250, 500, 750, 900, 990];
            let names = marks.map(|q| (q as f64 / 10.0).to_string()).join(", ");
            let lengths = marks.map(|q| grouped(self.quantile(q))).join(", ");
            let bytes: u64 =
                self.of_length.iter().zip(0..).map(|(n, length): (&u64, u64)| n * length).sum();
            let mean = (bytes as f64 / self.others() as f64).round() as u64;
            rows.push(("bytes of the others, mean".into(), grouped(mean)));
            rows.push((format!("{names} % have up to"), lengths));
        }
        rows.push(("in zram".into(), frames(&self.zram)));
        rows.push(("in zswap".into(), frames(&self.zswap)));
        rows
    }

    /// `contents` of a task, as TOML. Pages of one size class of zsmalloc have the mean of their
    /// lengths, and shares are rounded to thousandths.
    pub fn contents(&self) -> String {
        let [zeros, same, others] = thousandths([self.zeros, self.same, self.others()]);
        let mut text =
            format!("contents = {{ zero-permille = {zeros}, same-permille = {same}, lengths = [");
        if others > 0 {
            let classes = self.by_class();
            let shares = thousandths(classes.iter().map(|c| c.0).collect::<Vec<_>>());
            for ((_, bytes), share) in classes.iter().zip(shares).filter(|c| c.1 > 0) {
                text.push_str(&format!("\n    {{ permille = {share}, bytes = {bytes} }},"));
            }
            text.push('\n');
        }
        text + "] }\n"
    }

    /// Pages of each size class that has any, with the mean of their lengths.
    fn by_class(&self) -> Vec<(u64, u64)> {
        let mut classes: Vec<(SizeClass, u64, u64)> = Vec::new();
        for (length, &n) in self.of_length.iter().enumerate().filter(|(_, n)| **n > 0) {
            let class = self.zram.class_of(length as u32);
            let bytes = n * length as u64;
            match classes.last_mut() {
                // Pages that do not compress are refused or kept raw, others of their class are not.
                Some(last) if last.0 == class && length < PAGE => {
                    (last.1, last.2) = (last.1 + n, last.2 + bytes);
                }
                _ => classes.push((class, n, bytes)),
            }
        }
        classes.into_iter().map(|(_, n, bytes)| (n, (bytes + n / 2) / n)).collect()
    }
}

/// A number in groups of three digits.
fn grouped(n: u64) -> String {
    numbers::grouped(n as f64)
}

/// Reads up to a page; less only at the end.
fn read_page(input: &mut impl Read, page: &mut [u8; PAGE]) -> io::Result<usize> {
    let mut read = 0;
    while read < PAGE {
        match input.read(&mut page[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(read)
}

/// Puts an object into a pool. An object of no bytes takes no memory.
fn store(pool: &mut Zsmalloc, length: u16) {
    if length > 0 {
        let wanted = vec![Pfn(0); pool.wants(length.into())];
        pool.alloc(length.into(), 0, &wanted);
    }
}

/// Shares of a whole in thousandths, which add up to 1000; all 0 of nothing. The largest remainders
/// are rounded up, the first of equal ones first.
fn thousandths<C: AsRef<[u64]> + AsMut<[u64]>>(mut counts: C) -> C {
    let parts = counts.as_ref().to_vec();
    let whole: u64 = parts.iter().sum::<u64>().max(1);
    let rest = |n: u64| u128::from(n) * 1000 % u128::from(whole);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(rest(parts[i])));
    let shares = counts.as_mut();
    let share = |n: u64| (u128::from(n) * 1000 / u128::from(whole)) as u64;
    shares.iter_mut().zip(&parts).for_each(|(to, &n)| *to = share(n));
    let missing = 1000 - shares.iter().sum::<u64>();
    let up = order.iter().filter(|&&i| parts[i] > 0).take(missing as usize);
    up.for_each(|&i| shares[i] += 1);
    counts
}

/// A compressor at work.
enum Compress {
    Lz4(Vec<u8>),
    Zstd(zstd::bulk::Compressor<'static>, Vec<u8>),
}

impl Compress {
    fn new(compressor: Compressor) -> io::Result<Compress> {
        Ok(match compressor {
            Compressor::Lz4 => {
                Compress::Lz4(vec![0; lz4_flex::block::get_maximum_output_size(PAGE)])
            }
            Compressor::Zstd => {
                let room = vec![0; zstd::zstd_safe::compress_bound(PAGE)];
                Compress::Zstd(zstd::bulk::Compressor::new(ZSTD_LEVEL)?, room)
            }
        })
    }

    /// Bytes of a page when it is compressed, at most [`Content::MOST`].
    fn length(&mut self, page: &[u8; PAGE]) -> io::Result<u16> {
        let length = match self {
            Compress::Lz4(room) => {
                lz4_flex::block::compress_into(page, room).map_err(io::Error::other)?
            }
            Compress::Zstd(zstd, room) => zstd.compress_to_buffer(page, room)?,
        };
        Ok(length.min(PAGE) as u16)
    }
}
