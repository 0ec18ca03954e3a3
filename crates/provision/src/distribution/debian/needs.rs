//! Programs and keys that a machine must have before packages can be brought here.

/// Programs that bring packages here, each with the package that it is in.
pub const PROGRAMS: [(&str, &str); 3] =
    [("apt-get", "apt"), ("apt-cache", "apt"), ("gpgv", "gpgv")];

/// Files of Debian's archive keys, as releases 12 and 13 name them.
pub const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

/// The package with the archive keys.
pub const KEYRING_PACKAGE: &str = "debian-archive-keyring";
