//! What happens at a block's translation, and at each instruction of interest.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, hash_map::Entry},
    ffi::c_uint,
    rc::Rc,
};

use preemptlab_protocol::trace::{
    Only, Operand, Probe, TraceProgram,
    stream::{COMM_BYTES, CPU, END, FIRST_EVENT, SITE, STACK, SiteKind, TASK},
};

use crate::{
    arch::{Effect, Processor},
    clock::Clock,
    inject::Injector,
    output::Output,
    qemu::{Access, Guest, InstructionCallback, Translation},
};

/// `HARDIRQ_MASK`, `SOFTIRQ_MASK`, `PREEMPT_MASK` and `NMI_MASK` of `preempt_count`: everything but
/// `PREEMPT_NEED_RESCHED` (include/linux/preempt.h).
const COUNT_MASK: u32 = 0x7fff_ffff;

/// The tracer of one machine. Under `-icount` every CPU runs on one thread.
pub struct Tracer {
    processor: &'static dyn Processor,
    /// Shared, so that a probe can be read while the rest of the tracer changes.
    program: Rc<TraceProgram>,
    /// By address, in their order.
    probes: HashMap<u64, Vec<u32>>,
    functions: HashSet<u64>,
    sites: Vec<Site>,
    /// The numbers of sites by their addresses and effects.
    known: HashMap<(u64, Effect), u32>,
    announced: u64,
    places: Vec<Place>,
    guest: Guest,
    output: Output,
    injector: Option<Injector>,
    tasks: BTreeSet<u64>,
    cpu: c_uint,
    cpus: BTreeMap<c_uint, Followed>,
    events: u64,
}

/// Where in a block an event is.
struct Place {
    /// The site; `None` where it is only looked whether an interrupt is to be raised.
    site: Option<u32>,
    /// What the block's instructions from this one on take, in 1/256 counts.
    left: i64,
}

struct Site {
    effect: Effect,
    address: u64,
    /// Its number in the stream, once it is announced there.
    announced: Option<u64>,
}

/// What the plugin follows of a CPU: its clock, and when a section ends.
#[derive(Default)]
struct Followed {
    /// The time of its last event.
    last_ns: u64,
    sections: Sections,
}

#[derive(Default)]
struct Sections {
    preempt_count: u32,
    preempt_off_since_ns: Option<u64>,
    irqs_off_since_ns: Option<u64>,
}

impl Tracer {
    /// A tracer that also finds what it takes to raise an interrupt, if one is to be raised.
    ///
    /// # Errors
    ///
    /// When this QEMU does not offer that.
    pub fn new(
        processor: &'static dyn Processor,
        mut program: TraceProgram,
        guest: Guest,
        output: Output,
    ) -> Result<Self, String> {
        let injects = std::mem::take(&mut program.inject);
        let injector =
            (!injects.is_empty()).then(|| Injector::new(processor, injects)).transpose()?;
        let mut probes: HashMap<u64, Vec<u32>> = HashMap::new();
        for (probe, number) in program.probes.iter().zip(0..) {
            probes.entry(probe.address).or_default().push(number);
        }
        let functions = program.zoom.as_ref().map(|zoom| zoom.functions.iter().copied().collect());
        Ok(Self {
            processor,
            probes,
            functions: functions.unwrap_or_default(),
            program: Rc::new(program),
            sites: Vec::new(),
            known: HashMap::new(),
            announced: 0,
            places: Vec::new(),
            guest,
            output,
            injector,
            tasks: BTreeSet::new(),
            cpu: 0,
            cpus: BTreeMap::new(),
            events: 0,
        })
    }

    /// Asks for a callback before each instruction of a block at which there is something to record.
    /// `left` is what the block's instructions take from each one to the end, in 1/256 counts.
    pub fn translate(&mut self, block: &Translation, left: &[u64], callback: InstructionCallback) {
        if block.address() < self.processor.kernel_start() {
            return;
        }
        // There may be no event for long, and the interrupt is to come with the first block that begins when it is due.
        if let (Some(_), [left, ..]) = (&self.injector, left) {
            block.on_execution(0, callback, Access::Read, self.places.len() as u64);
            self.places.push(Place { site: None, left: left.cast_signed() });
        }
        for (index, left) in left.iter().enumerate() {
            let mut bytes = [0; 15];
            let (address, count) = block.instruction(index, &mut bytes);
            let bytes = &bytes[..count];
            let probe = self.probes.get(&address).and_then(|probes| probes.first());
            let probe = probe.map(|probe| SiteKind::Probe(*probe).into());
            let effect = self.processor.effect(address, bytes, self.program.preempt_count);
            let call = self.functions.contains(&address).then_some(SiteKind::Enter.into());
            let is_return = self.records_returns(address) && self.processor.is_return(bytes);
            let is_return = is_return.then_some(SiteKind::Return.into());
            for effect in [call, probe, effect, is_return].into_iter().flatten() {
                let site = Some(self.site(address, effect));
                let place = Place { site, left: left.cast_signed() };
                let access = if self.reads_registers(effect) { Access::Read } else { Access::None };
                block.on_execution(index, callback, access, self.places.len() as u64);
                self.places.push(place);
            }
        }
    }

    fn records_returns(&self, address: u64) -> bool {
        let mut returns = self.program.returns.iter();
        !self.functions.is_empty() || returns.any(|(start, end)| (*start..*end).contains(&address))
    }

    fn site(&mut self, address: u64, effect: Effect) -> u32 {
        let number = self.sites.len() as u32;
        match self.known.entry((address, effect)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                unknown.insert(number);
                self.sites.push(Site { effect, address, announced: None });
                number
            }
        }
    }

    fn reads_registers(&self, effect: Effect) -> bool {
        if effect.address.is_some() {
            return true;
        }
        match effect.kind {
            SiteKind::Probe(number) => {
                let Probe { operands, tasks, changes, stack, only, .. } =
                    &self.program.probes[number as usize];
                !operands.is_empty()
                    || !tasks.is_empty()
                    || changes.is_some()
                    || *stack
                    || only.is_some()
            }
            SiteKind::Halt
            | SiteKind::Sysret
            | SiteKind::NeedReschedSet
            | SiteKind::NeedReschedClear => false,
            // A section may end here, and then its stack is recorded.
            _ => true,
        }
    }

    /// Records an event of a CPU that owes this balance, in 1/256 counts.
    ///
    /// # Safety
    ///
    /// To be called from the callback that [`Tracer::translate`] asked for, with its data.
    pub unsafe fn record(&mut self, place: usize, clock: &mut Clock, balance: i64) {
        let Some(&Place { site, left }) = self.places.get(place) else { return };
        if site.is_none() && self.injector.is_none() {
            return;
        }
        // SAFETY: as the caller promises.
        let (now_ns, cpu) = unsafe { (clock.now_ns(left - balance), clock.cpu()) };
        let Some(number) = site.map(|site| site as usize) else {
            if let Some(injector) = &mut self.injector {
                // SAFETY: this is the callback of an instruction on this CPU.
                unsafe { injector.raise_due(clock, &self.guest, cpu, now_ns) };
            }
            // With nothing left to raise, no block has to be looked at.
            self.injector.take_if(|injector| injector.is_over());
            return;
        };
        if let Some(zoom) = &self.program.zoom
            && !(zoom.start_ns..=zoom.end_ns).contains(&now_ns)
        {
            return;
        }
        let Some(&Site { effect, address, .. }) = self.sites.get(number) else {
            return;
        };
        if let Some((base, displacement)) = effect.address
            && self.guest.register(base).wrapping_add(displacement)
                != self.processor.count_address(&self.guest, self.program.preempt_count)
        {
            return;
        }
        let Some((number, effect)) = self.meant(number, address, effect) else { return };
        let kind = effect.kind;
        let announced = self.sites[number].announced;
        let announced = announced.unwrap_or_else(|| self.announce(number, kind, address));
        self.on(cpu);
        // A block that a fault has left early keeps what its rest was to cost, which is less than the counts
        // that QEMU has taken back: due time may be some nanoseconds less than before.
        let now_ns = now_ns.max(self.followed().last_ns);
        self.tell(FIRST_EVENT + announced, now_ns, effect);
        self.output.flush_if_full();
    }

    /// The site and effect of the first probe at an address whose condition holds; other effects have none.
    fn meant(&mut self, site: usize, address: u64, effect: Effect) -> Option<(usize, Effect)> {
        let SiteKind::Probe(first) = effect.kind else { return Some((site, effect)) };
        let holds = |only: &Option<Only>| {
            only.as_ref().is_none_or(|only| only.holds(self.guest.register(only.register)))
        };
        let probes = self.probes.get(&address)?;
        let of = |number: &&u32| holds(&self.program.probes[**number as usize].only);
        match *probes.iter().find(of)? {
            number if number == first => Some((site, effect)),
            number => {
                let effect = SiteKind::Probe(number).into();
                Some((self.site(address, effect) as usize, effect))
            }
        }
    }

    /// Records that time was stolen from a CPU, from one time until another.
    pub fn lost(&mut self, cpu: c_uint, from_ns: u64, until_ns: u64) {
        if let Some(zoom) = &self.program.zoom
            && !(zoom.start_ns..=zoom.end_ns).contains(&until_ns)
        {
            return;
        }
        let number = self.site(0, SiteKind::Stolen.into()) as usize;
        let announced = self.sites[number].announced;
        let announced = announced.unwrap_or_else(|| self.announce(number, SiteKind::Stolen, 0));
        self.on(cpu);
        let until_ns = until_ns.max(self.followed().last_ns);
        self.event(FIRST_EVENT + announced, until_ns);
        self.output.number(until_ns.saturating_sub(from_ns));
        self.output.flush_if_full();
    }

    /// Names the CPU of what follows.
    fn on(&mut self, cpu: c_uint) {
        if cpu != self.cpu {
            self.cpu = cpu;
            self.output.number(CPU);
            self.output.number(cpu.into());
        }
    }

    /// Writes an event with what it takes to follow it.
    fn tell(&mut self, tag: u64, now_ns: u64, effect: Effect) {
        let kind = effect.kind;
        match kind {
            SiteKind::Probe(probe) => self.probe(tag, now_ns, probe as usize),
            SiteKind::PreemptAddValue | SiteKind::PreemptSubValue | SiteKind::PreemptSetValue => {
                let value =
                    effect.amount.map_or(0, |register| self.guest.register(register)) as u32;
                self.event(tag, now_ns);
                self.output.number(value.into());
                let by = match kind {
                    SiteKind::PreemptAddValue => value,
                    SiteKind::PreemptSubValue => value.wrapping_neg(),
                    _ => value.wrapping_sub(self.sections().preempt_count),
                };
                self.count_preemption(now_ns, by);
            }
            SiteKind::PreemptAdd(number) => {
                self.event(tag, now_ns);
                self.count_preemption(now_ns, number.cast_unsigned());
            }
            SiteKind::IrqsOff => {
                self.event(tag, now_ns);
                self.sections().irqs_off_since_ns.get_or_insert(now_ns);
            }
            SiteKind::IrqsOn => {
                self.event(tag, now_ns);
                self.irqs_on(now_ns);
            }
            SiteKind::FlagsRestore => {
                let is_on = self.processor.restores_irqs(&self.guest, effect);
                self.event(tag, now_ns);
                self.output.number(is_on.into());
                if is_on {
                    self.irqs_on(now_ns);
                } else {
                    self.sections().irqs_off_since_ns.get_or_insert(now_ns);
                }
            }
            SiteKind::ExceptionReturn => {
                let is_user = self.processor.returns_to_user(&self.guest);
                self.event(tag, now_ns);
                self.output.number(is_user.into());
                if is_user {
                    self.returned_to_user();
                } else {
                    self.sections().irqs_off_since_ns = None;
                }
            }
            SiteKind::Sysret => {
                self.event(tag, now_ns);
                self.returned_to_user();
            }
            SiteKind::Enter | SiteKind::Return => {
                let stack = self.guest.register(self.processor.stack_pointer());
                self.event(tag, now_ns);
                self.output.number(stack);
            }
            SiteKind::Halt => {
                self.event(tag, now_ns);
                // arm64 halts with interrupts off, and one that comes ends that all the same.
                self.sections().irqs_off_since_ns = None;
            }
            _ => self.event(tag, now_ns),
        }
    }

    fn announce(&mut self, number: usize, kind: SiteKind, address: u64) -> u64 {
        let announced = self.announced;
        self.announced += 1;
        self.sites[number].announced = Some(announced);
        self.output.site(kind, address, SITE);
        announced
    }

    fn event(&mut self, tag: u64, now_ns: u64) {
        let last_ns = std::mem::replace(&mut self.followed().last_ns, now_ns);
        self.output.number(tag);
        self.output.number(now_ns.wrapping_sub(last_ns));
        self.events += 1;
    }

    fn probe(&mut self, tag: u64, now_ns: u64, number: usize) {
        let program = Rc::clone(&self.program);
        let Probe { operands, tasks, changes, stack, .. } = &program.probes[number];
        for register in tasks {
            self.describe(self.guest.register(*register));
        }
        if let Some(register) = changes {
            self.tasks.remove(&self.guest.register(*register));
        }
        self.event(tag, now_ns);
        for operand in operands {
            let value = match *operand {
                Operand::Register(register) => self.guest.register(register),
                Operand::Memory { base, offset, bytes } => {
                    let base = base.map_or(0, |register| self.guest.register(register));
                    self.guest.memory(base.wrapping_add(offset), bytes.into()).unwrap_or(0)
                }
            };
            self.output.number(value);
        }
        if *stack {
            self.stack();
        }
    }

    /// Describes a task if that has not been done since it changed.
    fn describe(&mut self, task: u64) {
        if !self.tasks.insert(task) {
            return;
        }
        let layout = self.program.task;
        let field = |offset| self.guest.memory(task.wrapping_add(offset), 4).unwrap_or(0);
        let fields = [task, field(layout.pid), field(layout.tgid), field(layout.prio)];
        self.output.number(TASK);
        fields.into_iter().for_each(|field| self.output.number(field));
        let mut comm = [0; COMM_BYTES];
        if let Some(bytes) = self.guest.bytes(task.wrapping_add(layout.comm), COMM_BYTES) {
            comm.copy_from_slice(bytes);
        }
        self.output.bytes(&comm);
    }

    fn followed(&mut self) -> &mut Followed {
        self.cpus.entry(self.cpu).or_default()
    }

    fn sections(&mut self) -> &mut Sections {
        &mut self.followed().sections
    }

    fn count_preemption(&mut self, now_ns: u64, by: u32) {
        let sections = self.sections();
        sections.preempt_count = sections.preempt_count.wrapping_add(by);
        if sections.preempt_count & COUNT_MASK != 0 {
            sections.preempt_off_since_ns.get_or_insert(now_ns);
        } else if let Some(since_ns) = sections.preempt_off_since_ns.take() {
            self.section_ended(since_ns, now_ns);
        }
    }

    /// Nothing is off in user space, whatever was counted before the first return to it.
    fn returned_to_user(&mut self) {
        *self.sections() = Sections::default();
    }

    fn irqs_on(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.sections().irqs_off_since_ns.take() {
            self.section_ended(since_ns, now_ns);
        }
    }

    /// Records who has ended a long section: the function that holds a lock is the caller of the
    /// one that releases it.
    fn section_ended(&mut self, since_ns: u64, now_ns: u64) {
        if self.program.zoom.is_some()
            || now_ns.saturating_sub(since_ns) < self.program.stack_ns_min
        {
            return;
        }
        self.stack();
    }

    /// Records where the functions at work return to; nothing where the stack is not mapped.
    fn stack(&mut self) {
        let Some(words) = self.processor.stack(&self.guest) else { return };
        self.output.number(STACK);
        self.output.number(words.len() as u64);
        words.into_iter().for_each(|word| self.output.number(word));
    }

    /// Ends the stream.
    pub fn finish(&mut self) {
        self.output.number(END);
        self.output.number(0);
        self.output.number(self.events);
        self.output.flush();
    }
}
