//! `[[daemon]]`: programs of user space that watch memory and act.

use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::policy::daemon::{Daemon, DaemonConfig, ReadCosts, TriggerSpec};
use mmsim_daemons::earlyoom::Earlyoom;
use mmsim_daemons::kubelet::tree::KUBEPODS;
use mmsim_daemons::kubelet::{self, Kubelet};
use mmsim_daemons::lmkd::{self, Lmkd};
use mmsim_daemons::nohang::{self, Nohang};
use mmsim_daemons::oomd::{self as oomd_rules, Ruleset};
use mmsim_daemons::senpai::{self, Senpai};
use mmsim_daemons::systemd_oomd::{SystemdOomd, Unit};
use mmsim_daemons::{Among, BadExpr, Do, Every, Expr, Pick, Rule, Rules, Sort, Wait};

use super::fields::{each, within};
use super::oomd;
use super::pods::Pods;
use super::raw::Sources;
use super::read::Reader;
use super::tables::{
    CONTROLS, DAEMON, DAEMON_DO, DAEMON_RULE, DAEMON_TRIGGER, DAEMON_VICTIM, DAEMON_WATCH,
    EARLYOOM, KUBELET, LMKD, NOHANG, SENPAI, SENPAI_MODES, SIGNALS, STALLS, SYSTEMD_OOMD,
};
use super::tasks::in_time;
use super::watched::{group_named, group_names, groups_like, in_one_list, names};
use super::workload::TaskSpec;
use mmsim_base::error::Error;
use mmsim_base::nearest::nearest;

/// Daemons that have a number.
const MOST_DAEMONS: usize = 256;

/// A daemon as the scenario asks for it.
#[derive(Clone, PartialEq, Debug)]
pub struct DaemonSpec {
    /// Its process.
    pub process: DaemonConfig,
    /// Its program.
    pub program: Program,
}

/// Program of a daemon.
#[derive(Clone, PartialEq, Debug)]
pub enum Program {
    /// earlyoom.
    Earlyoom(Earlyoom),
    /// nohang.
    Nohang(Nohang),
    /// oomd of Meta.
    Oomd(Vec<Ruleset>),
    /// systemd-oomd.
    SystemdOomd(SystemdOomd),
    /// lmkd.
    Lmkd(Lmkd),
    /// The kubelet.
    Kubelet(Kubelet),
    /// senpai.
    Senpai(Senpai),
    /// Rules of one's own, what wakes them, and what the scenario says of groups of pods.
    Rules(Vec<Rule>, Vec<(MemcgId, TriggerSpec)>, Vec<(MemcgId, [f64; 3])>),
    /// Code of one's own.
    Code(CodeSpec),
}

/// Code of a daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeSpec {
    /// The file or the class that the scenario names.
    pub name: String,
    /// CPU time of an instruction.
    pub fuel_time: SimDuration,
}

impl Program {
    /// True if it is code from elsewhere.
    pub(crate) fn is_code(&self) -> bool {
        matches!(self, Program::Code(_))
    }

    /// Its name.
    fn name(&self) -> &'static str {
        match self {
            Program::Earlyoom(_) => "earlyoom",
            Program::Nohang(_) => "nohang",
            Program::Oomd(_) => "oomd",
            Program::SystemdOomd(_) => "systemd-oomd",
            Program::Lmkd(_) => "lmkd",
            Program::Kubelet(_) => "kubelet",
            Program::Senpai(_) => "senpai",
            Program::Rules(..) => "rules",
            Program::Code(_) => "program",
        }
    }

    /// The program, on a machine with these groups. `code` makes the code that it names.
    pub(crate) fn daemon(
        &self,
        groups: &[String],
        code: impl FnOnce(&CodeSpec) -> Result<Box<dyn Daemon>, Error>,
    ) -> Result<Box<dyn Daemon>, Error> {
        Ok(match self {
            Program::Code(spec) => code(spec)?,
            Program::Earlyoom(e) => Box::new(e.rules(groups)),
            Program::Nohang(of) => Box::new(nohang::rules(*of, groups)),
            Program::Oomd(rulesets) => Box::new(oomd_rules::rules(rulesets, groups)),
            Program::SystemdOomd(s) => Box::new(s.rules(groups)),
            Program::Lmkd(options) => Box::new(lmkd::Running::new(options.clone())),
            Program::Kubelet(options) => Box::new(kubelet::Running::new(options.clone())),
            Program::Senpai(options) => Box::new(senpai::Running::new(options.clone())),
            Program::Rules(rules, triggers, said) => {
                let mut daemon = Rules::new(rules.clone());
                daemon.triggers.clone_from(triggers);
                daemon.said = said.iter().copied().collect();
                Box::new(daemon)
            }
        })
    }
}

/// Reads the daemons of a document.
pub(super) fn daemons(
    sources: &Sources,
    root: &Reader<'_>,
    tasks: &[TaskSpec],
    machine: &MachineConfig,
    pods: Option<&Pods>,
) -> Result<Vec<DaemonSpec>, Error> {
    let mut all: Vec<DaemonSpec> = Vec::new();
    if !root.has("daemon") {
        return Ok(all);
    }
    let groups: Vec<String> = machine.memcgs.iter().map(|m| m.name.clone()).collect();
    for (i, node) in root.list("daemon")?.iter().enumerate() {
        let path = format!("daemon[{i}]");
        let r = Reader::open(sources, node, &DAEMON, &path)?;
        if i == MOST_DAEMONS {
            let found = format!("more than {MOST_DAEMONS} daemons");
            return Err(r.error("name", found, "fewer of them"));
        }
        let program = program(&r, &groups, machine.kernel, pods)?;
        let process = process(&r, &program, machine)?;
        let task = tasks.iter().any(|t| t.name == process.name);
        if task || all.iter().any(|d| d.process.name == process.name) {
            let found = format!("\"{}\" is the name of another process too", process.name);
            return Err(r.error("name", found, "another name"));
        }
        all.push(DaemonSpec { process, program });
    }
    Ok(all)
}

fn process(
    r: &Reader<'_>,
    program: &Program,
    machine: &MachineConfig,
) -> Result<DaemonConfig, Error> {
    let memcg = match r.opt_name("memcg")? {
        None => None,
        Some(name) => Some(match machine.memcgs.iter().position(|m| m.name == name) {
            Some(i) => i,
            None => {
                let known: Vec<&str> = machine.memcgs.iter().map(|m| m.name.as_str()).collect();
                return Err(r.unknown_word("memcg", "group", name, &known));
            }
        }),
    };
    in_time(r, memcg.map(|i| machine.memcgs[i].name.as_str()), machine)?;
    let (adj, locked) = match program {
        Program::Lmkd(_) => (-1000, true),
        Program::SystemdOomd(_) => (-900, false),
        Program::Earlyoom(_) => (-100, true),
        Program::Nohang(_) | Program::Oomd(_) => (0, true),
        Program::Kubelet(_) => (-999, false),
        Program::Senpai(_) | Program::Rules(..) | Program::Code(_) => (0, false),
    };
    let term: SimDuration = r.get("term-delay")?;
    Ok(DaemonConfig {
        name: r.opt_name("name")?.unwrap_or(program.name()).to_string(),
        memcg,
        oom_score_adj: r.opt_whole("oom-score-adj")?.unwrap_or(adj) as i16,
        start: SimTime(r.get::<SimDuration>("start")?.0),
        resident: r.opt_pages_u32("resident")?.unwrap_or(0),
        locked: r.opt_flag("locked")?.unwrap_or(locked),
        costs: ReadCosts {
            meminfo: r.get("read-machine")?,
            group: r.get("read-group")?,
            process: r.get("read-process")?,
        },
        term_delay: (!r.get::<bool>("ignore-term")?).then_some(term),
    })
}

/// Keys of which a daemon has one.
const PROGRAMS: [&str; 9] =
    ["earlyoom", "nohang", "systemd-oomd", "oomd", "lmkd", "kubelet", "senpai", "rule", "program"];

fn program(
    r: &Reader<'_>,
    groups: &[String],
    kernel: Kernel,
    pods: Option<&Pods>,
) -> Result<Program, Error> {
    if r.has("lmkd") && kernel < Kernel::V5_5 {
        let found = format!("kernel {} has no pressure to listen to", kernel.name());
        return Err(r.error("lmkd", found, "kernel = \"5.5\" or later, or another daemon"));
    }
    let rules = rules(r, groups)?;
    let rulesets = oomd::rulesets(r, groups)?;
    let said = || pods.map_or_else(Vec::new, |p| p.said(groups));
    let triggers = each(r, "trigger", &DAEMON_TRIGGER, |t| trigger(t, groups, kernel))?;
    let programs = [
        within(r, "earlyoom", &EARLYOOM, earlyoom)?.map(Program::Earlyoom),
        within(r, "systemd-oomd", &SYSTEMD_OOMD, |s| systemd_oomd(s, groups))?
            .map(Program::SystemdOomd),
        within(r, "nohang", &NOHANG, |n| {
            Ok(Nohang { pressure: n.get("pressure")?, zram: n.get("zram")? })
        })?
        .map(Program::Nohang),
        (!rulesets.is_empty()).then_some(Program::Oomd(rulesets)),
        within(r, "lmkd", &LMKD, lmkd)?.map(Program::Lmkd),
        match pods {
            None => None,
            Some(pods) => {
                within(r, "kubelet", &KUBELET, |k| pods.kubelet(k, groups))?.map(Program::Kubelet)
            }
        },
        within(r, "senpai", &SENPAI, |s| senpai(s, groups))?.map(Program::Senpai),
        (!rules.is_empty()).then(|| Program::Rules(rules, triggers, said())),
        code(r)?.map(Program::Code),
    ];
    let given: Vec<&str> = PROGRAMS.into_iter().filter(|key| r.has(key)).collect();
    if let [a, b, ..] = given[..] {
        return Err(r.contradiction(a, b));
    }
    if r.has("trigger") && !r.has("rule") {
        return Err(r.error("trigger", "there is no rule that looks", "a `rule` too"));
    }
    let write = "one of `earlyoom`, `nohang`, `systemd-oomd`, `oomd`, `lmkd`, `kubelet`, `senpai`, \
                 `rule` and `program`";
    let none = || r.error("name", "there is no program", write);
    programs.into_iter().flatten().next().ok_or_else(none)
}

/// Code, if the daemon is that.
fn code(r: &Reader<'_>) -> Result<Option<CodeSpec>, Error> {
    let Some(name) = r.opt_name("program")?.map(str::to_string) else {
        if r.has("fuel-time") {
            return Err(r.error("fuel-time", "there is no program to take it", "a `program` too"));
        }
        return Ok(None);
    };
    Ok(Some(CodeSpec { name, fuel_time: r.opt_time("fuel-time")?.unwrap_or(SimDuration(1)) }))
}

fn earlyoom(r: &Reader<'_>) -> Result<Earlyoom, Error> {
    let (memory_term, swap_term): (f64, f64) = (r.get("memory-term")?, r.get("swap-term")?);
    let earlyoom = Earlyoom {
        memory_term,
        memory_kill: r.opt_number("memory-kill")?.unwrap_or(memory_term / 2.0),
        swap_term,
        swap_kill: r.opt_number("swap-kill")?.unwrap_or(swap_term / 2.0),
        prefer: names(r, "prefer")?,
        avoid: names(r, "avoid")?,
    };
    in_one_list(r, ("prefer", &earlyoom.prefer), ("avoid", &earlyoom.avoid))?;
    for (key, kill, term) in [
        ("memory-kill", earlyoom.memory_kill, memory_term),
        ("swap-kill", earlyoom.swap_kill, swap_term),
    ] {
        if kill > term {
            let found = format!("{kill} is above the {term} of SIGTERM");
            return Err(r.error(key, found, format!("at most {term}")));
        }
    }
    Ok(earlyoom)
}

fn lmkd(r: &Reader<'_>) -> Result<Lmkd, Error> {
    let of = Lmkd::of(r.get("low-ram")?);
    let stall = |key, default| match r.opt_time(key)? {
        None => Ok(default),
        Some(time) if time == SimDuration::ZERO || time > lmkd::WINDOW => {
            Err(r.error(key, "the kernel refuses it (EINVAL)", "above 0 and at most \"1s\""))
        }
        Some(time) => Ok(time),
    };
    Ok(Lmkd {
        partial_stall: stall("partial-stall", of.partial_stall)?,
        complete_stall: stall("complete-stall", of.complete_stall)?,
        swap_free_low: r.get("swap-free-low")?,
        thrashing_limit: r.opt_count("thrashing-limit")?.unwrap_or(of.thrashing_limit),
        thrashing_limit_decay: r
            .opt_count("thrashing-limit-decay")?
            .unwrap_or(of.thrashing_limit_decay),
        ..of
    })
}

fn senpai(r: &Reader<'_>, groups: &[String]) -> Result<Senpai, Error> {
    let memcg = group_named(r, "memcg", groups)?;
    if memcg == MemcgId(0) {
        return Err(r.error("memcg", "the root has no limits", "a group of `machine.memcg`"));
    }
    let of = Senpai { mode: r.word("mode", &SENPAI_MODES)?, ..Senpai::of(memcg) };
    for (key, used) in [
        ("least", of.mode == senpai::Mode::Script),
        ("pressure", of.mode != senpai::Mode::Immediate),
    ] {
        if !used && !r.is_default(key) {
            let found = "this mode of senpai does not use it";
            return Err(r.error(key, found, "nothing: leave it out"));
        }
    }
    let [_, most] = of.limits;
    let least = (r.get::<u64>("least")? * PAGE_SIZE).min(most);
    Ok(Senpai { pressure: r.get::<SimDuration>("pressure")?.0 / 1000, limits: [least, most], ..of })
}

fn systemd_oomd(r: &Reader<'_>, groups: &[String]) -> Result<SystemdOomd, Error> {
    let mut watched = Vec::new();
    let unit = |w: &Reader<'_>| {
        let (memcg, name) = (group_named(w, "memcg", groups)?, w.name("memcg")?);
        let unit = Unit {
            memcg,
            name: if name == "/" { String::new() } else { name.to_string() },
            swap: w.get("swap")?,
            pressure_limit: w.opt_number("pressure-limit")?,
            pressure_duration: w.get("pressure-duration")?,
        };
        if !unit.swap && unit.pressure_limit.is_none() {
            let write = "`swap = true` or a `pressure-limit` too";
            return Err(w.error("memcg", "nothing of it is watched", write));
        }
        if unit.pressure_limit.is_none() && !w.is_default("pressure-duration") {
            let found = "there is no rule of pressure";
            return Err(w.error("pressure-duration", found, "a `pressure-limit` too"));
        }
        if watched.contains(&memcg) {
            let found = format!("\"{name}\" is watched twice");
            return Err(w.error("memcg", found, "all that is watched of it in one entry"));
        }
        watched.push(memcg);
        Ok(unit)
    };
    let units = each(r, "watch", &DAEMON_WATCH, unit)?;
    if units.is_empty() {
        return Err(r.error("watch", "it watches nothing", "a unit"));
    }
    let (avoid, omit) = (group_names(r, "avoid", groups)?, group_names(r, "omit", groups)?);
    in_one_list(r, ("avoid", &avoid), ("omit", &omit))?;
    Ok(SystemdOomd { swap_used_limit: r.get("swap-used-limit")?, units, avoid, omit })
}

fn rules(r: &Reader<'_>, groups: &[String]) -> Result<Vec<Rule>, Error> {
    let mut all = each(r, "rule", &DAEMON_RULE, |rule| one_rule(rule, groups))?;
    for (n, rule) in all.iter_mut().enumerate().filter(|(_, rule)| rule.name.is_empty()) {
        rule.name = format!("rule {n}");
    }
    Ok(all)
}

fn one_rule(r: &Reader<'_>, groups: &[String]) -> Result<Rule, Error> {
    let name = r.opt_name("name")?.unwrap_or("").to_string();
    let every: SimDuration = r.get("every")?;
    if every == SimDuration::ZERO {
        return Err(r.error("every", "no time at all", "a duration such as \"1s\""));
    }
    let when = expression(r, "when", r.name("when")?, groups, Expr::condition)?;
    let pick = within(r, "victim", &DAEMON_VICTIM, |v| victim(v, groups))?;
    r.need("do")?;
    let Some(act) = within(r, "do", &DAEMON_DO, |d| action(d, groups))?.flatten() else {
        let write = "one of `signal`, `freeze`, `write`, `reclaim` and `swappiness`";
        return Err(r.error("do", "it does nothing", write));
    };
    let of_groups = pick.as_ref().map(|p| !matches!(p.among, Among::Processes(_)));
    match (&act, of_groups) {
        (Do::Swappiness(_), _) | (Do::Signal(_), Some(_)) | (_, Some(true)) => {}
        (Do::Signal(_), None) => {
            return Err(r.error("do", "a signal without a victim", "a `victim` too"));
        }
        (_, None) => return Err(r.error("do", "no group to do it to", "a `victim` too")),
        (_, Some(false)) => {
            let write = "`among` with names of groups";
            return Err(r.error("do", "it is done to a group, and victims are processes", write));
        }
    }
    let most: SimDuration = r.get("wait")?;
    let wait = Wait { every: SimDuration::from_millis(100), most, kill_when: None };
    Ok(Rule {
        name,
        every: Every::Time(every),
        when,
        pick,
        act,
        pause: r.get("pause")?,
        wait: (most > SimDuration::ZERO).then_some(wait),
        chain: None,
    })
}

type Parse = fn(&str, &[String]) -> Result<Expr, BadExpr>;

fn expression(
    r: &Reader<'_>,
    key: &str,
    text: &str,
    groups: &[String],
    parse: Parse,
) -> Result<Expr, Error> {
    let expr = parse(text, groups).map_err(|bad| {
        let place =
            if bad.at > 0 { format!(" at character {}", bad.at + 1) } else { String::new() };
        let write = match &bad.unknown {
            None => bad.write.clone(),
            Some((word, known)) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                match nearest(word, &known) {
                    Some(near) => format!("`{near}`"),
                    None if known.is_empty() => "a group in `machine.memcg` first".to_string(),
                    None if known.len() < 20 => format!("one of {}", known.join(", ")),
                    None => "a name of docs/daemons.md".to_string(),
                }
            }
        };
        r.error(key, format!("{}{place}", bad.found), write)
    })?;
    if expr.reads_pods() && !groups.iter().any(|g| g == KUBEPODS) {
        let found = "`request`, `priority` and `critical` are of pods, and there are none";
        return Err(r.error(key, found, "`[[pod]]` too"));
    }
    Ok(expr)
}

fn victim(v: &Reader<'_>, groups: &[String]) -> Result<Pick, Error> {
    let mut pick = match v.name("among")? {
        "processes" => Pick::of(Among::Processes(Vec::new())),
        _ => Pick::of(Among::Groups(groups_like(v, "among", groups, &["processes"])?)),
    };
    if let Some(keep) = v.opt_name("keep")? {
        pick.keep = Some(expression(v, "keep", keep, groups, Expr::condition)?);
    }
    for (text, _) in v.texts("by", "key")?.unwrap_or_default() {
        let (sort, rest) = match text.split_once(' ') {
            Some(("largest", rest)) => (Sort::Largest, rest),
            Some(("smallest", rest)) => (Sort::Smallest, rest),
            _ => (Sort::Largest, text),
        };
        pick.by.push((sort, expression(v, "by", rest, groups, Expr::number)?));
    }
    (pick.prefer, pick.avoid) = (names(v, "prefer")?, names(v, "avoid")?);
    pick.omit = names(v, "omit")?;
    Ok(pick)
}

/// A line for a pressure file. Kernels before 6.6 refuse windows below half a second.
fn trigger(
    t: &Reader<'_>,
    groups: &[String],
    kernel: Kernel,
) -> Result<(MemcgId, TriggerSpec), Error> {
    let memcg = group_named(t, "memcg", groups)?;
    let stall = t.word("stall", &STALLS)?;
    let (threshold, window): (SimDuration, SimDuration) = (t.get("threshold")?, t.get("window")?);
    let least = if kernel < Kernel::V6_6 { SimDuration::from_millis(500) } else { SimDuration(1) };
    if window < least || window > TriggerSpec::LONGEST {
        let found = format!("kernel {} refuses such a window (EINVAL)", kernel.name());
        let from = if kernel < Kernel::V6_6 { "from \"500ms\" to" } else { "above 0 and up to" };
        return Err(t.error("window", found, format!("a time {from} \"10s\"")));
    }
    if threshold == SimDuration::ZERO || threshold > window {
        let found = "the kernel refuses such a threshold (EINVAL)";
        return Err(t.error("threshold", found, "a time above 0 and up to `window`"));
    }
    Ok((memcg, TriggerSpec { stall, threshold, window }))
}

fn action(d: &Reader<'_>, groups: &[String]) -> Result<Option<Do>, Error> {
    let number = |key: &str| -> Result<Option<Expr>, Error> {
        let text = d.opt_name(key)?;
        text.map(|text| expression(d, key, text, groups, Expr::number)).transpose()
    };
    let signal = d.has("signal").then(|| d.word("signal", &SIGNALS)).transpose()?;
    let file = d.has("write").then(|| d.word("write", &CONTROLS)).transpose()?;
    let (freeze, value) = (d.opt_time("freeze")?, number("value")?);
    let (reclaim, swappiness) = (number("reclaim")?, number("swappiness")?);
    let written = match (file, value) {
        (Some(file), Some(value)) => Some(Do::Write(file, value)),
        (None, None) => None,
        (Some(_), None) => return Err(d.error("write", "a file without value", "`value` too")),
        (None, Some(_)) => return Err(d.error("value", "a value for no file", "`write` too")),
    };
    let acts = [
        signal.map(Do::Signal),
        freeze.map(Do::Freeze),
        written,
        reclaim.map(|bytes| Do::Reclaim(bytes, None)),
        swappiness.map(Do::Swappiness),
    ];
    let given: Vec<&str> = ACTS.into_iter().filter(|key| d.has(key)).collect();
    match given[..] {
        [a, b, ..] => Err(d.contradiction(a, b)),
        _ => Ok(acts.into_iter().flatten().next()),
    }
}

/// Keys of which a rule has one.
const ACTS: [&str; 5] = ["signal", "freeze", "write", "reclaim", "swappiness"];
