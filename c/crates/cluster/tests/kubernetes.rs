//! Tests of Kubernetes as an engine, with a kubectl that notes its arguments.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use preemptlab_cluster::{
    emit::Line,
    engine::{Engine, EngineError, Submission, Work},
    kubernetes::{Kubernetes, Options},
};
use preemptlab_model::Shard;
use serde_json::Value;

fn line(text: &str) -> Line {
    text.parse().unwrap()
}

/// A kubectl that notes its arguments and its input, and then does what a script says.
struct Kubectl {
    folder: tempfile::TempDir,
}

impl Kubectl {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubectl");
        let noted = folder.path().join("noted");
        let script = format!(
            "#!/bin/sh\nprintf '[%s]' \"$@\" >> '{0}'\necho >> '{0}'\n[ \"$1\" != create ] || cat > '{0}.yaml'\n\
             {script}\n",
            noted.display()
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn engine(&self) -> Kubernetes {
        let options = Options::new(&["--namespace=lab".to_owned()]).unwrap();
        let others = std::env::var("PATH").unwrap();
        Kubernetes::new(line("lab"), line("preemptlab:0.1.0"), (1000, 1000), options)
            .looking_in(format!("{}:{others}", self.folder.path().display()).into())
    }

    fn noted(&self) -> String {
        fs::read_to_string(self.folder.path().join("noted")).unwrap_or_default()
    }

    fn manifest(&self) -> Value {
        let text = fs::read_to_string(self.folder.path().join("noted.yaml")).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    }
}

fn work() -> Work {
    Work {
        recording: PathBuf::from("/mnt/lab/runs/quick"),
        program: line("preemptlab"),
        found_at: line("/claim/runs/quick"),
        trace: false,
        twice: Some(line("1%")),
        memory_mib: 512,
    }
}

#[test]
fn a_submission_is_one_job_with_an_index_a_shard() {
    let kubectl = Kubectl::new("echo job.batch/preemptlab-1");
    let shards: Vec<Shard> = Shard::all(40).skip(7).step_by(3).collect();
    let work = work();
    let submission = Submission { name: "preemptlab-1", shards: &shards, work: &work };
    assert_eq!(kubectl.engine().submit(&submission).unwrap().to_string(), "preemptlab-1");
    let job = kubectl.manifest();
    assert_eq!(job["metadata"]["name"], "preemptlab-1");
    // Shards follow from a pod's index, so that a part of them is submitted as all of them.
    assert_eq!(
        (&job["spec"]["completions"], &job["spec"]["parallelism"]),
        (&40.into(), &40.into())
    );
    let worker = &job["spec"]["template"]["spec"]["containers"][0];
    let command = "preemptlab cluster work /claim/runs/quick auto/40 --jobs 1 --twice 1%";
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(worker["command"], serde_json::json!(words));
    assert_eq!(worker["resources"]["requests"]["memory"], "1024Mi");
    let options = "[--request-timeout=30s][--namespace=lab]";
    assert_eq!(kubectl.noted(), format!("[create][--filename=-][--output=name]{options}\n"));
}

#[test]
fn jobs_are_asked_for_together_and_deleted_together() {
    let jobs = ["preemptlab-1".parse().unwrap(), "preemptlab-2".parse().unwrap()];
    let kubectl = Kubectl::new(
        "case $1-$2 in
            get-job) echo '{\"items\":[{\"spec\":{\"completions\":3},\"status\":{\"succeeded\":1}}]}' ;;
            get-pods) printf '0/2 nodes are available: 2 Insufficient memory.\\t\\n' ;;
        esac",
    );
    let engine = kubectl.engine();
    let state = engine.state(&jobs).unwrap();
    assert_eq!((state.running, state.waiting), (0, 2));
    assert_eq!(state.why.unwrap(), "0/2 nodes are available: 2 Insufficient memory.");
    engine.cancel(&jobs).unwrap();
    let noted = kubectl.noted();
    let calls: Vec<&str> = noted.lines().collect();
    assert!(calls[0].contains("[preemptlab-1][preemptlab-2]"), "{noted}");
    assert!(calls[2].starts_with("[delete][job][--ignore-not-found][--wait=false][preemptlab-1]"));
    assert_eq!(calls.len(), 3, "{noted}");

    let kubectl = Kubectl::new("exit 0");
    let gone = kubectl.engine();
    assert!(gone.state(&jobs).unwrap().is_over());
    assert_eq!(gone.find("preemptlab-1").unwrap(), None);
    let kubectl = Kubectl::new("echo job.batch/preemptlab-1");
    let found = kubectl.engine().find("preemptlab-1").unwrap();
    assert_eq!(found.unwrap().to_string(), "preemptlab-1");
}

#[test]
fn a_refusal_says_what_to_do_next() {
    let work = work();
    let shards: Vec<Shard> = Shard::all(2).collect();
    let submission = Submission { name: "preemptlab-1", shards: &shards, work: &work };
    let refusal = |said: &str| {
        let kubectl = Kubectl::new(&format!("cat >&2 <<'E'\n{said}\nE\nexit 1"));
        kubectl.engine().submit(&submission).unwrap_err()
    };
    let unusable = [
        ("error: context \"x\" does not exist", "get-contexts"),
        ("Error from server (NotFound): namespaces \"x\" not found", "--namespace=NAME"),
        ("The Job \"x\" is invalid: spec.completions: Invalid value", "no such Job"),
    ];
    for (said, next) in unusable {
        let EngineError::Unusable(text) = refusal(said) else { panic!("{said}") };
        assert!(text.contains(next), "{text}");
    }
    let refused = [
        (
            "E1123 03:48:26.8 275 memcache.go:265] \"Unhandled Error\" err=\"connection refused\"\n\
             The connection to the server localhost:8080 was refused - did you specify the right host or \
             port?",
            "--kubeconfig=FILE",
        ),
        (
            "Error from server (Forbidden): error when creating \"STDIN\": pods \"x\" is forbidden: exceeded \
             quota: lab, requested: cpu=40",
            "quota",
        ),
        ("error: You must be logged in to the server (Unauthorized)", "log in"),
        ("\u{1b}[2Jsomething else", "kubectl: [2Jsomething else"),
    ];
    for (said, next) in refused {
        let EngineError::Refused(text) = refusal(said) else { panic!("{said}") };
        assert!(text.contains(next), "{text}");
    }
    for said in [
        "Unable to connect to the server: net/http: TLS handshake timeout",
        "The connection to the server 10.0.0.1:6443 was refused: connection refused",
        "Error from server: etcdserver: request timed out",
    ] {
        assert!(matches!(refusal(said), EngineError::Away(_)), "{said}");
    }
    let nobody = tempfile::tempdir().unwrap();
    let engine = Kubectl::new("").engine().looking_in(nobody.path().as_os_str().to_owned());
    let said = engine.cluster().unwrap_err().to_string();
    assert!(said.contains("there is no kubectl on this machine: install it"), "{said}");
}

#[test]
fn who_may_not_list_nodes_gets_shards_for_some() {
    let forbidden = "echo 'Error from server (Forbidden): nodes is forbidden: User \"me\" cannot list' >&2; exit 1";
    let kubectl = Kubectl::new(forbidden);
    assert_eq!(kubectl.engine().cpus().unwrap(), 32);
    let kubectl = Kubectl::new("printf '16\\n15890m\\n'");
    assert_eq!(kubectl.engine().cpus().unwrap(), 31);
}
