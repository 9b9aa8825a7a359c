//! Seeds of the fuzz targets: a seed that its own parser refuses leads a fuzzer nowhere.

use std::path::{Path, PathBuf};

use crate::root;
use mmsim::record::{kdamonds, perf, read};
use mmsim::{Error, Scenario};
use mmsim_lab::validate::point::Experiment;
use mmsim_workload::events::{EventReader, Step};
use mmsim_workload::masim::MasimConfig;
use mmsim_workload::script::Script;
use mmsim_workload::trace::{
    ImportFormat, ImportOptions, RequestFormat, Requests, TraceError, TraceInfo, import,
};

fn folder() -> PathBuf {
    root().join("fuzz/seeds")
}

/// Seeds of a target: path and bytes, by name.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder().join(target)).expect(target);
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target} has no seeds");
    let read = |p: PathBuf| (p.clone(), std::fs::read(p).expect("a seed is read"));
    paths.into_iter().map(read).collect()
}

/// Holds that every seed of a target is accepted.
fn accepted<T, E: std::fmt::Display>(target: &str, parse: impl Fn(&Path, &[u8]) -> Result<T, E>) {
    for (path, bytes) in seeds(target) {
        if let Err(e) = parse(&path, &bytes) {
            panic!("{}: {e}", path.display());
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a text")
}

/// Options of a first line `@COLUMNS`, and what follows it.
fn csv(bytes: &[u8]) -> (ImportOptions, &[u8]) {
    let mut options = ImportOptions { level: 0, ..ImportOptions::default() };
    let Some(rest) = bytes.strip_prefix(b"@") else { return (options, bytes) };
    let end = rest.iter().position(|&b| b == b'\n').expect("a line");
    options.columns = Some(text(&rest[..end]).to_string());
    (options, &rest[end + 1..])
}

#[test]
fn scenarios_and_what_is_set_on_them() {
    let expand = |s: Scenario| s.expand(&mmsim::machines::Catalogue).map(|_| ());
    accepted("scenario", |_, b| Scenario::from_str(text(b), "seed.toml").and_then(expand));
    let base = std::fs::read_to_string(folder().join("scenario/two.toml")).expect("a seed");
    let base = Scenario::from_str(&base, "two.toml").expect("a seed");
    accepted("overrides", |_, b| {
        let sets = text(b).lines().filter_map(|l| l.split_once('='));
        let sets: Vec<_> = sets.map(|(k, v)| (k.to_string(), v.to_string())).collect();
        assert!(!sets.is_empty());
        base.clone().with_sets(&sets).and_then(expand)
    });
}

#[test]
fn command_lists_points_and_masim_files() {
    accepted("script", |_, b| {
        let lines: Vec<&str> = text(b).lines().collect();
        let script = Script::parse(&lines).map_err(|e| e.to_string())?;
        script.workload().map(|_| ()).map_err(|e| format!("{e:?}"))
    });
    accepted("point", |_, b| Experiment::from_json(text(b)));
    accepted("masim", |_, b| MasimConfig::parse(text(b)).map_err(|e| e.what));
}

#[test]
fn traces_and_what_becomes_one() {
    accepted("mmt", |_, b| TraceInfo::read(b, b.len() as u64));
    accepted("mmev", |_, b| {
        let mut reader = EventReader::new(b)?;
        while reader.advance()? != Step::End {}
        Ok::<_, TraceError>(())
    });
    let options = ImportOptions { level: 0, ..ImportOptions::default() };
    let whole = |format, b: &[u8], options: &ImportOptions| {
        let mut out = Vec::new();
        import(format, b, &mut out, options)?;
        TraceInfo::read(&out[..], out.len() as u64)
    };
    accepted("import_pages", |_, b| whole(ImportFormat::Pages, b, &options));
    accepted("import_lackey", |_, b| whole(ImportFormat::Lackey, b, &options));
    accepted("import_csv", |_, b| {
        // The target imports both ways.
        let (options, rest) = csv(b);
        let timed = ImportOptions { time_unit_ns: Some(1000), ..options.clone() };
        whole(ImportFormat::Csv, rest, &options).or_else(|_| whole(ImportFormat::Csv, rest, &timed))
    });
    let lackey = std::fs::read(folder().join("import_lackey/small")).expect("a seed");
    accepted("maps", |_, b| {
        let options = ImportOptions { maps: Some(text(b).to_string()), ..options.clone() };
        whole(ImportFormat::Lackey, &lackey, &options)
    });
    let folder = tempfile::tempdir().expect("a folder");
    accepted("requests", |_, b| {
        let (how, bytes) = b.split_first().expect("a first byte");
        let path = folder.path().join("requests");
        std::fs::write(&path, bytes).expect("writing a file");
        Requests::open(&path, RequestFormat::ALL[usize::from(how >> 1) % 3], how & 1 == 1)
    });
}

#[test]
fn records_of_damon() {
    accepted("damon_perf", |_, b| perf::read(text(b), "seed"));
    accepted("damon_json", |_, b| read(b, "seed").map(|_| ()).map_err(|e: Error| e));
    accepted("damon_args", |_, b| kdamonds::import(text(b), "seed", &["work".to_string()]));
}
