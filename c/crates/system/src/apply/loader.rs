use std::{fs, path::Path};

use crate::tune::entry;

use crate::apply::{Error, Machine, Result};

/// The folder of firmware variables, and the vendor of those of the Boot Loader Interface
/// (systemd.io/BOOT_LOADER_INTERFACE): `LoaderInfo` names the loader that booted the machine, and
/// `StubInfo` is there if the kernel came in a unified image.
const VARIABLES: &str = "/sys/firmware/efi/efivars";
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// The places where the boot partition, or the EFI system partition, may be mounted.
const PARTITIONS: [&str; 3] = ["/boot", "/efi", "/boot/efi"];

/// Debian's name of the program.
const MKCONFIG: &str = "/usr/sbin/grub-mkconfig";

/// The boot loader of a machine, and the place of its kernel parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// GRUB with a configuration that grub-mkconfig generates.
    Grub {
        /// Path of the configuration.
        config: String,
    },
    /// Entries of the Boot Loader Specification: systemd-boot, or GRUB on Fedora and its relatives.
    Entries {
        /// The boot loader that reads them.
        name: &'static str,
        /// The folder that `entries` is in.
        folder: String,
    },
}

impl Loader {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Grub { .. } => "GRUB",
            Self::Entries { name, .. } => name,
        }
    }

    /// Finds the boot loader of a machine.
    ///
    /// # Errors
    ///
    /// When the boot loader is not a known one, or several are possible.
    pub fn find(machine: &Machine) -> Result<Self> {
        raspberry_pi(machine)?;
        let entries = PARTITIONS
            .map(|partition| format!("{partition}/loader"))
            .into_iter()
            .find(|folder| !entries(machine, folder).is_empty());
        let grub = machine.path(MKCONFIG).exists() && machine.path("/boot/grub/grub.cfg").exists();
        let by_files = PARTITIONS
            .into_iter()
            .any(|partition| machine.path(partition).join("EFI/systemd").is_dir());
        let systemd_boot = match told(machine, "LoaderInfo") {
            Told::Text(name) if name.starts_with("systemd-boot") => true,
            Told::Text(name) if name.starts_with("GRUB") => false,
            Told::Text(name) => {
                return Err(Error::Unsupported {
                    reason: format!("{name} boots this machine, which is not known here"),
                    instead: "`preemptlab system apply ... --emit systemd-boot` prints the words for its \
                              command line"
                        .to_owned(),
                });
            }
            Told::Nothing => false,
            Told::Unknown if by_files && grub => {
                return Err(unsupported(
                    "both GRUB and systemd-boot are here, and nothing tells which of them boots",
                    "mount efivarfs on /sys/firmware/efi/efivars",
                ));
            }
            Told::Unknown => by_files,
        };
        if matches!(told(machine, "StubInfo"), Told::Text(_)) || (systemd_boot && entries.is_none())
        {
            return Err(unsupported(
                "the kernel is in a unified image, which holds its command line",
                "add the words of `preemptlab system apply ... --emit systemd-boot` to \
                 /etc/kernel/cmdline and build the image anew",
            ));
        }
        match entries {
            Some(folder) if systemd_boot => Ok(Self::Entries { name: "systemd-boot", folder }),
            _ if grub => with_drop_ins(machine),
            Some(folder) if machine.path("/boot/grub2").is_dir() => {
                Ok(Self::Entries { name: "GRUB with boot loader entries", folder })
            }
            _ => Err(unsupported(
                "neither GRUB with grub-mkconfig nor boot loader entries are here",
                "`preemptlab system apply ... --emit script` prints what is to be done, and the words for \
                 the kernel's command line",
            )),
        }
    }
}

fn unsupported(reason: &str, instead: &str) -> Error {
    Error::Unsupported { reason: reason.to_owned(), instead: instead.to_owned() }
}

/// Reads the Linux entries below a folder: their absolute paths, sorted, with their text.
pub(crate) fn entries(machine: &Machine, folder: &str) -> Vec<(String, String)> {
    let folder = format!("{folder}/entries");
    let names = fs::read_dir(machine.path(&folder)).into_iter().flatten();
    let mut names: Vec<String> = names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".conf") && !name.starts_with('.'))
        .collect();
    names.sort();
    let paths = names.into_iter().map(|name| format!("{folder}/{name}"));
    let read = |path: String| Some((path.clone(), fs::read_to_string(machine.path(&path)).ok()?));
    paths.filter_map(read).filter(|(_, text)| entry::is_linux(text)).collect()
}

/// The answer to a question for a variable of the loader.
enum Told {
    Text(String),
    /// There are variables, and the wanted one is not among them; or the machine has no such
    /// firmware.
    Nothing,
    /// The firmware cannot be asked.
    Unknown,
}

fn told(machine: &Machine, variable: &str) -> Told {
    if !machine.is_live() {
        return Told::Unknown;
    }
    if !Path::new("/sys/firmware/efi").exists() {
        return Told::Nothing;
    }
    match fs::read(format!("{VARIABLES}/{variable}-{VENDOR}")) {
        // Four bytes of attributes stand before the value (efivarfs, kernel documentation).
        Ok(bytes) => {
            let units = bytes.get(4..).unwrap_or_default().chunks_exact(2);
            let units: Vec<u16> =
                units.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            Told::Text(String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned())
        }
        Err(_) => {
            let mut names = fs::read_dir(VARIABLES).into_iter().flatten();
            if names.next().is_some() { Told::Nothing } else { Told::Unknown }
        }
    }
}

fn raspberry_pi(machine: &Machine) -> Result<()> {
    let found = ["/boot/firmware", "/boot"].into_iter().find(|folder| {
        ["config.txt", "cmdline.txt"].iter().all(|name| machine.path(folder).join(name).exists())
    });
    match found {
        Some(folder) => Err(Error::Unsupported {
            reason: "the firmware of a Raspberry Pi boots this machine".to_owned(),
            instead: format!(
                "add the words of `preemptlab system apply ... --emit systemd-boot` to the one line of \
                 {folder}/cmdline.txt"
            ),
        }),
        None => Ok(()),
    }
}

/// Checks that grub-mkconfig reads drop-ins: Debian's does, that of others may not.
fn with_drop_ins(machine: &Machine) -> Result<Loader> {
    let script = fs::read_to_string(machine.path(MKCONFIG)).map_err(Error::file(MKCONFIG))?;
    if !script.contains("default/grub.d") {
        return Err(unsupported(
            "the grub-mkconfig of this system reads no drop-ins in /etc/default/grub.d",
            "add the line of `preemptlab system apply ... --emit grub` to the end of /etc/default/grub, and \
             run grub-mkconfig -o /boot/grub/grub.cfg",
        ));
    }
    Ok(Loader::Grub { config: "/boot/grub/grub.cfg".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::at(folder.path());
        (folder, machine)
    }

    const GRUB: [(&str, &str); 2] = [
        ("usr/sbin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg"),
        ("boot/grub/grub.cfg", ""),
    ];

    #[test]
    fn each_loader_is_known_by_its_files() {
        let (_folder, grub) = machine(&GRUB);
        assert_eq!(Loader::find(&grub).unwrap().name(), "GRUB");
        let (_folder, systemd) = machine(&[
            ("efi/EFI/systemd/systemd-bootx64.efi", ""),
            ("efi/loader/entries/a.conf", "linux /vmlinuz\n"),
        ]);
        let loader = Loader::find(&systemd).unwrap();
        assert_eq!(loader, Loader::Entries { name: "systemd-boot", folder: "/efi/loader".into() });
        let (_folder, fedora) = machine(&[
            ("boot/grub2/grub.cfg", ""),
            ("boot/loader/entries/a.conf", "linux /vmlinuz\n"),
        ]);
        assert_eq!(Loader::find(&fedora).unwrap().name(), "GRUB with boot loader entries");
    }

    #[test]
    fn what_is_not_known_is_refused_with_another_way() {
        let refused = |files: &[(&str, &str)]| {
            let (_folder, machine) = machine(files);
            Loader::find(&machine).unwrap_err().to_string()
        };
        assert!(refused(&[]).contains("--emit script"));
        let pi = [("boot/firmware/config.txt", ""), ("boot/firmware/cmdline.txt", "")];
        assert!(refused(&pi).contains("cmdline.txt"));
        assert!(refused(&[("efi/EFI/systemd/a.efi", "")]).contains("unified image"));
        let arch = [("usr/sbin/grub-mkconfig", "#!/bin/sh"), ("boot/grub/grub.cfg", "")];
        assert!(refused(&arch).contains("reads no drop-ins"));
        let both = [GRUB[0], GRUB[1], ("boot/efi/EFI/systemd/a.efi", "")];
        assert!(refused(&both).contains("both GRUB and systemd-boot"));
    }
}
