//! Programs and keys of a machine whose own apt brings packages here. A machine without apt needs none of them.

/// Programs that bring packages here, each with the package that it is in.
pub const PROGRAMS: [(&str, &str); 3] =
    [("apt-get", "apt"), ("apt-cache", "apt"), ("gpgv", "gpgv")];

/// Files of Debian's archive keys, as releases 12 and 13 name them. Without them apt gets those that this
/// program brings.
pub const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];
