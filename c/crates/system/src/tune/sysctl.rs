use preemptlab_model::Setting;

use crate::tune::{Command, Measures, Settings, Step};

/// Read last, as the names are read in the order of the alphabet (sysctl.d(5)).
const PATH: &str = "/etc/sysctl.d/zz-preemptlab.conf";

/// Returns a file for sysctl.d(5), which is read at every boot.
pub fn emit(settings: &Settings) -> Measures {
    let sysctls: Vec<_> = settings
        .run_time
        .iter()
        .filter_map(|setting| match setting {
            Setting::Sysctl { name, value } => Some(format!("{name} = {value}\n")),
            _ => None,
        })
        .collect();
    let mut measures = Measures::default();
    if !sysctls.is_empty() {
        let content = format!("# Written by preemptlab.\n{}", sysctls.concat());
        measures.steps = vec![
            Step::Write { path: PATH.to_owned(), mode: 0o644, content },
            Step::Run(Command::new(["sysctl", "-p", PATH])),
        ];
    }
    measures
}
