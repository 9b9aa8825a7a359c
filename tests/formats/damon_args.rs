//! Arguments of damo as monitors of a scenario: each generation of its JSON becomes tables that a
//! scenario takes.

use crate::harness::{Folder, scenario};
use mmsim::record::kdamonds::import;
use mmsim::scenario::Scenario;

/// A scenario with these monitors is one.
fn is_taken(tables: &str) {
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
    scenario(&format!("{head}\n{tables}"));
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
# `kdamonds[0].contexts[0].schemes[0].probes` is not known, and left out.
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

/// The error of a text, and the text at the places that the error names.
fn refused(text: &str, name: &str) -> (String, Option<(usize, usize)>) {
    let e = import(text, name, &[]).expect_err(text);
    let place = e.position().map(|(_, line, column)| (line, column));
    (e.to_string(), place)
}

/// One strange member in each object of damo's form, whose names are from `to_kvpairs()` of damo 3.4.3:
/// each is named with its path, and nothing else is.
#[test]
fn members_that_are_not_known_are_named_at_every_level() {
    let json = r#"{"odd": 1, "kdamonds": [{"odd": 1, "state": null, "pid": null, "refresh_ms": 0,
        "contexts": [{"odd": 1, "ops": "paddr", "addr_unit": "1 B",
        "targets": [{"odd": 1, "pid": null, "obsolete": false,
            "regions": [{"odd": 1, "start": "0", "end": "4,096"}]}],
        "intervals": {"odd": 1, "sample_us": "5 ms", "aggr_us": "100 ms", "ops_update_us": "1 s",
            "intervals_goal": {"odd": 1, "access_bp": "0 %", "aggrs": "0",
                "min_sample_us": "0 ns", "max_sample_us": "0 ns"}},
        "nr_regions": {"odd": 1, "min": "10", "max": "1,000"},
        "probes": [],
        "sample_control": {"odd": 1, "sample_filters": [],
            "primitives_enabled": {"odd": 1, "page_table": true, "page_fault": false}},
        "pause": false,
        "schemes": [{"odd": 1, "action": "pageout", "dests": [{"odd": 1, "id": 0, "weight": 1}],
            "access_pattern": {"odd": 1, "sz_bytes": {"odd": 1, "min": "0 B", "max": "max"},
                "nr_accesses": {"odd": 1, "min": "0 %", "max": "100 %"},
                "age": {"odd": 1, "min": "0 ns", "max": "max"}},
            "apply_interval_us": "0 ns",
            "quotas": {"odd": 1, "time_ms": "0 ns", "sz_bytes": "1 MiB", "reset_interval_ms": "1 s",
                "goals": [{"odd": 1, "metric": "user_input", "complement": false, "nid": null,
                    "memcg_path": null, "target_value": "1", "current_value": "0"}],
                "goal_tuner": "consist", "fail_charge_num": 0, "fail_charge_denom": 0,
                "effective_sz_bytes": "0 B",
                "weights": {"odd": 1, "sz_permil": "0 %", "nr_accesses_permil": "0 %",
                    "age_permil": "0 %"}},
            "watermarks": {"odd": 1, "metric": "none", "interval_us": "0 ns", "high_permil": "0 %",
                "mid_permil": "0 %", "low_permil": "0 %"},
            "filters": [{"odd": 1, "filter_type": "anon", "matching": true, "allow": false,
                "memcg_path": "", "address_range": null, "damon_target_idx": null,
                "hugepage_size": null, "probe_hits_wsum_range": null}],
            "stats": {"odd": 1, "nr_tried": "0", "sz_tried": "0 B", "nr_applied": "0",
                "sz_applied": "0 B", "sz_ops_filter_passed": "0 B", "qt_exceeds": "0",
                "nr_snapshots": "0", "max_nr_snapshots": "0"}}]}]}]}"#;
    let out = tables(json);
    let named = |l: &&str| l.contains("is not known, and left out");
    let comments: Vec<&str> = out.lines().filter(named).collect();
    let context = "kdamonds[0].contexts[0]";
    let scheme = "kdamonds[0].contexts[0].schemes[0]";
    let expected = [
        "odd".to_string(),
        "kdamonds[0].odd".into(),
        format!("{context}.intervals.odd"),
        format!("{context}.intervals.intervals_goal.odd"),
        format!("{context}.nr_regions.odd"),
        format!("{context}.targets[0].odd"),
        format!("{context}.targets[0].regions[0].odd"),
        format!("{context}.sample_control.odd"),
        format!("{context}.sample_control.primitives_enabled.odd"),
        format!("{context}.odd"),
        format!("{scheme}.dests[0].odd"),
        format!("{scheme}.odd"),
        format!("{scheme}.access_pattern.odd"),
        format!("{scheme}.access_pattern.sz_bytes.odd"),
        format!("{scheme}.access_pattern.nr_accesses.odd"),
        format!("{scheme}.access_pattern.age.odd"),
        format!("{scheme}.stats.odd"),
        format!("{scheme}.quotas.odd"),
        format!("{scheme}.quotas.weights.odd"),
        format!("{scheme}.watermarks.odd"),
        format!("{scheme}.quotas.goals[0].odd"),
        format!("{scheme}.filters[0].odd"),
    ];
    let expected = expected.map(|path| format!("# `{path}` is not known, and left out."));
    assert_eq!(comments, expected);
    // A name that is nearly one.
    let near =
        r#"{"kdamonds": [{"contexts": [{"ops": "paddr", "scheme": [{"action": "stat"}]}]}]}"#;
    let comment = "`kdamonds[0].contexts[0].scheme` is not known, and left out (is it `schemes`?).";
    assert!(tables(near).contains(comment), "{}", tables(near));
    let (text, _) = refused(r#"{"kdamonds": [{"context": []}]}"#, "x.json");
    assert!(text.contains("did you mean `contexts`?"), "{text}");
}

/// Arguments that would make schemes act on other memory than here, and objects that are none.
#[test]
fn what_decides_what_is_acted_on_is_refused() {
    let context = |member: &str| {
        format!("{{\"kdamonds\": [{{\"contexts\": [\n {{\"ops\": \"paddr\",\n{member}}}]}}]}}")
    };
    for (member, column, says) in [
        (r#""addr_unit": "4 KiB""#, 14, "found \"4 KiB\", expected 1"),
        (r#""addr_unit": 4096"#, 14, "expected 1: addresses are in bytes"),
        (
            r#""sample_control": {"sample_filters": [{"filter_type": "write"}]}"#,
            39,
            "samples are not filtered here",
        ),
        (r#""ops_attrs": {"write_only": "Y"}"#, 29, "all accesses are sampled here"),
        (r#""ops_attrs": {"cpus": "0-3"}"#, 23, "all accesses are sampled here"),
        (r#""targets": [{"obsolete": true}]"#, 26, "is to be removed"),
        (r#""targets": []"#, 12, "Linux starts no context without one"),
        (
            r#""schemes": [{"quotas": {"goals": [{"metric": "user_input", "complement": "yes"}]}}]"#,
            74,
            "write false",
        ),
        (r#""schemes": {"action": "stat"}"#, 12, "expected a list"),
        (r#""intervals": "5 ms""#, 14, "expected members such as sample_us"),
        (r#""pause": 2"#, 10, "found 2, expected true or false"),
        (r#""pause": 1, "pause": 0"#, 22, "contexts[0].pause is there twice"),
    ] {
        let (text, place) = refused(&context(member), "x.json");
        assert!(text.contains(says), "{member}: {text}");
        assert_eq!(place, Some((3, column)), "{member}: {text}");
    }
    // What only says how accesses are found is a comment.
    let found = r#""probes": [{"filters": []}],
        "sample_control": {"primitives_enabled": {"page_table": "n", "page_fault": "Y"}}"#;
    let out = tables(&context(found));
    assert!(
        out.contains("# probes are not modelled") && out.contains("# primitives_enabled"),
        "{out}"
    );
}

#[test]
fn yes_and_no_have_many_spellings() {
    for (yes, no) in [
        ("true", "false"),
        ("1", "0"),
        ("\"Y\"", "\"N\""),
        ("\"yes\"", "\"No\""),
        ("\"on\"", "\"off\""),
        ("\"T\"", "\"f\""),
        ("\"1\"", "\"0\""),
    ] {
        let pause = |word| format!("{{\"kdamonds\": [{{\"contexts\": [{{\"pause\": {word}}}]}}]}}");
        assert!(tables(&pause(yes)).contains("pause = [{ from"), "{yes}");
        assert!(!tables(&pause(no)).contains("pause"), "{no}");
    }
}

/// Parameters of a module as its files in /sys/module have them, all that stand there.
#[test]
fn modules_take_copies_of_their_files() {
    let module = |name: &str, parameters: &str| {
        let text = format!(
            "[machine]\nkernel = \"7.3\"\nmemory = \"64MiB\"\n[[task]]\nworkload = \"sequential\"\n\
             memory = \"1MiB\"\n[[damon]]\nmodule = \"{name}\"\nparameters = {{ {parameters} }}\n"
        );
        let read = Scenario::from_str(&text, "x.toml");
        read.and_then(|s| s.expand(&mmsim::machines::Catalogue)).map(drop)
    };
    for name in ["damon-reclaim", "damon-lru-sort", "damon-stat"] {
        for yes in ["\"Y\"", "\"y\"", "\"yes\"", "\"1\"", "1", "true", "\"on\""] {
            let parameters = format!("enabled = {yes}, commit_inputs = \"N\"");
            module(name, &parameters).unwrap_or_else(|e| panic!("{name}, {yes}: {e}"));
        }
    }
    module("damon-reclaim", "enabled = \"Y\", skip_anon = \"Yes\", min_age = 5").expect("taken");
    for (parameters, says) in [
        ("enabled = \"N\"", "write \"Y\", or leave the whole [[damon]] out"),
        ("enabled = 2", "write \"Y\""),
        ("commit_inputs = \"Y\"", "write \"N\""),
        ("nr_reclaimed_regions = 0", "the module writes this"),
        ("kdamond_pid = 0", "the module writes this"),
        ("enable = \"Y\"", "did you mean `enabled`?"),
        ("skip_anon = \"perhaps\"", "write \"Y\" or \"N\""),
    ] {
        let e = module("damon-reclaim", parameters).expect_err(parameters).to_string();
        assert!(e.contains(says), "{parameters}: {e}");
    }
}

/// The same arguments as damo writes them with `--format yaml`.
#[test]
fn yaml_says_what_json_says() {
    let json = r#"{"kdamonds": [{"refresh_ms": 0, "contexts": [{"ops": "paddr", "addr_unit": "1 B",
        "targets": [{"pid": null, "obsolete": false,
            "regions": [{"start": "4,294,967,296", "end": "6,442,450,944"}]}],
        "nr_regions": {"min": "10", "max": "1,000"},
        "schemes": [{"action": "pageout",
            "access_pattern": {"sz_bytes": {"min": "4.000 KiB", "max": "max"},
                "nr_accesses": {"min": "0 %", "max": "25 %"}, "age": {"min": "5 s", "max": "max"}},
            "filters": [{"filter_type": "anon", "matching": true, "allow": false}]}]}]}]}"#;
    let yaml = "\
# written by damo
kdamonds:
- refresh_ms: 0
  contexts:
  - ops: paddr
    addr_unit: 1 B
    targets:
    - pid: null
      obsolete: false
      regions:
      - start: 4,294,967,296
        end: 6,442,450,944
    nr_regions:
      min: '10'
      max: 1,000
    schemes:
    - action: pageout
      access_pattern:
        sz_bytes: &all
          min: 4.000 KiB
          max: max
        nr_accesses:
          min: 0 %
          max: 25 %
        age: {min: 5 s, max: \"max\"}
      filters:
      - filter_type: anon
        matching: true
        allow: false
";
    assert_eq!(tables(yaml), tables(json));
    // Brackets in a file of that name, numbers without quotes, a list of schemes, an alias.
    let flow = "{kdamonds: [{contexts: [{ops: paddr, nr_regions: {min: 0x0a, max: 1000}}]}]}";
    let out = import(flow, "x.yaml", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert!(out.contains("min-nr-regions = 10\nmax-nr-regions = 1000"), "{out}");
    let schemes = "- action: stat\n  access_pattern:\n    sz_bytes: &r {min: 4 KiB, max: max}\n\
                   - action: pageout\n  access_pattern:\n    sz_bytes: *r\n";
    assert_eq!(tables(schemes).matches("min-size = \"1 pages\"").count(), 2);
    for (text, place, says) in [
        ("kdamonds:\n- contexts:\n  - ops: vadr\n", (3, 10), "kdamonds[0].contexts[0].ops"),
        ("kdamonds:\n- contexts: [\n", (3, 1), "cannot be read as YAML"),
        ("kdamonds: []\nkdamonds: []\n", (2, 11), "kdamonds is there twice"),
        ("--- a\n--- b\n", (2, 5), "several documents"),
        ("kdamonds: !!python/tuple []\n", (1, 11), "the tag `python/tuple` is of a program"),
        ("µ: {}\nkdamonds: µ\n", (2, 11), "expected a list of kdamonds"),
    ] {
        let (found, at) = refused(text, "x.yaml");
        assert!(found.contains(says), "{text}: {found}");
        assert_eq!(at, Some(place), "{text}: {found}");
    }
    // Aliases of aliases would be a million million values.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
    for i in 1..12 {
        let ten = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb += &format!("a{i}: &a{i} [{ten}]\n");
    }
    assert!(refused(&bomb, "x.yaml").0.contains("too many values"));
}

/// Arguments and records are distinguished, whichever was expected.
#[test]
fn records_and_arguments_are_told_apart() {
    use mmsim::record;
    let folder = Folder::new();
    let snapshot = r#"[{"kdamond_idx": 0, "snapshots": [{"start_time": 0, "end_time": 5, "regions":
        [{"start": 0, "end": 4096, "nr_accesses": {"samples": 1}, "age": {"aggr_intervals": 1}}]}]}]"#;
    let perf = "kdamond.0     0 [000]     0.100000: damon:damon_aggregated: target_id=0 \
                nr_regions=1 0-4096: 3 7\n";
    let pipe = "# tracer: nop\n#\n  kdamond.0-119   [000] .....    17.542090: damon_aggregated: \
                target_id=0 nr_regions=1 0-4096: 3 7\n";
    for (name, bytes) in [
        ("x.data", record::damo::compressed(snapshot)),
        ("x.json", snapshot.as_bytes().to_vec()),
        ("x.txt", perf.as_bytes().to_vec()),
        ("pipe.txt", pipe.as_bytes().to_vec()),
        ("perf.data", b"PERFILE2 and more".to_vec()),
    ] {
        let path = folder.write(name, bytes);
        let e = record::arguments(&path, &[]).expect_err(name).to_string();
        let helps = e.contains("mmsim damon report") && e.contains("trace import --from damon");
        assert!(helps && e.contains("is a record of DAMON"), "{e}");
    }
    for json in [r#"{"kdamonds": [{"contexts": []}]}"#, r#"[{"action": "stat"}]"#] {
        let e = record::read(json.as_bytes(), "args.json").expect_err(json).to_string();
        assert!(e.contains("mmsim damon import args.json"), "{e}");
    }
}

/// Members of 6.14 to 7.3: filters that allow, sizes of folios, goals on nodes and groups, another
/// tuner, failures that cost less, and ends after a number of snapshots.
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
