//! Arguments of damo as monitors of a scenario: each generation of its JSON becomes tables that a
//! scenario takes.

use mmsim::record::kdamonds::import;
use mmsim::scenario::Scenario;

/// A scenario with these monitors is one.
fn is_taken(tables: &str) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("x.toml");
    let head = "\
[machine]
kernel = \"7.3\"
memory = \"64MiB\"
[[machine.memcg]]
name = \"batch\"
[[task]]
name = \"work\"
workload = \"sequential\"
memory = \"1MiB\"
";
    std::fs::write(&path, format!("{head}\n{tables}")).expect("writing");
    if let Err(e) = Scenario::load(&path, &[]) {
        panic!("{tables}\n{e}");
    }
}

fn tables(json: &str) -> String {
    let out = import(json, "x.json", &["work".to_string()]).unwrap_or_else(|e| panic!("{e}"));
    is_taken(&out);
    out
}

/// damo 1.x: a file of schemes, with words about them.
#[test]
fn schemes_of_the_first_generation() {
    let json = r#"[{
        "name": "cold to swap", "comments": "of the manual",
        "action": "pageout",
        "access_pattern": {
            "sz_bytes": {"min": "4.000 KiB", "max": "max"},
            "nr_accesses": {"min": "0.0 %", "max": "0.0 %"},
            "age": {"min": "2 m", "max": "max"}
        },
        "quotas": {
            "time_ms": "10 ms", "sz_bytes": "128.000 MiB", "reset_interval_ms": "1 s",
            "weights": {"sz_permil": "0 %", "nr_accesses_permil": "80 %", "age_permil": "20 %"}
        },
        "watermarks": {"metric": "free_mem_rate", "interval_us": "5 s",
            "high_permil": "50 %", "mid_permil": "40 %", "low_permil": "20 %"}
    }]"#;
    assert_eq!(
        tables(json),
        "\
# A list of schemes does not say what is watched: all physical memory here.

[[damon]]
ops = \"paddr\"
sample = \"5ms\"
aggr = \"100ms\"
ops-update = \"1s\"

[[damon.scheme]]
action = \"pageout\"
min-size = \"1 pages\"
max-nr-accesses = 0
min-age = \"120s\"
quota-time = \"10ms\"
quota-size = \"32768 pages\"
quota-reset = \"1s\"
weight-nr-accesses = 800
weight-age = 200
wmarks = { interval = \"5s\", high = 500, mid = 400, low = 200 }
"
    );
}

/// damo 2.x: kdamonds, `filter_pass`, goals with `target_value_bp`, every member there.
#[test]
fn kdamonds_of_the_second_generation() {
    let json = r#"{"kdamonds": [{"state": null, "pid": null, "contexts": [{
        "ops": "vaddr",
        "targets": [{"pid": 4242, "regions": []}],
        "intervals": {"sample_us": "5 ms", "aggr_us": "200 ms", "ops_update_us": "2 s"},
        "nr_regions": {"min": "10", "max": "1,000"},
        "schemes": [{
            "action": "lru_deprio",
            "access_pattern": {
                "sz_bytes": {"min": "0 B", "max": "max"},
                "nr_accesses": {"min": "2 samples", "max": "10 samples"},
                "age": {"min": "5 aggr_intervals", "max": "1,000 aggr_intervals"}
            },
            "apply_interval_us": "1 s",
            "quotas": {"time_ms": "0 ns", "sz_bytes": "0 B", "reset_interval_ms": "max",
                "goals": [{"target_value_bp": "10,000", "current_value_bp": "5,000"}],
                "effective_sz_bytes": "0 B",
                "weights": {"sz_permil": "0 %", "nr_accesses_permil": "0 %", "age_permil": "0 %"}},
            "watermarks": {"metric": "none", "interval_us": "0 ns",
                "high_permil": "0 %", "mid_permil": "0 %", "low_permil": "0 %"},
            "filters": [
                {"filter_type": "anon", "matching": true, "filter_pass": false,
                 "memcg_path": "", "address_range": null, "damon_target_idx": null},
                {"filter_type": "memcg", "matching": "no", "filter_pass": false,
                 "memcg_path": "/system.slice/batch", "address_range": null}],
            "stats": {"nr_tried": "0", "sz_tried": "0 B"}
        }]}]}]}"#;
    let expected = "\
[[damon]]
ops = \"vaddr\"
task = \"work\" # process 4242
sample = \"5ms\"
aggr = \"200ms\"
ops-update = \"2s\"
min-nr-regions = 10
max-nr-regions = 1000

[[damon.scheme]]
action = \"lru_deprio\"
min-nr-accesses = 2
max-nr-accesses = 10
min-age = \"1s\"
max-age = \"200s\"
apply-interval = \"1s\"
# reset_interval_ms is without end; a million seconds here.
quota-reset = \"1000000s\"

[[damon.scheme.goal]]
metric = \"user_input\"
target = 10000
current = 5000

[[damon.scheme.filter]]
type = \"anon\"
matching = true

[[damon.scheme.filter]]
type = \"memcg\"
matching = false
memcg = \"batch\" # \"/system.slice/batch\"
";
    assert_eq!(tables(json), expected);
    let e = import(json, "x.json", &[]).unwrap_err();
    assert!(e.to_string().contains("no task stands for process 4242"), "{e}");
}

/// damo 3.x: what is default left out, goals of intervals, destinations, filters that allow; and raw
/// numbers.
#[test]
fn kdamonds_of_the_third_generation() {
    let json = r#"{"kdamonds": [{"refresh_ms": 0, "contexts": [{
        "ops": "paddr",
        "targets": [{"pid": null, "regions": [{"start": "4,294,967,296", "end": "6,442,450,944"}]}],
        "intervals": {"sample_us": 5000, "aggr_us": 100000, "ops_update_us": 1000000,
            "intervals_goal": {"access_bp": "4 %", "aggrs": 3,
                "min_sample_us": "5 ms", "max_sample_us": "10 s"}},
        "nr_regions": {"min": 10, "max": 1000},
        "schemes": [{
            "action": "pageout", "dests": [],
            "access_pattern": {"sz_bytes": {"min": 0, "max": 18446744073709551615},
                "nr_accesses": {"min": "0 %", "max": "25 %"},
                "age": {"min": "1 m 30 s", "max": "max"}},
            "apply_interval_us": 0,
            "filters": [{"filter_type": "young", "matching": true, "allow": false,
                "memcg_path": "", "hugepage_size": null}],
            "probes": {}
        }, {"action": "stat"}]}]}]}"#;
    assert_eq!(
        tables(json),
        "\
[[damon]]
ops = \"paddr\"
sample = \"5ms\"
aggr = \"100ms\"
ops-update = \"1s\"
intervals-goal = { access-bp = 400, aggrs = 3, min-sample = \"5ms\", max-sample = \"10s\" }
min-nr-regions = 10
max-nr-regions = 1000
# region 0x100000000-0x180000000 is of the machine that damo ran on: all frames are watched here.

[[damon.scheme]]
action = \"pageout\"
# `probes` is not known, and left out.
max-nr-accesses = 5
min-age = \"90s\"

[[damon.scheme.filter]]
type = \"young\"
matching = true

[[damon.scheme]]
action = \"stat\"
"
    );
}

#[test]
fn what_has_no_counterpart_is_refused_with_its_member() {
    let scheme = |members: &str| {
        format!(
            r#"{{"kdamonds": [{{"contexts": [{{"ops": "paddr", "schemes": [{{"action": "pageout", {members}}}]}}]}}]}}"#
        )
    };
    for (json, parts) in [
        ("{}".to_string(), &["no `kdamonds`"][..]),
        ("[]".to_string(), &["kdamonds", "at least one"]),
        ("{\"kdamonds\": [{}]}".to_string(), &["kdamonds[0] has no `contexts`"]),
        ("{\"kdamonds\":".to_string(), &["cut off"]),
        (
            scheme(r#""filters": [{"filter_type": "hugepage_size", "matching": true}]"#),
            &["kdamonds[0].contexts[0].schemes[0].filters[0]", "hugepage_size"],
        ),
        (
            scheme(r#""filters": [{"filter_type": "red", "matching": true}]"#),
            &["filter_type", "red", "anon, memcg"],
        ),
        (
            scheme(r#""quotas": {"goals": [{"metric": "node_red_bp", "target_value": "9 %"}]}"#),
            &["goals[0].metric", "node_red_bp", "node_eligible_mem_bp"],
        ),
        (
            r#"{"kdamonds": [{"contexts": [{"ops": "paddr", "pause": "perhaps"}]}]}"#.to_string(),
            &["contexts[0].pause", "true or false"],
        ),
        (
            scheme(r#""stats": {"max_nr_snapshots": "a few"}"#),
            &["schemes[0].stats.max_nr_snapshots", "a few"],
        ),
        (scheme(r#""quotas": {"sz_bytes": "a lot"}"#), &["quotas.sz_bytes", "a lot"]),
        (
            scheme(r#""dests": [{"id": 0, "weight": 1}, {"id": 1, "weight": 2}]"#),
            &["dests", "one node"],
        ),
    ] {
        let text = import(&json, "x.json", &[]).expect_err(&json).to_string();
        for part in parts {
            assert!(text.contains(part), "{text} lacks {part:?}");
        }
    }
}

/// What came with 6.14 to 7.3: filters that allow, sizes of folios, goals on nodes and groups, another
/// tuner, failures that cost less, and ends after so many snapshots.
#[test]
fn members_of_later_kernels() {
    let json = r#"{"kdamonds": [{"contexts": [{"ops": "paddr", "pause": true,
        "schemes": [{"action": "pageout",
        "quotas": {"sz_bytes": "1 GiB", "reset_interval_ms": "1 s", "goal_tuner": "temporal",
            "fail_charge_num": 1, "fail_charge_denom": 4, "goals": [
                {"metric": "node_mem_used_bp", "target_value": "99.7 %", "nid": 1},
                {"metric": "node_memcg_free_bp", "target_value": 9000, "nid": 0,
                    "memcg_path": "/jobs/batch"},
                {"metric": "node_eligible_mem_bp", "target_value": "50 %", "nid": 0}]},
        "stats": {"nr_snapshots": "3", "max_nr_snapshots": "1,000"},
        "filters": [
            {"filter_type": "hugepage_size", "matching": true, "allow": true,
                "hugepage_size": ["64 KiB", "2 MiB"]},
            {"filter_type": "active", "matching": false, "allow": true}]}]}]}]}"#;
    assert_eq!(
        tables(json),
        "\
[[damon]]
ops = \"paddr\"
sample = \"5ms\"
aggr = \"100ms\"
ops-update = \"1s\"
pause = [{ from = \"0s\" }]

[[damon.scheme]]
action = \"pageout\"
max-nr-snapshots = 1000
quota-size = \"262144 pages\"
quota-reset = \"1s\"
goal-tuner = \"temporal\"
fail-charge = { num = 1, denom = 4 }

[[damon.scheme.goal]]
metric = \"node_mem_used_bp\"
target = 9970
node = 1

[[damon.scheme.goal]]
metric = \"node_memcg_free_bp\"
target = 9000
node = 0
memcg = \"batch\" # \"/jobs/batch\"

[[damon.scheme.goal]]
metric = \"node_eligible_mem_bp\"
target = 5000
node = 0

[[damon.scheme.filter]]
type = \"hugepage_size\"
matching = true
allow = true
min = \"16 pages\"
max = \"512 pages\"

[[damon.scheme.filter]]
type = \"active\"
matching = false
allow = true
"
    );
}
