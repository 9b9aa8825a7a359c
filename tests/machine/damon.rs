//! DAMON on whole machines: what is known beforehand of where it looks and when its schemes act.

use crate::harness::{audited, scenario};
use mmsim::report::RunReport;
use mmsim::{RunOptions, run};

/// A process writes 128 MiB, uses all of it once within the first sample of a monitor that is started
/// then, and never again; phases end 4.9, 5.5, 9.9 and 11 s later. `damon`: the monitor.
fn used_once(damon: &str) -> RunReport {
    let text = format!(
        r#"
        [machine]
        memory = "512MiB"
        cpus = 2
        swap = {{ size = "512MiB", device = "zram" }}

        [[task]]
        name = "app"
        workload = "phased"
        regions = {{ heap = {{ memory = "128MiB" }} }}
        steps = [
            {{ do = "allocate", region = "heap" }},
            {{ do = "phase", name = "written" }},
            {{ do = "sleep", time = "1s" }},
            {{ do = "touch", region = "heap" }},
            {{ do = "sleep", time = "4900ms" }},
            {{ do = "phase", name = "before five" }},
            {{ do = "sleep", time = "700ms" }},
            {{ do = "phase", name = "after five" }},
            {{ do = "sleep", time = "4400ms" }},
            {{ do = "phase", name = "before ten" }},
            {{ do = "sleep", time = "1200ms" }},
            {{ do = "phase", name = "after ten" }},
        ]

        {damon}
        min-nr-regions = 3

        [[damon.scheme]]
        action = "pageout"
        max-nr-accesses = 0
        min-age = "5s"
        "#
    );
    audited(&text).remove(0)
}

/// A machine of these keys, and a process that writes `heap` of memory, and sleeps for `time`. `rest`:
/// other tables.
fn idle(machine: &str, heap: &str, time: &str, rest: &str) -> RunReport {
    let text = format!(
        r#"
        [machine]
        {machine}
        [[task]]
        name = "app"
        workload = "phased"
        regions = {{ heap = {{ memory = "{heap}" }} }}
        steps = [{{ do = "allocate", region = "heap" }}, {{ do = "sleep", time = "{time}" }}]
        {rest}
        "#
    );
    audited(&text).remove(0)
}

fn swapped_out(run: &RunReport, phase: &str) -> u64 {
    let phase = run.phases.iter().find(|p| p.name == phase).expect(phase);
    phase.vmstat.get("pswpout").copied().expect("a counter")
}

/// Pages of transparent huge pages go as single ones do: 40 MiB that are idle for a second, and all
/// of them are written to swap, whatever the policy is.
#[test]
fn huge_pages_are_paged_out() {
    for preset in ["classic-v6.12", "mglru-v6.12", "random"] {
        let text = format!(
            r#"
            [machine]
            memory = "128MiB"
            swap = {{ size = "256MiB", device = "zram" }}
            vm = {{ transparent_hugepage = "always" }}

            [reclaim]
            preset = "{preset}"

            [[task]]
            workload = "phased"
            regions = {{ a = {{ memory = "40MiB" }} }}
            steps = [
                {{ do = "allocate", region = "a" }},
                {{ do = "touch", region = "a" }},
                {{ do = "sleep", time = "6s" }},
            ]

            [[damon]]
            ops = "paddr"

            [[damon.scheme]]
            action = "pageout"
            max-nr-accesses = 0
            min-age = "1s"
            "#
        );
        let run = audited(&text).remove(0);
        let n = |name: &str| run.vmstat.get(name).copied().expect(name);
        assert_eq!((n("thp_fault_alloc"), n("thp_split_page")), (20, 20), "{preset}");
        assert_eq!(n("pswpout"), 40 * 256, "{preset}");
    }
}

/// The memory that a scheme saves is the change of the mean: the process holds 128 MiB all along,
/// with the scheme only until its pages go. Both variants are measured, and a scenario without
/// monitors is not.
#[test]
fn memory_saved_is_the_change_of_the_mean() {
    let scenario = |damon: &str| {
        format!(
            r#"
            [machine]
            memory = "512MiB"
            swap = {{ size = "512MiB", device = "ramdisk" }}

            [[task]]
            name = "app"
            workload = "phased"
            regions = {{ heap = {{ memory = "128MiB" }} }}
            steps = [{{ do = "allocate", region = "heap" }}, {{ do = "sleep", time = "20s" }}]

            [[variant]]
            name = "base"

            [[variant]]
            name = "saves"
            {damon}
            "#
        )
    };
    let scheme = r#"set.damon = [{ ops = "vaddr", task = "app", scheme = [
        { action = "pageout", max-nr-accesses = 0, min-age = "5s" }] }]"#;
    let mib =
        |run: &RunReport| run.mean_resident_bytes.map(|bytes| bytes as f64 / (1 << 20) as f64);
    let runs_of = audited(&scenario(scheme));
    let out = runs_of[1].vmstat.get("pswpout").copied().expect("a counter") as f64 / 256.0;
    assert!(out > 120.0, "{out} of 128 MiB");
    let [base, saves] = [0, 1].map(|i| mib(&runs_of[i]).expect("measured"));
    assert!((base - 128.0).abs() < 1.0, "{base}");
    // Gone after 5 s and up to two intervals of 1 s.
    let until = |s: f64| 128.0 * s / 20.0 + (128.0 - out) * (1.0 - s / 20.0);
    assert!((until(5.0)..until(7.0)).contains(&saves), "{saves}");
    assert_eq!(mib(&audited(&scenario(""))[0]), None);
}

/// When the writing is done is known from a run without a monitor: the process's own second begins
/// there.
fn written_ns() -> u64 {
    let run = used_once("[[damon]]\nstart = \"1000s\"");
    run.phases[0].begin_ns + run.phases[0].sim_time_ns
}

/// In an address space paging out does not check if a page is referenced: all of it goes when its
/// region's age is 50 aggregations, 5.2 s after the last use. Pages that were never sampled make no
/// difference.
#[test]
fn a_process_loses_its_pages_at_the_first_application() {
    let start = (written_ns() + 1_000_000_000) / 1000;
    let run =
        used_once(&format!("[[damon]]\nops = \"vaddr\"\ntask = \"app\"\nstart = \"{start}us\""));
    assert_eq!(swapped_out(&run, "before five"), 0);
    let out = swapped_out(&run, "after five");
    assert!(out >= 32_768 * 95 / 100, "{out} of 32,768 pages went");
}

/// In physical memory the first application finds nearly all pages used: their accessed bits are still
/// set from their last use, or they were never marked idle since. It marks them, and its region's age
/// begins anew: the second application, 10.2 s after the last use, takes them. It is so with both
/// rules; what goes at the first are pages that the monitor happened to sample: the process has a quarter of
/// the machine, so two or three of its six to nine regions, each sampled 200 times a second for 5.2 s.
#[test]
fn physical_memory_is_paged_out_at_the_second_application() {
    let start = (written_ns() + 1_000_000_000) / 1000;
    for rules in ["young-filter", "respect"] {
        let run = used_once(&format!(
            "[[damon]]\nops = \"paddr\"\nstart = \"{start}us\"\nrules = {{ pageout-ref = \"{rules}\" }}"
        ));
        let first = swapped_out(&run, "before five") + swapped_out(&run, "after five");
        assert!(first <= 32_768 / 4, "{rules}: {first} of 32,768 pages went at once");
        let second = swapped_out(&run, "after ten");
        assert!(second >= 32_768 / 2, "{rules}: {second} of 32,768 pages went at the second time");
    }
}

/// 64 MiB that were written once, on a classic LRU that no reclaim has looked at: they are inactive. A
/// pass over all of memory after 3 s makes all of them active, or marks them as accessed once.
#[test]
fn moving_up_activates_or_is_an_access() {
    let activated = |rules: &str| {
        let rest = format!(
            r#"
            [[damon]]
            ops = "paddr"
            rules = {{ lru-prio = "{rules}" }}

            [[damon.scheme]]
            action = "lru_prio"
            apply-interval = "3s"
            "#
        );
        let run = idle(
            "memory = \"256MiB\"\n[reclaim]\npreset = \"classic-v6.12\"",
            "64MiB",
            "5s",
            &rest,
        );
        let applied = run.damon[0].schemes[0].sz_applied;
        (run.vmstat.get("pgactivate").copied().expect("a counter"), applied)
    };
    // Up to thirty pages wait for their list, and as many to be activated.
    let (activations, applied) = activated("mark-accessed");
    assert_eq!(activations, 0);
    assert!((64 << 20) - applied <= 30 << 12, "{applied}");
    let (activations, again) = activated("activate");
    assert_eq!(again, applied);
    assert!(((applied >> 12) - 30..=applied >> 12).contains(&activations), "{activations}");
}

/// A process that uses a quarter of its memory in every sample, watched with regions small enough:
/// the record is true, to a few pages at the edges of regions, and the working set to a tenth.
#[test]
fn a_simple_pattern_is_seen_as_it_is() {
    let run = audited(
        r#"
        [machine]
        memory = "512MiB"
        cpus = 2

        [[task]]
        name = "app"
        workload = "phased"
        regions = { hot = { memory = "16MiB" }, cold = { memory = "48MiB" } }
        steps = [
            { do = "allocate", region = "hot" },
            { do = "allocate", region = "cold" },
            { do = "repeat", times = 4000, steps = [
                { do = "touch", region = "hot" },
                { do = "sleep", time = "2ms" },
            ] },
        ]

        [[damon]]
        ops = "vaddr"
        task = "app"
        start = "500ms"
        truth = true
        "#,
    )
    .remove(0);
    let truth = run.damon[0].truth.expect("it was asked for");
    assert!(truth.snapshots >= 50, "{truth:?}");
    assert!(truth.misjudged < 0.05, "{truth:?}");
    let hot = f64::from(16 << 20);
    assert!((truth.working_set / hot - 1.0).abs() < 0.01, "{truth:?}");
    assert!((truth.working_set_said / hot - 1.0).abs() < 0.1, "{truth:?}");
    assert!(run.damon[0].cpu_ns > 0, "watching costs time: {:?}", run.damon[0]);
}

/// A scheme whose watermarks keep it off samples nothing and does nothing, and costs next to nothing.
#[test]
fn watermarks_keep_a_monitor_asleep() {
    let awake = used_once("[[damon]]\nops = \"paddr\"").damon.remove(0);
    assert!(awake.samples > 1000, "{awake:?}");
    let rest = r#"
        [[damon]]
        module = "damon-reclaim"
        parameters = { min_age = 1000000 }
        "#;
    let run = idle(
        "memory = \"512MiB\"\ncpus = 1\nswap = { size = \"512MiB\", device = \"zram\" }",
        "64MiB",
        "12s",
        rest,
    );
    let module = &run.damon[0];
    // Seven eighths of memory are free, above the 500 per thousand of its default.
    assert_eq!((module.samples, module.schemes[0].nr_tried), (0, 0), "{module:?}");
    assert!(module.cpu_ns < awake.cpu_ns / 100, "{module:?} beside {awake:?}");
}

/// Two monitors, and the run is the same whatever the number of jobs; the same with a record and
/// without, as looking costs nothing.
#[test]
fn runs_with_monitors_repeat() {
    let text = |record: bool| {
        format!(
            r#"
            seeds = 2
            [machine]
            memory = "256MiB"
            cpus = 2
            swap = {{ size = "256MiB", device = "zram" }}
            [[task]]
            name = "app"
            workload = "zipf"
            memory = "200MiB"
            accesses = 300000
            [[damon]]
            record = {record}
            [[damon.scheme]]
            action = "pageout"
            max-nr-accesses = 0
            min-age = "100ms"
            quota-size = "4MiB"
            quota-reset = "50ms"
            [[damon]]
            ops = "vaddr"
            task = "app"
            start = "10ms"
            "#
        )
    };
    let digests = |record, jobs| {
        let options = RunOptions::default().with_jobs(jobs);
        let report = run(&scenario(&text(record)), &options).expect("it runs");
        report.runs.iter().map(|r| r.digest.clone()).collect::<Vec<_>>()
    };
    let once = digests(false, 1);
    assert_eq!(once, digests(false, 2));
    assert_eq!(once, digests(true, 1));
    assert_ne!(once[0], once[1], "seeds differ");
}

/// 64 MiB of a file that were read once, 64 MiB that were written. After a minute all of it is old. A filter that
/// allows file pages (here: all that is not anonymous) leaves the others alone, and so does one that
/// leaves out anonymous ones; one that allows what is unmapped takes the same pages, as nothing maps
/// what is read.
#[test]
fn filters_that_allow_take_nothing_else() {
    let paged_out = |filter: &str| {
        let text = format!(
            r#"
            [machine]
            kernel = "6.18"
            memory = "512MiB"
            swap = {{ size = "256MiB", device = "zram" }}

            [[task]]
            workload = "phased"
            regions = {{ heap = {{ memory = "64MiB" }}, file = {{ memory = "64MiB", kind = "read" }} }}
            steps = [
                {{ do = "allocate", region = "heap" }},
                {{ do = "read", region = "file" }},
                {{ do = "sleep", time = "60s" }},
            ]

            [[damon]]
            ops = "paddr"

            [[damon.scheme]]
            action = "pageout"
            min-age = "5s"

            [[damon.scheme.filter]]
            {filter}
            "#
        );
        let run = audited(&text).remove(0);
        let anon = run.vmstat.get("pswpout").copied().unwrap_or(0);
        (anon, (run.damon[0].schemes[0].sz_applied >> 12) - anon)
    };
    for filter in [
        "type = \"anon\"\nmatching = false\nallow = true",
        "type = \"anon\"",
        "type = \"unmapped\"\nallow = true",
    ] {
        let (anon, file) = paged_out(filter);
        assert_eq!(anon, 0, "{filter}");
        // Up to thirty pages wait for their list.
        assert!(file >= 16_384 - 30, "{filter}: {file}");
    }
    let (anon, file) = paged_out("type = \"anon\"\nallow = true");
    assert!(anon >= 16_384 - 30, "{anon}");
    assert_eq!(file, 0);
    // All folios are of 4 KiB.
    let (anon, file) =
        paged_out("type = \"hugepage_size\"\nmin = \"2MiB\"\nmax = \"2MiB\"\nallow = true");
    assert_eq!((anon, file), (0, 0));
}

/// 128 MiB of 512 are in use and idle. A scheme that may try 16 MiB in each window, and all of it
/// or nothing by whether a quarter of the node is free, takes nothing: three quarters are. With a goal of
/// 0.85 it goes on until that much is free.
#[test]
fn a_temporal_goal_on_free_memory_stops_where_it_is_met() {
    let paged_out = |target: u64| {
        let rest = format!(
            r#"
            [[damon]]
            ops = "paddr"

            [[damon.scheme]]
            action = "pageout"
            min-age = "2s"
            quota-size = "16MiB"
            quota-reset = "1s"
            goal-tuner = "temporal"

            [[damon.scheme.goal]]
            metric = "node_mem_free_bp"
            node = 0
            target = {target}
            "#
        );
        let run = idle(
            "kernel = \"7.3\"\nmemory = \"512MiB\"\nswap = { size = \"256MiB\", device = \"nvme\" }",
            "128MiB",
            "300s",
            &rest,
        );
        (
            run.vmstat.get("pswpout").copied().unwrap_or(0),
            run.gauges.get("nr_free_pages").copied().expect("a gauge"),
        )
    };
    assert_eq!(paged_out(2_500).0, 0);
    let (out, free) = paged_out(8_500);
    let wanted = 131_072 * 85 / 100;
    // A window may go on beyond what is wanted.
    assert!((wanted..wanted + 4096).contains(&free), "{free} free, wanted {wanted}; {out} went");
}

/// 128 MiB lie idle on one of two nodes. A scheme that moves what is not used to the other node, 4 MiB a
/// window, stops when half of what it could take lies there: after 16384 pages and at most a window more.
/// Without the goal all 32768 go.
#[test]
fn a_goal_on_eligible_memory_balances_two_nodes() {
    let moved = |goal: &str| {
        let rest = format!(
            r#"
            [[damon]]
            ops = "paddr"
            start = "1s"

            [[damon.scheme]]
            action = "migrate_cold"
            target-node = 1
            max-nr-accesses = 0
            quota-size = "4MiB"
            quota-reset = "1s"
            {goal}
            "#
        );
        let run = idle(
            "kernel = \"7.3\"\n[[machine.node]]\nmemory = \"256MiB\"\n[[machine.node]]\nmemory = \"256MiB\"",
            "128MiB",
            "60s",
            &rest,
        );
        run.vmstat.get("pgmigrate_success").copied().expect("a counter")
    };
    let goal = "goal-tuner = \"temporal\"\n[[damon.scheme.goal]]\n\
                metric = \"node_eligible_mem_bp\"\nnode = 1\ntarget = 5000\n";
    let half = moved(goal);
    assert!((16_384..=16_384 + 1024).contains(&half), "{half}");
    let all = moved("");
    assert!(all >= 32_768 - 64, "{all}");
}

/// A scheme that may go through three snapshots is offered no region after them, and its report says so.
/// DAMON of 6.18 counts none.
#[test]
fn a_scheme_stops_after_its_snapshots() {
    let schemes = |rules: &str, key: &str| {
        let rest = format!(
            r#"
            [[damon]]
            rules = {{ preset = "{rules}" }}

            [[damon.scheme]]
            action = "stat"
            {key}
            "#
        );
        let run = idle("memory = \"64MiB\"", "16MiB", "2s", &rest);
        let s = run.damon[0].schemes[0].clone();
        (s.nr_snapshots, s.sz_tried >> 20)
    };
    let (three, tried) = schemes("damon-v7.3", "max-nr-snapshots = 3");
    assert_eq!((three, tried), (Some(3), 3 * 64));
    let (all, tried) = schemes("damon-v7.3", "");
    assert_eq!((all.unwrap_or(0) * 64, all > Some(10)), (tried, true));
    assert_eq!(schemes("damon-v6.18", "").0, None);
}

/// 64 MiB of huge pages lie on the first of two nodes, and regions are cut anywhere. All that a scheme
/// could take lies there: a goal of all of it on that node is met, and nothing is tried. A goal of any of
/// it on the other node is not met, and all is tried.
#[test]
fn eligible_memory_of_huge_pages_lies_on_its_node() {
    let tried = |node: u64, target: u64| {
        let rest = format!(
            r#"
            [[damon]]
            ops = "paddr"
            start = "1s"

            [[damon.scheme]]
            action = "stat"
            quota-reset = "100ms"
            goal-tuner = "temporal"

            [[damon.scheme.goal]]
            metric = "node_eligible_mem_bp"
            node = {node}
            target = {target}
            "#
        );
        let run = idle(
            "kernel = \"7.3\"\nvm = { transparent_hugepage = \"always\" }\n[[machine.node]]\nmemory = \"128MiB\"\n[[machine.node]]\nmemory = \"128MiB\"",
            "64MiB",
            "5s",
            &rest,
        );
        assert!(run.vmstat.get("thp_fault_alloc").copied().unwrap_or(0) > 20);
        run.damon[0].schemes[0].sz_tried
    };
    assert_eq!(tried(0, 10_000), 0);
    let unmet = tried(1, 1);
    assert!(unmet > 256 << 20);
    // There is no third node, and no walk that would take time.
    assert!(tried(2, 1) >= unmet);
}

/// Ten seconds of samples of 5 ms lack two.
#[test]
fn a_paused_monitor_takes_no_samples() {
    let samples = |pause: &str| {
        let text = format!(
            r#"
            [machine]
            kernel = "7.3"
            memory = "64MiB"

            [[task]]
            workload = "phased"
            regions = {{ heap = {{ memory = "16MiB" }} }}
            steps = [{{ do = "allocate", region = "heap" }}, {{ do = "sleep", time = "10s" }}]

            [[damon]]
            {pause}
            "#
        );
        audited(&text).remove(0).damon[0].samples
    };
    let (all, paused) = (samples(""), samples("pause = [{ from = \"2s\", until = \"4s\" }]"));
    assert!((1900..=2000).contains(&all), "{all}");
    // Two seconds of 5 ms and what a sample takes.
    assert!((all - paused).abs_diff(400) <= 10, "{all} {paused}");
    assert!(samples("pause = [{ from = \"0s\" }]") <= 1);
}
