//! Reads the operations of a system call.

use preemptlab_protocol::script::{LockKind, OPERATIONS_MAX, Operation};

use crate::{
    error::Refusal,
    names::{LockClass, Names},
};

use super::{
    fields::{self, Node},
    section::{MaySleep, Section, forbidden},
    verb::{OPERATIONS, Verb, lock_name, taken_twice, too_many},
};

/// The most pages of one operation, as the module has it.
const PAGES_MAX: u64 = 1 << 20;

/// Reads the operations of one system call.
pub(super) struct OperationReader<'n> {
    names: &'n mut Names,
    lines: &'n [&'n str],
    sections: Vec<Section>,
    held: Vec<(LockClass, u8)>,
    operations: Vec<Operation>,
}

impl<'n> OperationReader<'n> {
    pub fn new(names: &'n mut Names, lines: &'n [&'n str]) -> Self {
        Self { names, lines, sections: Vec::new(), held: Vec::new(), operations: Vec::new() }
    }

    /// Reads all operations, with repetitions written out.
    ///
    /// # Errors
    ///
    /// The first operation that is unknown, malformed or forbidden at its place.
    pub fn operations(mut self, node: &Node<'_>) -> Result<Vec<Operation>, Refusal> {
        self.block(node)?;
        Ok(self.operations)
    }

    fn block(&mut self, node: &Node<'_>) -> Result<(), Refusal> {
        let operations = fields::array(node, "a list of operations")?;
        if operations.is_empty() {
            return Err(Refusal::new(
                node.span(),
                "there is no operation",
                "add one, such as { busy = \"1ms\" }",
            ));
        }
        operations.iter().try_for_each(|operation| self.operation(operation))
    }

    fn push(&mut self, node: &Node<'_>, operation: Operation) -> Result<(), Refusal> {
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(Refusal::new(
                node.span(),
                format!("the system call has more than {OPERATIONS_MAX} operations"),
                "what is repeated counts each time, and what is taken is given back",
            ));
        }
        self.operations.push(operation);
        Ok(())
    }

    fn operation(&mut self, node: &Node<'_>) -> Result<(), Refusal> {
        let Some(verb) = Verb::read(node, &OPERATIONS)? else {
            let word = fields::text(node)?;
            // Both call the scheduler if it is due.
            self.allow(node, word, MaySleep::Always)?;
            let is_cond = word == "cond_resched";
            let word = if is_cond { Operation::CondResched } else { Operation::MightResched };
            return self.push(node, word);
        };
        let value = verb.value;
        match verb.name {
            "busy" => {
                let ns = fields::time_above_0(value)?;
                self.push(node, Operation::Busy(ns))
            }
            "sleep" => {
                self.allow(node, verb.name, MaySleep::Always)?;
                let ns = fields::time_above_0(value)?;
                self.push(node, Operation::SleepFor(ns))
            }
            "zero_pages" => {
                let pages = fields::integer_to(value, 1..=PAGES_MAX)?;
                let pages = u32::try_from(pages).unwrap_or(u32::MAX);
                self.push(node, Operation::ZeroPages(pages))
            }
            "wait" => {
                self.allow(node, verb.name, MaySleep::Always)?;
                let line = self.line(value)?;
                self.push(node, Operation::WaitInterrupt(line))
            }
            "repeat" => {
                let block = verb.block()?;
                let times = fields::integer_to(value, 1..=OPERATIONS_MAX as u64)?;
                (0..times).try_for_each(|_| self.block(block))
            }
            "preempt_off" | "irqs_off" | "bh_off" => self.off(node, verb.name, value),
            _ => self.lock(node, &verb),
        }
    }

    /// Refuses an operation that must not happen in the present sections.
    fn allow(&self, node: &Node<'_>, name: &str, may_sleep: MaySleep) -> Result<(), Refusal> {
        match forbidden(&self.sections, name, may_sleep) {
            Some((message, help)) => Err(Refusal::new(node.span(), message, help)),
            None => Ok(()),
        }
    }

    fn line(&self, node: &Node<'_>) -> Result<u8, Refusal> {
        let name = fields::text(node)?;
        let position = self.lines.iter().position(|line| *line == name);
        position.and_then(|line| u8::try_from(line).ok()).ok_or_else(|| {
            let message = format!("there is no interrupt line `{name}`");
            let mut refusal = Refusal::unknown(node.span(), message, name, self.lines);
            if self.lines.is_empty() {
                refusal.help = Some(format!("add a table [interrupt.{name}]"));
            }
            refusal
        })
    }

    fn off(&mut self, node: &Node<'_>, name: &str, block: &Node<'_>) -> Result<(), Refusal> {
        let (section, may_sleep, begin, end) = match name {
            "preempt_off" => (
                Section::PreemptOff,
                MaySleep::Never,
                Operation::PreemptDisable,
                Operation::PreemptEnable,
            ),
            "irqs_off" => {
                (Section::IrqsOff, MaySleep::Never, Operation::IrqsDisable, Operation::IrqsEnable)
            }
            // With PREEMPT_RT it takes a lock of its CPU, on which it may sleep (kernel/softirq.c).
            _ => (Section::BhOff, MaySleep::WithRt, Operation::BhDisable, Operation::BhEnable),
        };
        self.allow(node, name, may_sleep)?;
        if section == Section::IrqsOff && self.sections.contains(&section) {
            return Err(Refusal::new(
                node.span(),
                "interrupts are off here already",
                "the inner block would turn them on at its end; leave it out",
            ));
        }
        self.section(node, section, begin, end, block)
    }

    fn lock(&mut self, node: &Node<'_>, verb: &Verb<'_, '_>) -> Result<(), Refusal> {
        let (kind, section, may_sleep) = match verb.name {
            "spinlock" => (LockKind::Spin, Section::Spinlock, MaySleep::WithRt),
            "raw_spinlock" => (LockKind::RawSpin, Section::RawSpinlock, MaySleep::Never),
            "mutex" => (LockKind::Mutex, Section::Sleepable, MaySleep::Always),
            "rt_mutex" => (LockKind::RtMutex, Section::Sleepable, MaySleep::Always),
            "read_lock" => (LockKind::Read, Section::Rwlock, MaySleep::WithRt),
            _ => (LockKind::Write, Section::Rwlock, MaySleep::WithRt),
        };
        self.allow(node, verb.name, may_sleep)?;
        let class = LockClass::from(kind);
        let name = lock_name(verb.value)?;
        let number = self
            .names
            .lock_number(class, name)
            .ok_or_else(|| too_many(verb.value, "locks of this kind"))?;
        if self.held.contains(&(class, number)) {
            return Err(taken_twice(verb.value, &format!("the {} {name}", class.as_str())));
        }
        let (begin, end) = (Operation::Lock(kind, number), Operation::Unlock(kind, number));
        self.held.push((class, number));
        self.section(node, section, begin, end, verb.block()?)?;
        self.held.pop();
        Ok(())
    }

    fn section(
        &mut self,
        node: &Node<'_>,
        section: Section,
        begin: Operation,
        end: Operation,
        block: &Node<'_>,
    ) -> Result<(), Refusal> {
        self.push(node, begin)?;
        self.sections.push(section);
        self.block(block)?;
        self.sections.pop();
        self.push(node, end)
    }
}
