/// A board of QEMU and the devices through which a guest speaks with the host.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    /// `-machine`.
    pub(crate) machine: String,
    /// `-cpu`, in virtual time.
    pub(crate) cpu: String,
    /// The option and the value of each: the results port, the port that ends QEMU, the watchdog that stops
    /// the guest for its snapshot.
    pub(crate) devices: Vec<(&'static str, String)>,
}
