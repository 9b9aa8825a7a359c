//! A machine for tests, whose files hold what the test says.

use crate::expr::{Expr, Memory};
use crate::figure::{Candidate, Reads};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::policy::daemon::{
    Action, Daemon, GroupFiles, Meminfo, Pid, Pressure, PressureAverages, Process, Reason, System,
    TriggerSpec,
};
use std::collections::BTreeMap;

/// Its files, and what was done to it.
#[derive(Default)]
pub(crate) struct FakeBox {
    pub(crate) now: SimTime,
    pub(crate) info: Meminfo,
    /// `pswpout`.
    pub(crate) swapped_out: u64,
    /// Pages that zram takes.
    pub(crate) zram: u64,
    /// Files of the root.
    pub(crate) root: GroupFiles,
    pub(crate) groups: Vec<(String, GroupFiles)>,
    /// Groups with `memory.oom.group`.
    pub(crate) whole: Vec<MemcgId>,
    pub(crate) averages: BTreeMap<MemcgId, PressureAverages>,
    pub(crate) processes: Vec<Process>,
    pub(crate) dead: Vec<Pid>,
    pub(crate) acts: Vec<(SimTime, Action)>,
    pub(crate) memories: Vec<(Expr, Memory)>,
}

impl FakeBox {
    /// The value of an expression, which remembers what it looks back to.
    pub(crate) fn value(&mut self, expr: &Expr) -> f64 {
        let at = self.memories.iter().position(|(e, _)| e == expr).unwrap_or_else(|| {
            self.memories.push((expr.clone(), Memory::default()));
            self.memories.len() - 1
        });
        let mut memory = std::mem::take(&mut self.memories[at].1);
        let said = BTreeMap::new();
        let value = expr.find(&mut Reads::new(self, &said), Candidate::None, &mut memory).value;
        self.memories[at].1 = memory;
        value
    }

    /// Lets a daemon look whenever it wants to, until an instant; `change` comes before each look.
    pub(crate) fn run(
        &mut self,
        daemon: &mut dyn Daemon,
        until: SimTime,
        change: &mut dyn FnMut(&mut FakeBox),
    ) {
        while self.now <= until {
            change(self);
            let next = daemon.look(self, &[]);
            self.now = next;
        }
    }
}

impl System for FakeBox {
    fn now(&self) -> SimTime {
        self.now
    }
    fn meminfo(&mut self) -> Meminfo {
        self.info
    }
    fn vmstat(&mut self, event: VmEvent) -> u64 {
        if event == VmEvent::PswpOut { self.swapped_out } else { 0 }
    }
    fn pressure(&mut self, memcg: MemcgId) -> (Pressure, PressureAverages) {
        (Pressure::NONE, self.averages.get(&memcg).copied().unwrap_or_default())
    }
    fn watermarks(&mut self) -> [u64; 3] {
        [0; 3]
    }
    fn zram(&mut self) -> u64 {
        self.zram
    }
    fn group(&mut self, memcg: MemcgId) -> GroupFiles {
        match memcg.0 {
            0 => self.root,
            n => self.groups[usize::from(n) - 1].1,
        }
    }
    fn stat(&mut self, _memcg: MemcgId, _event: VmEvent) -> u64 {
        0
    }
    fn leaves(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let children = self.children(memcg);
        if children.is_empty() {
            return vec![memcg];
        }
        let whole = |m: &MemcgId| self.whole.contains(m);
        children
            .into_iter()
            .flat_map(|m| if whole(&m) { vec![m] } else { self.leaves(m) })
            .collect()
    }
    fn children(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let parent = self.name(memcg);
        let is_child = |m: &MemcgId| self.name(*m).rsplit_once('/').map_or("", |n| n.0) == parent;
        (1..=self.groups.len() as u16).map(MemcgId).filter(is_child).collect()
    }
    fn has_group(&self, memcg: MemcgId) -> bool {
        usize::from(memcg.0) <= self.groups.len()
    }
    fn name(&self, memcg: MemcgId) -> &str {
        match memcg.0 {
            0 => "",
            n => &self.groups[usize::from(n) - 1].0,
        }
    }
    fn processes(&mut self) -> Vec<Process> {
        self.processes.iter().filter(|p| !self.dead.contains(&p.id)).cloned().collect()
    }
    fn lives(&self, process: Pid) -> bool {
        !self.dead.contains(&process)
    }
    fn spend(&mut self, time: SimDuration) {
        self.now += time;
    }
    fn arm(&mut self, _memcg: MemcgId, _spec: TriggerSpec) -> usize {
        0
    }
    fn act(&mut self, action: Action, _reason: &Reason) -> u64 {
        self.acts.push((self.now, action));
        1
    }
}
