use crate::command::{Kind, Known};

/// Texts of errors of kubectl and of the server (kubectl 1.28 to 1.34), in small letters, and the next
/// step. The first that fits counts.
pub const KNOWN: &[Known] = &[
    (
        "did you specify the right host or port",
        Kind::Refused,
        "this machine knows no cluster: choose a file of one with --engine-arg=--kubeconfig=FILE",
    ),
    ("context was not found", Kind::Unusable, "`kubectl config get-contexts` lists the contexts"),
    ("context \"", Kind::Unusable, "`kubectl config get-contexts` lists the contexts"),
    ("namespaces \"", Kind::Unusable, "choose one with --engine-arg=--namespace=NAME"),
    (
        "exceeded quota",
        Kind::Refused,
        "wait until other work has ended, and run the same command again, or ask for a larger quota",
    ),
    (
        "is forbidden",
        Kind::Refused,
        "`kubectl auth can-i create jobs` tells whether you may submit",
    ),
    ("unauthorized", Kind::Refused, "log in to the cluster, and run the same command again"),
    ("must be logged in", Kind::Refused, "log in to the cluster, and run the same command again"),
    ("no such host", Kind::Refused, "the file of the cluster names a machine that is not there"),
    ("strict decoding error", Kind::Unusable, "this server knows other fields of a Job"),
    ("is invalid", Kind::Unusable, "the server accepts no such Job"),
    ("unable to connect to the server", Kind::Away, ""),
    ("connection refused", Kind::Away, ""),
    ("connection reset", Kind::Away, ""),
    ("timed out", Kind::Away, ""),
    ("timeout", Kind::Away, ""),
    ("too many requests", Kind::Away, ""),
    ("currently unable", Kind::Away, ""),
    ("internal error", Kind::Away, ""),
    ("etcdserver", Kind::Away, ""),
    ("unexpected eof", Kind::Away, ""),
];
