//! A program of the user's own, from its folder to its numbers. The last test needs virtual
//! machines.

mod common;

use std::{fs, os::unix::fs::symlink};

use common::{Desk, Finished, lasting_store};

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

/// Checks the messages about a folder after a change.
#[track_caller]
fn refused(change: impl FnOnce(&Desk), said: &[&str]) {
    let desk = desk(&[("mine", DEFINITION.to_owned())]);
    change(&desk);
    desk.run(&["run", "mine.toml"]).fails(2, said);
    assert!(!desk.path("runs").exists());
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_before_anything_is_done() {
    let remove = |desk: &Desk| fs::remove_dir_all(desk.path("mine")).unwrap();
    refused(remove, &["the workload `mine` cannot be read", "No such file or directory"]);
    let undefine = |desk: &Desk| fs::remove_file(desk.path("mine/workload.toml")).unwrap();
    refused(undefine, &["there is no workload.toml"]);
    let link = |desk: &Desk| symlink("/etc/passwd", desk.path("mine/secret")).unwrap();
    refused(link, &["`secret` is a link to `/etc/passwd`, which leads out of the folder"]);
    let grow = |desk: &Desk| {
        let file = fs::File::create(desk.path("mine/large")).unwrap();
        file.set_len(65 << 20).unwrap();
    };
    refused(grow, &["there are more than 64 MiB in it"]);
}

#[test]
fn a_mistake_in_the_definition_is_shown_in_its_place() {
    let misspell = |from: &'static str, to: &'static str| {
        assert!(DEFINITION.contains(from));
        move |desk: &Desk| {
            desk.write("mine/workload.toml", &DEFINITION.replacen(from, to, 1));
        }
    };
    refused(
        misspell("packages", "pakages"),
        &["mine/workload.toml:2", "unknown field `pakages`", "did you mean `packages`?"],
    );
    refused(misspell("(\\d+)", "(\\d+"), &["mine/workload.toml:28", "unclosed group", "pattern ="]);
    refused(
        misspell("work.real", "wrok.real"),
        &["there is no load or probe `wrok`", "did you mean `work`?"],
    );
    refused(misspell("\"seed\"", "\"wakeup\""), &["a metric that preemptlab itself has"]);
}

/// A trace follows one probe, which it knows by its name.
#[test]
fn wakeups_that_no_trace_can_follow_are_refused() {
    let beside = |desk: &Desk, noise: &str, work: &str, more: &str| {
        let definition = DEFINITION
            .replace("cyclictest = \"fifo\"\n", "")
            .replace("name = \"noise\"\n", &format!("name = \"noise\"\n{noise}"))
            .replace("name = \"work\"\n", &format!("name = \"work\"\n{work}"));
        desk.write("mine/workload.toml", &format!("{definition}\n{more}"));
    };
    const WAKEUPS: &str = "wakeups = true\n";
    let probe = |name: &str, program: &str| {
        format!("[[probe]]\nname = \"{name}\"\nargv = [\"/usr/bin/{program}\"]\n")
    };
    refused(
        |desk| {
            let work = format!("name = \"work\"\n{WAKEUPS}");
            let definition = DEFINITION.replace("name = \"work\"\n", &work);
            desk.write("mine/workload.toml", &definition);
        },
        &[
            "mine/workload.toml:13",
            "`work` has `wakeups`, but traces follow the cyclictest beside it",
        ],
    );
    refused(
        |desk| beside(desk, WAKEUPS, "", ""),
        &["mine/workload.toml:8", "`noise` has `wakeups`, and is no probe", "make it a [[probe]]"],
    );
    refused(
        |desk| beside(desk, "", WAKEUPS, ""),
        &[
            "mine/workload.toml:8",
            "`work` and `noise` are the same program, whose wakeups a trace cannot tell apart",
        ],
    );
    let mine = format!("{}{WAKEUPS}", probe("mine", "servo"));
    refused(
        |desk| beside(desk, "", WAKEUPS, &mine),
        &["mine/workload.toml:41", "`work` and `mine` both have `wakeups`"],
    );
    refused(
        |desk| beside(desk, "", "", &format!("{mine}{}", probe("next", "cyclictest"))),
        &[
            "mine/workload.toml:44",
            "`mine` has `wakeups`, but traces follow the cyclictest of `next`",
        ],
    );
    refused(|desk| beside(desk, "", "wakeups = \"yes\"\n", ""), &["wakeups = \"yes\""]);
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// The definitions differ and the files do not, so that all cells are forked from one snapshot; the
/// one that only reads something else even shares the sound one's cell.
#[test]
fn vm_a_folder_is_a_workload_and_its_recording_needs_it_no_more() {
    let changed = |from: &str, to: &str| {
        assert!(DEFINITION.contains(from));
        DEFINITION.replacen(from, to, 1)
    };
    let desk = desk(&[
        ("sound", DEFINITION.to_owned()),
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
    finished.fails(3, &["1 cell completed, 3 failed"]);
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
    for name in ["sound", "mute", "endless", "brief", "absent"] {
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
