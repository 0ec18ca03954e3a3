//! The three parts of a wakeup's latency: until the timer's function runs in its interrupt, until the thread has
//! the CPU, until the thread is in user space.
//!
//! `rtla timerlat` measures at the same places (kernel/trace/trace_osnoise.c): in the timer's function, in the
//! thread, and at the thread's next call after it was in user space. Its three latencies each begin at the due
//! time. These parts begin where the one before ends, so that they add up to the latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{delay::Delay, lengths::Lengths, wakeup::Wakeup};

/// Parts of a wakeup's latency in nanoseconds, which add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Split {
    /// From the due time to the timer's function, in the timer's interrupt.
    pub irq_ns: u64,
    /// From there to the switch to the thread; 0 where the thread was running.
    pub thread_ns: u64,
    /// From there to the thread's first instruction in user space.
    pub user_ns: u64,
}

impl Wakeup {
    /// Returns the parts of the latency. Clocks of two CPUs may differ by the lookahead: an instant that seems to be
    /// before the one that it follows is taken for that one.
    pub fn split(&self) -> Split {
        let user_ns = self.user_ns.max(self.due_ns);
        let expire_ns = self.expire_ns.clamp(self.due_ns, user_ns);
        let switch_ns = self.switch_ns.clamp(expire_ns, user_ns);
        Split {
            irq_ns: expire_ns - self.due_ns,
            thread_ns: switch_ns - expire_ns,
            user_ns: user_ns - switch_ns,
        }
    }
}

/// Statistics of each part of the latency of wakeups, in the form of [`Delay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Splits {
    /// Of [`Split::irq_ns`].
    pub irq: Delay,
    /// Of [`Split::thread_ns`].
    pub thread: Delay,
    /// Of [`Split::user_ns`].
    pub user: Delay,
}

impl Splits {
    /// Returns the statistics of wakeups; `None` where there are none.
    pub fn of(wakeups: &[Wakeup]) -> Option<Self> {
        let mut parts = Parts::default();
        wakeups.iter().for_each(|wakeup| parts.add(wakeup.split()));
        parts.finish()
    }

    /// Returns whether wakeups can have these parts: as many of each, with statistics that ascend.
    pub fn is_possible(&self) -> bool {
        let parts = [self.irq, self.thread, self.user];
        parts.iter().all(|part| part.is_ordered() && part.wakeups == self.irq.wakeups)
    }
}

/// Collector of the parts of wakeups, in the order of [`Split`]: their lengths and the longest.
#[derive(Debug, Default)]
pub(crate) struct Parts([(Lengths, u64); 3]);

impl Parts {
    pub fn add(&mut self, split: Split) {
        let Split { irq_ns, thread_ns, user_ns } = split;
        for ((lengths, max_ns), ns) in self.0.iter_mut().zip([irq_ns, thread_ns, user_ns]) {
            lengths.add(ns);
            *max_ns = ns.max(*max_ns);
        }
    }

    pub fn finish(self) -> Option<Splits> {
        let [irq, thread, user] = self.0.map(|(lengths, max_ns)| Delay::of(&lengths, max_ns));
        Some(Splits { irq: irq?, thread: thread?, user: user? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, Target, Window, findings,
        testing::{PROBE, Stream, kernel, task},
        wakeups,
    };
    use preemptlab_protocol::trace::stream::SiteKind;

    const WORKER: u64 = 0xa1;
    const SLEEPER: u64 = 0xa2;
    const WINDOW: Window = Window { start_ns: 900_000, end_ns: u64::MAX };

    fn target() -> Target<'static> {
        Target { comm: PROBE, is_realtime: true, first_waits: true }
    }

    /// Returns a trace of wakeups with these parts, 1 ms apart.
    fn trace(parts: &[[u64; 3]]) -> Vec<u8> {
        let mut stream = Stream::new();
        stream.task(&task(WORKER, 70, 70, 120, "worker")).task(&task(SLEEPER, 72, 71, 9, PROBE));
        stream.on(0).probe(1_000, "__switch_to", &[WORKER, SLEEPER]);
        stream.event(2_000, SiteKind::Sysret, "asm_exit", &[]);
        for (due_ns, [irq_ns, thread_ns, user_ns]) in (1..).map(|ms| ms * 1_000_000).zip(parts) {
            let expire_ns = due_ns + irq_ns;
            let switch_ns = expire_ns + thread_ns;
            stream
                .probe(due_ns - 900_000, "entry_SYSCALL_64", &[230])
                .probe(due_ns - 890_000, "__schedule", &[])
                .probe(due_ns - 880_000, "__switch_to", &[SLEEPER, WORKER])
                .event(due_ns - 870_000, SiteKind::Sysret, "asm_exit", &[])
                .probe(due_ns + 1, "asm_sysvec_apic_timer_interrupt", &[0x40_0000, 0x33])
                .probe(expire_ns, "hrtimer_wakeup", &[1, due_ns, SLEEPER, 0, 0, 1, 0, 0])
                .probe(expire_ns, "try_to_wake_up", &[SLEEPER])
                .probe(switch_ns, "__switch_to", &[WORKER, SLEEPER])
                .event(switch_ns + user_ns, SiteKind::Sysret, "asm_exit", &[]);
        }
        stream.finish()
    }

    /// 1,000 wakeups whose parts ascend by 1, 2 and 3 ns.
    #[test]
    fn parts_are_those_of_the_trace_and_add_up() {
        let parts: Vec<[u64; 3]> =
            (0..1_000).map(|n| [100 + n, 2_000 + 2 * n, 10 + 3 * n]).collect();
        let (trace, kernel) = (trace(&parts), kernel());
        let found = wakeups(trace.as_slice(), &kernel, target(), WINDOW).unwrap();
        assert_eq!(found.len(), 1_000);
        for (wakeup, expected) in found.iter().zip(&parts) {
            let Split { irq_ns, thread_ns, user_ns } = wakeup.split();
            assert_eq!([irq_ns, thread_ns, user_ns], *expected);
            assert_eq!(irq_ns + thread_ns + user_ns, wakeup.latency_ns());
        }
        let everywhere = Opportunities::Everywhere;
        let findings = findings(trace.as_slice(), &kernel, target(), everywhere, WINDOW).unwrap();
        let splits = findings.splits.unwrap();
        let of = |p50_ns, p99_ns, p99_9_ns, max_ns| Delay {
            wakeups: 1_000,
            p50_ns,
            p99_ns,
            p99_9_ns,
            max_ns,
        };
        assert_eq!(splits.irq, of(599, 1_089, 1_098, 1_099));
        assert_eq!(splits.thread, of(2_998, 3_978, 3_996, 3_998));
        assert_eq!(splits.user, of(1_507, 2_977, 3_004, 3_007));
        assert_eq!(Splits::of(&found), Some(splits));
        assert!(splits.is_possible());
    }

    #[test]
    fn without_a_wakeup_there_is_no_split() {
        let everywhere = Opportunities::Everywhere;
        let found =
            findings(trace(&[]).as_slice(), &kernel(), target(), everywhere, WINDOW).unwrap();
        assert_eq!((found.splits, Splits::of(&[])), (None, None));
    }

    /// Two CPUs' clocks differ, and a timer's function may run an instant before the due time as it is converted.
    #[test]
    fn parts_add_up_whatever_the_order_of_the_instants() {
        let trace = trace(&[[10, 20, 30]]);
        let wakeup = wakeups(trace.as_slice(), &kernel(), target(), WINDOW).unwrap().remove(0);
        let times = [990, 1_000, 1_010, 1_020];
        // Each of the 256 orders.
        for order in 0..256_usize {
            let [due_ns, expire_ns, switch_ns, user_ns] =
                [0, 2, 4, 6].map(|bit| times[order >> bit & 3]);
            let wakeup = Wakeup { due_ns, expire_ns, switch_ns, user_ns, ..wakeup.clone() };
            let Split { irq_ns, thread_ns, user_ns } = wakeup.split();
            assert_eq!(irq_ns + thread_ns + user_ns, wakeup.latency_ns(), "{wakeup:?}");
        }
    }

    #[test]
    fn parts_of_other_wakeups_are_refused() {
        let one = Delay { wakeups: 1, p50_ns: 1, p99_ns: 1, p99_9_ns: 1, max_ns: 1 };
        let splits = Splits { irq: one, thread: one, user: one };
        assert!(splits.is_possible());
        assert!(!Splits { user: Delay { wakeups: 2, ..one }, ..splits }.is_possible());
        assert!(!Splits { irq: Delay { p50_ns: 2, ..one }, ..splits }.is_possible());
    }
}
