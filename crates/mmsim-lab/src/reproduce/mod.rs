//! Reruns published experiments and sets the published figures beside what the model makes
//! of them.
//!
//! A *family* is what one patch series published: its figures ([`published`]), its
//! experiments as scenario files, and a study ([`study`]) that says which scenario gives which
//! figure and what its authors leave open. All three are data; [`carry`] reads a study and makes
//! its runs. Experiments that are programs stand beside them and are named in the study. How close
//! is close enough stands beside the figures ([`demand`]); a miss is shown as plainly as a hit.
//!
//! Where a machine of the source is large, experiments are made on one that is smaller by
//! a whole number in everything that is counted in pages, so that all ratios are those of
//! the source: memory, watermarks, swap, chunks, and with them the time of a run.

mod anon_workingset;
pub mod carry;
pub mod counts;
mod damon_monitoring;
mod damon_reclaim;
pub mod demand;
pub mod document;
pub mod drops;
pub mod expression;
pub mod lab;
mod lazyfree;
mod pagecache_chain;
pub mod published;
pub mod ran;
pub mod relation;
mod sensitivity;
pub mod study;

use crate::reproduce::document::{Asks, ExperimentReport, FigureRow, Picture, Reproduction};
use clap::Args;
use demand::Basis;
use lab::{Lab, Progress, ScenarioFile};
use mmsim::error::{Error, ErrorKind};
use mmsim::nearest::nearest;
use mmsim::report::statistics::{Estimate, estimate};
use mmsim::run::RunError;
use mmsim_terminal::args::at_least_one;
use published::{Cell, Published};
use study::Study;

/// Makes the tables of a study that a program makes.
pub type Code = fn(&Lab<'_>, &Family, &Study, &Published) -> Result<Figures, RunError>;

/// Published experiments of one patch series, as texts in this program.
#[non_exhaustive]
pub struct Family {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its study.
    pub study: ScenarioFile,
    /// The text of its figures.
    pub published: &'static str,
    /// The scenarios of its experiments.
    pub scenarios: &'static [ScenarioFile],
    /// Programs that its study names.
    pub code: &'static [(&'static str, Code)],
}

impl Family {
    /// Reads its study.
    ///
    /// # Errors
    /// The file is wrong, with the place.
    pub fn study(&self) -> Result<Study, Error> {
        Study::read(self.study.path, self.study.text)
    }

    /// The scenario in a file of that name. Panics if there is none.
    pub fn scenario(&self, file: &str) -> ScenarioFile {
        let is = |f: &&ScenarioFile| f.path.ends_with(&format!("/{file}.toml"));
        *self.scenarios.iter().find(is).unwrap_or_else(|| panic!("{}: no {file}", self.name))
    }
}

/// A file of the repository.
macro_rules! file {
    ($($part:literal),+) => {
        ScenarioFile {
            path: concat!($($part),+),
            text: include_str!(concat!("../../", $($part),+)),
        }
    };
}

macro_rules! families {
    ($(
        $name:literal: $published:literal,
        [$($scenario:literal),*],
        [$($code:literal: $make:path),*];
    )*) => {
        /// All families.
        pub static FAMILIES: &[Family] = &[$(Family {
            name: $name,
            study: file!("evidence/experiments/", $name, "/study.toml"),
            published: file!("evidence/published/", $published, ".toml").text,
            scenarios: &[$(file!($scenario)),*],
            code: &[$(($code, $make)),*],
        }),*];
    };
}

families! {
    "anon-workingset": "anon-workingset", [
        "evidence/experiments/anon-workingset/swap-ins.toml",
        "evidence/experiments/anon-workingset/throughput.toml",
        "evidence/experiments/anon-workingset/detection.toml",
        "scenarios/kernel-build.toml"
    ], ["examples": anon_workingset::examples, "throughput": anon_workingset::throughput];
    "mglru-lazyfree": "mglru", [
        "evidence/experiments/mglru-lazyfree/apps.toml",
        "evidence/experiments/mglru-lazyfree/garbage.toml",
        "evidence/experiments/mglru-lazyfree/own-list.toml"
    ], ["ablation": lazyfree::ablation, "garbage": lazyfree::garbage];
    "mglru-file-protection": "mglru", ["evidence/experiments/mglru-file-protection/apps.toml"], [];
    "mglru-refault-distance": "mglru",
        ["evidence/experiments/mglru-refault-distance/reader.toml", "scenarios/throttled-loop.toml"],
        [];
    "mglru-fio-zipf": "mglru", ["evidence/experiments/mglru-fio-zipf/fio.toml"], [];
    "mglru-6.14-rework": "mglru", ["evidence/experiments/mglru-6.14-rework/reader.toml"], [];
    "compaction-redesign": "compaction-redesign", [
        "evidence/experiments/compaction-redesign/hogger.toml",
        "evidence/experiments/compaction-redesign/hogger-6.1.toml",
        "evidence/experiments/compaction-redesign/build-frag.toml",
        "evidence/experiments/compaction-redesign/stress-highalloc.toml",
        "evidence/experiments/compaction-redesign/two-requesters.toml"
    ], [];
    "damon-monitoring": "damon-monitoring", [
        "evidence/experiments/damon-monitoring/hugetlb.toml",
        "evidence/experiments/damon-monitoring/masim.toml"
    ], ["monitoring": damon_monitoring::figures];
    "damon-reclaim": "damon-reclaim", [
        "evidence/experiments/damon-reclaim/workload.toml",
        "evidence/experiments/damon-reclaim/linear-scan.toml",
        "evidence/experiments/damon-reclaim/seventy.toml",
        "evidence/experiments/damon-reclaim/hot-page.toml"
    ], ["quotas": damon_reclaim::quotas, "baseline": damon_reclaim::baseline];
    "pagecache-chain": "pagecache-chain", ["evidence/experiments/pagecache-chain/chain.toml"],
        ["chain": pagecache_chain::figures];
    "inactive-ratio": "inactive-ratio",
        ["evidence/experiments/inactive-ratio/reclaimtest2.toml"], [];
    "dama": "dama", ["evidence/experiments/dama/min-age.toml"], [];
    "zswap": "zswap", [
        "evidence/experiments/zswap/selftests.toml",
        "evidence/experiments/zswap/build.toml"
    ], [];
}

/// Simulated figures.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// The figures in the order of the tables.
    pub rows: Vec<FigureRow>,
    /// Findings that no single figure shows.
    pub findings: Vec<String>,
    /// Memory as text.
    pub pictures: Vec<Picture>,
}

impl Figures {
    fn add(&mut self, more: Figures) {
        self.rows.extend(more.rows);
        self.findings.extend(more.findings);
        self.pictures.extend(more.pictures);
    }
}

/// Experiments to reproduce, and how.
#[derive(Args, Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// The experiments: anon-workingset, mglru-lazyfree, mglru-file-protection, mglru-refault-distance,
    /// mglru-fio-zipf, mglru-6.14-rework, compaction-redesign, damon-monitoring, damon-reclaim,
    /// pagecache-chain, inactive-ratio, dama, zswap
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// All experiments
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// A few figures on small machines, in seconds
    #[arg(long)]
    pub quick: bool,
    /// Only this table; can be given several times
    #[arg(long = "table", value_name = "ID")]
    pub tables: Vec<String>,
    /// Make machines smaller by this than those of the source: 1, 2, 4, 8, 16 or 32 [default: the
    /// experiment's choice]
    #[arg(long, value_name = "N", value_parser = power_of_two, allow_negative_numbers = true)]
    pub scale: Option<u64>,
    /// Move every constant by a quarter, alone, and list the verdicts that flip
    #[arg(long)]
    pub sensitivity: bool,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
}

fn power_of_two(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if [1, 2, 4, 8, 16, 32].contains(&n) => Ok(n),
        _ => Err("write 1, 2, 4, 8, 16 or 32".to_string()),
    }
}

/// Reruns experiments.
///
/// # Errors
/// A name or table that there is not, or of which the quick subset has nothing.
pub fn reproduce(request: &Request, progress: &Progress<'_>) -> Result<Reproduction, RunError> {
    let mut experiments = Vec::new();
    for (family, study) in wanted(request)? {
        let lab = Lab {
            quick: request.quick,
            tables: &request.tables,
            scale: request.scale,
            jobs: request.jobs,
            ..Lab::silent(progress)
        };
        let published = Published::read(family.published);
        let mut figures = carry::figures(&lab, family, &study, &published)?;
        let sensitivity = match request.sensitivity {
            true => Some(sensitivity::sensitivity(family, &study, &published, &lab, &figures)?),
            false => None,
        };
        if request.tables.is_empty() {
            let left = study.left_out.iter();
            let said = left.map(|l| format!("not carried out: {}: {}.", l.id, l.why));
            figures.findings.extend(said);
        }
        experiments.push(ExperimentReport {
            name: family.name.to_string(),
            about: study.about.clone(),
            constants: study.constants.clone(),
            summary: counts::summary(family.name, &study.kernels, &figures.rows),
            rows: figures.rows,
            findings: figures.findings,
            pictures: figures.pictures,
            sensitivity,
        });
    }
    if request.quick && !request.tables.is_empty() && experiments.iter().all(|e| e.rows.is_empty())
    {
        let tables = request.tables.join(", ");
        let e = Error::new(ErrorKind::Option, format!("--quick has no figure of {tables}"));
        return Err(e.help("leave --quick out").into());
    }
    Ok(Reproduction::new(request.quick, experiments))
}

fn known(names: &[&str]) -> String {
    names.join(", ")
}

/// An error about a name, with the one that was probably meant.
fn unknown(what: &str, name: &str, names: &[&str]) -> Error {
    let e = Error::new(ErrorKind::Option, format!("there is no {what} \"{name}\""));
    match nearest(name, names) {
        Some(n) => e.help(format!("did you mean \"{n}\"? There are: {}", known(names))),
        None => e.help(format!("write one of: {}", known(names))),
    }
}

fn wanted(request: &Request) -> Result<Vec<(&'static Family, Study)>, Error> {
    let names: Vec<&str> = FAMILIES.iter().map(|f| f.name).collect();
    if let Some(name) = request.names.iter().find(|n| !names.contains(&n.as_str())) {
        return Err(unknown("experiment", name, &names));
    }
    if request.names.is_empty() && !request.all {
        let e = Error::new(ErrorKind::Option, "no experiment is named");
        return Err(e.help(format!("write --all, or one of: {}", known(&names))));
    }
    let is_wanted = |f: &&Family| request.all || request.names.iter().any(|n| n == f.name);
    let read = |f: &'static Family| Ok((f, f.study()?));
    let families: Vec<(&Family, Study)> =
        FAMILIES.iter().filter(is_wanted).map(read).collect::<Result<_, Error>>()?;
    let tables: Vec<&str> = families.iter().flat_map(|f| f.1.table_ids()).collect();
    match request.tables.iter().find(|t| !tables.contains(&t.as_str())) {
        Some(t) => Err(unknown("table", t, &tables)),
        None => Ok(families),
    }
}

/// The row of a published cell.
pub fn row(cell: &Cell<'_>, quantity: &str, simulated: Option<Estimate>) -> FigureRow {
    let met = simulated.and_then(|e| cell.demand.met(cell.value(), e.mean));
    FigureRow {
        published: cell.published(),
        deviation: cell.deviation(),
        demand: cell.demand.words(cell.unit()),
        met,
        gates: cell.demand.gates(),
        basis: cell.demand.basis,
        asks: match cell.demand.kind {
            demand::Kind::Sign => Asks::Direction,
            _ => Asks::Size,
        },
        ..unpublished_row(&cell.id(), quantity, cell.unit(), simulated)
    }
}

/// The row of a published cell with a figure for each seed, which a demand may count.
pub fn row_by_seed(cell: &Cell<'_>, quantity: &str, simulated: &[f64]) -> FigureRow {
    let met = cell.demand.met_by_seeds(cell.value(), simulated);
    FigureRow { met, ..row(cell, quantity, estimate(simulated)) }
}

/// The row of a figure that was not published, and that has no demand.
pub fn unpublished_row(
    id: &str,
    quantity: &str,
    unit: &str,
    simulated: Option<Estimate>,
) -> FigureRow {
    FigureRow {
        id: id.to_string(),
        quantity: quantity.to_string(),
        unit: unit.to_string(),
        published: None,
        deviation: None,
        simulated: simulated.map(|e| e.mean),
        ci95: simulated.and_then(|e| e.ci95),
        seeds: simulated.map_or(0, |e| e.n as u64),
        demand: "none".into(),
        met: None,
        gates: true,
        basis: Basis::Trend,
        asks: Asks::Size,
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(family: &Family) -> Study {
        family.study().unwrap_or_else(|e| panic!("{e}"))
    }

    fn said(request: &Request) -> String {
        match reproduce(request, &|_, _, _| panic!("nothing is to run")) {
            Err(RunError::Input(e)) => e.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_that_there_are_not() {
        let named = |name: &str| Request { names: vec![name.into()], ..Request::default() };
        let all: Vec<&str> = FAMILIES.iter().map(|f| f.name).collect();
        let expected = "error: there is no experiment \"anon-worksingset\"\n |\n \
                        = help: did you mean \"anon-workingset\"? There are: anon-workingset, mglru-";
        let text = said(&named("anon-worksingset"));
        assert!(text.starts_with(expected) && text.ends_with(&all.join(", ")), "{text}");
        let tables = vec!["ebizzy".to_string()];
        let text = said(&Request { tables, ..named("anon-workingset") });
        assert!(text.starts_with("error: there is no table \"ebizzy\""), "{text}");
        assert!(text.contains("ebizzy-v1-1t, ebizzy-v1-8t, swap-size-1t"), "{text}");
        let quick = Request { quick: true, ..named("anon-workingset") };
        let text = said(&Request { tables: vec!["kernel-build".into()], ..quick });
        assert_eq!(
            text,
            "error: --quick has no figure of kernel-build\n |\n = help: leave --quick out"
        );
        let text = said(&Request::default());
        assert!(text.contains("write --all, or one of: anon-workingset"), "{text}");
    }

    /// Every published table can be run or is listed as not carried out, and none is both; so are
    /// the claims of MGLRU, whose experiments have no table of claims.
    #[test]
    fn every_published_table_is_shown_or_left_out_with_a_reason() {
        let mut texts: Vec<&str> = FAMILIES.iter().map(|f| f.published).collect();
        texts.dedup();
        for text in texts {
            let published = Published::read(text);
            let of_text = FAMILIES.iter().filter(|f| f.published == text);
            let studies: Vec<Study> = of_text.map(study).collect();
            let shown: Vec<&str> = studies.iter().flat_map(|s| s.table_ids()).collect();
            let left: Vec<&str> =
                studies.iter().flat_map(|s| &s.left_out).map(|l| l.id.as_str()).collect();
            for id in published.tables.iter().map(|t| t.id.as_str()) {
                let times = [&shown, &left].map(|l| l.iter().filter(|t| **t == id).count());
                assert!(
                    times == [1, 0] || times == [0, 1],
                    "{id} of {}: {times:?}",
                    published.family
                );
            }
            let known = |id: &&str| {
                published.tables.iter().any(|t| t.id == *id)
                    || published.claims.iter().any(|c| c.id == *id)
            };
            let strangers: Vec<&&str> = left.iter().filter(|id| !known(id)).collect();
            assert!(strangers.is_empty(), "{strangers:?}");
            if published.family == "mglru" {
                assert!(published.claims.iter().all(|c| left.contains(&c.id.as_str())));
            }
        }
    }

    /// Every scenario of every experiment runs as it is shipped.
    #[test]
    fn scenarios_expand() {
        for file in FAMILIES.iter().flat_map(|f| f.scenarios) {
            let scenario = mmsim::Scenario::from_str(file.text, file.path);
            let scenario = scenario.unwrap_or_else(|e| panic!("{}: {e}", file.path));
            let runs = scenario.expand(&mmsim::machines::Catalogue);
            assert!(!runs.unwrap_or_else(|e| panic!("{}: {e}", file.path)).is_empty());
        }
    }
}
