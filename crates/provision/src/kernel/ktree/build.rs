//! Builds of a kernel in the folder of its tree.

use std::{ffi::OsString, fs, path::PathBuf};

use preemptlab_model::{Configured, Digest, KernelRef};
use serde::{Deserialize, Serialize};

use super::{Checkout, Stranger, Workspace, checkout::Listed, workspace::BuildFolder};
use crate::{
    Event, KbuildError, Store, StoreError,
    kernel::kbuild::{
        BUILTIN_FILE, CONFIG_FILE, Configuration, IMAGE_FILE, Kit, Make, RunMake, Tools, kit,
        remove_if_there,
    },
    store::whole::is_whole,
};

/// Counts up when the same inputs are to become another kernel.
const RECIPE: u32 = 2;

/// Files of a build folder that this program writes.
const CONFIGURED: &str = ".preemptlab-configured";
const LOG: &str = ".preemptlab-log";

/// Files of a kernel in the store, beside those of every built kernel.
const DEFCONFIG_FILE: &str = "defconfig";
const COMPILER_FILE: &str = "compiler";

/// The largest shortened configuration that a recording holds, in bytes.
const DEFCONFIG_BYTES_MAX: u64 = 64 << 10;

/// A source, its listed files and the folder that it is built in.
pub(crate) struct Tree {
    pub(crate) workspace: Workspace,
    listed: Listed,
}

/// A kernel to be built: everything that its bytes depend on, but for the source.
pub(crate) struct Job<'a> {
    pub(crate) name: &'a KernelRef,
    pub(crate) configured: &'a Configured,
    /// The text of the configuration that it starts from.
    pub(crate) base: &'a str,
    pub(crate) tools: &'a Tools,
    pub(crate) tools_sha256: Digest,
    /// The kernel's own version.
    pub(crate) version: String,
}

/// Files that are kept of a built kernel.
pub(crate) struct BuiltTree {
    pub(crate) image_sha256: Digest,
    pub(crate) folder: PathBuf,
    pub(crate) compiler: String,
    pub(crate) defconfig: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Inputs<'a> {
    recipe: u32,
    tree: Digest,
    base: &'a str,
    symbols: String,
    tools: Digest,
}

impl Tree {
    /// Lists a checkout's files in the folder that it is built in.
    pub(crate) fn open(
        store: &Store,
        checkout: &Checkout,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, KbuildError> {
        let workspace = Workspace::open(store, checkout, on_event)?;
        let listed = workspace.list(checkout)?;
        Ok(Self { workspace, listed })
    }

    /// Returns its files as they were listed.
    pub(crate) fn listed(&self) -> &Listed {
        &self.listed
    }

    /// Returns the first file that another user can write to.
    pub(crate) fn stranger(&self) -> Option<&Stranger> {
        self.listed.stranger.as_ref()
    }

    /// Computes the digest of every file.
    pub(crate) fn digest(&self) -> Digest {
        self.listed.listing.digest(|_| true)
    }

    /// Returns the built kernel in the store, if there is one and its image is still sound.
    pub(crate) fn built(&self, store: &Store, job: &Job<'_>) -> Option<BuiltTree> {
        let folder = store.build(self.inputs(job));
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let digest = read(IMAGE_FILE)?.parse().ok()?;
        let found = crate::store::hash::sha256(&store.kernel_image(digest)).ok()?;
        if found != digest || !is_whole(&folder) {
            return None;
        }
        let (compiler, defconfig) = (read(COMPILER_FILE)?, read(DEFCONFIG_FILE));
        Some(BuiltTree { image_sha256: digest, folder, compiler, defconfig })
    }

    /// Builds a kernel. `keep` takes the bzImage into the store.
    pub(crate) fn build(
        &mut self,
        store: &Store,
        job: &Job<'_>,
        keep: impl Fn(&[u8]) -> Result<Digest, StoreError>,
        on_event: &dyn Fn(Event),
    ) -> Result<(), KbuildError> {
        let (inputs, build) = self.prepare(job, on_event)?;
        let made = self.make(store, job, &build, inputs, on_event);
        // A make that was killed may have left a file that is half written.
        if !matches!(made, Err(KbuildError::Killed(_) | KbuildError::Interrupted)) {
            build.end()?;
        }
        made?;

        let file = |name: &str| {
            let path = build.path().join(name);
            fs::read(&path).map_err(StoreError::at(&path))
        };
        let image = file(&job.tools.guest.image_file())?;
        let digest = keep(&image)?;
        if kit::is_wanted(build.path())? {
            let lock = store.lock(on_event)?;
            let trees = (&*self.workspace.copy(), build.path());
            self.kit(job).keep(store, &lock, trees, job.tools.guest)?;
        }
        if self.built(store, job).is_some() {
            // It was built for its kit alone, which an earlier preemptlab did not keep.
            return Ok(());
        }
        let lock = store.lock_builds(on_event)?;
        let folder = store.build(inputs);
        if folder.is_dir() {
            // Its image is gone or was spoilt.
            fs::remove_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        lock.fill(&folder, |draft| {
            let write = |name: &str, bytes: &[u8]| {
                let path = draft.join(name);
                fs::write(&path, bytes).map_err(StoreError::at(&path))
            };
            write(CONFIG_FILE, &file(".config")?)?;
            write(BUILTIN_FILE, &file(BUILTIN_FILE)?)?;
            write(COMPILER_FILE, job.tools.compiler_version().as_bytes())?;
            let defconfig = build.path().join(DEFCONFIG_FILE);
            if let Ok(text) = preemptlab_files::read(&defconfig, DEFCONFIG_BYTES_MAX) {
                write(DEFCONFIG_FILE, &text)?;
            }
            write(IMAGE_FILE, digest.to_string().as_bytes())?;
            Ok::<_, KbuildError>(())
        })
    }

    /// Makes the copy equal to the source, and the build's folder ready.
    fn prepare(
        &mut self,
        job: &Job<'_>,
        on_event: &dyn Fn(Event),
    ) -> Result<(Digest, BuildFolder), KbuildError> {
        on_event(Event::Copying { what: job.name.to_string() });
        self.workspace.follow(&self.listed.listing, &mut self.listed.origin)?;
        let key =
            Digest::of_json(&(job.base, job.configured.symbols.to_string(), job.tools_sha256));
        let build = self.workspace.build(key)?;
        Ok((self.inputs(job), build))
    }

    fn make(
        &self,
        store: &Store,
        job: &Job<'_>,
        build: &BuildFolder,
        inputs: Digest,
        on_event: &dyn Fn(Event),
    ) -> Result<(), KbuildError> {
        let (copy, output) = (self.workspace.copy(), build.path());
        let log = output.join(LOG);
        remove_if_there(&log)?;
        on_event(Event::RunningScripts { what: job.name.to_string() });
        build.begin()?;
        let make = Make {
            tools: job.tools,
            tree: &copy,
            output: Some(output),
            log: &log,
            lock: self.workspace.lock(),
        };
        let kept = store.build(inputs).with_extension("log");
        let run =
            |target: &'static str, variables: &[OsString], on_step: &mut dyn FnMut()| match make
                .run(target, variables, on_step)?
            {
                true => Ok(()),
                false => {
                    let end = make.end()?;
                    let (reason, log) = make.failed(store, &kept)?;
                    Err(KbuildError::TreeFailed { target, reason, end, log })
                }
            };
        let configuration = Configuration {
            configured: job.configured,
            base: job.base,
            version: &job.version,
            guest: job.tools.guest,
        };
        // The configuration that the tools write depends on these files.
        let is_of_config = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.starts_with("Kconfig") || path.starts_with("scripts/") || path == "Makefile"
        };
        let key = self.listed.listing.digest(is_of_config).to_string();
        let configured = output.join(CONFIGURED);
        if fs::read_to_string(&configured).ok().as_ref() != Some(&key) {
            remove_if_there(&configured)?;
            let run: &RunMake<'_> = &run;
            configuration.write(&copy, output, run)?;
            run("savedefconfig", &[], &mut || ())?;
            run("prepare", &[], &mut || ())?;
            fs::write(&configured, key).map_err(StoreError::at(&configured))?;
            // The earlier steps are complete.
            build.begin()?;
        }
        let steps_expected = configuration.steps_expected();
        let mut steps = 0;
        let mut on_step = || {
            on_event(Event::Compiling { what: job.name.to_string(), steps, steps_expected });
            steps += 1;
        };
        run(job.tools.guest.kernel_image, &[], &mut on_step)?;
        if kit::is_wanted(output)? {
            run(kit::TARGET, &[], &mut || ())?;
        }
        remove_if_there(&kept)
    }

    /// Returns the files from which modules for a kernel are built.
    pub(crate) fn kit(&self, job: &Job<'_>) -> Kit {
        Kit::new(self.inputs(job), job.tools.root())
    }

    fn inputs(&self, job: &Job<'_>) -> Digest {
        Digest::of_json(&Inputs {
            recipe: RECIPE,
            tree: self.digest(),
            base: job.base,
            symbols: job.configured.symbols.to_string(),
            tools: job.tools_sha256,
        })
    }
}
