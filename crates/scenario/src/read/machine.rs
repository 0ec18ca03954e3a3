//! Reads what belongs to no thread of the scenario: the architecture, futexes, and the kernel's own
//! threads.

use preemptlab_model::{Arch, ParseArchError};
use preemptlab_protocol::script::{KernelThread, NAME_BYTES_MAX};

use crate::{error::Refusal, names::Names};

use super::{
    fields::{self, Fields, Node},
    thread::policy,
};

/// The most entries for kernel threads.
const KERNEL_THREADS_MAX: usize = 16;

/// Returns the architecture of the guest.
pub(super) fn arch(node: &Node<'_>) -> Result<Arch, Refusal> {
    fields::text(node)?.parse().map_err(|error: ParseArchError| {
        let help = "leave it out: scenarios are played on amd64";
        Refusal::new(node.span(), error.to_string(), help)
    })
}

/// Returns for each futex, by its number, whether it lends priorities.
pub(super) fn futexes(file: &Fields<'_, '_>, names: &Names) -> Result<Vec<bool>, Refusal> {
    let mut is_pi = vec![false; names.futexes.len()];
    for (name, node) in file.tables("futex", usize::MAX, "futexes")? {
        let futex = Fields::of(node, "a futex", &["pi"])?;
        let Some(number) = names.futexes.iter().position(|known| known == name) else {
            let valid: Vec<&str> = names.futexes.iter().map(String::as_str).collect();
            let message = format!("no thread takes the futex `{name}`");
            return Err(Refusal::unknown(node.span(), message, name, &valid));
        };
        is_pi[number] = futex.get("pi").map(fields::boolean).transpose()?.unwrap_or(false);
    }
    Ok(is_pi)
}

/// Policies of the kernel's own threads.
pub(super) fn kernel_threads(file: &Fields<'_, '_>) -> Result<Vec<KernelThread>, Refusal> {
    let tables = file.tables("kernel_thread", KERNEL_THREADS_MAX, "entries for kernel threads")?;
    tables
        .into_iter()
        .map(|(prefix, node)| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-:.".contains(&byte);
            if !(1..=NAME_BYTES_MAX).contains(&prefix.len()) || !prefix.bytes().all(plain) {
                return Err(Refusal::new(
                    node.span(),
                    format!("no kernel thread's name begins with `{prefix}`"),
                    "give what ps shows between the brackets, such as \"ksoftirqd/\"",
                ));
            }
            let thread = Fields::of(node, "a kernel thread", &["policy"])?;
            let policy = policy(thread.need("policy")?)?;
            Ok(KernelThread { prefix: prefix.to_owned(), policy })
        })
        .collect()
}
