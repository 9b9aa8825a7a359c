//! Documents of docs/ show what the lab prints, as those of the command line do. Long runs are for
//! `.ci/run`, the longest for `tools/deep-check documents`. Both ask the program of the release
//! (`MMSIM_LAB`).
//!
//! `MMSIM_BLESS=1 cargo test --workspace --test suite readme -- --include-ignored` rewrites them.

use crate::documents::{blocks, root};

#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_validation() {
    assert_eq!(blocks("docs/dev/validation.md", &root()), 6);
}

/// Generations over time, and all five experiments of the family, so that a change of any policy shows in the figures.
#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_experiments_on_mglru() {
    assert_eq!(blocks("docs/dev/mglru-experiments.md", &root()), 2);
}

/// Recorded points that no part of the model was made by.
#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn blocks_about_recordings() {
    assert_eq!(blocks("docs/recording.md", &root()), 2);
}

#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_large_files() {
    assert_eq!(blocks("docs/dev/pagecache-chain.md", &root()), 1);
    assert_eq!(blocks("docs/published.md", &root()), 1);
}

/// Published figures and recorded kernels are held with one set of constants: this is the
/// quick subset of the former, docs/accuracy.md has the quick subset of the latter.
#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_the_anonymous_workingset() {
    assert_eq!(blocks("docs/dev/anon-workingset.md", &root()), 1);
}

/// One table with its demands: a change of the allocator or of any stage shows in it.
#[test]
fn blocks_about_compaction() {
    assert_eq!(blocks("docs/dev/compaction-evidence.md", &root()), 1);
}
