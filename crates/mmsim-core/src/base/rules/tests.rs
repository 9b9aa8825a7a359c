use super::*;
use crate::base::settings::{KnobError, Settings as _};

/// A number that names no word is refused, and moves nothing.
#[test]
fn a_word_has_a_place() {
    let mut rules = KernelRules::of(Kernel::ALL[0]);
    let before = rules;
    let row = KernelRules::row("slow-path").expect("a row");
    let words = row.words().len() as u64;
    assert!(matches!(rules.put("slow-path", words), Err(KnobError::UnknownValue { .. })));
    assert_eq!(rules, before);
    assert_eq!(rules.put("slow-path", words - 1), Ok(()));
    assert_eq!(rules.slow_path, SlowPath::V7_0);
}

#[test]
fn each_kernel_has_its_rules() {
    for p in KernelRules::presets() {
        assert_eq!(p.config.validate(), Ok(()), "{}", p.name);
        assert_eq!(p.config, KernelRules::of(p.kernel), "{}", p.name);
    }
    let changed = |name: &str| {
        let preset = KernelRules::preset(name).expect("a preset");
        preset.changes().into_iter().map(|c| c.0).collect::<Vec<_>>()
    };
    assert_eq!(changed("rules-v4.1"), [""; 0]);
    assert_eq!(changed("rules-v5.8"), ["min-free-most"]);
    let of_5_9 = [
        "proactive-compaction",
        "cow-of-held-pages",
        "process-kernel-pages",
        "stale-protection",
        "badness-below-one",
        "high-retries",
    ];
    assert_eq!(changed("rules-v5.9"), of_5_9);
    // Every rule is there because some kernel differs, but for those by which the model counts
    // groups more exactly than any kernel.
    let all: Vec<_> = KernelRules::presets().iter().flat_map(|p| changed(p.name)).collect();
    let of_the_model = ["memcg-charges", "memcg-stats"];
    for knob in KernelRules::ROWS.iter().filter(|k| !of_the_model.contains(&k.name)) {
        assert!(all.contains(&knob.name), "{} is the same in all kernels", knob.name);
    }
}

#[test]
fn rules_are_set_by_name() {
    let mut rules = KernelRules::of(Kernel::V4_1);
    rules.set("lru-batch", "31").expect("within its range");
    assert_eq!(rules.lru_batch, 31);
    rules.set("proactive-compaction", "yes").expect("a value");
    assert!(matches!(rules.validate(), Err(KnobError::Contradiction { .. })));
    rules.set("kcompactd", "yes").expect("a value");
    assert_eq!(rules.validate(), Ok(()));
}
