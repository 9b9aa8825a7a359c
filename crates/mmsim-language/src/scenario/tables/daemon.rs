//! Programs that watch memory and act.

use crate::scenario::keys::{Fallback, Kind, TableSpec};
use crate::scenario::rows::{Words, rows, words};
use mmsim_core::policy::daemon::{Control, Signal, Stall};
use mmsim_daemons::oomd::{ACTION_NAMES, DETECTOR_NAMES};
use mmsim_daemons::senpai::Mode;

use super::key;
use super::pod::KUBELET;

use Fallback::{Auto, Is, Required};
use Kind::{
    Choice, Count, File, Flag, Number, OneOrMore, Size, Table, Tables, Text, Texts, Time, Whole,
};

/// Signals.
pub(in crate::scenario) const SIGNALS: Words<Signal> =
    words! { "SIGTERM" => Signal::Term, "SIGKILL" => Signal::Kill };

/// Stalls that triggers count.
pub(in crate::scenario) const STALLS: Words<Stall> =
    words! { "some" => Stall::Some, "full" => Stall::Full };

/// Which senpai.
pub(in crate::scenario) const SENPAI_MODES: Words<Mode> = words! {
    "script" => Mode::Script,
    "plugin" => Mode::Plugin,
    "immediate" => Mode::Immediate,
};

/// Files of groups that rules write.
pub(in crate::scenario) const CONTROLS: Words<Control> = words! {
    "memory.min" => Control::Min,
    "memory.low" => Control::Low,
    "memory.high" => Control::High,
    "memory.max" => Control::Max,
    "memory.swap.max" => Control::SwapMax,
};

rows! {
    /// `[[daemon]]`.
    DAEMON,
    "[[daemon]]",
    "A program of user space that watches memory and acts: one of `earlyoom`, `nohang`, \
     `systemd-oomd`, `oomd`, `lmkd`, `kubelet`, `senpai`, `rule` and `program`. The run ends without it.";
    keys {
        ("name", Text, Auto("that of the program"), "name in reports, unlike those of tasks")
        ("earlyoom", Table(&EARLYOOM), Auto("another program"), "earlyoom; `{}`: with its defaults")
        ("nohang", Table(&NOHANG), Auto("another program"), "nohang; `{}`: with its default file")
        ("systemd-oomd", Table(&SYSTEMD_OOMD), Auto("another program"), "systemd-oomd")
        ("oomd", Tables(&OOMD), Auto("another program"),
            "rulesets of Meta's oomd: one `[[daemon.oomd]]` each")
        ("lmkd", Table(&LMKD), Auto("another program"), "lmkd; `{}`: with its defaults")
        ("kubelet", Table(&KUBELET), Auto("another program"), "the kubelet of all `[[pod]]`")
        ("senpai", Table(&SENPAI), Auto("another program"), "senpai")
        ("rule", Tables(&DAEMON_RULE), Auto("another program"),
            "rules of one's own, in order: one `[[daemon.rule]]` each")
        ("program", File, Auto("another program"),
            "module of WebAssembly that looks and acts, see docs/daemons.md; in Python also a name")
        ("fuel-time", Time, Auto("`1ns`"), "CPU time of an instruction of `program`")
        ("trigger", Tables(&DAEMON_TRIGGER), Auto("none"),
            "pressure that makes all rules look: one `[[daemon.trigger]]` each")
        ("memcg", Text, Auto("the root"), "name of its own group")
        ("oom-score-adj", Whole(-1000, 1000),
            Auto("-1000 for lmkd, -999 for the kubelet, -900 for systemd-oomd, -100 for earlyoom, else 0"),
            "its own `oom_score_adj`")
        ("start", Time, Is("\"0ns\""), "when it starts")
        ("resident", Size(0), Is("\"4MiB\""), "anonymous memory that it touches at each look")
        ("locked", Flag, Auto("`true` for earlyoom, nohang, oomd and lmkd"), "that memory is locked")
        ("read-machine", Time, Is("\"10us\""), "time of a read of meminfo, vmstat or pressure")
        ("read-group", Time, Is("\"50us\""), "time of a read of a file of a group")
        ("read-process", Time, Is("\"100us\""), "time of a look at a process")
        ("term-delay", Time, Is("\"100ms\""), "time from SIGTERM to the end of a victim")
        ("ignore-term", Flag, Is("false"), "victims ignore SIGTERM")
    }
}

rows! {
    /// `[daemon.earlyoom]`.
    EARLYOOM,
    "[daemon.earlyoom]",
    "earlyoom 1.9.0.";
    keys {
        ("memory-term", Number(0.0, 100.0), Is("10"), "per cent of memory for SIGTERM (`-m`)")
        ("memory-kill", Number(0.0, 100.0), Auto("half of `memory-term`"),
            "per cent of memory for SIGKILL")
        ("swap-term", Number(0.0, 100.0), Is("10"), "per cent of swap for SIGTERM (`-s`)")
        ("swap-kill", Number(0.0, 100.0), Auto("half of `swap-term`"),
            "per cent of swap for SIGKILL")
        ("prefer", Texts, Auto("none"), "processes with 300 points more")
        ("avoid", Texts, Auto("none"), "processes with 300 points less")
    }
}

rows! {
    /// `[daemon.nohang]`.
    NOHANG,
    "[daemon.nohang]",
    "nohang, 2026.";
    keys {
        ("pressure", Flag, Is("false"),
            "with the rules of pressure of its desktop file: `full` avg10 of 40 % and of 90 % for 30 s, with memory as low as for the signals")
        ("zram", Flag, Is("false"),
            "with the rules of zram: memory as low, and zram takes 55 % and 60 % of all memory")
    }
}

rows! {
    /// `[[daemon.oomd]]`.
    OOMD,
    "[[daemon.oomd]]",
    "A ruleset of Meta's oomd 0.5.0, looked at every 5 s.";
    keys {
        ("name", Text, Auto("`ruleset 0` and so on"), "name in reports")
        ("detector", Tables(&OOMD_DETECTOR), Required, "when, one `[[daemon.oomd.detector]]` each")
        ("kill", OneOrMore(&OOMD_KILL), Required,
            "whom; a list is a chain, in which the next one acts if one finds no victim")
        ("hook", Time, Is("\"0ns\""), "time that a hook takes before each kill")
        ("hook-timeout", Time, Is("\"5s\""), "the longest wait for it (`prekill_hook_timeout`)")
    }
}

rows! {
    /// `[[daemon.oomd.detector]]`.
    OOMD_DETECTOR,
    "[[daemon.oomd.detector]]",
    "A plug-in that detects. All of one `group` must hold, and one group is enough.";
    keys {
        ("plugin", Choice(&DETECTOR_NAMES), Required, "which")
        ("group", Text, Auto("that of all without one"), "name of its group of detectors")
        ("memcg", Text, Auto("none, for `swap_free`"), "its memory cgroup; `/` is the whole machine")
        ("threshold", Number(0.0, 1e9), Auto("none, for `memory_reclaim`"),
            "per cent of `full` pressure or of free swap; MiB of `memory_above`")
        ("duration", Time, Auto("none, for `swap_free`"),
            "for how long it holds; of `memory_reclaim`: within which time")
        ("anon", Flag, Is("false"), "of `memory_above`: anonymous memory (`threshold_anon`)")
        ("swap-out", Size(0), Is("\"0 pages\""),
            "of `swap_free`: swapped out per second too (`swapout_bps_threshold`)")
    }
}

rows! {
    /// `[daemon.oomd.kill]`.
    OOMD_KILL,
    "[daemon.oomd.kill]",
    "A plug-in that kills one group. `continue` kills no group, and behind `stop` no plug-in of a list acts.";
    keys {
        ("plugin", Choice(&ACTION_NAMES), Required, "which")
        ("among", Text, Auto("none, for `continue` and `stop`"),
            "groups, where `*` stands for any characters: `user/*`")
        ("pause", Time, Is("\"15s\""), "time after a kill in which its ruleset does not act (`post_action_delay`)")
        ("recursive", Flag, Is("false"), "goes on among the groups below the first, and so on down")
        ("prefer", Texts, Auto("none"), "groups that are killed first (`trusted.oomd_prefer`)")
        ("avoid", Texts, Auto("none"), "groups that are killed last (`trusted.oomd_avoid`)")
        ("biased-swap-kill", Flag, Is("false"), "`kill_by_swap_usage` spares protected groups")
        ("always-continue", Flag, Is("false"), "the next one of a list acts after a kill too, and there is no pause")
    }
}

rows! {
    /// `[daemon.systemd-oomd]`.
    SYSTEMD_OOMD,
    "[daemon.systemd-oomd]",
    "systemd-oomd of systemd 252 to 257.";
    keys {
        ("watch", Tables(&DAEMON_WATCH), Required, "units, one `[[daemon.systemd-oomd.watch]]` each")
        ("swap-used-limit", Number(0.0, 100.0), Is("90"),
            "per cent of memory and of swap in use (`SwapUsedLimit`)")
        ("avoid", Texts, Auto("none"), "groups that are killed last")
        ("omit", Texts, Auto("none"), "groups that are never killed")
    }
}

rows! {
    /// `[[daemon.systemd-oomd.watch]]`.
    DAEMON_WATCH,
    "[[daemon.systemd-oomd.watch]]",
    "A unit, watched for `swap`, for pressure or for both.";
    keys {
        ("memcg", Text, Required, "its group; `/` is the whole machine")
        ("swap", Flag, Is("false"), "`ManagedOOMSwap=kill`")
        ("pressure-limit", Number(0.0, 100.0), Auto("no rule of pressure"),
            "`full` avg10 in per cent that is too much; systemd's default is 60")
        ("pressure-duration", Time, Is("\"30s\""), "for how long it has to be")
    }
}

rows! {
    /// `[daemon.lmkd]`.
    LMKD,
    "[daemon.lmkd]",
    "lmkd of Android 13; the properties `ro.lmk.*`.";
    keys {
        ("low-ram", Flag, Is("false"), "defaults of a device with little memory")
        ("partial-stall", Time, Auto("`70ms`, with `low-ram` `200ms`"),
            "stall of some thread within a second")
        ("complete-stall", Time, Is("\"700ms\""), "stall of all threads within a second")
        ("swap-free-low", Count(0, 100), Is("10"), "per cent of swap that is little")
        ("thrashing-limit", Count(0, 100_000), Auto("100, with `low-ram` 30"),
            "refaults in per cent of the file LRU")
        ("thrashing-limit-decay", Count(0, 100), Auto("10, with `low-ram` 50"),
            "per cent by which a kill lowers that limit")
    }
}

rows! {
    /// `[daemon.senpai]`.
    SENPAI,
    "[daemon.senpai]",
    "senpai.";
    keys {
        ("memcg", Text, Required, "the group whose `memory.high` it writes")
        ("mode", Choice(SENPAI_MODES.names), Is("\"script\""),
            "the script of 2019, the plug-in of oomd, or that with `immediate_backoff`, which reclaims")
        ("pressure", Time, Is("\"10ms\""), "stall since its last write that it wants; not of \"immediate\"")
        ("least", Size(1), Is("\"100MiB\""), "the least limit that the script writes")
    }
}

rows! {
    /// `[[daemon.trigger]]`.
    DAEMON_TRIGGER,
    "[[daemon.trigger]]",
    "A line that is written to a pressure file, which wakes the daemon.";
    keys {
        ("memcg", Text, Required, "the group; `/` is the whole machine")
        ("stall", Choice(STALLS.names), Is("\"some\""), "stalls that count")
        ("threshold", Time, Required, "stall that wakes it")
        ("window", Time, Is("\"1s\""), "time within which it counts, up to 10 s")
    }
}

rows! {
    /// `[[daemon.rule]]`.
    DAEMON_RULE,
    "[[daemon.rule]]",
    "When, on whom, what. Expressions are those of docs/daemons.md.";
    keys {
        ("name", Text, Auto("`rule 0` and so on"), "name in reports")
        ("every", Time, Is("\"1s\""), "time between two looks")
        ("when", Text, Required, "condition: `meminfo.MemAvailable < 100MiB for 10s`")
        ("victim", Table(&DAEMON_VICTIM), Auto("none; for writes of `vm.swappiness`"), "on whom")
        ("do", Table(&DAEMON_DO), Required, "what")
        ("pause", Time, Is("\"0ns\""),
            "time after it acted in which no rule with a pause acts")
        ("wait", Time, Is("\"0ns\""), "longest wait for the end of a process that it killed")
    }
}

rows! {
    /// `[daemon.rule.victim]`.
    DAEMON_VICTIM,
    "[daemon.rule.victim]",
    "The choice of a victim.";
    keys {
        ("among", Text, Required,
            "`processes`, or groups by name, where `*` stands for any characters: `lxc/*`")
        ("keep", Text, Auto("all"), "condition on a candidate")
        ("by", Texts, Auto("in their order"),
            "keys of the order, `largest EXPRESSION` or `smallest EXPRESSION`")
        ("prefer", Texts, Auto("none"), "names that come first")
        ("avoid", Texts, Auto("none"), "names that come last")
        ("omit", Texts, Auto("none"), "names that are spared")
    }
}

rows! {
    /// `[daemon.rule.do]`.
    DAEMON_DO,
    "[daemon.rule.do]",
    "One of `signal`, `freeze`, `write` with its `value`, `reclaim` and `swappiness`.";
    keys {
        ("signal", Choice(SIGNALS.names), Auto("none"),
            "signal to the process, or to all of the group")
        ("freeze", Time, Auto("none"), "time for which the group is frozen")
        ("write", Choice(CONTROLS.names), Auto("none"), "file of the group that is written")
        ("value", Text, Auto("none"), "expression for the bytes that are written")
        ("reclaim", Text, Auto("none"), "expression for the bytes written to `memory.reclaim`")
        ("swappiness", Text, Auto("none"), "expression for `vm.swappiness`, 0 to 200")
    }
}
