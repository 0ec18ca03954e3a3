//! The configuration of a kernel: written, completed by the kernel's own tools, and checked.

use std::{ffi::OsString, fs, path::Path};

use preemptlab_model::{ConfigBase, Configured, KernelConfig, Platform, Symbols};

use super::{KbuildError, config, lab, tree::has_symbol};
use crate::StoreError;

/// The number of files that make announces for the configuration `lab` of 6.12, and for Debian's.
const LAB_STEPS: u32 = 1500;
const STEPS: u32 = 3700;

/// The file with the configuration `lab`, beside the whole configuration.
const FRAGMENT: &str = ".preemptlab-lab";

/// Makes a target with these variables, and calls back at each step.
pub(crate) type RunMake<'a> =
    dyn Fn(&'static str, &[OsString], &mut dyn FnMut()) -> Result<(), KbuildError> + 'a;

/// A configuration as a kernel's name says it.
pub(crate) struct Configuration<'a> {
    pub(crate) configured: &'a Configured,
    /// The text of the configuration that it starts from.
    pub(crate) base: &'a str,
    /// The kernel's own version.
    pub(crate) version: &'a str,
    /// Names of the architecture that it is for.
    pub(crate) guest: &'static Platform,
}

impl Configuration<'_> {
    /// Writes the configuration into the folder that the kernel is built in, lets the kernel's own
    /// tools complete it, and checks it.
    pub(crate) fn write(
        &self,
        tree: &Path,
        output: &Path,
        run: &RunMake<'_>,
    ) -> Result<(), KbuildError> {
        let path = output.join(".config");
        let (symbols, guest) = (&self.configured.symbols, self.guest);
        let write = |text: &str| fs::write(&path, text).map_err(StoreError::at(&path));
        let read = || fs::read_to_string(&path).map_err(StoreError::at(&path));
        let exists = |symbol: &str| has_symbol(tree, guest, symbol).unwrap_or(true);
        if self.configured.base == ConfigBase::Lab {
            let fragment = output.join(FRAGMENT);
            fs::write(&fragment, self.base).map_err(StoreError::at(&fragment))?;
            let mut variable = OsString::from("KCONFIG_ALLCONFIG=");
            variable.push(&fragment);
            run("allnoconfig", &[variable], &mut || ())?;
            if let Some(symbol) = lab::missing(self.base, &KernelConfig::parse(&read()?), exists) {
                return Err(KbuildError::Lab { symbol, version: self.version.to_owned() });
            }
            if symbols.iter().next().is_none() {
                return Ok(());
            }
            write(&config::start(&read()?, symbols))?;
        } else {
            write(&config::start(self.base, symbols))?;
        }
        run("olddefconfig", &[], &mut || ())?;
        check((tree, guest), &read()?, symbols, self.version)?;
        match lab::needed(&KernelConfig::parse(&read()?), guest, exists) {
            Some(symbol) => Err(KbuildError::Off { symbol }),
            None => Ok(()),
        }
    }

    /// Returns about how many files make will announce.
    pub(crate) const fn steps_expected(&self) -> u32 {
        match self.configured.base {
            ConfigBase::Lab => LAB_STEPS,
            ConfigBase::Debian(_) | ConfigBase::File(_) => STEPS,
        }
    }
}

/// Checks that every symbol got its value in the configuration of a source tree.
fn check(
    (tree, guest): (&Path, &Platform),
    text: &str,
    symbols: &Symbols,
    version: &str,
) -> Result<(), KbuildError> {
    let config = KernelConfig::parse(text);
    let exists = |symbol: &str| has_symbol(tree, guest, symbol).unwrap_or(true);
    let Some((symbol, asked)) = config::refused(&config, symbols, exists) else {
        return Ok(());
    };
    let (symbol, asked, version) = (symbol.to_owned(), asked.clone(), version.to_owned());
    match has_symbol(tree, guest, &symbol)? {
        false => Err(KbuildError::NoSymbol { symbol, asked, version }),
        true => {
            let not_set = format!("# CONFIG_{symbol} is not set");
            let became = config.get(&symbol).map(str::to_owned);
            let became =
                became.or_else(|| text.lines().any(|line| line == not_set).then(|| "n".into()));
            Err(KbuildError::Symbol { symbol, asked, became, version })
        }
    }
}
