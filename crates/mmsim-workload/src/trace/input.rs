//! Input as users have it: compressed or not.

use std::io::{Cursor, ErrorKind, Read};

use super::error::TraceError;
use super::foreign;

/// Magic bytes of compressed files of kinds that are not read, and the programs that unpack them.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ\0", "xz", "xz -dk"),
    (b"BZh", "bzip2", "bzip2 -dk"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
];

/// Bytes that are looked at: bzip2 has a mark after its level.
const MAGIC: usize = 10;
const BZIP2_BLOCK: &[u8] = b"\x31\x41\x59\x26\x53\x59";

/// Says what packed a file that cannot be read, by its first bytes; nothing: it is none of
/// the known kinds.
pub fn refused(magic: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = PACKED.iter().find(|p| magic.starts_with(p.0))?;
    let bzip2 = found.1 == "bzip2" && magic.get(4..MAGIC) != Some(BZIP2_BLOCK);
    (!bzip2).then_some((found.1, found.2))
}

/// The input, decompressed if its first bytes are those of gzip or zstd.
///
/// # Errors
///
/// It cannot be read, or it is compressed otherwise: by xz, bzip2, 7z or lz4.
pub fn decompressed<'a>(
    mut input: impl Read + Send + 'a,
) -> Result<Box<dyn Read + Send + 'a>, TraceError> {
    let magic = beginning(&mut input, MAGIC, true).map_err(TraceError::io("reading the input"))?;
    let magic = &magic[..];
    if let Some((how, unpack)) = refused(magic) {
        let expected = format!("text, gzip or zstd: unpack it with `{unpack}`");
        return Err(TraceError::invalid("the input", format!("a file packed by {how}"), expected));
    }
    let whole = Cursor::new(magic.to_vec()).chain(input);
    Ok(match magic {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(
            zstd::stream::read::Decoder::new(whole).map_err(TraceError::io("starting zstd"))?,
        ),
        _ => Box::new(whole),
    })
}

/// The first bytes of an input, or no more than its first line: by a pipe more may come late.
fn beginning(input: &mut impl Read, most: usize, line: bool) -> std::io::Result<Vec<u8>> {
    let (mut head, mut got) = (vec![0; most], 0);
    while got < most && !(line && head[..got].contains(&b'\n')) {
        match input.read(&mut head[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    head.truncate(got);
    Ok(head)
}

/// Bytes that tell whether an input is of another format: many where the format is bare numbers, few
/// where it is text, which may come bit by bit.
const HEAD: usize = 64 << 10;
const HEAD_OF_TEXT: usize = 64;

/// The input, decompressed, where its beginning is not that of another format than `format`, which
/// is one of texts if `text`.
///
/// # Errors
///
/// It cannot be read, is compressed in a way that is not read, or has another format.
pub fn opened<'a>(
    input: impl Read + Send + 'a,
    format: &str,
    text: bool,
) -> Result<Box<dyn Read + Send + 'a>, TraceError> {
    let mut input = decompressed(input)?;
    let doing = if text { "reading the input after line 0" } else { "reading" };
    let most = if text { HEAD_OF_TEXT } else { HEAD };
    let head = beginning(&mut input, most, text).map_err(TraceError::io(doing))?;
    if let Some((what, instead)) = foreign::found(&head, format, text) {
        return Err(TraceError::invalid("the input", what, format!("{format}: {instead}")));
    }
    Ok(Box::new(Cursor::new(head).chain(input)))
}
