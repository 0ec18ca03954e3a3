use preemptlab_experiment::Recording;

use super::data;

/// Returns the kernels of recordings.
pub fn kernels(recordings: &[&Recording]) -> Vec<data::KernelUsed> {
    let kernels = recordings.iter().flat_map(|recording| {
        recording.manifest().kernels.iter().map(|kernel| data::KernelUsed {
            run: run(recordings, recording),
            name: kernel.name.to_string(),
            release: kernel.release.clone(),
            image_sha256: kernel.image_sha256.to_string(),
            packages: kernel.packages.clone(),
        })
    });
    kernels.collect()
}

/// Returns the builds of QEMU that ran them; the machine's own kernel needs none.
pub fn qemu(recordings: &[&Recording]) -> Vec<data::QemuUsed> {
    let builds = recordings.iter().filter_map(|recording| {
        let qemu = recording.manifest().qemu.as_ref()?;
        Some(data::QemuUsed {
            run: run(recordings, recording),
            version: qemu.build.version.clone(),
            digest: qemu.build.digest.to_string(),
            packages: qemu.packages.clone(),
        })
    });
    builds.collect()
}

/// Returns the guest images; one that serves several kernels or workloads is listed once.
pub fn images(recordings: &[&Recording]) -> Vec<data::ImageUsed> {
    let mut used: Vec<data::ImageUsed> = Vec::new();
    for recording in recordings {
        let run = run(recordings, recording);
        for image in &recording.manifest().images {
            let sha256 = image.sha256.to_string();
            let known = used.iter().position(|each| each.run == run && each.sha256 == sha256);
            let at = known.unwrap_or_else(|| {
                used.push(data::ImageUsed {
                    run: run.clone(),
                    kernels: Vec::new(),
                    workloads: Vec::new(),
                    sha256,
                    packages: image.packages.clone(),
                });
                used.len() - 1
            });
            let (kernel, workload) = (image.kernel.to_string(), image.workload.clone());
            if !used[at].kernels.contains(&kernel) {
                used[at].kernels.push(kernel);
            }
            if !used[at].workloads.contains(&workload) {
                used[at].workloads.push(workload);
            }
        }
    }
    used
}

fn run(recordings: &[&Recording], recording: &Recording) -> Option<String> {
    (recordings.len() > 1).then(|| recording.path().display().to_string())
}
