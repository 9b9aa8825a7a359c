//! Contents of a page, taken apart again by other code than wrote it.

use std::io::Read as _;

use serde_json::Value;

/// Bytes of base64, white space left out.
fn bytes(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} in base64"),
    };
    let (mut out, mut word, mut bits) = (Vec::new(), 0_u32, 0);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b'=') {
        word = word << 6 | u32::from(digit(c));
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    out
}

/// Contents of an element, from its opening tag on.
pub(crate) fn within<'a>(html: &'a str, open: &str, close: &str) -> &'a str {
    let from = html.find(open).unwrap_or_else(|| panic!("no {open}"));
    let rest = &html[from..];
    let rest = &rest[rest.find('>').expect("a tag that ends") + 1..];
    &rest[..rest.find(close).unwrap_or_else(|| panic!("no {close}"))]
}

/// The data of a page.
pub(crate) fn data(html: &str) -> (Value, usize) {
    let packed = within(html, "<script type=\"text/plain\" id=\"data\"", "</script>");
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&bytes(packed)[..])
        .read_to_string(&mut text)
        .expect("deflated text");
    (serde_json::from_str(&text).expect("JSON"), packed.len())
}

/// Text without tags, and with the characters that stand for entities.
pub(crate) fn text(html: &str) -> String {
    let mut out = String::new();
    for piece in html.split('<') {
        out.push_str(piece.split_once('>').map_or(piece, |p| p.1));
        out.push(' ');
    }
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    plain.iter().fold(out, |text, (from, to)| text.replace(from, to))
}
