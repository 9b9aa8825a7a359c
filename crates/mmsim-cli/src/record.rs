//! `mmsim run --damon-record`: what monitors saw, in a folder of each run.
//!
//! Two files a monitor: `NAME.data` as damo keeps records (JSON, compressed by zlib), and
//! `NAME.perf.txt` as `perf script` prints them. They are written when all runs are done, each of them
//! whole.

use std::fs;
use std::path::{Path, PathBuf};

use mmsim::machine::result::RunResult;
use mmsim::record::{self, damo, perf};
use mmsim::report::RunMeta;
use mmsim::report::proc::file_name;

use crate::emit::{self, Names};
use crate::plan::Plan;
use mmsim_terminal::exit::Failure;
use mmsim_terminal::output;

/// Where records go.
pub(crate) struct Records {
    folders: Vec<PathBuf>,
}

impl Records {
    /// The folders of all runs. What cannot be written is known before the runs.
    pub(crate) fn create(dir: &Path, plans: &[Plan]) -> Result<Records, Failure> {
        let mut monitors = plans.iter().flat_map(|p| &p.specs).flat_map(|s| &s.damon);
        if !monitors.any(|m| m.record) {
            return Err(Failure::said(
                "--damon-record: no monitor records, write `record = true` in a `[[damon]]` of the \
                 scenario",
            ));
        }
        Ok(Records { folders: emit::folders(dir, plans)? })
    }

    /// Writes the records of all runs.
    pub(crate) fn commit<'a>(
        self,
        results: impl Iterator<Item = &'a (RunMeta, RunResult)>,
    ) -> Result<(), Failure> {
        for (folder, (meta, _)) in self.folders.iter().zip(results) {
            let mut names = Names::default();
            for (i, monitored) in (0..).zip(&meta.damon) {
                if monitored.record.is_empty() {
                    continue;
                }
                let records = record::of_run(i, monitored);
                let name = names.unique([file_name(&monitored.report.name)]);
                fs::create_dir_all(folder).map_err(|e| Failure::file("create", folder, &e))?;
                let write = |ending: &str, bytes: &[u8]| {
                    output::deliver(bytes, Some(&folder.join(format!("{name}.{ending}"))))
                };
                write("data", &damo::compressed(&damo::write(&records)))?;
                write("perf.txt", perf::write(&records).as_bytes())?;
            }
        }
        Ok(())
    }
}
