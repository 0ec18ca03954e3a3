//! The PostgreSQL server that pgbench talks to: its packages, and how it comes up before the
//! snapshot.
//!
//! It is Debian's server as initdb configures it, but for what [`initdb`] says. Its data are in a
//! tmpfs, where fsync(2) returns at once: a commit waits for no disk, only for the system call.

use preemptlab_protocol::{Command, Policy};

/// The server with initdb, pg_ctl and pgbench; the shell that initdb and pg_ctl run the server by;
/// and `cat`.
pub const PACKAGES: [&str; 3] = ["postgresql-17", "dash", "busybox"];

/// What the server depends on and neither it nor pgbench is linked with, or what only sets it up on
/// a real system. LLVM compiles queries, which no query here is expensive enough for.
pub const ASSUMED_PACKAGES: [&str; 15] = [
    "debconf",
    "debianutils",
    "gcc-14-base",
    "libaudit-common",
    "libllvm19",
    "libsasl2-modules-db",
    "libselinux1",
    "libuuid1",
    "libxslt1.1",
    "locales",
    "openssl-provider-legacy",
    "postgresql-client-17",
    "postgresql-common",
    "ssl-cert",
    "tzdata",
];

/// Debian's folder of the server's programs.
pub const BIN: &str = "/usr/lib/postgresql/17/bin";

/// Where the server listens; Debian's folder belongs to a user that the guest does not have.
pub const SOCKETS: &str = "/tmp";

/// The database's superuser.
pub const USER: &str = "postgres";

/// The database that initdb makes.
pub const DATABASE: &str = "postgres";

const DATA: &str = "/tmp/postgresql";

/// Makes the database and leaves the server running.
pub fn prepare(scale: u32) -> Vec<Command> {
    vec![initdb(), start(), fill(scale)]
}

/// The settings besides initdb's own. Vacuuming by itself is off, because whether its minute
/// falls into a window of seconds would be chance.
fn initdb() -> Command {
    command(
        "initdb",
        vec![
            format!("{BIN}/initdb"),
            format!("--pgdata={DATA}"),
            format!("--username={USER}"),
            "--auth=trust".to_owned(),
            "--no-locale".to_owned(),
            "--encoding=UTF8".to_owned(),
            "--no-sync".to_owned(),
            "--set=autovacuum=off".to_owned(),
            "--set=listen_addresses=".to_owned(),
            format!("--set=unix_socket_directories={SOCKETS}"),
        ],
    )
}

/// The server writes its log to what it was started with as standard output; as standard error
/// it is part of the reason if the server does not start.
fn start() -> Command {
    let script = format!("exec {BIN}/pg_ctl --pgdata={DATA} --wait start >&2");
    command("pg_ctl", vec!["/bin/sh".to_owned(), "-c".to_owned(), script])
}

fn fill(scale: u32) -> Command {
    command(
        "pgbench-initialize",
        vec![
            format!("{BIN}/pgbench"),
            format!("--host={SOCKETS}"),
            format!("--username={USER}"),
            "--initialize".to_owned(),
            format!("--scale={scale}"),
            "--quiet".to_owned(),
            DATABASE.to_owned(),
        ],
    )
}

fn command(name: &str, argv: Vec<String>) -> Command {
    Command {
        name: name.to_owned(),
        argv,
        unprivileged: true,
        policy: Policy::Other,
        delay_ns: 0,
        files: Vec::new(),
    }
}
