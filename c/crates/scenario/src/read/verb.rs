//! The reader of steps and operations: a word, or a table with one key that names the action.

use preemptlab_protocol::script::LOCKS_MAX;

use crate::error::Refusal;

use super::{
    fields::{self, Node},
    name::comm,
};

/// Words and tables that name an action, and whether a block belongs to each table.
pub(super) struct Verbs {
    kind: &'static str,
    words: &'static [&'static str],
    tables: &'static [(&'static str, bool)],
}

/// Actions of a thread in user space.
pub(super) static STEPS: Verbs = Verbs {
    kind: "step",
    words: &["yield"],
    tables: &[
        ("sleep_until", false),
        ("sleep", false),
        ("busy", false),
        ("call", false),
        ("futex", true),
        ("repeat", true),
    ],
};

/// Actions in a system call.
pub(super) static OPERATIONS: Verbs = Verbs {
    kind: "operation",
    words: &["cond_resched", "might_resched"],
    tables: &[
        ("busy", false),
        ("sleep", false),
        ("zero_pages", false),
        ("wait", false),
        ("preempt_off", false),
        ("irqs_off", false),
        ("bh_off", false),
        ("spinlock", true),
        ("raw_spinlock", true),
        ("mutex", true),
        ("rt_mutex", true),
        ("read_lock", true),
        ("write_lock", true),
        ("repeat", true),
    ],
};

/// Key of a table that names an action, with its value and its block.
pub(super) struct Verb<'a, 'i> {
    pub name: &'static str,
    pub value: &'a Node<'i>,
    node: &'a Node<'i>,
    block: Option<&'a Node<'i>>,
}

impl<'a, 'i> Verb<'a, 'i> {
    /// Reads the action of a node; `None` for one of the words.
    ///
    /// # Errors
    ///
    /// A node that names no action, or several.
    pub fn read(node: &'a Node<'i>, verbs: &'static Verbs) -> Result<Option<Self>, Refusal> {
        let Verbs { kind, words, tables } = verbs;
        if let Some(word) = node.get_ref().as_str() {
            return match words.contains(&word) {
                true => Ok(None),
                false => Err(unknown(node.span(), word, verbs)),
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
            return Err(unknown(key.span(), key.get_ref(), verbs));
        };
        if let Some((further, _)) = further {
            return Err(match known(further.get_ref()) {
                Some(_) => Refusal::new(
                    further.span(),
                    format!("a {kind} of its own"),
                    "give each a table of its own: { ... }, { ... }",
                ),
                None => unknown(further.span(), further.get_ref(), verbs),
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
    ///
    /// # Errors
    ///
    /// An action without steps.
    pub fn block(&self) -> Result<&'a Node<'i>, Refusal> {
        self.block.ok_or_else(|| {
            let message = format!("`{}` needs a `do`", self.name);
            Refusal::new(self.node.span(), message, "add `do = [ ... ]`")
        })
    }
}

/// Returns the error of an unknown step or operation; one of the other kind gets a hint to its
/// place.
fn unknown(span: std::ops::Range<usize>, name: &str, verbs: &Verbs) -> Refusal {
    let Verbs { kind, words, tables } = *verbs;
    let has = |verbs: &Verbs| {
        verbs.words.contains(&name) || verbs.tables.iter().any(|(known, _)| *known == name)
    };
    if has(verbs) {
        let message = format!("the {kind} `{name}` is written differently");
        let help = match words.contains(&name) {
            true => format!("it has no value: \"{name}\""),
            false => format!("it has a value: {{ {name} = ... }}"),
        };
        return Refusal::new(span, message, help);
    }
    if kind == STEPS.kind && has(&OPERATIONS) {
        let help = format!("`{name}` is an operation of a system call: {{ call = [ ... ] }}");
        return Refusal::new(span, format!("there is no {kind} `{name}`"), help);
    }
    if kind == OPERATIONS.kind && has(&STEPS) {
        let help = format!("`{name}` is a step in user space, and stands outside of `call`");
        return Refusal::new(span, format!("there is no {kind} `{name}`"), help);
    }
    let valid: Vec<&str> =
        words.iter().copied().chain(tables.iter().map(|(name, _)| *name)).collect();
    Refusal::unknown(span, format!("there is no {kind} `{name}`"), name, &valid)
}

/// Reads the name of a futex or lock.
pub(super) fn lock_name<'a>(node: &'a Node<'_>) -> Result<&'a str, Refusal> {
    let name = fields::text(node)?;
    comm(name, node)?;
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
