//! The `Key: value` paragraphs that apt prints (deb822(5)).

use std::collections::BTreeMap;

use preemptlab_model::{Arch, Package};

/// A package that a suite offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name, version and hash of the package.
    pub package: Package,
    /// Architecture of the package.
    pub architecture: Architecture,
    /// The size of its `.deb`.
    pub bytes: u64,
}

/// The architecture of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// One.
    Of(Arch),
    /// Any architecture.
    All,
}

impl Architecture {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Of(arch) => arch.platform().debian,
            Self::All => "all",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut each = Arch::ALL.map(Self::Of).into_iter().chain([Self::All]);
        each.find(|each| each.as_str() == name)
    }
}

impl Candidate {
    /// Returns the name that apt gives to the downloaded file (apt-pkg/acquire-item.cc,
    /// `StoreFilename`).
    pub(crate) fn file_name(&self) -> String {
        let Package { name, version, .. } = &self.package;
        let architecture = self.architecture.as_str();
        format!("{name}_{}_{architecture}.deb", version.replace(':', "%3a"))
    }

    /// Reads a paragraph of `apt-cache show`.
    pub(crate) fn from_stanza(stanza: &Stanza<'_>) -> Option<Self> {
        Some(Self {
            package: Package {
                name: stanza.get("Package")?.parse().ok()?,
                version: stanza.get("Version")?.parse().ok()?,
                sha256: stanza.get("SHA256")?.parse().ok()?,
            },
            architecture: Architecture::parse(stanza.get("Architecture")?)?,
            bytes: stanza.get("Size")?.parse().ok()?,
        })
    }
}

/// Paragraph of apt's output: the fields that fit on a line.
pub(crate) type Stanza<'a> = BTreeMap<&'a str, &'a str>;

/// Reads paragraphs.
pub(crate) fn stanzas(text: &str) -> impl Iterator<Item = Stanza<'_>> {
    text.split("\n\n").map(stanza).filter(|stanza| !stanza.is_empty())
}

fn stanza(text: &str) -> Stanza<'_> {
    text.lines()
        .filter(|line| !line.starts_with([' ', '\t']))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key, value.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;

    use super::*;

    #[test]
    fn a_candidate_is_read_from_its_paragraph() {
        let sha256 = Digest::of(b"deb");
        let text = format!(
            "Package: zlib1g\nVersion: 1:1.3\nDescription: a library\n which compresses\n\
             Architecture: amd64\nSize: 88720\nSHA256: {sha256}\n\nPackage: broken\n\n\n"
        );
        let candidates: Vec<_> = stanzas(&text).map(|s| Candidate::from_stanza(&s)).collect();
        let candidate = candidates[0].as_ref().unwrap();
        assert_eq!(candidate.package.sha256, sha256);
        assert_eq!(candidate.bytes, 88720);
        assert_eq!(candidate.file_name(), "zlib1g_1%3a1.3_amd64.deb");
        assert_eq!(candidates[1..], [None]);
    }
}
