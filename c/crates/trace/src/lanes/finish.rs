//! Turns the followed threads and CPUs into lanes.

use super::{
    bounded::Piece,
    follower::Follower,
    lane::{CpuLane, LANES_FORMAT, LaneState, Lanes, LeftOut, Stretch, ThreadLane},
    state::{Key, Thread, What, Work},
};

impl Follower<'_> {
    /// Returns the lanes until some instant.
    pub fn into_lanes(mut self, until_ns: u64) -> Lanes {
        let (start_ns, end_ns) = (self.start_ns, until_ns.max(self.start_ns));
        let numbers: Vec<u32> = self.cpus.keys().copied().collect();
        for number in numbers {
            self.sections(number, end_ns, false);
        }
        let keys: Vec<Key> = self.threads.keys().copied().collect();
        for key in keys {
            let Some(doing) = self.threads.get(&key).and_then(|thread| thread.doing) else {
                continue;
            };
            if doing.state.is_on_cpu() || doing.state == LaneState::Runnable {
                self.show(key);
            }
            if let Some(thread) = self.threads.get_mut(&key).filter(|it| it.is_shown) {
                thread.pieces.push(doing.until(start_ns, end_ns));
            }
        }
        let mut cpus = Vec::new();
        for (number, mut cpu) in std::mem::take(&mut self.cpus) {
            if let Some(doing) = cpu.doing {
                cpu.pieces.push(doing.until(start_ns, end_ns));
            }
            let (pieces, stretches_left_out) = cpu.pieces.finish();
            if !cpu.is_shown {
                continue;
            }
            cpus.push(CpuLane {
                cpu: number,
                stretches: pieces.into_iter().map(|piece| self.stretch(piece)).collect(),
                stretches_left_out,
                switches_between_threads: cpu.between_threads,
                switches_with_idle: cpu.with_idle,
                schedules: cpu.schedules,
            });
        }
        let threads = std::mem::take(&mut self.threads);
        let shown = threads.into_iter().filter(|(_, thread)| thread.is_shown);
        let threads = shown.map(|(key, thread)| self.thread_lane(key, thread)).collect();
        let threads_left_out = self.threads_left_out;
        Lanes { format: LANES_FORMAT, start_ns, end_ns, threads, cpus, threads_left_out }
    }

    fn stretch(&self, piece: Work) -> Stretch {
        let what = match piece.what {
            What::Nothing => None,
            What::Syscall(number) => Some(self.kernel.arch().syscall_name(number)),
            What::Name(place) => self.names.get(place).cloned(),
            What::Woken => Some("woken".to_owned()),
            What::Preempted => Some("preempted".to_owned()),
            What::Yielded => Some("yielded".to_owned()),
        };
        let Piece { start_ns, end_ns, state, cpu, .. } = piece;
        Stretch { start_ns, end_ns, state, cpu, what }
    }

    fn thread_lane(&self, key: Key, thread: Thread) -> ThreadLane {
        let (pieces, stretches) = thread.pieces.finish();
        let (list, sections) = thread.sections.finish();
        let (instants, instants_left_out) = thread.instants.finish();
        ThreadLane {
            pid: key.0,
            comm: thread.comm,
            prio: thread.prio,
            stretches: pieces.into_iter().map(|piece| self.stretch(piece)).collect(),
            sections: list,
            instants,
            switches_voluntary: thread.voluntary,
            switches_involuntary: thread.involuntary,
            left_out: LeftOut { stretches, sections, instants: instants_left_out },
        }
    }
}
