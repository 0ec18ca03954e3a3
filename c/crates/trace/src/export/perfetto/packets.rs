//! The packets that a trace for Perfetto consists of.

use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
};

use prost::Message;

use crate::{
    export::proto::{self, FtraceEvent, TracePacket, TrackDescriptor, TrackEvent},
    kernel::Kernel,
    observe::record::Section,
};

const BUFFER_BYTES: usize = 1 << 18;

/// The sequence of packets that names are interned for.
const SEQUENCE: u32 = 1;

/// `Trace.packet`: field 1, of which the length follows.
const PACKET_KEY: u8 = 1 << 3 | 2;

const SESSION: &str = "preemptlab: times are nanoseconds of QEMU's virtual clock";

/// Tracks of a CPU: the name and the description.
const LANES: [(&str, &str); 5] = [
    ("interrupts off", "By the function that has switched them off, or whose caller has."),
    ("preemption off", "By the function that has switched it off, or whose caller has."),
    ("hard interrupt", "From irq_enter to irq_exit, by the entry's name."),
    ("softirq", "By function."),
    (
        "reschedule pending",
        "The current task is to give way; at the marks the scheduler has asked some task to.",
    ),
];

/// A track of a CPU.
#[derive(Clone, Copy)]
pub enum Lane {
    IrqsOff = 1,
    PreemptOff,
    Hardirq,
    Softirq,
    NeedResched,
}

impl Lane {
    pub fn of(section: Section) -> Self {
        match section {
            Section::IrqsOff => Self::IrqsOff,
            Section::PreemptOff => Self::PreemptOff,
            Section::NeedResched => Self::NeedResched,
        }
    }

    /// Returns the number of the track; the group of a CPU has the number of lane 0.
    pub fn track(self, cpu: u32) -> u64 {
        group(cpu) | self as u64
    }
}

fn group(cpu: u32) -> u64 {
    (u64::from(cpu) + 1) << 4
}

/// Writer of packets.
pub struct Packets<'a, W: Write> {
    kernel: &'a Kernel,
    out: BufWriter<W>,
    buffer: Vec<u8>,
    /// Interned names of slices. Most are of functions and so bounded by the kernel.
    names: HashMap<String, u64>,
    /// The names of the functions of instructions.
    functions: HashMap<u64, u64>,
}

/// Name of a slice.
pub enum Name<'n> {
    /// The name itself.
    Is(&'n str),
    /// The name of the function of an instruction.
    At(u64),
}

impl<'a, W: Write> Packets<'a, W> {
    pub fn new(kernel: &'a Kernel, out: W) -> Self {
        Self {
            kernel,
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            buffer: Vec::new(),
            names: HashMap::new(),
            functions: HashMap::new(),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub fn write(&mut self, packet: TracePacket) -> io::Result<()> {
        let sequence = packet.trusted_packet_sequence_id.or(Some(SEQUENCE));
        let packet = TracePacket { trusted_packet_sequence_id: sequence, ..packet };
        self.buffer.clear();
        self.buffer.push(PACKET_KEY);
        packet.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    /// Writes the first packets: the session, the clock and the system.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn head(&mut self) -> io::Result<()> {
        let version = concat!("preemptlab ", env!("CARGO_PKG_VERSION"));
        self.write(TracePacket {
            trace_config: Some(proto::TraceConfig {
                unique_session_name: Some(SESSION.to_owned()),
            }),
            sequence_flags: Some(proto::INCREMENTAL_STATE_CLEARED),
            first_packet_on_sequence: Some(true),
            ..TracePacket::default()
        })?;
        self.write(TracePacket {
            system_info: Some(proto::SystemInfo {
                utsname: Some(proto::Utsname {
                    sysname: Some("Linux".to_owned()),
                    machine: Some(self.kernel.arch().machine.to_owned()),
                }),
                tracing_service_version: Some(version.to_owned()),
            }),
            ..TracePacket::default()
        })
    }

    pub fn clock(&mut self, ns: u64) -> io::Result<()> {
        let clock = proto::Clock {
            clock_id: Some(proto::CLOCK_BOOTTIME.cast_unsigned()),
            timestamp: Some(ns),
        };
        self.write(TracePacket {
            clock_snapshot: Some(proto::ClockSnapshot {
                clocks: vec![clock],
                primary_trace_clock: Some(proto::CLOCK_BOOTTIME),
            }),
            timestamp: Some(ns),
            ..TracePacket::default()
        })
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    pub fn describe_cpu(&mut self, cpu: u32) -> io::Result<()> {
        self.describe(TrackDescriptor {
            uuid: Some(group(cpu)),
            name: Some(format!("CPU {cpu}")),
            child_ordering: Some(proto::ORDERING_EXPLICIT),
            sibling_order_rank: i32::try_from(cpu).ok(),
            description: Some(SESSION.to_owned()),
            ..TrackDescriptor::default()
        })?;
        for ((name, description), lane) in LANES.into_iter().zip(1..) {
            self.describe(TrackDescriptor {
                uuid: Some(group(cpu) | lane as u64),
                parent_uuid: Some(group(cpu)),
                name: Some(name.to_owned()),
                sibling_order_rank: Some(lane),
                description: Some(description.to_owned()),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(())
    }

    pub fn bundle(&mut self, cpu: u32, event: Vec<FtraceEvent>) -> io::Result<()> {
        let bundle = proto::FtraceEventBundle { cpu: Some(cpu), event };
        self.write(TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() })
    }

    pub fn slice(&mut self, ns: u64, track: u64, name: Name<'_>) -> io::Result<()> {
        self.event(ns, track, proto::SLICE_BEGIN, Some(name), vec![])
    }

    pub fn end(&mut self, ns: u64, track: u64) -> io::Result<()> {
        self.event(ns, track, proto::SLICE_END, None, vec![])
    }

    pub fn event(
        &mut self,
        ns: u64,
        track: u64,
        kind: i32,
        name: Option<Name<'_>>,
        debug_annotations: Vec<proto::DebugAnnotation>,
    ) -> io::Result<()> {
        let (name_iid, interned_data) = match name {
            Some(name) => {
                let (iid, new) = self.intern(name);
                (Some(iid), new)
            }
            None => (None, None),
        };
        self.write(TracePacket {
            timestamp: Some(ns),
            track_event: Some(TrackEvent {
                debug_annotations,
                r#type: Some(kind),
                name_iid,
                track_uuid: Some(track),
            }),
            interned_data,
            sequence_flags: Some(proto::NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        })
    }

    /// Returns the number of a name, and the packet that defines it where it is new.
    fn intern(&mut self, name: Name<'_>) -> (u64, Option<proto::InternedData>) {
        let kernel = self.kernel;
        let unnamed;
        let (address, name) = match name {
            Name::Is(name) => (None, name),
            Name::At(address) => {
                if let Some(iid) = self.functions.get(&address) {
                    return (*iid, None);
                }
                let name = match kernel.function(address) {
                    Some(name) => name,
                    None => {
                        unnamed = format!("{address:#x}");
                        &unnamed
                    }
                };
                (Some(address), name)
            }
        };
        let known = self.names.get(name).copied();
        let iid = known.unwrap_or(self.names.len() as u64 + 1);
        let new = known.is_none().then(|| {
            self.names.insert(name.to_owned(), iid);
            let name = proto::EventName { iid: Some(iid), name: Some(name.to_owned()) };
            proto::InternedData { event_names: vec![name] }
        });
        if let Some(address) = address {
            self.functions.insert(address, iid);
        }
        (iid, new)
    }
}
