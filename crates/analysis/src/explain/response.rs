//! The tasks and interrupts that ran while the slowest requests of a load waited for their answers.

use preemptlab_experiment::Recording;
use preemptlab_model::plain;
use preemptlab_trace::{Answer, Runner, Window, answers, requests, slowest, window};
use schemars::JsonSchema;
use serde::Serialize;

use super::{choice::Chosen, traced::Traced};
use crate::{
    Error, Result,
    moment::{in_ms, in_us},
};

/// The slowest requests of a cell's client.
pub struct Responses<'a> {
    recording: &'a Recording,
    /// The cell.
    pub cell: &'a Chosen,
    /// Program whose waits are the cell's response times.
    pub program: String,
    /// Number of all requests.
    pub count: usize,
    /// The slowest of them, the slowest first.
    pub slowest: Vec<Answer>,
}

/// The slowest requests of a cell's client, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResponsesDocument {
    /// Version of the document.
    pub format: u32,
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// Program whose waits are the cell's response times.
    pub client: String,
    /// Number of all requests.
    pub requests: usize,
    /// The largest response time that the load itself reports, in microseconds.
    pub reported_max_us: f64,
    /// The slowest requests, the slowest first.
    pub slowest: Vec<RequestDocument>,
}

/// A request. Times are virtual, in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequestDocument {
    /// Time from its sending to the client's return.
    pub length_ns: u64,
    /// When the client sent it.
    pub send_ns: u64,
    /// When the client went to sleep.
    pub sleep_ns: u64,
    /// When the client was woken.
    pub woken_ns: u64,
    /// When the client had the CPU.
    pub switch_ns: u64,
    /// When the client was back in user space.
    pub user_ns: u64,
    /// Number of the client's thread.
    pub pid: u32,
    /// Number of CPUs of which `ran` tells.
    pub cpus: usize,
    /// The tasks and interrupts that ran during the request, in a sentence.
    pub sentence: String,
    /// Everything that had a CPU during the request, the longest first.
    pub ran: Vec<RanDocument>,
}

/// A task or an interrupt that had a CPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RanDocument {
    /// The task or interrupt.
    #[serde(flatten)]
    pub runner: Runner,
    /// Time for which it had CPUs, in nanoseconds.
    pub ns: u64,
}

/// Returns the program whose waits are a cell's response times.
///
/// # Errors
///
/// When its workload has no response times.
pub fn client(recording: &Recording, cell: &Chosen) -> Result<String> {
    let name = &cell.factors.workload;
    let workload = recording.manifest().experiment.workload.get(name.as_str());
    let program = workload.and_then(|workload| workload.response_program());
    program.ok_or_else(|| {
        Error::Unusable(format!(
            "{name} has no response times; explain its wakeups instead, or choose a cell of another \
             workload with --cell"
        ))
    })
}

impl<'a> Responses<'a> {
    /// Reads the `count` slowest requests of a cell's client from its trace.
    ///
    /// # Errors
    ///
    /// When its trace is missing or damaged, or has no request.
    pub fn new(recording: &'a Recording, cell: &'a Chosen, count: usize) -> Result<Self> {
        let program = client(recording, cell)?;
        let traced = Traced::new(recording, cell)?;
        let findings = recording.explained().findings(cell.id)?;
        let offset_ns = findings.map_or(0, |findings| findings.clock_offset_ns);
        let Window { start_ns, end_ns } = window(&cell.inputs.job, &cell.report);
        let window = Window {
            start_ns: start_ns.saturating_add_signed(offset_ns),
            end_ns: end_ns.saturating_add_signed(offset_ns),
        };
        let stream = || Traced::stream(recording, cell);
        let all = requests(stream()?, &traced.kernel, &program, window)
            .map_err(|error| traced.unreadable(error))?;
        if all.is_empty() {
            return Err(Error::Unusable(format!(
                "the trace has no request of {program}: none of its threads sends and then sleeps \
                 until there is input; `trace` writes what it does"
            )));
        }
        let all_count = all.len();
        let slowest = answers(stream()?, &traced.kernel, slowest(all, count))
            .map_err(|error| traced.unreadable(error))?;
        Ok(Self { recording, cell, program, count: all_count, slowest })
    }

    /// Returns the command that shows every function of the slowest request.
    pub fn next(&self) -> Option<String> {
        let request = &self.slowest.first()?.request;
        Some(format!(
            "preemptlab explain {} zoom {}±{}us --cell {:.8}",
            self.recording.path().display(),
            in_ms(request.send_ns + request.len_ns() / 2),
            request.len_ns().div_ceil(2_000),
            self.cell.id.to_string()
        ))
    }

    /// Returns the requests as a document.
    pub fn document(&self) -> ResponsesDocument {
        let request = |answer: &Answer| {
            let request = &answer.request;
            let ran = answer.ran.iter().cloned().map(|(runner, ns)| RanDocument { runner, ns });
            RequestDocument {
                length_ns: request.len_ns(),
                send_ns: request.send_ns,
                sleep_ns: request.sleep_ns,
                woken_ns: request.woken_ns,
                switch_ns: request.switch_ns,
                user_ns: request.user_ns,
                pid: request.task.pid,
                cpus: answer.cpus,
                sentence: answer_in_words(answer),
                ran: ran.collect(),
            }
        };
        ResponsesDocument {
            format: 1,
            cell: self.cell.factors.to_string(),
            id: self.cell.id.to_string(),
            client: self.program.clone(),
            requests: self.count,
            reported_max_us: self.cell.max_us,
            slowest: self.slowest.iter().map(request).collect(),
        }
    }
}

/// Describes in a sentence the work during a request:
/// `While a request of pgbench/2143 waited 3100.0 us, …`.
pub fn answer_in_words(answer: &Answer) -> String {
    let request = &answer.request;
    let is_client =
        |runner: &Runner| matches!(runner, Runner::Task { pid, .. } if *pid == request.task.pid);
    let others = answer.ran.iter().filter(|(runner, _)| !is_client(runner));
    let mut parts: Vec<String> = others
        .take(3)
        .map(|(runner, ns)| format!("{} {} us", runner_in_words(runner), in_us(*ns)))
        .collect();
    let own = answer.ran.iter().find(|(runner, _)| is_client(runner));
    parts.extend(own.map(|(_, ns)| format!("the client itself {} us", in_us(*ns))));
    format!(
        "While a request of {}/{} waited {} us, from {}, these ran: {}. It slept after {} us, was \
         woken at {} us, had the CPU at {} us.",
        plain::line(&request.task.comm),
        request.task.pid,
        in_us(request.len_ns()),
        in_ms(request.send_ns),
        parts.join(", "),
        in_us(request.sleep_ns.saturating_sub(request.send_ns)),
        in_us(request.woken_ns.saturating_sub(request.send_ns)),
        in_us(request.switch_ns.saturating_sub(request.send_ns)),
    )
}

/// Names a task, an interrupt or a softirq: `postgres/2143`, `the softirq NET_RX`.
pub fn runner_in_words(runner: &Runner) -> String {
    match runner {
        Runner::Task { comm, pid } => format!("{}/{pid}", plain::line(comm)),
        Runner::HardIrq { name } => format!("the interrupt {}", plain::line(name)),
        Runner::Softirq { name } => format!("the softirq {}", plain::line(name)),
        Runner::Idle => "nothing (idle)".to_owned(),
    }
}
