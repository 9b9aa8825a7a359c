//! Names of units: equal runs have the same, and any other run another.

use std::collections::BTreeSet;

use crate::support::{Folder, PLAN, SCENARIO, names};

fn of(folder: &Folder, scenario: &str, plan: &str) -> Vec<String> {
    folder.write("small.toml", scenario);
    names(&folder.plan_of(plan).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn equal_runs_have_one_name_however_they_are_written() {
    let f = Folder::new();
    let base = of(&f, SCENARIO, PLAN);
    assert_eq!(base.len(), 24);
    assert_eq!(base.iter().collect::<BTreeSet<_>>().len(), 24);
    for scenario in [
        SCENARIO.replace("9MiB", "9216KiB"),
        SCENARIO.replace("accesses = 3000", "accesses = 3000\ntheta = 0.8"),
        SCENARIO.replace("memory = \"8MiB\"", "memory = \"2048 pages\"\ncpus = 1"),
        SCENARIO.replace("name = \"small\"", "name = \"else\"\nabout = \"words\"\nseeds = 7"),
        SCENARIO.replace("[[task]]", "[[task]] # a remark"),
    ] {
        let text = SCENARIO.contains("theta");
        assert!(!text, "the scenario leaves theta to its default");
        let default = scenario.contains("theta = 0.8");
        let names = of(&f, &scenario, PLAN);
        assert_eq!(names == base, !default || default_theta() == 0.8, "{scenario}");
    }
    // The plan's way of saying it is none of the unit's business.
    let listed =
        PLAN.replace("{ from = \"8MiB\", to = \"9MiB\", steps = 2 }", "[\"2048 pages\", \"9MiB\"]");
    assert_eq!(of(&f, SCENARIO, &listed), base);
}

/// The default of `theta`, as the tables of keys have it.
fn default_theta() -> f64 {
    let tables = mmsim::scenario::tables::all_tables();
    let key = tables.iter().flat_map(|t| t.keys()).find(|k| k.name == "theta").expect("theta");
    match key.fallback {
        mmsim::scenario::keys::Fallback::Is(v) => v.parse().expect("a number"),
        _ => f64::NAN,
    }
}

#[test]
fn another_axis_keeps_the_names_of_units_that_it_leaves_alone() {
    let f = Folder::new();
    let base: BTreeSet<String> = of(&f, SCENARIO, PLAN).into_iter().collect();
    // A CPU is the default.
    let more = of(&f, SCENARIO, &format!("{PLAN}\"machine.cpus\" = [1, 2]\n"));
    let more: BTreeSet<String> = more.into_iter().collect();
    assert_eq!((more.len(), more.intersection(&base).count()), (48, 24));
    let seeds: BTreeSet<String> =
        of(&f, SCENARIO, &PLAN.replace("seeds = 2", "seeds = 3")).into_iter().collect();
    assert_eq!((seeds.len(), seeds.intersection(&base).count()), (36, 24));
}

#[test]
fn whatever_changes_a_result_changes_the_name() {
    let f = Folder::new();
    let base: BTreeSet<String> = of(&f, SCENARIO, PLAN).into_iter().collect();
    for (from, to) in [
        ("accesses = 3000", "accesses = 3001"),
        ("memory = \"8MiB\"", "memory = \"8MiB\"\ncpus = 2"),
        ("device = \"ramdisk\"", "device = \"nvme\""),
        ("write-permille = 300", "write-permille = 301"),
        ("[machine]", "bounds = true\n[machine]"),
        ("[[task]]", "[machine.rules]\nfair-zones = true\n[[task]]"),
        ("[[task]]", "[machine.cost]\nt_hit = \"7ns\"\n[[task]]"),
    ] {
        let scenario = SCENARIO.replace(from, to);
        assert_ne!(scenario, SCENARIO);
        let other: BTreeSet<String> = of(&f, &scenario, PLAN).into_iter().collect();
        assert_eq!(other.intersection(&base).count(), 0, "{to}");
    }
    // Of one variant alone.
    let scenario = SCENARIO.replace("preset = \"random\"", "preset = \"mglru-v6.12\"");
    let other: BTreeSet<String> = of(&f, &scenario, PLAN).into_iter().collect();
    assert_eq!(other.intersection(&base).count(), 12);
}

/// Names on a grid follow from one another value by value. Each is that of the plan in which the
/// same values stand alone.
#[test]
fn a_point_has_the_name_of_its_values_alone() {
    let f = Folder::new();
    let scenario = format!(
        "{SCENARIO}set = {{ \"machine.vm.swappiness\" = 7 }}\n\
         [[variant]]\nname = \"old\"\nkernel = \"5.9\"\n"
    );
    let head = "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = 2\n";
    let quoted = |key: &str, text: &str| match text.parse::<f64>() {
        Ok(_) if key == "machine.kernel" => format!("\"{text}\""),
        Ok(_) => text.to_string(),
        Err(_) if text.starts_with('{') => text.to_string(),
        Err(_) => format!("\"{text}\""),
    };
    for axes in [
        "[axes]\n\"machine.vm.swappiness\" = [10, 60]\n\"machine.memory\" = [\"9MiB\", \"8192KiB\"]\n",
        "[axes]\n\"task[0].theta\" = { from = 0.5, to = 0.9, steps = 3 }\n\"machine.cpus\" = [1, 2]\n",
        "[axes]\n\"machine.kernel\" = [\"5.9\", \"6.12\"]\n\"machine.swap.device\" = [\"zram\", \"nvme\"]\n",
        "[axes]\n\"machine.swap\" = [{ size = \"9MiB\" }, { size = \"16MiB\" }]\n\"machine.cpus\" = [2, 1]\n",
        "[axes]\n\"reclaim.preset\" = [\"mglru-v6.12\", \"random\"]\n",
        "[sample]\npoints = 4\n[sample.axes]\n\"task[0].theta\" = { from = 0.5, to = 1.2 }\n\
         \"task[0].memory\" = { from = \"8MiB\", to = \"9MiB\", scale = \"log\" }\n",
    ] {
        let all = of(&f, &scenario, &format!("{head}{axes}"));
        let plan = f.plan_of(&format!("{head}{axes}")).unwrap();
        let of_setting = 6;
        for (i, own) in all.chunks(of_setting).enumerate() {
            let at = plan.axes_at((i * of_setting) as u64);
            let set: String =
                at.iter().map(|(k, v)| format!("\"{k}\" = {}\n", quoted(k, v))).collect();
            assert_eq!(of(&f, &scenario, &format!("{head}[set]\n{set}")), own, "{set}");
        }
    }
}

/// A file counts by its contents, not by its name.
#[test]
fn files_count_by_their_contents() {
    let f = Folder::new();
    let script =
        "[machine]\nmemory = \"16MiB\"\n[[task]]\nworkload = \"masim\"\nconfig = \"a.cfg\"\n";
    let config = "#regions: name, length\na, 4096000\n\n#phases\nfirst\n100\na, 0, 4096, 1\n";
    let plan = "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\n";
    f.write("a.cfg", config);
    f.write("b.cfg", config);
    f.write("c.cfg", config.replace("100", "101"));
    let one = of(&f, script, plan);
    assert_eq!(of(&f, &script.replace("a.cfg", "b.cfg"), plan), one);
    assert_ne!(of(&f, &script.replace("a.cfg", "c.cfg"), plan), one);
    let all = format!("{plan}[axes]\n\"task[0].config\" = {{ files = [\"*.cfg\"] }}\n");
    let names = of(&f, script, &all);
    assert_eq!((names[0] == one[0], names[1] == one[0], names[2] == one[0]), (true, true, false));
}
