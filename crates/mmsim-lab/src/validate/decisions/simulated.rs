//! The calls of the model in a run of the whole machine.

use std::sync::{Arc, Mutex};

use mmsim::machines::Machine;
use mmsim_core::base::time::SimTime;
use mmsim_core::machine::Watch;
use mmsim_core::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};

use super::recording::Done;

/// One call of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Simulated {
    pub phase: usize,
    pub kswapd: bool,
    pub priority: u64,
    pub result: Done,
}

/// Gathers calls of the root group.
struct Calls(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    calls: Vec<Simulated>,
    /// The calls of the phase under way begin here.
    from: usize,
}

impl Observer for Calls {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[TraceKind::SimShrinkLruvec, TraceKind::SimEvictFolios])
    }

    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        let (kswapd, priority, result) = match *event {
            TraceEvent::SimShrinkLruvec { kswapd, priority, scanned, reclaimed, .. } => {
                let [scanned, reclaimed] = [scanned, reclaimed].map(|n| n[0] + n[1]);
                (kswapd, priority, Done { scanned, reclaimed })
            }
            TraceEvent::SimEvictFolios { kswapd, priority, taken, reclaimed, .. } => {
                (kswapd, priority, Done { scanned: taken, reclaimed })
            }
            _ => return,
        };
        let priority = priority.into();
        let mut seen = self.0.lock().expect("one thread runs it");
        seen.calls.push(Simulated { phase: usize::MAX, kswapd, priority, result });
    }
}

/// The model's calls in phases of these names, in order.
pub(super) fn simulated(mut m: Machine, phases: &[String]) -> Vec<Simulated> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut watch = Watch::default().with_observer(Box::new(Calls(seen.clone())));
    let (at_end, phases) = (seen.clone(), phases.to_vec());
    let mut next = 0;
    watch.snapshot = Some(Box::new(move |name, _| {
        let mut seen = at_end.lock().expect("one thread runs it");
        // Phases come in the order of the recording; the names between are of none.
        let phase = phases.iter().skip(next).position(|p| Some(p.as_str()) == name);
        if let Some(skipped) = phase {
            let phase = next + skipped;
            next = phase + 1;
            let from = seen.from;
            seen.calls[from..].iter_mut().for_each(|c| c.phase = phase);
        }
        seen.from = seen.calls.len();
    }));
    m.run(watch);
    let mut seen = std::mem::take(&mut *seen.lock().expect("the run is over"));
    seen.calls.retain(|c| c.phase != usize::MAX);
    seen.calls
}
