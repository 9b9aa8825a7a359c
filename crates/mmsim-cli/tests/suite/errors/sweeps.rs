//! Sweeps and stores that are not what they should be.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::Folder;

const PLAN: &str = "version = 1\nscenarios = [\"x.toml\"]\nseeds = 2\n";

#[test]
fn sweeps_that_cannot_be() {
    let golden = Golden::of("sweeps");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("p.toml", PLAN);
    f.write("q.toml", PLAN);
    f.write("empty.toml", "");
    f.write("later.toml", PLAN.replace("version = 1", "version = 2"));
    f.write("bad.toml", format!("{PLAN}[axes]\n\"machine.memory\" = [\"16MiB\", \"16MB\"]\n"));
    std::fs::create_dir(f.path("folder")).expect("a folder");
    f.write("file", "");
    let said = |name: &str, line: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        golden.is(name, &f.mmsim(&args));
    };
    let before = f.names();
    said("sweep-of-nothing", "sweep");
    said("no-such-plan", "sweep nothing.toml");
    said("a-folder-for-a-plan", "sweep folder");
    said("an-empty-plan", "sweep empty.toml");
    said("a-scenario-for-a-plan", "sweep x.toml");
    said("a-plan-of-another-version", "sweep later.toml");
    said("a-value-that-is-wrong", "sweep bad.toml");
    said("a-shard-outside", "sweep p.toml --shard 7/7");
    said("no-shard", "sweep p.toml --shard seven");
    said("which-of-seven", "sweep p.toml --shards 7");
    said("no-shards", "sweep p.toml --shards 0");
    said("both", "sweep p.toml --shards 7 --shard 1/7");
    said("a-file-for-a-store", "sweep p.toml --store file");
    said("a-plan-for-run", "run p.toml");
    said("status-of-no-store", "sweep status p.toml");
    said("merge-of-no-store", "sweep merge p.toml");
    said("show-of-no-store", "show folder");
    said("show-of-nothing", "show nothing");
    said("pivot-of-one", "sweep p.toml --pivot machine.memory");
    said("pivot-of-no-axes", "sweep p.toml --pivot machine.memory,machine.cpus");
    assert_eq!(f.names(), before);

    assert_eq!(f.mmsim(&["sweep", "p.toml", "--shard", "0/1"]).code, Some(0));
    said("a-store-of-another-plan", "sweep q.toml --store p.sweep");
    said("a-merge-of-another-plan", "sweep merge q.toml --store p.sweep");
    f.write("p.toml", PLAN.replace("seeds = 2", "seeds = 3"));
    said("missing-units", "sweep merge p.toml -o m.json");
    said("missing-units-are-known", "sweep merge p.toml --partial -o m.json");
    said("another-ending", "sweep merge p.toml --partial --format wide -o m.html");
    said("over-the-plan", "sweep merge p.toml --partial -o p.toml");
    said("full-of-a-store", "show p.sweep --table full");
    said("a-store-for-a-plan", "sweep merge p.sweep");
    said("a-misspelt-verb", "sweep mrege p.toml");
    said("a-verb-behind-the-plan", "sweep p.toml merge");
    said("two-plans", "sweep p.toml q.toml");
    said("an-option-of-merge", "sweep p.toml -o m.json");
    said("view-of-a-store", "view p.sweep");
    said("compare-of-a-store", "compare m.json p.sweep");
    std::fs::rename(f.path("p.sweep"), f.path("other")).expect("renaming the store");
    said("view-of-a-store-of-another-name", "view other");
    std::fs::rename(f.path("other"), f.path("p.sweep")).expect("renaming it again");
    said("no-such-base", "show m.json --base nobody");
    said("base-of-json", "show m.json --base nobody --format json");
    if cfg!(not(feature = "parquet")) {
        said("no-parquet", "sweep merge p.toml -o m.parquet");
    }
}
