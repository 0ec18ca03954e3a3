//! The turns of tasks on the CPU.

use std::collections::{BTreeSet, HashMap};

use preemptlab_analysis::wakeup::{Piece, causes, context, longest_first, name, task};
use preemptlab_trace::Cause;

/// Neighbouring pieces of one task.
#[derive(Debug)]
pub struct Turn<'a> {
    /// Pieces of the turn; at least one.
    pub pieces: &'a [Piece<'a>],
}

impl Turn<'_> {
    /// Returns its start, in nanoseconds from the due time.
    pub fn start_ns(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.start_ns)
    }

    /// Returns its end, in nanoseconds from the due time.
    pub fn end_ns(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end_ns)
    }

    /// Returns its length.
    pub fn len_ns(&self) -> u64 {
        self.end_ns() - self.start_ns()
    }

    /// Returns the task; nothing where it is not known.
    pub fn task(&self) -> Option<String> {
        self.pieces.first()?.segment.map(task)
    }

    /// Returns the longest context of the kernel, and its length.
    pub fn context(&self) -> Option<(String, u64)> {
        let segments = self.pieces.iter().filter_map(|piece| Some((piece.segment?, piece)));
        let contexts = segments.map(|(segment, piece)| (context(segment), piece.len_ns()));
        longest_first(contexts).into_iter().next()
    }

    /// Returns the longest cause, and its length.
    pub fn cause(&self) -> (Option<Cause>, u64) {
        causes(self.pieces).into_iter().next().unwrap_or_default()
    }
}

/// Turns of one program, mostly with the same cause in the same call.
#[derive(Debug)]
pub struct Turns<'a> {
    /// The longest of them.
    pub longest: Turn<'a>,
    /// Length of the shortest, in nanoseconds.
    pub min_ns: u64,
    /// Number of turns.
    pub count: u64,
    /// Total length of the turns, in nanoseconds.
    pub sum_ns: u64,
    /// Time of their main cause in them.
    pub cause_ns: u64,
    tasks: BTreeSet<u32>,
}

impl Turns<'_> {
    /// Returns the task, or the program and how many tasks of it.
    pub fn who(&self) -> String {
        let segment = self.longest.pieces.first().and_then(|piece| piece.segment);
        match (segment, self.tasks.len()) {
            (Some(segment), 2..) => {
                format!("{}, {} tasks", name(&segment.comm), self.tasks.len())
            }
            (Some(segment), _) => task(segment),
            (None, _) => String::new(),
        }
    }
}

/// Puts turns together that are alike: the longest sum first.
pub fn alike<'a>(pieces: &'a [Piece<'a>]) -> Vec<Turns<'a>> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut all: Vec<Turns<'a>> = Vec::new();
    for turn in turns(pieces) {
        let segment = turn.pieces.first().and_then(|piece| piece.segment);
        let comm = segment.map(|segment| segment.comm.as_str());
        let (cause, cause_ns) = turn.cause();
        let context = turn.context().map(|(context, _)| context);
        let place = *places.entry((comm, cause, context)).or_insert(all.len());
        let ns = turn.len_ns();
        if place == all.len() {
            let tasks = segment.map(|segment| segment.pid).into_iter().collect();
            let (count, sum_ns) = (1, ns);
            all.push(Turns { longest: turn, min_ns: ns, count, sum_ns, cause_ns, tasks });
            continue;
        }
        let known = &mut all[place];
        known.count += 1;
        known.sum_ns += ns;
        known.cause_ns += cause_ns;
        known.min_ns = known.min_ns.min(ns);
        known.tasks.extend(segment.map(|segment| segment.pid));
        if ns > known.longest.len_ns() {
            known.longest = turn;
        }
    }
    all.sort_by_key(|turns| std::cmp::Reverse(turns.sum_ns));
    all
}

/// Returns the turns of pieces, in order.
pub fn turns<'a>(pieces: &'a [Piece<'a>]) -> impl Iterator<Item = Turn<'a>> {
    let task = |piece: &Piece<'a>| piece.segment.map(|segment| (segment.pid, &segment.comm));
    pieces.chunk_by(move |left, right| task(left) == task(right)).map(|pieces| Turn { pieces })
}
