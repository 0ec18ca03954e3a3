//! A program of the user's own, from its folder to its numbers. The last test needs virtual
//! machines.

use std::fs;

use crate::common::{Desk, Finished, lasting_store};

const EXPERIMENT: &str = r#"format = 1
name = "mine"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1
seed = 42

[machine]
cost = "instructions"
"#;

const DEFINITION: &str = r#"format = 1
packages = ["dash"]
without = ["debianutils", "dpkg"]
window = "1s"
limit = "5s"
cyclictest = "fifo"

[[load]]
name = "noise"
argv = ["/usr/bin/dash", "-c", "while :; do :; done"]

[[probe]]
name = "work"
argv = ["/usr/bin/dash", "/workload/work", "{seed}"]

[[metric]]
name = "throughput"
unit = "steps/s"
better = "higher"
from = "work.real"
amount = 20000

[[metric]]
name = "seed"
unit = "seeds"
better = "higher"
from = "work.stdout"
pattern = '^my seed is (\d+)$'

[[metric]]
name = "steps"
unit = "steps"
better = "higher"
from = "work:/tmp/steps"

[latency]
from = "work.stderr"
unit = "ms"
"#;

const WORK: &str = r#"
echo "my seed is $1"
while read -r time; do echo "$time" >&2; done < /workload/data/times
steps=0
while [ $steps -lt 20000 ]; do steps=$((steps + 1)); done
echo $steps > /tmp/steps
"#;

/// Returns a desk with a workload's folder `NAME` for each definition, and an experiment of all of
/// them.
fn desk(definitions: &[(&str, String)]) -> Desk {
    let desk = Desk::new();
    let mut experiment = EXPERIMENT.to_owned();
    for (name, definition) in definitions {
        fs::create_dir_all(desk.path(name).join("data")).unwrap();
        desk.write(&format!("{name}/workload.toml"), definition);
        desk.write(&format!("{name}/work"), WORK);
        desk.write(&format!("{name}/data/times"), "0.5\n1.5\n");
        experiment += &format!("\n[workload.{name}]\nkind = \"folder\"\npath = \"{name}\"\n");
    }
    desk.write("mine.toml", &experiment);
    desk
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_before_anything_is_done() {
    let desk = desk(&[("mine", DEFINITION.to_owned())]);
    fs::create_dir(desk.path("sound")).unwrap();
    desk.write("sound/workload.toml", DEFINITION);
    desk.replays("folder");
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// The definitions differ and the files do not, so that all cells but that of the one which loads a module are forked from one
/// snapshot; the one that only reads something else even shares the sound one's cell.
#[test]
fn vm_a_folder_is_a_workload_and_its_recording_needs_it_no_more() {
    let changed = |from: &str, to: &str| {
        assert!(DEFINITION.contains(from));
        DEFINITION.replacen(from, to, 1)
    };
    let loads = changed("[\"dash\"]", "[\"dash\", \"busybox-static\"]\nmodule_files = [\"dummy\"]")
        .replace(
            "\"/workload/work\", \"{seed}\"",
            "\"-c\", \"/usr/bin/busybox insmod /workload/modules/dummy.ko && . /workload/work\", \"work\", \"{seed}\"",
        );
    let desk = desk(&[
        ("sound", DEFINITION.to_owned()),
        ("loads", loads),
        ("mute", changed("my seed is", "your seed is")),
        (
            "endless",
            changed(
                "\"/usr/bin/dash\", \"/workload/work\"",
                "\"/usr/bin/dash\", \"-c\", \"while :; do :; done\"",
            ),
        ),
        ("brief", changed("while :; do :; done", "echo had enough >&2; exit 3")),
        ("absent", changed("\"/usr/bin/dash\", \"/workload/work\"", "\"/workload/wrok\"")),
    ]);
    let finished = run(&desk, &["run", "mine.toml", "--out", "mine"]);
    finished.fails(3, &["2 cells completed, 3 failed"]);
    finished.says(&[
        "the metric seed has no value: in work.stdout, `^your seed is (\\d+)$` is not there; it \
         ends with `my seed is 42`",
        "the cell used up its 5000000000 ns of virtual time",
        "the load did not last until the window: `noise` (/usr/bin/dash) ended with status 3 and \
         said: had enough",
        "cannot execute `work` (/workload/wrok): ENOENT",
    ]);

    let compared = run(&desk, &["compare", "mine", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&compared.succeeds().stdout).unwrap();
    let text = json.to_string();
    for metric in ["throughput", "\"seed\"", "\"steps\"", "response.max", "wakeup.fifo.p99"] {
        assert!(text.contains(metric), "{metric} is not in {text}");
    }

    // On another machine there is neither the folder nor the image.
    for name in ["sound", "loads", "mute", "endless", "brief", "absent"] {
        fs::remove_dir_all(desk.path(name)).unwrap();
    }
    let manifest = fs::read_to_string(desk.path("mine/recording.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let image = manifest["images"][0]["sha256"].as_str().unwrap();
    fs::remove_file(lasting_store().join("images").join(image)).unwrap();
    run(&desk, &["verify", "mine"]).succeeds();

    let folder = fs::read_dir(desk.path("mine/folders")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&folder).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&folder, bytes).unwrap();
    run(&desk, &["verify", "mine"]).fails(2, &[".tar.zst cannot be read"]);
}
