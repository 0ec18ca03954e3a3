//! The reader of scenarios in TOML. It walks the text's tree by hand, because every value keeps its
//! place in it: so a value that is well-formed but makes no sense is refused with its line too.

mod expect;
mod fields;
mod interrupt;
mod machine;
mod name;
mod operation;
mod section;
mod step;
mod thread;
mod verb;

use preemptlab_protocol::script::{FORMAT, INTERRUPTS_MAX, Script, THREADS_MAX};
use toml::de::DeTable;

use crate::{Scenario, ScenarioError, error::Refusal, names::Names};

use fields::Fields;
use name::{comm, plain_name};
use step::StepReader;

/// The keys at the top of the file.
const KEYS: [&str; 10] = [
    "format",
    "name",
    "description",
    "cpus",
    "end",
    "thread",
    "interrupt",
    "futex",
    "kernel_thread",
    "expect",
];

/// The longest name of a scenario, in bytes.
const SCENARIO_NAME_BYTES_MAX: usize = 64;

/// The longest script, in bytes of JSON: the player gets it as one argument (`MAX_ARG_STRLEN` of
/// include/uapi/linux/binfmts.h, with the NUL).
const SCRIPT_BYTES_MAX: usize = (128 << 10) - 1;

/// The most CPUs of the machine.
const CPUS_MAX: u64 = 8;

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the line, its mistake, and the valid alternatives.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        scenario(text).map_err(|refusal| refusal.locate(text))
    }
}

fn scenario(text: &str) -> Result<Scenario, Refusal> {
    let table = DeTable::parse(text)?;
    let file = Fields::new(table.get_ref(), table.span(), "a scenario", &KEYS)?;
    let format = file.need("format")?;
    if fields::integer(format)? != 1 {
        return Err(Refusal::new(
            format.span(),
            "this format is not known",
            "this version reads format = 1",
        ));
    }
    let name = file.need("name")?;
    let name = plain_name(fields::text(name)?, name, SCENARIO_NAME_BYTES_MAX)?;
    let description = file.get("description").map(fields::text).transpose()?.unwrap_or_default();
    let cpus = file.get("cpus").map(|node| fields::integer_to(node, 1..=CPUS_MAX)).transpose()?;
    let cpus = u32::try_from(cpus.unwrap_or(1)).unwrap_or(1);
    let end = file.need("end")?;
    let end_ns = fields::time_above_0(end)?;

    let interrupts = file.tables("interrupt", INTERRUPTS_MAX, "interrupt lines")?;
    let interrupts = interrupts
        .into_iter()
        .map(|(name, node)| interrupt::interrupt(comm(name, node)?, node, end_ns))
        .collect::<Result<Vec<_>, _>>()?;
    let lines: Vec<&str> = interrupts.iter().map(|line| line.name.as_str()).collect();

    let nodes = file.tables("thread", THREADS_MAX, "threads")?;
    if nodes.is_empty() {
        return Err(Refusal::new(
            0..0,
            "there is no thread",
            "add a table such as [thread.hi], with its steps",
        ));
    }
    let mut names = Names::default();
    let mut threads = Vec::new();
    for (name, node) in nodes {
        let name = comm(name, node)?;
        let reader = StepReader::new(&mut names, &lines, end_ns);
        threads.push(thread::thread(name, node, cpus, reader)?);
    }
    let futex_is_pi = machine::futexes(&file, &names)?;
    let kernel_threads = machine::kernel_threads(&file)?;
    let script =
        Script { format: FORMAT, end_ns, threads, interrupts, futex_is_pi, kernel_threads };
    let bytes = serde_json::to_string(&script).map_or(usize::MAX, |json| json.len());
    if bytes > SCRIPT_BYTES_MAX {
        return Err(Refusal::new(
            0..0,
            format!("the scenario takes {bytes} bytes when it is written out"),
            format!("{SCRIPT_BYTES_MAX} are possible; what is repeated counts each time"),
        ));
    }
    let expectations = match file.get("expect") {
        Some(node) => fields::array(node, "a list of tables: [[expect]]")?
            .iter()
            .map(|node| expect::expectation(text, node, &script))
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let description = description.to_owned();
    Ok(Scenario { name, description, cpus, script, names, expectations })
}
