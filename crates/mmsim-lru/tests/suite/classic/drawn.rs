//! Operations and points of the space of knobs, drawn for the naive twin and for the policy beside it.

use crate::model::classic::{Kind, Op, Pass};
use mmsim_lru::config::{ClassicConfig, PRESETS, Settings as _};
use proptest::prelude::*;

/// Operations that each run begins with: 150 anonymous and 80 file pages.
pub(super) const START: [Op; 230] = {
    let mut start = [Op::NewAnon; 230];
    let mut i = 150;
    while i < start.len() {
        start[i] = Op::NewFile;
        i += 1;
    }
    start
};

fn pass() -> impl Strategy<Value = Pass> {
    (0..=12u32, 1..64u64, any::<[bool; 4]>(), 0..200u64).prop_map(
        |(priority, target, [kswapd, no_swap, force, no_trim], free)| Pass {
            may_swap: !no_swap || priority % 2 == 0,
            force_deactivate: force && priority < 4,
            no_cache_trim: no_trim,
            free,
            high_watermarks: 100,
            ..Pass::new(priority, target, if kswapd { Kind::Kswapd } else { Kind::Direct })
        },
    )
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let nth = 0..1000usize;
    prop_oneof![
        20 => Just(Op::NewAnon),
        12 => Just(Op::NewFile),
        12 => nth.clone().prop_map(Op::Refault),
        20 => nth.clone().prop_map(Op::Touch),
        4 => (nth.clone(), any::<bool>()).prop_map(|(nth, exec)| Op::Map { nth, exec }),
        2 => nth.clone().prop_map(Op::Unmap),
        8 => nth.clone().prop_map(Op::MarkAccessed),
        2 => nth.clone().prop_map(Op::Dirty),
        2 => nth.clone().prop_map(Op::Clean),
        1 => nth.clone().prop_map(Op::Deactivate),
        10 => nth.clone().prop_map(Op::Write),
        10 => nth.clone().prop_map(Op::FreeLazily),
        2 => (nth.clone(), any::<bool>())
            .prop_map(|(nth, ignore_references)| Op::PageOut { nth, ignore_references }),
        1 => nth.prop_map(Op::Free),
        2 => Just(Op::AgeNode),
        1 => Just(Op::FinishRun),
        8 => pass().prop_map(Op::Shrink),
    ]
}

/// Any point of the space that makes sense, a few knobs away from some preset.
pub(super) fn near_a_preset() -> impl Strategy<Value = ClassicConfig> {
    let knobs = ClassicConfig::ROWS;
    let flips = prop::collection::vec((0..knobs.len(), 0..8usize), 0..5);
    (0..PRESETS.len(), flips).prop_map(move |(preset, flips)| {
        let mut config = PRESETS[preset].config;
        for (knob, value) in flips {
            // The twin knows scans of lists only.
            if knobs[knob].name == "bits-found" {
                continue;
            }
            let mut flipped = config;
            // Nor has it a third kind of list.
            let values = knobs[knob].allowed().filter(|value| !value.starts_with("own-list"));
            let values: Vec<_> = values.collect();
            flipped.set(knobs[knob].name, values[value % values.len()]).unwrap();
            if flipped.validate().is_ok() {
                config = flipped;
            }
        }
        config
    })
}
