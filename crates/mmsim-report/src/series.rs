//! Counters and gauges over simulated time, as CSV: a header, then one row per interval.
//!
//! Counters are running totals, so that subtraction gives any interval and a lost row loses
//! nothing. A counter that the policy does not keep is an empty field.

use std::io::{self, Write};

use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::{VmEvent, VmStat};

/// Writes the rows.
#[derive(Debug)]
pub struct SeriesWriter<W: Write> {
    out: W,
    run: Option<u32>,
    /// The gauges of the header; empty before it is written.
    gauges: Option<Vec<&'static str>>,
    not_kept: Vec<VmEvent>,
    line: String,
}

impl<W: Write> SeriesWriter<W> {
    /// A series for one run. `run`: its place in the report, which becomes the last column
    /// of a file that holds several runs.
    pub fn new(out: W, run: Option<u32>) -> Self {
        SeriesWriter { out, run, gauges: None, not_kept: Vec::new(), line: String::new() }
    }

    /// The same with empty fields for these counters: the policy does not keep them
    /// ([`Machine::not_kept`](mmsim_core::machine::Machine::not_kept)).
    #[must_use]
    pub fn without(mut self, not_kept: impl IntoIterator<Item = VmEvent>) -> Self {
        self.not_kept.extend(not_kept);
        self
    }

    /// One row. The first row decides the columns: every later one must bring the same
    /// gauges in the same order.
    pub fn row(
        &mut self,
        now: SimTime,
        vmstat: &VmStat,
        gauges: &[(&'static str, u64)],
    ) -> io::Result<()> {
        match &self.gauges {
            None => self.header(vmstat, gauges)?,
            Some(names) => assert!(
                names.iter().eq(gauges.iter().map(|(name, _)| name)),
                "the gauges changed within a series: {names:?}, then {gauges:?}"
            ),
        }
        self.line.clear();
        self.line += &now.0.to_string();
        let kept = |e: &VmEvent| !self.not_kept.contains(e);
        let counters = VmEvent::ALL.iter().map(|e| kept(e).then_some(vmstat[*e]));
        let others = gauges.iter().map(|&(_, v)| v).chain(self.run.map(u64::from));
        for value in counters.chain(others.map(Some)) {
            self.line.push(',');
            if let Some(value) = value {
                self.line += &value.to_string();
            }
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    fn header(&mut self, vmstat: &VmStat, gauges: &[(&'static str, u64)]) -> io::Result<()> {
        let names: Vec<&'static str> = gauges.iter().map(|&(name, _)| name).collect();
        let counters = vmstat.iter().map(|(name, _)| name);
        self.line = "time_ns".to_string();
        for name in counters.chain(names.iter().copied()).chain(self.run.map(|_| "run")) {
            self.line.push(',');
            self.line += name;
        }
        self.line.push('\n');
        self.gauges = Some(names);
        self.out.write_all(self.line.as_bytes())
    }

    /// Flushes and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn series(run: Option<u32>) -> String {
        let mut writer = SeriesWriter::new(Vec::new(), run);
        let mut vmstat = VmStat::default();
        writer.row(SimTime(0), &vmstat, &[("nr_free_pages", 9)]).unwrap();
        vmstat.add(VmEvent::PgFault, 3);
        writer.row(SimTime(100), &vmstat, &[("nr_free_pages", 6)]).unwrap();
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_header_and_rows_of_equal_length() {
        let text = series(None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("time_ns,pgfault,pgmajfault,pswpin,"));
        assert!(lines[0].ends_with(",sim_accesses,nr_free_pages"));
        assert!(lines[1].starts_with("0,0,0,") && lines[1].ends_with(",0,9"));
        assert!(lines[2].starts_with("100,3,0,") && lines[2].ends_with(",0,6"));
        assert!(lines.iter().all(|l| l.split(',').count() == VmEvent::ALL.len() + 2));
    }

    #[test]
    fn what_is_not_kept_is_empty() {
        let mut writer = SeriesWriter::new(Vec::new(), None).without([VmEvent::PswpIn]);
        let mut vmstat = VmStat::default();
        vmstat.add(VmEvent::PswpIn, 5);
        writer.row(SimTime(7), &vmstat, &[("nr_free_pages", 9)]).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let [names, values] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        let row: Vec<(&str, &str)> = names.split(',').zip(values.split(',')).collect();
        assert_eq!(row.len(), VmEvent::ALL.len() + 2);
        let empty: Vec<&str> = row.iter().filter(|(_, v)| v.is_empty()).map(|(n, _)| *n).collect();
        assert_eq!(empty, ["pswpin"]);
    }

    #[test]
    fn runs_in_one_file_have_a_column() {
        let text = series(Some(4));
        assert!(text.lines().next().unwrap().ends_with(",nr_free_pages,run"));
        assert!(text.lines().last().unwrap().ends_with(",6,4"));
    }

    #[test]
    #[should_panic(expected = "the gauges changed")]
    fn other_gauges_are_a_broken_invariant() {
        let mut writer = SeriesWriter::new(Vec::new(), None);
        writer.row(SimTime(0), &VmStat::default(), &[("a", 1)]).unwrap();
        writer.row(SimTime(1), &VmStat::default(), &[("b", 1)]).unwrap();
    }
}
