//! `mmsim import-system`: what it writes, what it says, and the commands of its document.

use crate::documents::read;
use crate::harness::{Folder, repository};

/// A folder with the copies of both boxes.
fn boxes() -> Folder {
    let f = Folder::new();
    f.write("box.txt", read("tests/formats/boxes/6.12.txt"));
    f.write("two-nodes.txt", read("tests/formats/boxes/6.18.txt"));
    f
}

/// A machine with 192 MiB that swaps: the copy of one, with samples that are made up, as the boxes'
/// README makes it with sed.
fn busy() -> String {
    let mut text = read("tests/formats/boxes/7.3.txt");
    let recipe = read("tests/formats/boxes/README.md");
    let mut changes = recipe.lines().filter_map(|l| l.split_once("'s/")?.1.strip_suffix("/' \\"));
    let changes =
        [(); 3].map(|()| changes.next().and_then(|c| c.split_once('/')).expect("a change"));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text + &read("tests/formats/boxes/busy.txt")
}

/// The commands of the document print what stands below them. `MMSIM_BLESS=1` rewrites that. A
/// command that ends with `2>&1 | grep WORDS` shows lines of stderr.
#[test]
fn commands_of_the_document() {
    let text = read("docs/import-system.md");
    let f = boxes();
    f.write("busy.txt", busy());
    let begin = "<!-- import -->\n```console\n$ mmsim ";
    let mut pieces = text.split(begin);
    let mut new = pieces.next().expect("a first piece").to_string();
    let mut commands = 0;
    for piece in pieces {
        let (line, rest) = piece.split_once('\n').expect("a command");
        let (old, after) = rest.split_once("```\n").expect("its end");
        let (command, grep) = match line.split_once(" 2>&1 | grep ") {
            Some((command, words)) => (command, Some(words)),
            None => (line, None),
        };
        let said = f.mmsim(&command.split_whitespace().collect::<Vec<_>>());
        assert_eq!(said.code, Some(0), "{command}: {}", said.stderr);
        let printed: String = match grep {
            None => said.stdout,
            Some(words) => said
                .stderr
                .lines()
                .filter(|l| l.contains(words))
                .map(|l| format!("{l}\n"))
                .collect(),
        };
        if std::env::var_os("MMSIM_BLESS").is_none() {
            assert_eq!(old, printed, "$ mmsim {line}: run with MMSIM_BLESS=1 and look");
        }
        new += &format!("{begin}{line}\n{printed}```\n{after}");
        commands += 1;
    }
    assert_eq!(commands, 4);
    if new != text {
        std::fs::write(repository("docs/import-system.md"), new).expect("rewriting the document");
    }
    // What the document adds to the scenario makes it a run.
    let work = text.split_once("<!-- file work.toml -->\n```toml\n").expect("the work").1;
    let work = work.split("```").next().expect("its end");
    for scenario in ["box.toml", "held.toml"] {
        let whole = f.read(scenario) + work;
        f.write(scenario, whole);
        let said = f.mmsim(&["run", scenario, "--check", "--format", "json"]);
        assert!(said.code == Some(0), "{scenario}: {}", said.stderr);
        assert!(said.stdout.contains("\"as imported\""), "{scenario}");
    }
}

/// A box with its layout is no miniature, and the message says how it becomes one.
#[test]
fn a_box_by_zone_has_miniatures() {
    let f = boxes();
    let work = "\n[[task]]\nworkload = \"zipf\"\nmemory = \"256MiB\"\naccesses = 20000\n";
    let plain = f.mmsim(&["import-system", "box.txt"]);
    f.write("plain.toml", plain.stdout + work);
    assert_eq!(f.mmsim(&["import-system", "box.txt", "-o", "box.toml"]).code, Some(0));
    f.write("box.toml", f.read("box.toml") + work);
    let small = |scenario: &str, more: &[&str]| {
        f.mmsim(&[&["run", scenario, "--miniature", "1/64"], more].concat())
    };
    let never = ["--set", "machine.vm.transparent_hugepage=never"];
    let said = small("box.toml", &never);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("imported without `-o`"), "{}", said.stderr);
    let said = small("plain.toml", &[]);
    assert!(said.stderr.contains(never[1]), "{}", said.stderr);
    let said = small("plain.toml", &never);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// The loop of the document fills a folder that is read as well, to the same scenario.
#[test]
fn a_folder_does_as_well() {
    let f = boxes();
    let text = f.read("box.txt");
    for piece in text.split("==> /").skip(1) {
        let (name, content) = piece.split_once(" <==\n").expect("a head");
        if content.trim().is_empty() {
            continue;
        }
        let path = f.path("box").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("making it");
        std::fs::write(path, content).expect("a copy");
    }
    let (file, folder) =
        (f.mmsim(&["import-system", "box.txt"]), f.mmsim(&["import-system", "box"]));
    assert_eq!((file.code, folder.code), (Some(0), Some(0)), "{}", folder.stderr);
    assert_eq!(file.stdout, folder.stdout);
    assert_eq!(file.stderr, folder.stderr);
    f.write("box/sys/devices/system/cpu/online", "0-5\n");
    let said = f.mmsim(&["import-system", "box", "-o", "x.toml", "--emit", "again"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("box/sys/devices/system/cpu/online:1:1"), "{}", said.stderr);
    assert!(said.stderr.contains("copies of one machine"), "{}", said.stderr);
    assert_eq!(f.names(), ["box", "box.txt", "two-nodes.txt"], "nothing half written");
}

/// The scenario of the work runs, its swap-ins come as often as recorded, and files that are missing
/// are named in one remark each.
#[test]
fn work_is_described() {
    let f = Folder::new();
    f.write("busy.txt", busy());
    let said = f.mmsim(&["import-system", "busy.txt", "--workload", "-o", "busy.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let row = |name: &str| -> Vec<f64> {
        let line = said.stdout.lines().find_map(|l| l.strip_prefix(name)).expect("a row");
        line.replace(',', "").split_whitespace().filter_map(|w| w.parse().ok()).collect()
    };
    let [recorded, simulated, ratio] = row("swap-ins")[..] else { panic!("{}", said.stdout) };
    assert_eq!(recorded, 600.0);
    assert!((0.8..1.25).contains(&ratio) && simulated > 0.0, "{}", said.stdout);
    let scenario = f.read("busy.toml");
    for part in ["# 98 MiB in memory and 58 MiB in swap", "theta = 0.9", "write-permille = 833"] {
        assert!(scenario.contains(part), "{part}: {scenario}");
    }
    assert!(scenario.contains("redis 83 MiB, 58 MiB in swap, 50 % referenced"), "{scenario}");
    assert_eq!(f.mmsim(&["run", "busy.toml", "--check", "--format", "json"]).code, Some(0));
    // The same bytes again, and without `-o` the scenario alone is on stdout.
    let again = f.mmsim(&["import-system", "busy.txt", "--workload", "-o", "busy.toml"]);
    assert_eq!((again.stdout, f.read("busy.toml")), (said.stdout.clone(), scenario));
    let plain = f.mmsim(&["import-system", "busy.txt", "--workload"]);
    assert!(plain.stdout.contains("[[task]]") && !plain.stdout.contains("  ratio"));
    assert!(plain.stderr.contains("recorded  simulated  ratio"), "{}", plain.stderr);
    // A copy without samples.
    f.write("idle.txt", read("tests/formats/boxes/7.3.txt"));
    let said = f.mmsim(&["import-system", "idle.txt", "--workload", "-o", "idle.toml", "-v"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for (file, words) in [("proc/vmstat: later", "no second sample"), ("smaps_rollup", "a guess")] {
        let of = said.stderr.lines().filter(|l| l.contains(file) && l.contains(words)).count();
        assert_eq!(of, 1, "{file}: {}", said.stderr);
    }
    assert!(said.stdout.contains("No page came back in the samples"), "{}", said.stdout);
}

/// The work of a group has its limit, and the sizes of its memory.stat.
#[test]
fn work_of_a_group() {
    let f = Folder::new();
    let group = "==> /group/memory.stat <==\nanon 41943040\nfile 0\nworkingset_refault_anon 100\n\
                 ==> /group/memory.max <==\n50331648\n\
                 ==> /group/memory.swap.current <==\n20971520\n\
                 ==> /later/group/memory.stat <==\nanon 1\nfile 0\nworkingset_refault_anon 6100\n";
    f.write("g.txt", busy() + group);
    let said = f.mmsim(&["import-system", "g.txt", "--workload", "-o", "g.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("set by refaults, anonymous"), "{}", said.stdout);
    let scenario = f.read("g.toml");
    for part in ["max = \"12288 pages\"", "memcg = \"group\"", "memory = \"15360 pages\""] {
        assert!(scenario.contains(part), "{part}: {scenario}");
    }
    assert!(!scenario.contains("name = \"files\""), "{scenario}");
    f.write("g.txt", busy() + "==> /group/memory.stat <==\nanon_thp 0\n");
    let said = f.mmsim(&["import-system", "g.txt", "--workload"]);
    assert!(said.code == Some(2) && said.stderr.contains("no `anon` or `file`"), "{}", said.stderr);
}

/// Three remarks that matter stand first; the others are counted, or printed below a heading.
#[test]
fn remarks_that_matter_stand_first() {
    let f = boxes();
    f.write("old.txt", f.read("box.txt").replace("Linux version 6.12", "Linux version 6.14"));
    let short = f.mmsim(&["import-system", "old.txt"]).stderr;
    let lines: Vec<&str> = short.lines().collect();
    assert_eq!(lines.len(), 4, "{short}");
    assert!(lines[0].contains("6.14 is not modelled"), "{short}");
    assert!(lines[2].contains("no file tells how fast it is"), "{short}");
    assert!(lines[3].contains("more remarks matter less; -v prints them"), "{short}");
    let long = f.mmsim(&["import-system", "old.txt", "-v"]).stderr;
    assert!(long.starts_with(&lines[..3].join("\n")), "{long}");
    let more: usize = lines[3].split_whitespace().nth(1).expect("a number").parse().expect("one");
    assert_eq!(long.lines().count(), 3 + 1 + more, "{long}");
}

#[test]
fn what_cannot_be_is_refused() {
    let f = boxes();
    for (args, says) in [
        (&["import-system"][..], "<DIR|FILE>"),
        (&["import-system", "nowhere"], "there is no such file"),
        (&["import-system", "box.txt", "--kernel", "6.13"], "unknown kernel `6.13`"),
        (&["import-system", "box.txt", "-o", "box.txt"], "box.txt"),
        (&["import-system", "box.txt", "--emit", "two-nodes.txt"], "it is a file, name a folder"),
        (&["import-system", "--script", "box.txt"], "--script"),
        (&["import-system", "box.txt", "--seconds", "3"], "--script"),
        (&["import-system", "--script", "--workload", "--seconds", "0"], "--seconds"),
        (&["import-system", "."], "has no copy of a machine's files"),
    ] {
        let said = f.mmsim(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    }
    assert_eq!(f.names(), ["box.txt", "two-nodes.txt"]);
}
