use preemptlab_symbols::{SymbolError, TypesError};

/// Reason why a kernel cannot be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The kernel lacks a function, a variable or a member.
    #[error("this kernel cannot be traced: it has no {0}")]
    Lacks(String),
    /// The kernel's symbols are those of functions alone.
    #[error(
        "this kernel cannot be traced: its /proc/kallsyms lists no variables (CONFIG_KALLSYMS_ALL)"
    )]
    NoVariables,
    /// The kernel's symbols cannot be read.
    #[error("the kernel's /proc/kallsyms cannot be used: {0}")]
    Symbols(#[from] SymbolError),
    /// The kernel's types cannot be read.
    #[error("the kernel's types cannot be used: {0}")]
    Types(#[from] TypesError),
    /// A stored layout is damaged.
    #[error("the kernel's layout {0}")]
    Layout(String),
}
