use preemptlab_model::Distro;

/// A distribution other than Debian, of which kernels alone are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Ubuntu.
    Ubuntu,
    /// Fedora.
    Fedora,
}

impl Other {
    /// Every one of them.
    pub const ALL: [Self; 2] = [Self::Ubuntu, Self::Fedora];

    /// Returns the distribution; `None` for Debian.
    pub fn of(distribution: Distro) -> Option<Self> {
        Self::ALL.into_iter().find(|other| other.distribution() == distribution)
    }

    /// Returns the distribution.
    pub const fn distribution(self) -> Distro {
        match self {
            Self::Ubuntu => Distro::Ubuntu,
            Self::Fedora => Distro::Fedora,
        }
    }

    /// Returns the key of the configuration that names its mirror.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ubuntu => "ubuntu.mirror",
            Self::Fedora => "fedora.repositories",
        }
    }

    /// Returns an address as the key takes it.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Ubuntu => "http://HOST/ubuntu",
            Self::Fedora => "http://HOST/fedora/releases/42/Everything/x86_64/os",
        }
    }
}
