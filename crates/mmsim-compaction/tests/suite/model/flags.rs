//! Presets of the series, a line of flags each.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cached {
    First,
    Past,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Never,
    Always,
    Limited,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Any {
    No,
    Yes,
    Depleted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deplete {
    No,
    V1,
    V2Literal,
    V2Intended,
}

/// One column of the series' table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) full_block: bool,
    pub(crate) cached: Cached,
    pub(crate) always: When,
    pub(crate) any: Any,
    pub(crate) deplete: Deplete,
    /// 0: none; else the series.
    pub(crate) limit: u32,
    /// 0: refuse; 1: count; 3: limit.
    pub(crate) failures: u32,
    pub(crate) sweep: bool,
    pub(crate) by_size: bool,
    pub(crate) two_bits: bool,
    pub(crate) spare: bool,
    pub(crate) completes: bool,
    /// Filled blocks are left alone for a cycle more.
    pub(crate) keeps: bool,
}

/// The flags of a preset.
pub(crate) fn flags(preset: &str) -> Flags {
    let base = Flags {
        full_block: false,
        cached: Cached::First,
        always: When::Never,
        any: Any::No,
        deplete: Deplete::No,
        limit: 0,
        failures: 0,
        sweep: false,
        by_size: false,
        two_bits: false,
        spare: false,
        completes: false,
        keeps: false,
    };
    let v1 = Flags {
        full_block: true,
        cached: Cached::Past,
        always: When::Always,
        any: Any::Yes,
        ..base
    };
    let v1_all = Flags { deplete: Deplete::V1, limit: 1, failures: 1, sweep: true, ..v1 };
    let v2 = Flags {
        cached: Cached::End,
        always: When::Limited,
        deplete: Deplete::V2Literal,
        limit: 2,
        failures: 1,
        ..base
    };
    let v2_any = Flags { any: Any::Depleted, ..v2 };
    let v2_sweep = Flags { sweep: true, two_bits: true, completes: true, ..v2_any };
    let stem = preset.strip_suffix("-intended").unwrap_or(preset);
    let f = match stem {
        "compaction-v4.1" => base,
        "compaction-2015v1-nonmovable" => v1,
        "compaction-2015v1-redesign" => v1_all,
        "compaction-2015v1-threshold" => Flags { by_size: true, ..v1_all },
        "compaction-2015v2-limit" => v2,
        "compaction-2015v2-nonmovable" => v2_any,
        "compaction-2015v2-redesign" => v2_sweep,
        "compaction-2015v2-threshold" => Flags { by_size: true, spare: true, ..v2_sweep },
        "compaction-2015v3" => Flags { cached: Cached::Past, limit: 3, failures: 3, ..base },
        other => panic!("no flags of {other}"),
    };
    if stem == preset { f } else { Flags { deplete: Deplete::V2Intended, ..f } }
}
