//! Reads the steps of a thread in user space.

use preemptlab_protocol::script::{LOCKS_MAX, STEPS_MAX, Step};

use crate::{error::Refusal, names::Names};

use super::{
    fields::{self, Node},
    operation::{self, OperationReader},
};

/// The steps that are tables, and whether a block belongs to them.
const TABLES: [(&str, bool); 6] = [
    ("sleep_until", false),
    ("sleep", false),
    ("busy", false),
    ("call", false),
    ("futex", true),
    ("repeat", true),
];
const WORDS: [&str; 1] = ["yield"];

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

    /// All steps of the thread, with repetitions written out.
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
        let Some(verb) = Verb::read(node, "step", &WORDS, &TABLES)? else {
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

/// The key of a table that says what is to be done, with its value and its block.
pub(super) struct Verb<'a, 'i> {
    pub name: &'static str,
    pub value: &'a Node<'i>,
    node: &'a Node<'i>,
    block: Option<&'a Node<'i>>,
}

impl<'a, 'i> Verb<'a, 'i> {
    /// `None`: the node is one of the words. `kind` is `step` or `operation`.
    pub fn read(
        node: &'a Node<'i>,
        kind: &str,
        words: &[&'static str],
        tables: &[(&'static str, bool)],
    ) -> Result<Option<Self>, Refusal> {
        if let Some(word) = node.get_ref().as_str() {
            return match words.contains(&word) {
                true => Ok(None),
                false => Err(unknown(node.span(), kind, word, words, tables)),
            };
        }
        let table = fields::table(node, &format!("one {kind}, such as {{ busy = \"1ms\" }}"))?;
        let mut keys = table.iter().filter(|(key, _)| key.get_ref() != "do");
        let (Some((key, value)), further) = (keys.next(), keys.next()) else {
            let message = format!("this {kind} says nothing to do");
            let help = "write it as `{ busy = \"1ms\" }`".to_owned();
            return Err(Refusal::new(node.span(), message, help));
        };
        let known = |name: &str| tables.iter().find(|(known, _)| *known == name);
        let Some((name, has_block)) = known(key.get_ref()) else {
            return Err(unknown(key.span(), kind, key.get_ref(), words, tables));
        };
        if let Some((further, _)) = further {
            return Err(match known(further.get_ref()) {
                Some(_) => Refusal::new(
                    further.span(),
                    format!("a {kind} of its own"),
                    "give each a table of its own: { ... }, { ... }",
                ),
                None => unknown(further.span(), kind, further.get_ref(), words, tables),
            });
        }
        let block = table.iter().find(|(key, _)| key.get_ref() == "do");
        if let (Some((key, _)), false) = (block, has_block) {
            let message = format!("`{name}` has no `do`");
            let with: Vec<&str> =
                tables.iter().filter(|(_, block)| *block).map(|(name, _)| *name).collect();
            let help = format!("`do` belongs to {}", with.join(", "));
            return Err(Refusal::new(key.span(), message, help));
        }
        Ok(Some(Self { name, value, node, block: block.map(|(_, block)| block) }))
    }

    /// Returns the steps inside it.
    pub fn block(&self) -> Result<&'a Node<'i>, Refusal> {
        self.block.ok_or_else(|| {
            let message = format!("`{}` needs a `do`", self.name);
            Refusal::new(self.node.span(), message, "add `do = [ ... ]`")
        })
    }
}

/// A step or operation that there is not; one of the other kind gets a hint where it belongs.
fn unknown(
    span: std::ops::Range<usize>,
    kind: &str,
    name: &str,
    words: &[&'static str],
    tables: &[(&'static str, bool)],
) -> Refusal {
    let message = format!("there is no {kind} `{name}`");
    let of = |words: &[&str], tables: &[(&str, bool)]| {
        words.contains(&name) || tables.iter().any(|(known, _)| *known == name)
    };
    if of(words, tables) {
        let message = format!("the {kind} `{name}` is written differently");
        let help = match words.contains(&name) {
            true => format!("it has no value: \"{name}\""),
            false => format!("it has a value: {{ {name} = ... }}"),
        };
        return Refusal::new(span, message, help);
    }
    if kind == "step" && of(&operation::WORDS, &operation::TABLES) {
        let help = format!("`{name}` is an operation of a system call: {{ call = [ ... ] }}");
        return Refusal::new(span, message, help);
    }
    if kind == "operation" && of(&WORDS, &TABLES) {
        let help = format!("`{name}` is a step in user space, and stands outside of `call`");
        return Refusal::new(span, message, help);
    }
    let valid: Vec<&str> =
        words.iter().copied().chain(tables.iter().map(|(name, _)| *name)).collect();
    Refusal::unknown(span, message, name, &valid)
}

/// The name of a futex or lock.
pub(super) fn lock_name<'a>(node: &'a Node<'_>) -> Result<&'a str, Refusal> {
    let name = fields::text(node)?;
    super::comm(name, node)?;
    Ok(name)
}

pub(super) fn too_many(node: &Node<'_>, plural: &str) -> Refusal {
    let help = format!("at most {LOCKS_MAX} are possible");
    Refusal::new(node.span(), format!("there are too many {plural}"), help)
}

pub(super) fn taken_twice(node: &Node<'_>, what: &str) -> Refusal {
    Refusal::new(
        node.span(),
        format!("{what} is taken by a thread that holds it"),
        "the thread would wait for itself for ever",
    )
}
