use std::str::FromStr;

use preemptlab_protocol::prices::Class;
use serde::{Deserialize, Serialize};

/// Processor architecture. Experiments, profiles and recordings write it under the key `arch`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Arch {
    /// x86-64, which Debian calls amd64.
    #[default]
    Amd64,
    /// AArch64, which Debian calls arm64.
    Arm64,
}

/// Names of an architecture in Debian, GNU, Linux and QEMU, and the classes of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The architecture of Debian's packages (`dpkg --print-architecture`), and the value of the key `arch`.
    pub debian: &'static str,
    /// The architecture of rpm's packages.
    pub rpm: &'static str,
    /// GNU's triplet, which is also the name of Debian's folder of libraries (multiarch).
    pub triplet: &'static str,
    /// Debian's package with the C compiler that makes programs of this architecture, of Debian 13.
    pub compiler_package: &'static str,
    /// The dynamic loader's file, in the folder of libraries.
    pub loader: &'static str,
    /// `ARCH=` of the kernel's build.
    pub kernel_arch: &'static str,
    /// The kernel's folder under `arch/`.
    pub kernel_folder: &'static str,
    /// The kernel's image, as its build names it: the target of make, and a file in `boot/` of the
    /// kernel's folder.
    pub kernel_image: &'static str,
    /// The symbol that each whole configuration of a kernel for this architecture has, without `CONFIG_`.
    pub config_symbol: &'static str,
    /// The symbols without which the guest's init reaches no device through which it speaks with the host.
    pub device_symbols: &'static [&'static str],
    /// The kernel's name of the first serial console.
    pub console: &'static str,
    /// The kernel parameter with which the guest's init reaches the devices through which it speaks with the host;
    /// `None` where it needs none. On arm64 they are in memory, and the kernel keeps `/dev/mem` from what it knows as
    /// a device (`CONFIG_IO_STRICT_DEVMEM`, kernel/resource.c).
    pub devices_parameter: Option<&'static str>,
    /// The kernel parameter with which the kernel takes the clocks of several CPUs for one; `None` where it always
    /// does. They differ by the lookahead at most; without the parameter x86's kernel compares them
    /// (`check_tsc_warp`, arch/x86/kernel/tsc_sync.c), and gives the clock up where one is ahead of another. Linux
    /// 6.1 does not trust it otherwise, and a trace finds `CLOCK_MONOTONIC` by it (`unsynchronized_tsc`,
    /// arch/x86/kernel/tsc.c).
    pub one_clock_parameter: Option<&'static str>,
    /// The longest command line that the kernel keeps, in bytes: it drops the rest without a message
    /// (`COMMAND_LINE_SIZE`, `asm/setup.h` of the architecture, of which the last byte is NUL).
    pub cmdline_bytes_max: usize,
    /// The classes of its instructions, each of which has a price, in the order of their numbers.
    pub price_classes: &'static [Class],
    /// Debian's package with QEMU for guests of this architecture.
    pub qemu_package: &'static str,
    /// QEMU's program for guests of this architecture.
    pub qemu_program: &'static str,
}

impl Arch {
    /// The architecture of this program, and of the programs that it starts.
    #[cfg(target_arch = "x86_64")]
    pub const HOST: Self = Self::Amd64;

    /// Every architecture of guests.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Returns whether it is that of a machine of which no architecture is said. Recordings leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the names of an architecture.
    pub const fn platform(self) -> &'static Platform {
        match self {
            Self::Amd64 => &Platform {
                debian: "amd64",
                rpm: "x86_64",
                triplet: "x86_64-linux-gnu",
                compiler_package: "gcc-14-x86-64-linux-gnu",
                loader: "ld-linux-x86-64.so.2",
                kernel_arch: "x86_64",
                kernel_folder: "x86",
                kernel_image: "bzImage",
                config_symbol: "X86_64",
                device_symbols: &["X86_IOPL_IOPERM"],
                console: "ttyS0",
                devices_parameter: None,
                one_clock_parameter: Some("tsc=reliable"),
                cmdline_bytes_max: 2047,
                price_classes: Class::X86_64,
                qemu_package: "qemu-system-x86",
                qemu_program: "qemu-system-x86_64",
            },
            Self::Arm64 => &Platform {
                debian: "arm64",
                rpm: "aarch64",
                triplet: "aarch64-linux-gnu",
                compiler_package: "gcc-14-aarch64-linux-gnu",
                loader: "ld-linux-aarch64.so.1",
                kernel_arch: "arm64",
                kernel_folder: "arm64",
                kernel_image: "Image",
                config_symbol: "ARM64",
                device_symbols: &["DEVMEM", "PCI_HOST_GENERIC"],
                console: "ttyAMA0",
                devices_parameter: Some("iomem=relaxed"),
                one_clock_parameter: None,
                cmdline_bytes_max: 2047,
                price_classes: Class::AARCH64,
                qemu_package: "qemu-system-arm",
                qemu_program: "qemu-system-aarch64",
            },
        }
    }
}

/// An architecture has this name, and none that guests can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`arch = {0:?}` is not known; the known architectures are {known}", known = known())]
pub struct ParseArchError(String);

/// Returns the names of all architectures, in words.
fn known() -> String {
    Arch::ALL.map(|arch| format!("{:?}", arch.platform().debian)).join(", ")
}

impl FromStr for Arch {
    type Err = ParseArchError;

    fn from_str(name: &str) -> Result<Self, ParseArchError> {
        let mut all = Self::ALL.into_iter();
        all.find(|arch| arch.platform().debian == name)
            .ok_or_else(|| ParseArchError(name.to_owned()))
    }
}

impl TryFrom<String> for Arch {
    type Error = ParseArchError;

    fn try_from(name: String) -> Result<Self, ParseArchError> {
        name.parse()
    }
}

impl Platform {
    /// Returns the path of the kernel's image in the folder of its build.
    pub fn image_file(&self) -> String {
        format!("arch/{}/boot/{}", self.kernel_folder, self.kernel_image)
    }

    /// Returns the triplet as Debian writes it in names of packages, which hold no underscore.
    pub fn package_suffix(&self) -> String {
        self.triplet.replace('_', "-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KernelRef, PackageName};

    #[test]
    fn what_names_packages_is_a_packages_name() {
        for platform in Arch::ALL.map(Arch::platform) {
            for name in
                [platform.qemu_package, platform.compiler_package, &platform.package_suffix()]
            {
                name.parse::<PackageName>().unwrap();
            }
        }
    }

    #[test]
    fn an_architecture_is_written_as_it_is_read() {
        for arch in Arch::ALL {
            let text = format!("{:?}", arch.platform().debian);
            assert_eq!(serde_json::to_string(&arch).unwrap(), text);
            assert_eq!(serde_json::from_str::<Arch>(&text).unwrap(), arch);
        }
        for name in ["riscv64", "Amd64", "x86_64", "aarch64", ""] {
            let said = serde_json::from_str::<Arch>(&format!("{name:?}")).unwrap_err().to_string();
            let known = "is not known; the known architectures are \"amd64\", \"arm64\"";
            assert!(said.starts_with(&format!("`arch = {name:?}` {known}")), "{said}");
        }
    }

    #[test]
    fn a_kernel_is_found_with_the_architecture_in_its_name_and_without() {
        for platform in Arch::ALL.map(Arch::platform) {
            let named = format!("debian:6.12.107+deb13-{}", platform.debian);
            assert_eq!(named.parse::<KernelRef>(), "debian:6.12.107+deb13".parse());
        }
    }
}
