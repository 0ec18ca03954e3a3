//! Reads the steps of a thread in user space.

use preemptlab_protocol::script::{STEPS_MAX, Step};

use crate::{error::Refusal, names::Names};

use super::{
    fields::{self, Node},
    operation::OperationReader,
    verb::{STEPS, Verb, lock_name, taken_twice, too_many},
};

/// Reads the steps of one thread.
pub(super) struct StepReader<'n> {
    names: &'n mut Names,
    lines: &'n [&'n str],
    end_ns: u64,
    /// The futexes that are held where the reader is.
    held: Vec<u8>,
    steps: Vec<Step>,
}

impl<'n> StepReader<'n> {
    pub fn new(names: &'n mut Names, lines: &'n [&'n str], end_ns: u64) -> Self {
        Self { names, lines, end_ns, held: Vec::new(), steps: Vec::new() }
    }

    /// Reads all steps of the thread, with repetitions written out.
    ///
    /// # Errors
    ///
    /// The first step that is unknown or malformed.
    pub fn steps(&mut self, node: &Node<'_>) -> Result<Vec<Step>, Refusal> {
        self.block(node)?;
        Ok(std::mem::take(&mut self.steps))
    }

    fn block(&mut self, node: &Node<'_>) -> Result<(), Refusal> {
        let steps = fields::array(node, "a list of steps")?;
        if steps.is_empty() {
            return Err(Refusal::new(
                node.span(),
                "there is no step",
                "add one, such as \"yield\"",
            ));
        }
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn push(&mut self, node: &Node<'_>, step: Step) -> Result<(), Refusal> {
        if self.steps.len() >= STEPS_MAX {
            return Err(Refusal::new(
                node.span(),
                format!("the thread has more than {STEPS_MAX} steps"),
                "what is repeated counts each time, and a futex is taken and given back",
            ));
        }
        self.steps.push(step);
        Ok(())
    }

    fn step(&mut self, node: &Node<'_>) -> Result<(), Refusal> {
        let Some(verb) = Verb::read(node, &STEPS)? else {
            return self.push(node, Step::Yield);
        };
        let value = verb.value;
        let step = match verb.name {
            "sleep_until" => {
                let ns = fields::time(value)?;
                if ns >= self.end_ns {
                    return Err(Refusal::new(
                        value.span(),
                        "the thread would sleep until the scenario has ended",
                        "give the scenario a later `end`",
                    ));
                }
                Step::SleepUntil(ns)
            }
            "sleep" => Step::SleepFor(fields::time_above_0(value)?),
            "busy" => Step::Busy(fields::time_above_0(value)?),
            "call" => Step::Call(OperationReader::new(self.names, self.lines).operations(value)?),
            "futex" => return self.futex(node, value, verb.block()?),
            _ => {
                let block = verb.block()?;
                let times = fields::integer_to(value, 1..=STEPS_MAX as u64)?;
                return (0..times).try_for_each(|_| self.block(block));
            }
        };
        self.push(node, step)
    }

    fn futex(&mut self, node: &Node<'_>, name: &Node<'_>, block: &Node<'_>) -> Result<(), Refusal> {
        let text = lock_name(name)?;
        let number = self.names.futex_number(text).ok_or_else(|| too_many(name, "futexes"))?;
        if self.held.contains(&number) {
            return Err(taken_twice(name, &format!("the futex {text}")));
        }
        self.push(node, Step::FutexLock(number))?;
        self.held.push(number);
        self.block(block)?;
        self.held.pop();
        self.push(node, Step::FutexUnlock(number))
    }
}
