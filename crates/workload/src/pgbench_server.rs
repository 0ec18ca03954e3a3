//! The PostgreSQL server that pgbench uses: its packages, and its start before the snapshot.
//!
//! It is Debian's server as initdb configures it, but for the settings of [`initdb`]. Its data are
//! in a tmpfs, where fsync(2) returns at once: a commit waits for no disk, only for the system
//! call.

use preemptlab_protocol::Command;

use crate::program;

/// The server with initdb, pg_ctl and pgbench; the shell that initdb and pg_ctl run the server by;
/// and `cat`.
pub const PACKAGES: [&str; 3] = ["postgresql-17", "dash", "busybox"];

/// Packages that the server depends on, but neither the server nor pgbench is linked with, or that
/// only set it up on a real system. LLVM compiles expensive queries, and no query here is expensive
/// enough.
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

/// Folder of the server's socket; Debian's folder belongs to a user that the guest does not have.
pub const SOCKETS: &str = "/tmp";

/// Name of the database's superuser.
pub const USER: &str = "postgres";

/// The database that initdb makes.
pub const DATABASE: &str = "postgres";

const DATA: &str = "/tmp/postgresql";

/// Makes the database and leaves the server running.
pub fn prepare(scale: u32) -> Vec<Command> {
    vec![initdb(), start(), fill(scale)]
}

/// Returns the command of initdb with the settings that differ from its own. Autovacuum is off,
/// because chance would decide whether its minute falls into a window of seconds.
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

/// Returns the command that starts the server. The server logs to the standard output of its start,
/// which is standard error here, so that an error can quote the log if the server does not start.
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
    Command { unprivileged: true, ..program::command(name, argv) }
}
