//! Test that no descriptor is lost, however a QEMU ends. It is alone in its process, because it
//! counts descriptors.

mod fake;

use std::time::Duration;

use fake::{Fake, LONG, cell};
use preemptlab_runner::{Backend, Cancel};

#[test]
fn every_descriptor_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(folder.path().to_owned());
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for behaviour in ["", "dies", "garbage", "no-kernel", "choosy", "full", "crash"] {
        let _ = std::fs::remove_dir_all(fake.snapshots());
        let _ = fake.vm(behaviour, LONG).execute(&cell(), None, &Cancel::default());
        assert_eq!(open(), before, "{behaviour}");
    }
    let _ =
        fake.vm("asleep", Duration::from_millis(100)).execute(&cell(), None, &Cancel::default());
    assert_eq!(open(), before);
}
