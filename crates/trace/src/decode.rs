//! The plugin's stream as a sequence of items, in bounded memory.

use std::io::{self, Read};

use preemptlab_protocol::{
    FORMAT,
    trace::{
        TraceProgram,
        stream::{
            CLOCK_PER_CPU, COMM_BYTES, CPU, END, FIRST_EVENT, MAGIC, SITE, STACK, SiteKind, TASK,
        },
    },
};

const BUFFER_BYTES: usize = 1 << 20;

/// Format of a trace in which each CPU has a clock.
const CLOCKS_FORMAT: u32 = FORMAT | CLOCK_PER_CPU;

/// By how much the clock of a CPU may be behind that of another one that executed before, in nanoseconds:
/// more than the lookahead of any machine.
pub(crate) const BEHIND_NS_MAX: u64 = 10_000;

/// Longest record, in bytes: a stack of [`STACK_WORDS_MAX`] words of 10 bytes.
const RECORD_BYTES_MAX: usize = 2 << 10;

/// The most words that a stack in a stream may have.
pub const STACK_WORDS_MAX: u64 = 128;

/// The most values that an event may carry.
pub const VALUES_MAX: usize = 16;

/// A kernel has some 20,000 sites; a stream with more is not a trace of one.
const SITES_MAX: usize = 1 << 18;

/// Largest number of CPUs of a kernel (`NR_CPUS_RANGE_END`, arch/x86/Kconfig).
const CPUS_MAX: u64 = 8192;

/// Latest time, in nanoseconds: QEMU's virtual clock is a signed number, and sums and differences
/// of two times stay in range.
const NS_MAX: u64 = i64::MAX as u64;

/// Reason why bytes are not a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The bytes cannot be read.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The bytes are something else.
    #[error("this is not a trace")]
    Magic,
    /// A trace of another format.
    #[error("the trace has format {0}, and this preemptlab reads {FORMAT}")]
    Format(u32),
    /// The bytes end before the trace does.
    #[error("the trace is cut off after {0} events")]
    Truncated(u64),
    /// A record that cannot be.
    #[error("the trace is corrupted after {events} events: {reason}")]
    Corrupted {
        /// Number of events before the error.
        events: u64,
        /// Cause, in words.
        reason: &'static str,
    },
    /// The trace has more of something than is kept in memory at once.
    #[error("the trace has more than {max} {what}, and no more are read: record a shorter window")]
    TooMany {
        /// Largest number that is read.
        max: usize,
        /// The things, in the plural.
        what: &'static str,
    },
    /// The trace was made with a program that has other probes.
    #[error("the trace belongs to another program of probes")]
    Program,
    /// Nothing changes `preempt_count`, which every interrupt does: the kernel keeps it in a way that is not known.
    #[error(
        "no change of preempt_count was seen in {events} events, so that sections with preemption off and softirqs \
         would be missed: this preemptlab does not know how this kernel keeps it"
    )]
    NoCount {
        /// Number of events.
        events: u64,
    },
}

/// An instruction at which events happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Kind of the events at the site.
    pub kind: SiteKind,
    /// Address of the instruction.
    pub address: u64,
    values: u8,
}

/// Event before an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Virtual time of the CPU, in nanoseconds. An event of another CPU that was executed before may be
    /// later by the machine's lookahead.
    pub ns: u64,
    /// Index of the CPU.
    pub cpu: u32,
    /// Place and kind of the event.
    pub site: Site,
    values: [u64; VALUES_MAX],
}

impl Event {
    /// Returns the event's values, as many as its kind has.
    pub fn values(&self) -> &[u64] {
        &self.values[..self.site.values.into()]
    }

    /// Returns the time that was stolen from the CPU until the event, in nanoseconds; `None` where it is another kind of
    /// event.
    pub(crate) fn stolen_ns(&self) -> Option<u64> {
        (self.site.kind == SiteKind::Stolen).then_some(self.values[0])
    }
}

/// A task as it was when it was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The address of its `task_struct`.
    pub address: u64,
    /// Number of the thread.
    pub pid: u32,
    /// Number of the process.
    pub tgid: u32,
    /// The kernel's priority: below 100 real-time, the lower the more urgent.
    pub prio: i32,
    /// Name of the thread.
    pub comm: String,
}

/// Item of a trace.
#[derive(Debug)]
pub enum Item<'a> {
    /// An event.
    Event(Event),
    /// A task that the following events name, or that has changed.
    Task(Task),
    /// The top of the stack at the last event.
    Stack(&'a [u64]),
}

/// Reader of a trace.
pub struct Decoder<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    sites: Vec<Site>,
    /// Address of each probe of the program, and the number of values of its events.
    probes: Vec<(u64, u8)>,
    stack: Vec<u64>,
    cpu: u32,
    /// Whether each CPU has a clock.
    has_clocks: bool,
    /// The times of the last events of the CPUs, by number; only the first where they share a clock.
    clocks_ns: Vec<u64>,
    events: u64,
}

impl<R: Read> Decoder<R> {
    /// Returns the sites that the trace has named so far.
    pub(crate) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Opens a trace that was made with this program.
    ///
    /// # Errors
    ///
    /// When it is not a trace, or of another format.
    pub fn new(source: R, program: &TraceProgram) -> Result<Self, TraceError> {
        let count = |operands: usize| u8::try_from(operands).map_err(|_| TraceError::Program);
        let probes = program.probes.iter();
        let probes = probes.map(|probe| Ok((probe.address, count(probe.operands.len())?)));
        let probes: Vec<(u64, u8)> = probes.collect::<Result<_, TraceError>>()?;
        if probes.iter().any(|(_, count)| usize::from(*count) > VALUES_MAX) {
            return Err(TraceError::Program);
        }
        let mut decoder = Self {
            source,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            is_at_end: false,
            sites: Vec::new(),
            probes,
            stack: Vec::new(),
            cpu: 0,
            has_clocks: false,
            clocks_ns: vec![0],
            events: 0,
        };
        decoder.fill()?;
        let header = decoder.take(MAGIC.len() + 4).map_err(|_| TraceError::Magic)?;
        let (magic, format) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(TraceError::Magic);
        }
        match u32::from_le_bytes([format[0], format[1], format[2], format[3]]) {
            FORMAT => Ok(decoder),
            CLOCKS_FORMAT => Ok(Self { has_clocks: true, ..decoder }),
            other => Err(TraceError::Format(other)),
        }
    }

    /// Reads the next item; `None` at the end of a whole trace.
    ///
    /// # Errors
    ///
    /// [`TraceError`]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, TraceError> {
        loop {
            if self.end - self.start < RECORD_BYTES_MAX && !self.is_at_end {
                self.fill()?;
            }
            match self.number()? {
                END => {
                    self.number()?;
                    let events = self.number()?;
                    if events != self.events {
                        return Err(self.corrupted("events are missing"));
                    }
                    // The source may tell only at its own end that it was damaged.
                    self.fill()?;
                    if self.start != self.end {
                        return Err(self.corrupted("something follows its end"));
                    }
                    return Ok(None);
                }
                SITE => self.site()?,
                TASK => return self.task().map(|task| Some(Item::Task(task))),
                CPU => {
                    self.cpu = match self.number()? {
                        cpu if cpu < CPUS_MAX => cpu as u32,
                        _ => return Err(self.corrupted("a CPU that cannot be")),
                    };
                }
                STACK => {
                    let count = self.number()?;
                    if count > STACK_WORDS_MAX {
                        return Err(self.corrupted("a stack that is too long"));
                    }
                    self.stack.clear();
                    for _ in 0..count {
                        let word = self.number()?;
                        self.stack.push(word);
                    }
                    return Ok(Some(Item::Stack(&self.stack)));
                }
                tag => return self.event(tag - FIRST_EVENT).map(|event| Some(Item::Event(event))),
            }
        }
    }

    fn event(&mut self, site: u64) -> Result<Event, TraceError> {
        let site = usize::try_from(site).ok().and_then(|site| self.sites.get(site).copied());
        let site = site.ok_or_else(|| self.corrupted("a site that was not announced"))?;
        let delta_ns = self.number()?;
        let clock = if self.has_clocks { self.cpu as usize } else { 0 };
        if clock >= self.clocks_ns.len() {
            self.clocks_ns.resize(clock + 1, 0);
        }
        let ns = self.clocks_ns[clock].checked_add(delta_ns).filter(|ns| *ns <= NS_MAX);
        let ns = ns.ok_or_else(|| self.corrupted("a time that cannot be"))?;
        self.clocks_ns[clock] = ns;
        let mut values = [0; VALUES_MAX];
        for value in &mut values[..site.values.into()] {
            *value = self.number()?;
        }
        self.events += 1;
        Ok(Event { ns, cpu: self.cpu, site, values })
    }

    fn site(&mut self) -> Result<(), TraceError> {
        let (kind, address, field) = (self.number()?, self.number()?, self.number()?);
        let kind = SiteKind::decode(kind, field)
            .ok_or_else(|| self.corrupted("a site of an unknown kind"))?;
        if let SiteKind::Probe(number) = kind
            && self.probes.get(number as usize).is_none_or(|probe| probe.0 != address)
        {
            return Err(TraceError::Program);
        }
        if self.sites.len() >= SITES_MAX {
            return Err(self.corrupted("too many sites"));
        }
        let values = kind.values(|number| self.probes[number as usize].1.into()) as u8;
        self.sites.push(Site { kind, address, values });
        Ok(())
    }

    fn task(&mut self) -> Result<Task, TraceError> {
        let [address, pid, tgid, prio] =
            [self.number()?, self.number()?, self.number()?, self.number()?];
        let comm = self.take(COMM_BYTES)?;
        let length = comm.iter().position(|byte| *byte == 0).unwrap_or(COMM_BYTES);
        let comm = String::from_utf8_lossy(&comm[..length]);
        let comm = comm.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Ok(Task { address, pid: pid as u32, tgid: tgid as u32, prio: prio as u32 as i32, comm })
    }

    #[inline]
    fn number(&mut self) -> Result<u64, TraceError> {
        let mut number = 0;
        for (index, byte) in self.buffer[self.start..self.end].iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.start += index + 1;
                return Ok(number);
            }
        }
        if self.end - self.start < 10 {
            Err(TraceError::Truncated(self.events))
        } else {
            Err(self.corrupted("a number that is too long"))
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], TraceError> {
        if self.end - self.start < count {
            return Err(TraceError::Truncated(self.events));
        }
        self.start += count;
        Ok(&self.buffer[self.start - count..self.start])
    }

    /// Reads on until the buffer is full or the source is at its end.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn corrupted(&self, reason: &'static str) -> TraceError {
        TraceError::Corrupted { events: self.events, reason }
    }
}
