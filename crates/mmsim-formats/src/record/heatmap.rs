//! A record as a picture: time by address, and how often each place was accessed.
//!
//! Addresses that were never monitored, such as the gaps of an address space, are left out: what was
//! monitored lies side by side, so a column is a piece of that. A cell is the mean of `nr_accesses`
//! over the bytes and the time that it stands for; it has no value where nothing was monitored then.

use serde::Serialize;

use super::Record;
use mmsim_base::error::{Error, ErrorKind};

/// Part that is drawn, and its fineness.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// Pieces of time.
    pub rows: usize,
    /// Pieces of memory.
    pub columns: usize,
    /// Only these addresses, from and to.
    pub addresses: Option<(u64, u64)>,
}

impl Frame {
    /// All addresses in `rows` rows of time and `columns` columns of addresses.
    pub fn new(rows: usize, columns: usize) -> Self {
        Frame { rows, columns, addresses: None }
    }

    /// Only these addresses.
    #[must_use]
    pub fn with_addresses(mut self, addresses: Option<(u64, u64)>) -> Self {
        self.addresses = addresses;
        self
    }
}

/// The picture.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Heatmap {
    /// Which target.
    pub target_id: u64,
    /// When the first row begins.
    pub start_ns: u64,
    /// Time of a row; the last may have less.
    pub row_ns: u64,
    /// Bytes of a column; the last may have less.
    pub column_bytes: u64,
    /// All bytes that lie side by side.
    pub bytes: u64,
    /// Monitored areas, from and to, in order of address.
    pub areas: Vec<(u64, u64)>,
    /// Mean `nr_accesses` of rows of columns.
    pub cells: Vec<Vec<Option<f64>>>,
}

impl Heatmap {
    /// The hottest cell.
    pub fn max(&self) -> f64 {
        self.cells.iter().flatten().flatten().fold(0.0, |a, &b| if b > a { b } else { a })
    }

    /// The address of the byte at a place among those that were monitored.
    pub fn address(&self, mut place: u64) -> u64 {
        for &(start, end) in &self.areas {
            if place < end - start {
                return start + place;
            }
            place -= end - start;
        }
        self.areas.last().map_or(0, |a| a.1)
    }
}

/// Areas that were monitored at any time, without overlaps.
fn areas(record: &Record, (from, to): (u64, u64)) -> Vec<(u64, u64)> {
    let regions = record.snapshots.iter().flat_map(|s| &s.regions);
    let mut all: Vec<(u64, u64)> = regions
        .map(|r| (r.start.max(from), r.end.min(to)))
        .filter(|(start, end)| start < end)
        .collect();
    all.sort_unstable();
    let mut areas: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match areas.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => areas.push((start, end)),
        }
    }
    areas
}

/// Draws a record.
///
/// # Errors
///
/// The record has no region, or none at the requested addresses.
pub fn draw(record: &Record, frame: &Frame) -> Result<Heatmap, Error> {
    let window = frame.addresses.unwrap_or((0, u64::MAX));
    let areas = areas(record, window);
    let bytes = areas.iter().fold(0_u64, |sum, a| sum.saturating_add(a.1 - a.0));
    let (Some(first), Some(last)) = (record.snapshots.first(), record.snapshots.last()) else {
        return Err(nothing(record, window));
    };
    if bytes == 0 {
        return Err(nothing(record, window));
    }
    let start_ns = first.start_ns;
    let time = (last.end_ns - start_ns.min(last.end_ns)).max(1);
    let row_ns = time.div_ceil(frame.rows.max(1) as u64);
    let column_bytes = bytes.div_ceil(frame.columns.max(1) as u64);
    let rows = time.div_ceil(row_ns) as usize;
    let columns = bytes.div_ceil(column_bytes) as usize;
    let empty = Vec::new();
    let mut map = Heatmap {
        target_id: record.target_id,
        start_ns,
        row_ns,
        column_bytes,
        bytes,
        areas,
        cells: vec![empty; rows],
    };
    let values = record.snapshots.iter().flat_map(|s| {
        s.regions.iter().map(|r| Piece {
            time: (s.start_ns, s.end_ns),
            addresses: (r.start.max(window.0), r.end.min(window.1)),
            value: f64::from(r.nr_accesses),
        })
    });
    map.cells = map.means(values, columns);
    Ok(map)
}

/// A value of some bytes for some time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// From and to, in ns.
    pub time: (u64, u64),
    /// First byte, and one past the last.
    pub addresses: (u64, u64),
    /// The value.
    pub value: f64,
}

impl Heatmap {
    /// The means of other values, of the same rows and columns.
    pub fn of(&self, values: impl Iterator<Item = Piece>) -> Vec<Vec<Option<f64>>> {
        self.means(values, self.bytes.div_ceil(self.column_bytes) as usize)
    }

    /// The cells that a piece touches, by row and column, with the bytes and ns of each.
    pub fn touched(
        &self,
        (from, to): (u64, u64),
        (begin, end): (u64, u64),
    ) -> impl Iterator<Item = (usize, usize, u64, u64)> {
        let (rows, columns) = (self.cells.len(), self.bytes.div_ceil(self.column_bytes) as usize);
        let begin = begin.saturating_sub(self.start_ns);
        // What took no time is shown all the same.
        let end = end.saturating_sub(self.start_ns).max(begin + 1);
        let (left, right) = (place(&self.areas, from), place(&self.areas, to));
        let (row_ns, column_bytes) = (self.row_ns, self.column_bytes);
        pieces(begin, end, row_ns, rows).flat_map(move |(row, time)| {
            let columns = pieces(left, right, column_bytes, columns);
            columns.map(move |(column, width)| (row, column, width, time))
        })
    }

    fn means(&self, values: impl Iterator<Item = Piece>, columns: usize) -> Vec<Vec<Option<f64>>> {
        let mut sums = vec![vec![(0.0, 0.0); columns]; self.cells.len()];
        for Piece { time, addresses, value } in values.filter(|p| p.addresses.0 < p.addresses.1) {
            for (row, column, width, time) in self.touched(addresses, time) {
                let weight = time as f64 * width as f64;
                let sum: &mut (f64, f64) = &mut sums[row][column];
                sum.0 += weight * value;
                sum.1 += weight;
            }
        }
        let mean = |(heat, weight): (f64, f64)| (weight > 0.0).then(|| heat / weight);
        sums.into_iter().map(|row| row.into_iter().map(mean).collect()).collect()
    }
}

fn nothing(record: &Record, (from, to): (u64, u64)) -> Error {
    let title = match (from, to) {
        (0, u64::MAX) => format!("target {} has no regions", record.target_id),
        _ => format!("--address: nothing from {from} to {to} was monitored"),
    };
    Error::new(ErrorKind::Option, title).help("`mmsim damon report` shows what was")
}

/// Where an address lies among the areas.
fn place(areas: &[(u64, u64)], address: u64) -> u64 {
    let before = areas.iter().take_while(|a| a.0 <= address);
    before.map(|a| a.1.min(address) - a.0).fold(0, u64::saturating_add)
}

/// The pieces of length `unit` that `from..to` touches, of at most `nr`, and how much of each.
fn pieces(from: u64, to: u64, unit: u64, nr: usize) -> impl Iterator<Item = (usize, u64)> {
    let last = to.div_ceil(unit).min(nr as u64);
    (from / unit..last).map(move |i| {
        let begin = from.max(i * unit);
        let end = to.min((i + 1).saturating_mul(unit));
        (i as usize, end - begin)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Region, Snapshot};

    fn record() -> Record {
        let region = |start, end, nr_accesses| Region { start, end, nr_accesses, age: None };
        let snapshot = |start_ns, end_ns, regions| Snapshot { start_ns, end_ns, regions };
        let snapshots = vec![
            snapshot(100, 200, vec![region(0, 200, 4), region(1000, 1200, 0)]),
            snapshot(200, 300, vec![region(0, 100, 20), region(100, 200, 10)]),
        ];
        Record { snapshots, ..Record::default() }
    }

    /// Two areas of 200 bytes in four columns of 100; what was monitored no longer has no value.
    #[test]
    fn areas_lie_side_by_side() {
        let map = draw(&record(), &Frame { rows: 2, columns: 4, addresses: None }).unwrap();
        assert_eq!(map.areas, [(0, 200), (1000, 1200)]);
        assert_eq!((map.row_ns, map.column_bytes), (100, 100));
        assert_eq!(map.cells[0], [Some(4.0), Some(4.0), Some(0.0), Some(0.0)]);
        assert_eq!(map.cells[1], [Some(20.0), Some(10.0), None, None]);
        assert_eq!([0, 199, 200, 399].map(|p| map.address(p)), [0, 199, 1000, 1199]);
        assert_eq!(map.max(), 20.0);
    }

    /// One cell is the mean by bytes and time: 4, 4 and twice nothing, then 20 and 10.
    #[test]
    fn a_cell_is_a_mean() {
        let map = draw(&record(), &Frame { rows: 1, columns: 1, addresses: None }).unwrap();
        assert_eq!(map.cells, [[Some((4.0 + 4.0 + 20.0 + 10.0) / 6.0)]]);
        let frame = Frame { rows: 1, columns: 1, addresses: Some((100, 1100)) };
        assert_eq!(draw(&record(), &frame).unwrap().cells, [[Some((4.0 + 10.0) / 3.0)]]);
        let frame = Frame { addresses: Some((300, 400)), ..frame };
        assert!(draw(&record(), &frame).unwrap_err().title().contains("nothing from 300 to 400"));
    }
}
