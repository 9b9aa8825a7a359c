//! Acts of daemons and kills, as pictures, pages and comparisons show them; programs of daemons.
#![cfg(unix)]

use crate::harness::Folder;

const MACHINE: &str = include_str!("../../../mmsim-score/tests/daemons/kill.toml");
const RULES: &str = include_str!("../../../mmsim-score/tests/daemons/rules.toml");
const MODULE: &str = include_str!("../../../mmsim-score/tests/daemons/kill.wat");

fn done(f: &Folder, line: &str) -> String {
    let (code, out, err) = f.bash(line);
    assert_eq!(code, Some(0), "{line}: {err}");
    out
}

/// The kernel kills one process where no daemon does, and the rule kills both that grow. Each kill is
/// a line through every chart and a bar in the row of who did it; its title says whom.
#[test]
fn acts_are_on_the_time_line_and_compared() {
    let f = Folder::with("rules.toml", format!("{MACHINE}{RULES}"));
    f.write("kernel.toml", MACHINE);
    done(
        &f,
        "for s in rules kernel; do $M run $s.toml --svg $s.svg --format json -o $s.json; done",
    );
    let (rules, kernel) = (f.read("rules.svg"), f.read("kernel.svg"));
    for (svg, who, act) in
        [(&rules, "watcher", "SIGKILL hog-"), (&kernel, "the kernel", "oom_kill hog-")]
    {
        assert!(svg.contains("who acts on whom") && svg.contains(&format!("{who}</")), "{svg}");
        let told = svg.matches(&format!("<title>{who} {act}")).count();
        let bars = svg.matches(&format!(" s: {who} {act}")).count();
        let kills = if who == "watcher" { 2 } else { bars };
        // Four charts have a line for each.
        assert_eq!((bars, told), (kills, 4 * kills), "{svg}");
        assert!(bars > 0);
    }
    assert!(!rules.contains("the kernel"), "it killed nobody there");
    let compared = done(&f, "$M compare kernel.json rules.json --per-work --all");
    let line = |word: &str| compared.lines().find(|l| l.starts_with(word)).unwrap_or_default();
    assert!(line("the kernel").contains("oom_kill hog-"), "{compared}");
    assert!(line("watcher").contains("SIGKILL hog-") && line("watcher").contains("2 acts"));
    let csv = done(&f, "$M compare kernel.json rules.json --per-work --format csv");
    assert!(csv.contains(",act,watcher.acts,0,2,"), "{csv}");
    // Figures of groups are compared for runs that did all their work.
    let csv = done(&f, "$M compare rules.json rules.json --per-work --format csv");
    assert!(csv.contains(",memory_stat,work/b.pgfault,"), "{csv}");
}

/// The report has a line for each run with the first act, or the OOM killer's first kill, beside what it
/// cost. Without daemons there is no such table.
#[test]
fn first_acts_are_a_table() {
    let variants = "[[variant]]\nname = \"kernel\"\n[[variant]]\nname = \"rules\"\nset = { daemon = [{ \
                    name = \"watcher\", resident = \"64KiB\", rule = [{ every = \"100ms\", when = \
                    \"meminfo.MemAvailable < 16MiB\", victim = { among = \"processes\", by = \
                    [\"largest rss\"] }, do = { signal = \"SIGKILL\" } }] }] }\n";
    let f = Folder::with("s.toml", format!("{MACHINE}{variants}"));
    f.write("kernel.toml", MACHINE);
    let table = done(&f, "$M run s.toml 2>errors");
    let acts = table.split_once("\nfirst acts\n").map_or("", |t| t.1);
    let line = |begin: &str| acts.lines().find(|l| l.starts_with(begin)).unwrap_or_default();
    assert!(line("kernel ").contains("OOM killer") && line("kernel ").ends_with('-'), "{table}");
    let rules: Vec<&str> = line("rules ").split_whitespace().collect();
    assert_eq!(rules[1..3], ["watcher", "SIGKILL"], "{table}");
    assert!(rules[3].starts_with("hog-") && rules.len() == 8, "{table}");
    assert!(!done(&f, "$M run kernel.toml 2>errors").contains("first acts"));
}

/// Commands run a module as the program of a daemon; one that goes wrong is one error and exit code 2.
#[test]
fn modules_are_programs_of_daemons() {
    let program = "\n[[daemon]]\nname = \"watcher\"\nprogram = \"p.wat\"\n";
    let f = Folder::with("s.toml", format!("{MACHINE}{program}"));
    f.write("p.wat", MODULE);
    let json = done(&f, "$M run s.toml --format json");
    assert!(json.contains("\"acted\": 2"), "{json}");
    f.write("p.wat", "(module (func (export \"tick\") (param i64 i64) (result i64) unreachable))");
    let (code, _, err) = f.bash("$M run s.toml");
    assert!(code == Some(2) && err.contains("p.wat`: a tick traps"), "{code:?} {err}");
    f.write("p.wat", MODULE);
    f.write("plan.toml", "version = 1\nscenarios = [\"s.toml\"]\n");
    done(&f, "$M sweep plan.toml --store x");
    let merged = done(&f, "$M sweep merge plan.toml --store x --format json");
    assert!(merged.contains("\"acted\": 2"), "{merged}");
}
