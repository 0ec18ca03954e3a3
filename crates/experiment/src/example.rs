/// Line of an experiment or a `workload.toml` for each key that takes a value, as an example where
/// a value is missing.
const EXAMPLES: [&str; 37] = [
    "format = 1",
    "name = \"mine\"",
    "description = \"does preemption cost throughput here?\"",
    "kernel = [\"debian:6.12\", \"debian:6.12-rt\"]",
    "preempt = [\"none\", \"full\"]",
    "cpus = [1, 2]",
    "settings = [\"\", \"threadirqs\"]",
    "count = 5",
    "seed = 1",
    "arch = \"amd64\"",
    "memory_mib = 512",
    "shift = 1",
    "cost = \"my-machine.toml\"",
    "lookahead_ns = 500",
    "cmdline = [\"threadirqs\"]",
    "modules = [\"msr\"]",
    "kind = \"cyclictest-hackbench\"",
    "path = \"my-workload\"",
    "window = \"2s\"",
    "limit = \"30s\"",
    "interval_us = 1000",
    "fifo_priority = 90",
    "groups = 2",
    "message_bytes = 100",
    "duration = \"2s\"",
    "clients = 4",
    "packages = [\"openssl\"]",
    "argv = [\"/usr/bin/openssl\", \"speed\"]",
    "unit = \"ms\"",
    "better = \"lower\"",
    "from = \"sign.stdout\"",
    "pattern = '^rsa .* ([\\d.]+)$'",
    "policy = \"fifo:50\"",
    "stressor = \"matrix\"",
    "stressors = [\"mmap\", \"fork\"]",
    "without = [\"clone\"]",
    "filesystem = \"ext4\"",
];

/// Returns the example of a key's value.
pub(crate) fn example(key: &str) -> Option<&'static str> {
    match key {
        // As people write tables.
        "factors" => Some("[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"none\", \"full\"]"),
        "workload" => Some("[workload.hackbench]\nkind = \"cyclictest-hackbench\""),
        _ => EXAMPLES.into_iter().find(|line| line.split(' ').next() == Some(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_toml_of_its_key() {
        for line in EXAMPLES {
            let table: toml::Table = line.parse().unwrap();
            let key = table.keys().next().unwrap();
            assert_eq!(example(key), Some(line), "two examples have the same key");
        }
        for key in ["factors", "workload"] {
            let table: toml::Table = example(key).unwrap().parse().unwrap();
            assert!(table.contains_key(key));
        }
        assert_eq!(example("nothing"), None);
    }
}
