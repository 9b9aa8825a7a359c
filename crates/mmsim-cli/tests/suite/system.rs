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

/// The commands of the document print what stands below them. `MMSIM_BLESS=1` rewrites that. A
/// command that ends with `2>&1 | grep WORDS` shows lines of stderr.
#[test]
fn commands_of_the_document() {
    let text = read("docs/import-system.md");
    let f = boxes();
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
    for scenario in ["box.toml", "held.toml", "two.toml"] {
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
        (&["import-system", "."], "has no copy of a machine's files"),
    ] {
        let said = f.mmsim(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    }
    assert_eq!(f.names(), ["box.txt", "two-nodes.txt"]);
}
