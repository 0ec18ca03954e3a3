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
mod variant;
mod verb;

use preemptlab_protocol::script::{FORMAT, INTERRUPTS_MAX, Script, THREADS_MAX};
use toml::de::DeTable;

use crate::{Scenario, ScenarioError, Variant, error::Refusal, names::Names};

use fields::Fields;
use name::{comm, plain_name};
use step::StepReader;

/// The keys at the top of the file.
const KEYS: [&str; 12] = [
    "format",
    "name",
    "description",
    "arch",
    "cpus",
    "end",
    "thread",
    "interrupt",
    "futex",
    "kernel_thread",
    "expect",
    "variant",
];

/// The longest name of a scenario, in bytes.
const SCENARIO_NAME_BYTES_MAX: usize = 64;

/// The longest script, in bytes of JSON: the player gets it as one argument (`MAX_ARG_STRLEN` of
/// include/uapi/linux/binfmts.h, with the NUL).
const SCRIPT_BYTES_MAX: usize = (128 << 10) - 1;

/// The most CPUs of the machine.
const CPUS_MAX: u64 = 8;

impl Scenario {
    /// Reads a scenario; of a file with variants, the first.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the line, its mistake, and the valid alternatives.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Ok(Self::parse_variants(text)?.swap_remove(0))
    }

    /// Reads every variant of a scenario, in the order of their names; of a file without variants,
    /// the one scenario. The list is never empty.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] with the line, its mistake, and the valid alternatives.
    pub fn parse_variants(text: &str) -> Result<Vec<Self>, ScenarioError> {
        scenarios(text).map_err(|refusal| refusal.locate(text))
    }
}

fn scenarios(text: &str) -> Result<Vec<Scenario>, Refusal> {
    let table = DeTable::parse(text)?;
    let file = Fields::new(table.get_ref(), table.span(), "a scenario", &KEYS)?;
    let variants = file.tables("variant", variant::VARIANTS_MAX, "variants")?;
    if variants.is_empty() {
        return Ok(vec![scenario(text, &file)?]);
    }
    let one = |(name, node)| {
        let name = plain_name(name, node, variant::NAME_BYTES_MAX)?;
        let merged = variant::merged(table.get_ref(), node)?;
        let file = Fields::new(&merged, table.span(), "a scenario", &KEYS)?;
        let base = scenario(text, &file)?;
        let expectations = variant::expectations(text, node, &base)?;
        let of = base.name;
        let full = plain_name(&format!("{of}-{name}"), node, SCENARIO_NAME_BYTES_MAX)?;
        let variant = Some(Variant { of, name });
        Ok(Scenario { name: full, variant, expectations, ..base })
    };
    variants.into_iter().map(one).collect()
}

fn scenario(text: &str, file: &Fields<'_, '_>) -> Result<Scenario, Refusal> {
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
    let arch = file.get("arch").map(machine::arch).transpose()?.unwrap_or_default();
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
    let futex_is_pi = machine::futexes(file, &names)?;
    let kernel_threads = machine::kernel_threads(file)?;
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
    let expectations = expect::expectations(text, file, &script)?;
    let description = description.to_owned();
    Ok(Scenario { name, variant: None, description, arch, cpus, script, names, expectations })
}
