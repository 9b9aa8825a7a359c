//! Evaluations that cannot be. What suites and knob files refuse is in tests/sweep/evaluations.rs of
//! the facade, what cheats in tests/suite/red_team.rs of mmsim-score.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::Folder;

const SUITE: &str = "\
version = 1
seeds = 1
held-out = 0
[[scenario]]
file = \"x.toml\"
set = { \"machine.memory\" = \"6MiB\", \"machine.swap.device\" = \"ramdisk\", \"task[0].passes\" = 3, \"task[0].write\" = true }
";

#[test]
fn evaluations_that_cannot_be() {
    let golden = Golden::of("evaluations");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("s.toml", SUITE);
    f.write("fits.toml", SUITE.replace("6MiB", "64MiB"));
    f.write("k.toml", "version = 1\n[set]\n\"machine.vm.swappiness\" = 10\n");
    f.write("range.toml", "version = 1\n[set]\n\"machine.vm.swappiness\" = 201\n");
    f.write("memory.toml", "version = 1\n[set]\n\"machine.memory\" = \"1GiB\"\n");
    f.write("tight.toml", "version = 1\n[set]\n\"machine.vm.min_free_kbytes\" = 6000\n");
    let module = |body: &str| {
        let names = "age seen looks used file dirty distance size group";
        let parameters: String =
            names.split(' ').map(|name| format!("(param ${name} i64) ")).collect();
        format!("(module\n  (func (export \"score\") {parameters}(result i64)\n    {body}))\n")
    };
    f.write("text.wat", module("(i64.sub (local.get $ages) (i64.const 1))"));
    f.write("global.wat", "(module (global $n (mut i64) (i64.const 0)) (func (export \"score\") (global.set $n (i64.const 1))))");
    f.write("other.wat", "(module (func (export \"score\") (result f64) (f64.const nan)))");
    f.write("loop.wat", module("(loop $l (br $l)) (i64.const 0)"));
    f.write("trap.wat", module("(i64.div_s (i64.const 1) (local.get $file))"));
    f.write("binary.wasm", "\0asm\x07\0\0\0");
    let said = |name: &str, line: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        golden.is(name, &f.mmsim(&args));
    };
    let before = f.names();
    said("evaluate-of-nothing", "evaluate");
    said("no-policy", "evaluate --suite s.toml");
    said("no-such-suite", "evaluate --suite nothing.toml --policy k.toml");
    said("no-such-knob-file", "evaluate --suite s.toml --policy nothing.toml");
    said("no-such-module", "evaluate --suite s.toml --policy nothing.wasm");
    said("another-kind-of-file", "evaluate --suite s.toml --policy k.json");
    said("a-suite-for-a-policy", "evaluate --suite s.toml --policy s.toml");
    said("a-policy-for-a-suite", "evaluate --suite k.toml --policy k.toml");
    said("a-knob-out-of-range", "evaluate --suite s.toml --policy range.toml");
    said("more-memory", "evaluate --suite s.toml --policy memory.toml");
    said("nothing-to-gain", "evaluate --suite fits.toml --policy k.toml");
    said("memory-runs-out", "evaluate --suite s.toml --policy tight.toml -o s.jsonl");
    let _ = std::fs::remove_file(f.path("s.jsonl"));
    said("no-text-of-a-module", "evaluate --suite s.toml --policy text.wat");
    said("no-binary-of-a-module", "evaluate --suite s.toml --policy binary.wasm");
    said("a-global", "evaluate --suite s.toml --policy global.wat");
    said("another-signature", "evaluate --suite s.toml --policy other.wat");
    said("an-endless-loop", "evaluate --suite s.toml --policy k.toml --policy loop.wat -o s.jsonl");
    said("a-trap", "evaluate --suite s.toml --policy trap.wat");
    said("over-the-policy", "evaluate --suite s.toml --policy k.toml -o k.toml");
    said("another-ending", "evaluate --suite s.toml --policy k.toml -o s.csv");
    assert_eq!(f.names(), before);
}
