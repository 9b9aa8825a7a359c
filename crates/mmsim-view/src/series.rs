//! Counters and gauges over simulated time, thinned to what a chart can show.
//!
//! A chart is some hundred points wide. A [`Recorder`] keeps every sample until it has too many of
//! them, then drops every other one and keeps every second of those that follow, and so on. What
//! it kept are samples as they were, at equal distances, with the first and the last of the run;
//! nothing is averaged. Counters are running totals, so a sample that is dropped loses no event.

use mmsim::base::time::SimTime;
use mmsim::base::vmstat::VmEvent;
use mmsim::error::{Error, ErrorKind};
use serde::Serialize;

/// Gauges that charts show. Rows of counters say it of theirs.
const GAUGES: &[&str] = &[
    "nr_free_pages",
    "nr_anon_pages",
    "nr_file_pages",
    "nr_mapped",
    "nr_shmem",
    "nr_dirty",
    "nr_writeback",
    "nr_page_table_pages",
    "nr_slab_reclaimable",
    "nr_swapcached",
    "nr_swap_used",
    "nr_zram_store",
    "zswap_pool_pages",
    "zswap_stored_pages",
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
    "nr_lazyfree",
    "sim_easy_pool",
    "sim_pressure_some_us",
    "sim_pressure_full_us",
    "sim_host_held",
];

/// Points of one run that a page has room for, if it has `nr_runs` runs.
pub fn most_points(nr_runs: usize) -> usize {
    (48_000 / nr_runs.max(1)).clamp(60, 600)
}

/// Counters and gauges of one run at some instants.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// Number of samples of the run that one of these stands for.
    pub stride: u64,
    /// The instants.
    pub time_ns: Vec<u64>,
    /// The columns that are not zero throughout, each with its values.
    pub columns: Vec<(String, Vec<u64>)>,
}

impl Series {
    /// The values of a column; `None` where it is zero throughout, or not kept.
    pub fn column(&self, name: &str) -> Option<&[u64]> {
        self.columns.iter().find(|c| c.0 == name).map(|c| c.1.as_slice())
    }
}

/// Keeps a series.
#[derive(Clone, Debug)]
pub struct Recorder {
    most: usize,
    stride: u64,
    seen: u64,
    names: Vec<&'static str>,
    /// Name of each value of a sample, and its column, if it has one.
    places: Vec<(String, Option<usize>)>,
    rows: Vec<(SimTime, Vec<u64>)>,
    /// The last sample, where it is not among the rows.
    last: Option<(SimTime, Vec<u64>)>,
}

impl Recorder {
    /// Keeps at most `most` samples.
    pub fn new(most: usize) -> Recorder {
        let (names, places, rows) = (Vec::new(), Vec::new(), Vec::new());
        Recorder { most: most.max(2), stride: 1, seen: 0, names, places, rows, last: None }
    }

    /// One sample: values by their names, the same names each time.
    pub fn sample<'a>(&mut self, now: SimTime, values: impl Iterator<Item = (&'a str, u64)>) {
        let mut row = vec![0; self.names.len()];
        for (i, (name, value)) in values.enumerate() {
            let Some(place) = self.place(i, name) else { continue };
            row.resize(self.names.len(), 0);
            row[place] = value;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.rows.push((now, row));
            self.last = None;
        } else {
            self.last = Some((now, row));
        }
        self.seen += 1;
        if self.rows.len() > self.most {
            let mut place = 0;
            let dropped = self.rows.last().filter(|_| self.rows.len().is_multiple_of(2)).cloned();
            self.rows.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.last = dropped.or(self.last.take());
            self.stride *= 2;
        }
    }

    /// The column of the `i`-th value. Names come in the same order each time, so that they are
    /// looked up once.
    fn place(&mut self, i: usize, name: &str) -> Option<usize> {
        if let Some((_, place)) = self.places.get(i).filter(|p| p.0 == name) {
            return *place;
        }
        let counter = VmEvent::named(name).filter(|e| e.row().in_series).map(VmEvent::name);
        let known = counter.or(GAUGES.iter().copied().find(|gauge| *gauge == name));
        let place = known.map(|known| {
            let there = self.names.iter().position(|n| *n == known);
            there.unwrap_or_else(|| {
                self.names.push(known);
                self.names.len() - 1
            })
        });
        if i == self.places.len() {
            self.places.push((name.to_string(), place));
        }
        place
    }

    /// The series that was kept.
    pub fn finish(mut self) -> Series {
        self.rows.extend(self.last.take());
        let column = |(i, name): (usize, &&'static str)| {
            let of = |row: &(SimTime, Vec<u64>)| row.1.get(i).copied().unwrap_or(0);
            (name.to_string(), self.rows.iter().map(of).collect::<Vec<u64>>())
        };
        let columns = self.names.iter().enumerate().map(column);
        Series {
            stride: self.stride,
            columns: columns.filter(|c| c.1.iter().any(|&v| v != 0)).collect(),
            time_ns: self.rows.iter().map(|row| row.0.0).collect(),
        }
    }
}

/// Reads the file of `mmsim run --series` of a report with `nr_runs` runs. `name` stands for the
/// file in messages.
///
/// # Errors
///
/// It is no such file, or one of other runs.
pub fn read(text: &str, name: &str, nr_runs: usize) -> Result<Vec<Series>, Error> {
    // `cell` is a part of the text, which tells its place.
    let bad = |cell: &str, why: String, label: &str| {
        let from = cell.as_ptr() as usize - text.as_ptr() as usize;
        let help = "write a series with `mmsim run SCENARIO --series FILE -o REPORT.json`";
        Error::new(ErrorKind::File, format!("`{name}`: {why}"))
            .at(name, &text.into(), from..from + cell.len(), label)
            .help(help)
    };
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or(text).split(',').collect();
    if header[0] != "time_ns" {
        let why = "this is no series of mmsim: it does not begin with `time_ns`";
        return Err(bad(header[0], why.into(), "a series begins with `time_ns`"));
    }
    let several = header.last() == Some(&"run");
    if !several && nr_runs > 1 {
        let why = format!("this series is of one run, and the report has {nr_runs}");
        return Err(bad(header[header.len() - 1], why, "no `run` behind it"));
    }
    let values = &header[1..header.len() - usize::from(several)];
    let mut all: Vec<Recorder> = vec![Recorder::new(most_points(nr_runs)); nr_runs];
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if cells.len() != header.len() {
            let why = format!("{} values, and the header has {}", cells.len(), header.len());
            return Err(bad(cells[cells.len() - 1], why, "the last value of its line"));
        }
        let number = |cell: &str| {
            let why = || bad(cell, format!("`{cell}` is no whole number"), "write a whole number");
            cell.parse::<u64>().map_err(|_| why())
        };
        let now = SimTime(number(cells[0])?);
        let of = cells[header.len() - 1];
        let run = if several { number(of)? as usize } else { 0 };
        let Some(recorder) = all.get_mut(run) else {
            let why = format!("a row of run {run}, and the report has {nr_runs}");
            return Err(bad(of, why, "no run of the report"));
        };
        let mut row = Vec::with_capacity(values.len());
        for (column, cell) in values.iter().zip(&cells[1..]).filter(|(_, cell)| !cell.is_empty()) {
            row.push((*column, number(cell)?));
        }
        recorder.sample(now, row.into_iter());
    }
    Ok(all.into_iter().map(Recorder::finish).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(samples: u64, most: usize) -> Series {
        let mut recorder = Recorder::new(most);
        for i in 0..samples {
            let values = [("pswpin", i * i), ("no_such", 1), ("pswpout", 0)];
            recorder.sample(SimTime(10 * i), values.into_iter());
        }
        recorder.finish()
    }

    #[test]
    fn few_samples_are_all_kept() {
        let all = kept(4, 8);
        assert_eq!((all.stride, all.time_ns.as_slice()), (1, &[0, 10, 20, 30][..]));
        assert_eq!(all.columns, [("pswpin".to_string(), vec![0, 1, 4, 9])]);
    }

    /// Whatever the number of samples, those that are kept have equal distances, and the first and
    /// the last are among them.
    #[test]
    fn many_are_thinned_to_equal_distances() {
        for samples in 1..200 {
            for most in [2, 3, 8, 9] {
                let s = kept(samples, most);
                assert!(s.time_ns.len() <= most + 1, "{samples} in {most}");
                assert_eq!(s.time_ns.last(), Some(&(10 * (samples - 1))), "{samples} in {most}");
                let whole = &s.time_ns[..s.time_ns.len() - 1];
                assert!(whole.iter().enumerate().all(|(i, t)| *t == 10 * s.stride * i as u64));
                let values = s.column("pswpin").unwrap_or(&[]).iter().zip(&s.time_ns);
                assert!(values.clone().all(|(v, t)| *v == t / 10 * (t / 10)));
            }
        }
    }

    #[test]
    fn a_file_of_two_runs_is_read_back() {
        let text = "time_ns,pgfault,workingset_refault_anon,nr_free_pages,run\n\
                    0,0,,9,0\n100,7,,5,0\n0,0,0,9,1\n100,8,3,4,1\n";
        let all = read(text, "s.csv", 2).expect("a series");
        assert_eq!(all[0].column("pgfault"), Some(&[0, 7][..]));
        assert_eq!(all[0].column("workingset_refault_anon"), None);
        assert_eq!(all[1].column("workingset_refault_anon"), Some(&[0, 3][..]));
        for (text, nr, why, place) in [
            ("", 1, "no series of mmsim", (1, 1)),
            ("{}", 1, "no series of mmsim", (1, 1)),
            ("time_ns,pgfault\n0,1\n", 2, "of one run, and the report has 2", (1, 9)),
            ("time_ns,pgfault,run\n0,1,2\n", 2, "a row of run 2", (2, 5)),
            ("time_ns,pgfault\n0\n", 1, "1 values, and the header has 2", (2, 1)),
            ("time_ns,pgfault\n0,x\n", 1, "`x` is no whole number", (2, 3)),
        ] {
            let error = read(text, "s.csv", nr).expect_err(why);
            assert!(error.title().contains(why), "{error}");
            assert_eq!(error.position(), Some(("s.csv", place.0, place.1)), "{error}");
        }
    }
}
