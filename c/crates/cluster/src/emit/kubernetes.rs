use std::path::Path;

use preemptlab_model::Digest;

use super::{
    line::{Line, LineError},
    quote::yaml,
    workers::Workers,
};

/// Where a pod finds the claim.
const MOUNT: &str = "/claim";

/// Most bytes of a Job's name that come from the recording's: the names of pods add theirs to it, and
/// have 63.
const NAME_MAX: usize = 30;

/// The user without a name that pods run as where root submits: `runAsNonRoot` forbids root.
const NOBODY: u32 = 65532;

/// Parts of the pods of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pods {
    /// The persistent volume claim.
    pub claim: Line,
    /// The image, whose `preemptlab` is in its PATH.
    pub image: Line,
    /// The user and the group of the recording's files.
    pub user: (u32, u32),
    /// The memory of a worker with one virtual machine, in MiB.
    pub memory_mib: u32,
}

/// Error of a recording that pods would not find.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It is not in the folder of the claim.
    #[error(
        "{recording} is not in {folder}, where the claim is mounted: name its folder with --set kubernetes.volume=CLAIM=FOLDER"
    )]
    Outside {
        /// The recording.
        recording: String,
        /// The folder.
        folder: String,
    },
    /// A manifest cannot have its name.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// Returns where pods find a recording, from where the claim is mounted here. Both paths are absolute.
///
/// # Errors
///
/// When the recording is elsewhere.
pub fn place(recording: &Path, mounted: &Path) -> Result<Line, PlaceError> {
    let inside = recording.strip_prefix(mounted).ok().filter(|path| path.file_name().is_some());
    let inside = inside.ok_or_else(|| PlaceError::Outside {
        recording: recording.display().to_string(),
        folder: mounted.display().to_string(),
    })?;
    Ok(Line::of_path(&Path::new(MOUNT).join(inside))?)
}

/// Returns a name for the Job of a recording on a claim, which no other recording's Job has.
pub fn job_name(workers: &Workers, pods: &Pods) -> String {
    let place = workers.recording.as_str();
    let name = place.rsplit('/').next().unwrap_or_default();
    let plain = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    let name: String = name.to_ascii_lowercase().chars().map(plain).take(NAME_MAX).collect();
    let place = format!("{}:{place}", pods.claim);
    format!("preemptlab-{}-{}", name.trim_matches('-'), Digest::of(place.as_bytes()).short())
}

/// Prints the manifest of an Indexed Job with a pod a shard.
///
/// A shard is given to another pod some seconds after its node is lost. A policy for pods' failures would
/// forbid that: with it a pod of a lost node is waited for, for ever. The image needs no shell: the
/// worker finds its shard in the pod's variables. Its store is on the container's own disk: an emptyDir
/// belongs to root and every user may write to it, and preemptlab runs no program from such a place.
pub fn kubernetes(name: &str, workers: &Workers, pods: &Pods) -> String {
    let Workers { shards, .. } = workers;
    let memory = pods.memory_mib;
    let (user, group) = pods.user;
    let [user, group] = [user, group].map(|id| if id == 0 { NOBODY } else { id });
    let mut command = vec![yaml(workers.program.as_str())];
    // `$(NAME)` would be a variable of the pod.
    let literal = |word: &String| yaml(&word.replace("$(", "$$("));
    command.extend(workers.arguments(&format!("auto/{shards}"), Some(1)).iter().map(literal));
    let command = command.join(", ");
    let (image, claim) = (yaml(pods.image.as_str()), yaml(pods.claim.as_str()));
    format!(
        "\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{app.kubernetes.io/name: preemptlab}}
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {shards}
  backoffLimitPerIndex: 3
  maxFailedIndexes: {shards}
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels: {{app.kubernetes.io/name: preemptlab}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 20
      automountServiceAccountToken: false
      enableServiceLinks: false
      # The default of 300 seconds would leave the shards of a lost node waiting.
      tolerations:
      - {{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}}
      - {{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {{matchLabels: {{batch.kubernetes.io/job-name: {name}}}}}
      securityContext:
        runAsNonRoot: true
        runAsUser: {user}
        runAsGroup: {group}
        fsGroup: {group}
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: worker
        image: {image}
        imagePullPolicy: IfNotPresent
        command: [{command}]
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {{drop: [ALL]}}
        resources:
          requests: {{cpu: \"1\", memory: {memory}Mi, ephemeral-storage: 2Gi}}
          limits: {{memory: {memory}Mi}}
        volumeMounts:
        - {{name: claim, mountPath: {MOUNT}}}
      volumes:
      - name: claim
        persistentVolumeClaim: {{claimName: {claim}}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_found_in_the_claim_that_holds_it() {
        let place = |recording: &str, mounted: &str| {
            place(Path::new(recording), Path::new(mounted)).map(|line| line.to_string())
        };
        assert_eq!(place("/mnt/lab/runs/quick", "/mnt/lab").unwrap(), "/claim/runs/quick");
        for (recording, mounted) in [("/home/quick", "/mnt/lab"), ("/mnt/lab", "/mnt/lab")] {
            let said = place(recording, mounted).unwrap_err().to_string();
            assert!(said.contains("kubernetes.volume=CLAIM=FOLDER"), "{said}");
        }
    }
}
