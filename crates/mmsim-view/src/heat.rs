//! A record of DAMON as an image: time across, addresses up, the stronger the more accesses.
//!
//! PNG has the cells alone, a square each; SVG has axes and a scale as well. Where nothing was
//! monitored both are empty.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use mmsim::record::heatmap::Heatmap;

use crate::axis;

/// Pixels that an image has in its shorter direction, at least, unless its cells are many.
const SHORT: usize = 480;
/// The widest that a cell is.
const WIDEST: usize = 16;
/// Position of the image as SVG: its left and upper margin, its width and height.
const LEFT: f64 = 132.0;
const TOP: f64 = 44.0;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 320.0;
/// Steps of the scale; the colour of nothing stands behind them.
const STEPS: usize = 255;

/// Colours at equal shares of the hottest: from nearly white over orange to a dark red, so that it is
/// the darker the hotter, and without colours too.
pub(crate) const STOPS: [[f64; 3]; 4] =
    [[253.0, 246.0, 240.0], [245.0, 178.0, 110.0], [213.0, 94.0, 0.0], [84.0, 12.0, 0.0]];

/// The colour of a share of the hottest.
fn colour(share: f64) -> [u8; 3] {
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let i = (at as usize).min(STOPS.len() - 2);
    let part = at - i as f64;
    std::array::from_fn(|c| (STOPS[i][c] + (STOPS[i + 1][c] - STOPS[i][c]) * part).round() as u8)
}

/// The step of a value.
fn step(value: f64, most: f64) -> usize {
    if most > 0.0 { (value / most * (STEPS - 1) as f64).round() as usize } else { 0 }
}

/// A piece of a PNG file: its length, its name, what it holds, and a checksum of the last two.
fn chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(name);
    crc.update(data);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(name);
    out.extend(data);
    out.extend(crc.sum().to_be_bytes());
}

/// The image as PNG (ISO/IEC 15948), with a palette; what was not monitored is transparent.
pub fn png(map: &Heatmap) -> Vec<u8> {
    let (across, up) = (map.cells.len(), map.cells.first().map_or(0, Vec::len));
    let size = (SHORT / across.min(up).max(1)).clamp(1, WIDEST);
    let most = map.max();
    let mut pixels = Vec::with_capacity((across * size + 1) * up * size);
    for column in (0..up).rev() {
        let mut line = vec![0; 1 + across * size];
        for (row, cells) in map.cells.iter().enumerate() {
            let index = cells[column].map_or(STEPS, |value| step(value, most)) as u8;
            line[1 + row * size..][..size].fill(index);
        }
        (0..size).for_each(|_| pixels.extend_from_slice(&line));
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&pixels).expect("a vector takes all");
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend(((across * size) as u32).to_be_bytes());
    header.extend(((up * size) as u32).to_be_bytes());
    // Eight bits a pixel, by palette, deflated, not filtered, not interlaced.
    header.extend([8, 3, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &header);
    let palette = (0..STEPS).flat_map(|i| colour(i as f64 / (STEPS - 1) as f64));
    chunk(&mut out, b"PLTE", &palette.chain([255; 3]).collect::<Vec<u8>>());
    let mut opaque = vec![255; STEPS];
    opaque.push(0);
    chunk(&mut out, b"tRNS", &opaque);
    chunk(&mut out, b"IDAT", &packed.finish().expect("a vector takes all"));
    chunk(&mut out, b"IEND", &[]);
    out
}

/// The colour of a step, for SVG.
fn hex(step: usize) -> String {
    let [r, g, b] = colour(step as f64 / (STEPS - 1) as f64);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The cells; those of one colour that follow one another are one rectangle.
fn cells(out: &mut String, map: &Heatmap) {
    let (across, up) = (map.cells.len(), map.cells.first().map_or(0, Vec::len));
    let (cell_w, cell_h) = (WIDTH / across.max(1) as f64, HEIGHT / up.max(1) as f64);
    let most = map.max();
    for column in 0..up {
        let y = TOP + HEIGHT - (column + 1) as f64 * cell_h;
        let mut row = 0;
        while row < across {
            let here = |row: usize| map.cells[row][column].map(|value| step(value, most));
            let Some(step) = here(row) else {
                row += 1;
                continue;
            };
            let from = row;
            row += (row..across).take_while(|&r| here(r) == Some(step)).count();
            let (x, width) = (LEFT + from as f64 * cell_w, (row - from) as f64 * cell_w);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{cell_h:.2}\" \
                 fill=\"{}\"/>",
                hex(step)
            );
        }
    }
}

/// Round numbers on an axis from `from` on, at their places from 0 to 1.
fn round(from: f64, span: f64) -> Vec<(f64, String)> {
    if span <= 0.0 {
        return vec![(0.0, axis::tick(from, 1.0))];
    }
    let step = axis::step(span);
    let first = (from / step - 1e-9).ceil() as u64;
    let all = (first..).map(|i| i as f64 * step).take_while(|v| *v <= (from + span) * (1.0 + 1e-9));
    all.map(|v| (((v - from) / span).min(1.0), axis::tick(v, step))).collect()
}

/// The image as SVG, with axes and a scale.
pub fn svg(map: &Heatmap) -> String {
    let (across, most) = (map.cells.len(), map.max());
    let title = format!("target {}: nr_accesses over time and addresses", map.target_id);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" \
         height=\"{1}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui,sans-serif\" \
         font-size=\"11\" fill=\"#1b1f24\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"13\" font-weight=\"600\">{title}</text>\n",
        LEFT + WIDTH + 110.0,
        TOP + HEIGHT + 50.0,
    );
    cells(&mut out, map);
    let bottom = TOP + HEIGHT;
    // Times that are round numbers, places as their distance from the first byte watched.
    let (from, span) = (map.start_ns as f64 / 1e9, map.row_ns as f64 * across as f64 / 1e9);
    for (place, text) in round(from, span) {
        let x = LEFT + place * WIDTH;
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {bottom}v5\" stroke=\"#1b1f24\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 18.0
        );
    }
    for (place, text) in round(0.0, map.bytes as f64 / f64::from(1 << 20)) {
        let y = bottom - place * HEIGHT;
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}h-5\" stroke=\"#1b1f24\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 9.0,
            y + 4.0
        );
    }
    let (middle, centre) = (LEFT + WIDTH / 2.0, TOP + HEIGHT / 2.0);
    let (first, last) = (map.address(0), map.address(map.bytes));
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">time, s</text>\
         <text x=\"18\" y=\"{centre:.1}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 18 {centre:.1})\">watched memory, MiB</text>\
         <text x=\"36\" y=\"{centre:.1}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 36 {centre:.1})\">{first:#x} to {last:#x}</text>",
        bottom + 36.0
    );
    let right = LEFT + WIDTH + 18.0;
    for tenth in 0..10 {
        let y = bottom - f64::from(tenth + 1) * HEIGHT / 10.0;
        let _ = writeln!(
            out,
            "<rect x=\"{right}\" y=\"{y:.1}\" width=\"14\" height=\"{:.1}\" fill=\"{}\"/>",
            HEIGHT / 10.0,
            hex(tenth as usize * (STEPS - 1) / 9)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{0}\" y=\"{bottom}\">0</text><text x=\"{0}\" y=\"{1}\">{most:.1}</text>",
        right + 20.0,
        TOP + 10.0
    );
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    use mmsim::record::heatmap::{Frame, draw};
    use mmsim::record::{Record, Region, Snapshot};

    /// Two times, two places; the second place was not watched at first.
    fn map() -> Heatmap {
        let region = |start, end, nr_accesses| Region { start, end, nr_accesses, age: None };
        let snapshot = |start_ns, end_ns, regions| Snapshot { start_ns, end_ns, regions };
        let snapshots = vec![
            snapshot(0, 100, vec![region(0, 4096, 20)]),
            snapshot(100, 200, vec![region(0, 4096, 0), region(4096, 8192, 10)]),
        ];
        let record = Record { snapshots, ..Record::default() };
        draw(&record, &Frame::new(2, 2)).expect("a picture")
    }

    /// The file is taken apart by its definition: pieces with their lengths and checksums, and lines
    /// of the palette's indices, the highest addresses first.
    #[test]
    fn a_png_has_the_cells() {
        let file = png(&map());
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let (mut at, mut pieces) = (8, Vec::new());
        while at < file.len() {
            let word = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("four"));
            let length = word(at) as usize;
            let data = &file[at + 8..at + 8 + length];
            assert_eq!(crc(&file[at + 4..at + 8 + length]), word(at + 8 + length));
            pieces.push((&file[at + 4..at + 8], data));
            at += 12 + length;
        }
        let names: Vec<&[u8]> = pieces.iter().map(|p| p.0).collect();
        assert_eq!(names, [&b"IHDR"[..], b"PLTE", b"tRNS", b"IDAT", b"IEND"]);
        assert_eq!(pieces[0].1, [0, 0, 0, 32, 0, 0, 0, 32, 8, 3, 0, 0, 0]);
        assert_eq!((pieces[1].1.len(), pieces[2].1.len()), (768, 256));
        let mut lines = Vec::new();
        flate2::read::ZlibDecoder::new(pieces[3].1).read_to_end(&mut lines).expect("deflated");
        let lines: Vec<&[u8]> = lines.chunks(33).collect();
        let of = |line: usize| (lines[line][0], lines[line][1], lines[line][32]);
        assert_eq!(lines.len(), 32);
        assert_eq!((of(0), of(31)), ((0, 255, 127), (0, 254, 0)));
    }

    /// CRC-32 bit by bit, as the standard defines it.
    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for &byte in bytes {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
        !crc
    }

    #[test]
    fn an_svg_has_a_rectangle_for_each_watched_cell() {
        let text = svg(&map());
        // The ground, three cells of different heat, ten of the scale.
        assert_eq!(text.matches("<rect").count(), 1 + 3 + 10);
        assert!(text.contains(">20.0</text>") && text.contains(">0x0 to 0x2000</text>"), "{text}");
    }

    /// Ticks are round, wherever a record begins and ends.
    #[test]
    fn ticks_are_round_numbers() {
        let texts = |from, span| round(from, span).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(texts(8.255, 3.1), ["9", "10", "11"]);
        assert_eq!(texts(0.0, 98.62), ["0", "20", "40", "60", "80"]);
        assert_eq!(texts(0.0, 0.012), ["0.0000", "0.0025", "0.0050", "0.0075", "0.0100"]);
        assert_eq!(texts(0.0, 0.0), ["0"]);
    }
}
