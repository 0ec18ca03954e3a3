/// The parts of experiments that depend on the guest's processor.
#[derive(Debug)]
pub(crate) struct ArchInfo {
    /// The profiles that preemptlab has for it, by their names.
    pub(crate) profiles: &'static [(&'static str, &'static str)],
    /// The profile of an experiment that names no machine.
    pub(crate) default_profile: &'static str,
    /// Whether QEMU's board tells a kernel which CPUs share a cache.
    pub(crate) tells_shared_caches: bool,
    /// The beginning of the name of the thread of an interrupt that every kernel requests on QEMU's board and that may
    /// have one.
    pub(crate) interrupt_thread: &'static str,
    /// The kernel parameter of recorded guests whose CPUs took turns.
    pub(crate) turns_parameter: Option<&'static str>,
}
