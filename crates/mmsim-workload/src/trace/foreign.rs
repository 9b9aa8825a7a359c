//! Files of one format that are given as another.
//!
//! Bare numbers have no head, so any file can be read as some. Formats that do have a head are known
//! by it; a text by its letters; oracleGeneral, which has none, by numbers that it repeats: each
//! record holds the number of the next request for its object, and the first records of a file can
//! show that they are right.

use std::io::Read;

/// A format with a head: its first bytes, what it is, and what to do with it.
const HEADS: &[(&[u8], &str, &str)] = &[
    (
        b"MMT\r\n\x1a\n\0",
        "a page trace of mmsim",
        "it needs no import, `replay` and `bench-trace --from mmt` read it",
    ),
    (b"MMEV\r\n\x1a\n", "events of a run of mmsim", "`mmsim events FILE` prints them"),
    (
        b"PERFILE2",
        "a file of perf record",
        "print it with `perf script -i FILE`; of DAMON's events --from damon reads the text",
    ),
    // LCS_TRACE_START_MAGIC of libCacheSim's lcs.h.
    (
        &0x1234_5678_9abc_def0_u64.to_le_bytes(),
        "an lcs trace of libCacheSim",
        "convert it to oracleGeneral with libCacheSim's traceConv, and write --from oracle-general",
    ),
    // Documentation of trace-cmd's trace.dat.
    (b"\x17\x08\x44tracing", "a file of trace-cmd", "print it with `trace-cmd report -i FILE`"),
    // BLK_IO_TRACE_MAGIC and version 7 of Linux 6.12 include/uapi/linux/blktrace_api.h.
    (
        b"\x07tae",
        "a binary file of blktrace",
        "print it with `blkparse -i FILE`, and write --from csv with --columns",
    ),
    (b"PAR1", "a Parquet file", "write it as comma-separated values, and --from csv"),
    (b"PK\x03\x04", "a zip archive", "unpack it with `unzip`"),
    (b"SQLite format 3\0", "a database of SQLite", "write it as comma-separated values"),
    (b"\x7fELF", "a program or library", "check the path"),
    (b"\x1f\x8b\x08", "a file that is compressed twice", "unpack it once with `gunzip`"),
    (b"\x28\xb5\x2f\xfd", "a file that is compressed twice", "unpack it once with `zstd -d`"),
    (b"\xfd7zXZ\0", "a file packed by xz", "unpack it with `xz -dk`"),
];

/// Bytes of a text that a file of numbers would hardly have by chance.
const TEXT: usize = 16;
/// Records of oracleGeneral that must agree.
const RECORDS: usize = 4;

/// The format that the beginning of a file shows, if it is another than `format`, which is one of
/// texts if `text`; and what to write instead.
pub(super) fn found(head: &[u8], format: &str, text: bool) -> Option<(&'static str, &'static str)> {
    if let Some(&(_, what, instead)) = HEADS.iter().find(|known| head.starts_with(known.0)) {
        return Some((what, instead));
    }
    if is_record_of_damo(head) {
        return Some(("a record of DAMON, as damo keeps it", "write --from damon"));
    }
    if format != "oracle-general" && is_oracle_general(head) {
        return Some(("oracleGeneral of libCacheSim", "write --from oracle-general"));
    }
    (!text && is_text(head))
        .then_some(("a text", "write --from csv, lackey or pages, whichever it is"))
}

/// True for JSON that is compressed by zlib.
fn is_record_of_damo(head: &[u8]) -> bool {
    let [0x78, flags, ..] = head else { return false };
    let mut first = [0];
    (0x7800 + u16::from(*flags)).is_multiple_of(31)
        && flate2::read::ZlibDecoder::new(head).read_exact(&mut first).is_ok()
        && matches!(first, [b'[' | b'{'])
}

fn is_text(head: &[u8]) -> bool {
    let letter = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    head.len() >= TEXT && head.iter().all(letter)
}

/// True for records of oracleGeneral: u32 time, u64 object, u32 size, i64 number of the next request
/// for the object, or -1. Times do not go back, sizes are above 0, and each number is that of the
/// next request within these bytes, or beyond them.
fn is_oracle_general(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<24>();
    // The last object of each record of which nothing more was seen, from the end on.
    let mut next_of = std::collections::BTreeMap::new();
    let mut time_after = u32::MAX;
    let good = records.iter().enumerate().rev().all(|(i, r)| {
        let word = |at: usize| u32::from_le_bytes([r[at], r[at + 1], r[at + 2], r[at + 3]]);
        let wide = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let (time, object, size, next) = (word(0), wide(4), word(12), wide(16) as i64);
        let ordered = time <= time_after;
        time_after = time;
        let here = next_of.insert(object, i as i64);
        let agrees = match here {
            Some(later) => next == later,
            None => next == -1 || next == i64::MAX || next >= records.len() as i64,
        };
        // Of more requests than any trace has it is no number.
        let possible = next == -1 || next == i64::MAX || next < 1 << 40;
        ordered && size > 0 && agrees && possible
    });
    good && records.len() >= RECORDS
}
