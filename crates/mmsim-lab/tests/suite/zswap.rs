//! zswap beside recorded kernels (`evidence/zswap`): what a kernel counts exactly, the model counts
//! exactly.

use crate::root;
use mmsim_lab::accuracy::remains::Remains;
use mmsim_lab::validate::document::Validation;
use mmsim_lab::validate::{Selection, validate};

fn replayed(what: &Selection) -> Validation {
    let dir = root().join("evidence/zswap");
    let all = validate(&dir, what, &|_, _| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.not_modelled.is_empty(), "{:?}", all.not_modelled);
    all
}

/// Each value of these counters is as near to the recorded one as this, or nearer by 32 pages.
fn near(experiment: &str, points: &str, counters: &[&str], share: f64) {
    let mut what = Selection::default();
    what.experiment = Some(experiment.into());
    let all = replayed(&what);
    let of = |c: &&str| {
        let found = |r: &&_| {
            let r: &mmsim_lab::validate::rows::PointRow = r;
            r.point.starts_with(points) && r.counter == **c
        };
        all.points.iter().filter(found).cloned().collect::<Vec<_>>()
    };
    let rows: Vec<_> = counters.iter().flat_map(of).collect();
    assert!(rows.len() > 5, "{experiment} has no such rows");
    for r in rows {
        let room = (r.recorded * share).max(if share > 0.0 { 32.0 } else { 0.0 });
        let fine = (r.min - room..=r.max + room).contains(&r.simulated);
        assert!(fine, "{} {} {}: {} of {}", r.point, r.phase, r.counter, r.simulated, r.recorded);
    }
}

/// 22 lengths, a hundred pages each: which class an object is of, how many frames its zspages have, and
/// what its group is charged follow from the length alone.
#[test]
fn pages_of_one_length_take_the_frames_that_they_take() {
    let exact = ["zswap_pool_pages", "zswap_stored_pages", "zswap_bytes", "zswpout"];
    near("zswap-lengths", "lengths", &exact, 0.0);
}

/// Far from all limits the pool is as large as memory lets it be.
#[test]
fn a_pool_without_limits_is_as_large_as_recorded() {
    near("zswap-store", "store", &["zswap_stored_pages", "zswap_pool_pages"], 0.01);
}

/// At the limit of a group each store has one entry written, or a bit cleared.
#[test]
fn a_group_at_its_limit_writes_back_as_recorded() {
    near("zswap-group", "zswap-max-classic", &["zswpwb", "zswpout", "pswpin"], 0.05);
}

/// Each gap that is explained is one, and the table by which `mmsim run` says how near runs with zswap
/// are is that of these replays. `MMSIM_BLESS=1` rewrites it.
#[test]
fn gaps_of_zswap_are_gaps() {
    let all = replayed(&Selection::default());
    let now = mmsim_lab::accuracy::nearness_of(&all, "evidence/zswap").expect("its rules");
    let table = root().join("crates/mmsim-report/src/nearness-zswap.txt");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&table, &now).expect("rewriting the table");
    }
    let before = std::fs::read_to_string(table).expect("the table");
    assert_eq!(before, now, "run with MMSIM_BLESS=1 and look at the difference");
    let path = root().join("evidence/zswap/gaps.toml");
    let text = std::fs::read_to_string(path).expect("it is there");
    let gaps = Remains::read(&text, "gaps.toml").unwrap_or_else(|e| panic!("{e}"));
    gaps.check(all.rules.iter()).unwrap_or_else(|e| panic!("{e}"));
}
