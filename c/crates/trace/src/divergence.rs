//! The first difference between two executions that share their past.

use std::io::Read;

use crate::{
    decode::{Decoder, Event, Item, TraceError},
    kernel::Kernel,
};

/// The first event in which two traces of one boot differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Number of events that both have in common.
    pub common: u64,
    /// Time of the first difference in the first execution, in virtual nanoseconds.
    pub ns: u64,
    /// The function in which the first one is then.
    pub function: Option<String>,
    /// The function in which the second one is.
    pub other_function: Option<String>,
}

/// Compares two traces event by event; `None` when they are the same to the end of the shorter.
///
/// # Errors
///
/// [`TraceError`]
pub fn divergence(
    one: impl Read,
    other: impl Read,
    kernel: &Kernel,
) -> Result<Option<Divergence>, TraceError> {
    let mut one = Decoder::new(one, kernel.program())?;
    let mut other = Decoder::new(other, kernel.program())?;
    let mut common = 0;
    loop {
        let (Some(a), Some(b)) = (next_event(&mut one)?, next_event(&mut other)?) else {
            return Ok(None);
        };
        if !is_same(&a, &b) {
            let function = |event: &Event| kernel.function(event.site.address).map(str::to_owned);
            return Ok(Some(Divergence {
                common,
                ns: a.ns.min(b.ns),
                function: function(&a),
                other_function: function(&b),
            }));
        }
        common += 1;
    }
}

fn is_same(a: &Event, b: &Event) -> bool {
    let key = |event: &Event| (event.ns, event.cpu, event.site.address, event.site.kind);
    key(a) == key(b)
}

fn next_event<R: Read>(decoder: &mut Decoder<R>) -> Result<Option<Event>, TraceError> {
    loop {
        match decoder.next_item()? {
            None => return Ok(None),
            Some(Item::Event(event)) => return Ok(Some(event)),
            Some(_) => {}
        }
    }
}
