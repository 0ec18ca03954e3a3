//! Tests of emitted scripts and manifests: their texts, their languages, and the commands that they
//! execute.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use preemptlab_cluster::emit::{self, Line, Pods, Workers};
use serde_json::Value;

/// A value that each language would read otherwise.
const HOSTILE: &str = "it's \"a\" $(id) `id` ${{ secrets.X }} {} %j # : - & *x ü\\";

fn line(text: &str) -> Line {
    text.parse().unwrap()
}

fn workers(recording: &str) -> Workers {
    Workers {
        program: line("/usr/bin/preemptlab"),
        recording: line(recording),
        shards: 8,
        trace: false,
        twice: None,
    }
}

fn pods(claim: &str) -> Pods {
    Pods {
        claim: line(claim),
        image: line("preemptlab:0.1.0"),
        user: (1000, 1000),
        memory_mib: 1024,
    }
}

fn manifest(workers: &Workers, pods: &Pods) -> String {
    emit::kubernetes(&emit::job_name(workers, pods), workers, pods)
}

#[test]
fn scripts_and_manifests_are_these() {
    let workers =
        Workers { trace: true, twice: Some(line("1%")), ..workers("/home/me/runs/quick") };
    let work = line("/home/me/runs/quick.shards");
    let log = line("/home/me/runs/quick.shards/log");
    insta::assert_snapshot!(
        "slurm",
        emit::slurm(&workers, &log, 1024, &[line("--partition=long")])
    );
    insta::assert_snapshot!("parallel", emit::parallel(&workers));
    insta::assert_snapshot!("ssh", emit::ssh(&workers, &work));
    insta::assert_snapshot!("github", emit::github(&workers, &line("studies/quick.toml")).unwrap());
    let recording = line("/claim/runs/quick");
    let workers = Workers { program: line("preemptlab"), recording, ..workers };
    insta::assert_snapshot!("kubernetes", manifest(&workers, &pods("lab")));
}

#[test]
fn an_array_is_not_larger_than_most_sites_allow() {
    let workers = Workers { shards: 2500, ..workers("runs/large") };
    let script = emit::slurm(&workers, &line("log"), 1024, &[]);
    let arrays: Vec<&str> = script.lines().filter(|line| line.contains("--array=")).collect();
    let tasks: Vec<&str> =
        arrays.iter().map(|line| line.split("--array=").nth(1).unwrap()).collect();
    assert!(tasks[0].starts_with("1-1000 ") && tasks[2].starts_with("1-500 "), "{tasks:?}");
    assert!(script.contains("\"$((SLURM_ARRAY_TASK_ID + 2000))/2500\""), "{script}");
}

fn job_errors(manifest: &str) -> Vec<String> {
    let schema = include_str!("kubernetes/job.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let job: Value = serde_saphyr::from_str(manifest).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(&job).map(|error| error.to_string()).collect()
}

#[test]
fn kubernetes_knows_every_field_of_the_manifest() {
    for (place, claim) in [("/claim/runs/quick", "lab"), (&*format!("/claim/{HOSTILE}"), HOSTILE)] {
        let manifest = manifest(&workers(place), &pods(claim));
        assert_eq!(job_errors(&manifest), [""; 0], "{manifest}");
        let job: Value = serde_saphyr::from_str(&manifest).unwrap();
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], claim);
        let command = &pod["containers"][0]["command"];
        assert_eq!(command[3], place.replace("$(", "$$("), "{command}");
        assert_eq!(command[4], "auto/8");
        // Names of Jobs and the suffixes of pods' names: at most 63 bytes of RFC 1123.
        let name = job["metadata"]["name"].as_str().unwrap();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(name.len() <= 57 && name.bytes().all(plain), "{name}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    }
    let root = Pods { user: (0, 0), ..pods("lab") };
    let manifest = manifest(&workers("/claim/quick"), &root);
    assert!(!manifest.contains("runAsUser: 0\n") && !manifest.contains("fsGroup: 0\n"));
}

/// The schema is not one that everything satisfies.
#[test]
fn a_misspelt_field_of_a_manifest_is_found() {
    let manifest = manifest(&workers("/claim/runs/quick"), &pods("lab"));
    for (field, wrong) in [
        ("backoffLimitPerIndex:", "backoffLimitPerIndexes:"),
        ("kind: Job", "kind: Jobs"),
        ("completions: 8", "completions: eight"),
        ("  tolerationSeconds:", "  tolerationSecs:"),
        ("tolerationSeconds:", "tolerationSecs:"),
        ("mountPath:", "path:"),
        ("claimName:", "name:"),
        ("allowPrivilegeEscalation:", "allowPriviledgeEscalation:"),
        ("        image:", "        images:"),
    ] {
        let changed = manifest.replace(field, wrong);
        let found = !job_errors(&changed).is_empty();
        assert_eq!(found, changed != manifest, "{field} -> {wrong}");
    }
}

#[test]
fn a_workflow_hands_the_same_program_and_plan_to_every_job() {
    let workers = Workers { twice: Some(line(HOSTILE)), ..workers("runs/quick") };
    let workflow = emit::github(&workers, &line(HOSTILE)).unwrap();
    let workflow: Value = serde_saphyr::from_str(&workflow).unwrap();
    let jobs = workflow["jobs"].as_object().unwrap();
    assert_eq!(jobs["shard"]["strategy"]["matrix"]["shard"].as_array().unwrap().len(), 8);
    assert_eq!(jobs["merge"]["needs"], serde_json::json!(["prepare", "shard"]));
    let steps = jobs.values().flat_map(|job| job["steps"].as_array().unwrap());
    let runs: Vec<&str> = steps.clone().filter_map(|step| step["run"].as_str()).collect();
    // GitHub puts its expressions into commands before a shell reads them; of a user's there are none.
    let expressions = |run: &str| run.replace("${{ '${{' }}", "").matches("${{").count();
    assert_eq!(runs.iter().map(|run| expressions(run)).sum::<usize>(), 1, "{runs:?}");
    let prepare = runs.iter().find(|run| run.contains("cluster prepare")).unwrap();
    let words = shlex::split(&prepare.replace("${{ '${{' }}", "${{")).unwrap();
    assert_eq!(words, ["preemptlab", "cluster", "prepare", HOSTILE, "--out", "work/recording"]);
    for step in steps.filter_map(|step| step["uses"].as_str()) {
        let commit = step.split('@').nth(1).unwrap();
        assert!(
            commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{step}"
        );
    }
}

/// A desk with a folder of programs that stand for real ones and note their arguments.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(programs: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let desk = Self { folder };
        for (name, script) in programs {
            desk.program(&desk.path("bin").join(name), script);
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, path: &Path, script: &str) {
        fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script with the programs of the desk before others.
    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        let file = self.path("script");
        fs::write(&file, script).unwrap();
        let others = std::env::var("PATH").unwrap();
        let path = format!("{}:{others}", self.path("bin").display());
        let mut command = Command::new("sh");
        command.arg(file).args(arguments).env("PATH", path).env("DESK", self.folder.path());
        command.current_dir(self.folder.path()).output().unwrap()
    }

    /// Returns the sorted lines that programs noted.
    fn noted(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.path("noted")).unwrap_or_default();
        let mut lines: Vec<String> = noted.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// Writes once, because several programs note at the same time.
const NOTE: &str = "printf '%s\\n' \"$(printf '[%s]' \"$@\")\" >> \"$DESK/noted\"";

/// A folder and a program whose names each shell would read otherwise.
fn hostile(desk: &Desk) -> (String, Workers) {
    let folder = desk.path(HOSTILE);
    fs::create_dir(&folder).unwrap();
    let program = folder.join("preemptlab");
    desk.program(&program, NOTE);
    let recording = folder.join("quick").to_str().unwrap().to_owned();
    let mut workers = workers(&recording);
    workers.program = Line::of_path(&program).unwrap();
    workers.twice = Some(line(HOSTILE));
    workers.shards = 3;
    (recording, workers)
}

#[test]
fn sbatch_gets_scripts_that_execute_each_shard() {
    // Stands for sbatch: executes the script that it reads, as the second task, in an array.
    let sbatch = format!("{NOTE}; SLURM_ARRAY_TASK_ID=2 sh > /dev/null; echo '42;cluster'");
    let desk = Desk::new(&[("sbatch", &sbatch)]);
    let (recording, workers) = hostile(&desk);
    let log = line(&format!("{recording}.shards/log"));
    let script = emit::slurm(&workers, &log, 900, &[line("--comment=a b")]);
    let output = desk.run(&script, &[]);
    assert!(output.status.success(), "{output:?}");
    let noted = desk.noted();
    assert!(
        noted
            .contains(&format!("[cluster][work][{recording}][2/3][--jobs][1][--twice][{HOSTILE}]")),
        "{noted:#?}"
    );
    assert!(noted.contains(&format!("[cluster][merge][{recording}]")), "{noted:#?}");
    let array = noted.iter().find(|line| line.contains("[--array=1-3]")).unwrap();
    assert!(array.contains("[--mem=900M]") && array.contains("[--comment=a b]"), "{array}");
    assert!(array.contains(&format!("[--output={}/slurm-%A_%a]", log.as_str().replace('%', "%%"))));
    assert!(noted.iter().any(|line| line.contains("[--dependency=afterany:42]")), "{noted:#?}");
    assert!(Path::new(log.as_str()).is_dir());
}

#[test]
fn machines_take_one_shard_after_the_other() {
    // Stand for machines that are folders here: the commands of ssh there, and rsync without
    // options.
    let ssh = "\
while [ $# -gt 2 ]; do shift; done
machine=$DESK/machines/$1
[ -d \"$machine\" ] || exit 255
cd \"$machine\" && exec sh -c \"$2\"";
    let rsync = "\
while [ $# -gt 2 ]; do shift; done
place() { case $1 in one:* | two:*) echo \"$DESK/machines/${1%%:*}/${1#*:}\" ;; *) echo \"$1\" ;; esac; }
from=$(place \"$1\") to=$(place \"$2\")
case $from in */) mkdir -p \"$to\"; from=$from. ;; esac
exec cp -R \"$from\" \"$to\"";
    let mktemp = "mkdir \"$DESK/taken\" && echo \"$DESK/taken\"";
    let desk = Desk::new(&[("ssh", ssh), ("rsync", rsync), ("mktemp", mktemp)]);
    let (recording, workers) = hostile(&desk);
    for machine in ["one", "two"] {
        fs::create_dir_all(desk.path("machines").join(machine)).unwrap();
    }
    // A worker: knows its folder by the plan that was copied there.
    let program = PathBuf::from(workers.program.as_str());
    let part =
        "[ \"$2\" = merge ] || { cat recording/recording.json recording.shards/seed.tar.zst &&
        echo part > \"recording.shards/parts/${4%/*}-of-3\"; }";
    desk.program(&program, &format!("{NOTE}; {part}"));
    let work = format!("{recording}.shards");
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&recording).unwrap();
    fs::write(format!("{recording}/recording.json"), "{}").unwrap();
    fs::write(format!("{work}/seed.tar.zst"), "seed").unwrap();

    // The third is down, and takes nothing from the others.
    let script = emit::ssh(&workers, &line(&work));
    let output = desk.run(&script, &["one", "two", "three"]);
    assert!(output.status.success(), "{output:?}");
    let mut expected: Vec<String> = (1..=3)
        .map(|shard| format!("[cluster][work][recording][{shard}/3][--twice][{HOSTILE}]"))
        .collect();
    expected.insert(0, format!("[cluster][merge][{recording}]"));
    assert_eq!(desk.noted(), expected);
    for shard in 1..=3 {
        assert!(Path::new(&format!("{work}/parts/{shard}-of-3")).exists(), "{output:?}");
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("three takes no more shards") && said.lines().count() == 1, "{said}");

    let alone = desk.run(&script, &[]);
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn gnu_parallel_reads_no_value_as_its_own() {
    // Stands for parallel: notes the template and the inputs.
    let desk = Desk::new(&[("parallel", NOTE), ("seq", "printf '1\\n2\\n3\\n'")]);
    let (recording, workers) = hostile(&desk);
    let output = desk.run(&emit::parallel(&workers), &[]);
    assert!(output.status.success(), "{output:?}");
    let program = workers.program.as_str();
    let template = "[exec][{1}][cluster][work][{2}][{3}/3][--jobs][1][--twice][{4}]";
    let call =
        format!("{template}[:::][{program}][:::][{recording}][:::][1][2][3][:::][{HOSTILE}]");
    assert!(desk.noted().contains(&call), "{:#?}", desk.noted());
    assert!(desk.noted().contains(&format!("[cluster][merge][{recording}]")));
}
