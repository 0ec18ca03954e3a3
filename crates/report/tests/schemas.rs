//! `schemas/` holds the JSON Schemas of the answers as their types are here, and the answers keep to them.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use preemptlab_analysis::{
    Atlas, Compared, GivenRule, Keep, WhatIf,
    advice::advise,
    bisection::{Answer, Bisected, Commit, Found, TakenBack, Tested, WorstWakeups},
    explain::{
        Attempt, Census, CensusConfiguration, CensusSite, Confirmed, Explanation,
        ExplanationDocument, Hunt, Patched, PatchedDocument, RanDocument, Ranking, RequestDocument,
        ResponsesDocument, Searched, choose, probed,
    },
    gate::{Side, judged},
    history,
    offers::{OfferedKernel, Offers},
    plan::PlanDocument,
    recommendation::RecommendationDocument,
    results::open,
    scenario::{ModelDocument, ScenarioDocument, ScenariosDocument, ScoreDocument, StateDocument},
    timings::{Pressure, Timings},
    verification::{OfCapsule, Verification, VerifiedCell},
};
use preemptlab_model::{KernelConfig, KernelRef, MetricName};
use preemptlab_recording::CellFolder;
use preemptlab_report::{json, recommendation_json};
use preemptlab_scenario::{
    Checked, Counts, Outcome, Score, ThreadOutcome, Value as Expected, WaitScore,
};
use preemptlab_stats::{
    Comparison, Fidelity, Gate, GateRule, History, Margins, Question, fidelity,
};
use preemptlab_system::{
    apply::{Effect, State},
    host::{HostKernel, naming},
    state::{Ability, AppliedSettings, Check, MachineState},
};
use preemptlab_testkit::recorded::{Cell, record_kernels};
use preemptlab_testkit::traced::{Traced, check};
use preemptlab_trace::{CallSite, LANES_FORMAT, Lanes, Runner};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, to_value};

/// Returns the schema of an answer as it is written.
fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .into()
}

/// Returns the schema of every answer, with the name of its file.
fn all() -> [(&'static str, Value); 19] {
    [
        ("atlas", schema::<Atlas>()),
        ("bisection", schema::<Bisected>()),
        ("census", schema::<Census>()),
        ("comparison", schema::<Comparison>()),
        ("confirmation", schema::<Confirmed>()),
        ("explanation", schema::<ExplanationDocument>()),
        ("fidelity", schema::<Fidelity>()),
        ("gate", schema::<Gate>()),
        ("history", schema::<History>()),
        ("kernels", schema::<Offers>()),
        ("patched", schema::<PatchedDocument>()),
        ("plan", schema::<PlanDocument<'_>>()),
        ("ranking", schema::<Ranking>()),
        ("recommendation", schema::<RecommendationDocument<'_>>()),
        ("responses", schema::<ResponsesDocument>()),
        ("scenarios", schema::<ScenariosDocument<'_>>()),
        ("system", schema::<MachineState>()),
        ("verification", schema::<Verification>()),
        ("worst-wakeups", schema::<Searched>()),
    ]
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let folder = folder();
    for (name, schema) in all() {
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        let path = folder.join(format!("{name}.json"));
        if env::var_os("WRITE_SCHEMAS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "schemas/{name}.json is not what the types in Rust come to; write it anew with\n    \
             WRITE_SCHEMAS=1 cargo test -p preemptlab-report --test schemas\nand raise the document's \
             format if a field was renamed or removed"
        );
    }
    for (name, _) in all() {
        let is_met = include_str!("schemas.rs").contains(&format!("keeps(\"{name}\""));
        assert!(is_met, "no answer of a test is held against schemas/{name}.json");
    }
    let files = fs::read_dir(folder).unwrap();
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, all().map(|(name, _)| format!("{name}.json")).into());
}

/// Asserts that an answer keeps to its schema, and that the schema asks for the answer's fields.
fn keeps(name: &str, answer: &Value) {
    let (_, schema) = all().into_iter().find(|(known, _)| *known == name).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(answer).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    let fields = answer.as_object().unwrap().keys();
    // A document may have the fields of one of several cases.
    let cases = schema["oneOf"].as_array().into_iter().flatten();
    let known: BTreeSet<&String> = cases
        .chain([&schema])
        .flat_map(|case| case["properties"].as_object().unwrap().keys())
        .collect();
    let unknown: Vec<_> = fields.filter(|field| !known.contains(*field)).collect();
    assert!(unknown.is_empty(), "{name} has {unknown:?}, which its schema does not describe");
    let mut without = answer.clone();
    without.as_object_mut().unwrap().remove("format");
    assert!(!validator.is_valid(&without), "{name} needs no format");
}

#[test]
fn answers_of_recordings_keep_to_their_schemas() {
    const TEXT: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
        [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two");
    record_kernels(&path, &["debian:6.12", "debian:7.2"], TEXT, |kernel, mode, replicate| {
        match (kernel, mode) {
            ("debian:7.2", "none") if replicate == 1 => Cell::Failed,
            ("debian:7.2", "none") => Cell::Later(500),
            _ => Cell::Later(u64::from(replicate % 3)),
        }
    });
    let (compared, _) = Compared::open(&[path], Keep::Sections, GivenRule::default()).unwrap();
    keeps("comparison", &serde_json::from_str(&json(&compared.comparison().unwrap())).unwrap());
    let advice = advise(&compared, &Question::default(), &[]).unwrap();
    keeps("recommendation", &serde_json::from_str(&recommendation_json(&advice)).unwrap());
    let history = history(&compared, &[], &Margins::gate()).unwrap();
    keeps("history", &to_value(history).unwrap());
    let (recording, cells) = compared.parts().next().unwrap();
    let kernels: [KernelRef; 2] = ["debian:6.12", "debian:7.2"].map(|name| name.parse().unwrap());
    let [base, new] = [0, 1].map(|at| Side { recording, cells, kernel: &kernels[at] });
    let gate = judged(base, new, GateRule::default()).unwrap();
    keeps("gate", &to_value(&gate).unwrap());
    let commit = || Commit {
        id: "1".repeat(40),
        subject: "sched: a change".to_owned(),
        author: "A Person".to_owned(),
        date: "2026-11-26".to_owned(),
    };
    let worst =
        || Some(WorstWakeups { before: "1 us late".to_owned(), after: "2 us late".to_owned() });
    let change = || Box::new(gate.clone());
    let (before, kernel) = (kernels[0].to_string(), kernels[1].to_string());
    for found in [
        Found::Commit {
            commit: commit(),
            change: change(),
            worst: worst(),
            cure: TakenBack::Cures,
        },
        Found::Commit {
            commit: commit(),
            change: change(),
            worst: None,
            cure: TakenBack::Remains { words: "x1.2".to_owned() },
        },
        Found::Kernel { kernel, before, change: change(), worst: worst() },
        Found::Hidden { commits: vec![commit()] },
        Found::HiddenKernels { kernels: vec!["debian:7.2".to_owned()] },
    ] {
        let answers = [Answer::Good, Answer::Bad, Answer::Skip].map(|answer| Tested {
            commit: "1".repeat(40),
            answer,
            reason: "no worse".to_owned(),
        });
        let mechanism = "metric throughput".to_owned();
        let bisected = Bisected::new(mechanism, answers.into(), found, folder.path().to_owned());
        keeps("bisection", &to_value(bisected).unwrap());
    }
}

#[test]
fn answers_about_machines_and_kernels_keep_to_their_schemas() {
    let cell = |same: bool, other: &str| VerifiedCell {
        cell: "debian:6.12 none #1".to_owned(),
        id: "1".repeat(64),
        same,
        recorded: "2".repeat(64),
        other: other.to_owned(),
    };
    let cells = || vec![cell(true, &"2".repeat(64)), cell(false, "no such cell")];
    let of = OfCapsule {
        packed_by: "0.1.0".to_owned(),
        qemu_signed_in: vec!["trixie".to_owned()],
        network: false,
    };
    keeps("verification", &to_value(Verification::new(cells(), Some(of))).unwrap());
    let verification = Verification::new(cells(), None);
    assert_eq!((verification.same, verification.different), (1, 1));
    keeps("verification", &to_value(verification).unwrap());
    let machines = ["amd-epyc", "amd-epyc-9004"]
        .map(|name| folder().join(format!("../docs/fidelity/machines/{name}.toml")));
    keeps("fidelity", &to_value(fidelity(&open(&machines).unwrap().unwrap()).unwrap()).unwrap());
    let root = tempfile::tempdir().unwrap();
    let kernel = HostKernel::observe(root.path());
    let applied = [State::InForce, State::NotInForce, State::AfterNextBoot, State::Unseen];
    let effect = |state| Effect {
        setting: "threadirqs".to_owned(),
        state,
        evidence: "on the command line".to_owned(),
    };
    let state = MachineState {
        format: 1,
        backends: vec![Ability { name: "vm", usable: true, finding: "virtual time".to_owned() }],
        checks: vec![
            Check::new("store", Ok("a folder".to_owned())),
            Check::new("archive keys", Err(("missing".to_owned(), Some("install".to_owned())))),
        ],
        naming: naming(&kernel),
        settings: AppliedSettings {
            problem: Some("no journal".to_owned()),
            interrupted: Some("apply".to_owned()),
            applied: applied.map(effect).into(),
        },
        kernel,
    };
    keeps("system", &to_value(state).unwrap());
    let [series, exact]: [KernelRef; 2] =
        ["debian:6.12", "debian:6.12.107+deb13"].map(|name| name.parse().unwrap());
    let config = KernelConfig::parse("CONFIG_PREEMPT=y\nCONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\n");
    let offered = [None, Some(Ok(config)), Some(Err("it is gone".to_owned()))].map(|config| {
        let release = "6.12.107+deb13-amd64".to_owned();
        OfferedKernel::new(&series, &exact, "6.12.107-1", release, config.as_ref())
    });
    keeps("kernels", &to_value(Offers::new(offered.into())).unwrap());
}

#[test]
fn answers_of_traces_keep_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let Traced { recording, id, .. } = Traced::new(folder.path());
    let latency = MetricName::latest(false);
    let cell = choose(&recording, Some(&id.to_string()), &latency).unwrap();
    let mut explanation = Explanation::new(&recording, &cell, false, 3).unwrap();
    let sibling = choose(&recording, Some("full #1"), &latency).unwrap();
    explanation.compare(sibling).unwrap();
    keeps("explanation", &to_value(explanation.document()).unwrap());
    let changes: [WhatIf; 1] = ["preemptible=do_nanosleep".parse().unwrap()];
    let patched = Patched::new(&recording, &cell, &changes, 2).unwrap();
    keeps("patched", &to_value(patched.document()).unwrap());
    keeps("atlas", &to_value(Atlas::new(&[&recording], None).unwrap()).unwrap());
    keeps("ranking", &to_value(Ranking::new(&recording, false).unwrap()).unwrap());
    let cells = probed(&recording, Some("full #1")).unwrap().remove(0);
    let hunt = Hunt::new(&recording, cells).unwrap();
    keeps("worst-wakeups", &to_value(Searched::new(vec![hunt])).unwrap());
}

#[test]
fn answers_of_executions_keep_to_their_schemas() {
    let site = CensusSite { site: "exit_mmap+0x1a4".to_owned(), did: CallSite::default() };
    let configurations = vec![CensusConfiguration {
        configuration: "debian:6.12/none".to_owned(),
        seeds: 1,
        longest_ns: 2_000,
        longest_ns_without_all: 3_000,
        sites: vec![site],
    }];
    keeps("census", &to_value(Census { format: 1, configurations }).unwrap());
    let attempt = Attempt {
        function: "exit_mmap".to_owned(),
        at_ns: 1,
        predicted_ns: 2,
        observed_ns: 2,
        confirmed: true,
        timeline: None,
    };
    let confirmed = Confirmed {
        format: 1,
        cell: "debian:6.12 none #1".to_owned(),
        id: "1".repeat(64),
        bound_ns: 2,
        softirqs_left_out: false,
        confirmed: true,
        attempts: vec![attempt],
    };
    keeps("confirmation", &to_value(confirmed).unwrap());
    let (comm, name) = ("sockperf".to_owned(), "LOC".to_owned());
    let ran = [Runner::Task { comm, pid: 7 }, Runner::HardIrq { name }, Runner::Idle];
    let request = RequestDocument {
        length_ns: 5,
        send_ns: 1,
        sleep_ns: 2,
        woken_ns: 3,
        switch_ns: 4,
        user_ns: 6,
        pid: 7,
        cpus: 1,
        sentence: "It waited.".to_owned(),
        ran: ran.map(|runner| RanDocument { runner, ns: 1 }).into(),
    };
    let responses = ResponsesDocument {
        format: 1,
        cell: "debian:6.12 none #1".to_owned(),
        id: "1".repeat(64),
        client: "sockperf".to_owned(),
        requests: 1,
        reported_max_us: 0.5,
        slowest: vec![request],
    };
    keeps("responses", &to_value(responses).unwrap());
}

#[test]
fn plans_and_scenarios_keep_to_their_schemas() {
    let recording = check();
    let folder = tempfile::tempdir().unwrap();
    let manifest = recording.manifest();
    let cells = manifest.plan.cells.iter().filter_map(|cell| cell.inputs());
    let boots: BTreeSet<_> = cells.map(|inputs| inputs.snapshot.id()).collect();
    let cache = CellFolder::new(folder.path());
    let pressure = Pressure { cpus: 2, load: 9.0, available_mib: Some(1) };
    let machine = (&Timings::read(folder.path()), pressure);
    let plan = PlanDocument::new(manifest, &[], &boots, &cache, 4, machine);
    assert!(plan.cells_to_execute == 1 && !plan.notes.is_empty());
    keeps("plan", &to_value(plan).unwrap());

    let thread = ThreadOutcome {
        name: "high".to_owned(),
        waits: vec![],
        blocked: vec![],
        finished_ns: Some(9),
        stuck: None,
    };
    let outcome = Outcome { end_ns: 9, threads: vec![thread], cycles: vec![] };
    let checked = [Checked {
        line: 3,
        thread: Some("high".to_owned()),
        subject: "finishes",
        wait: None,
        expected: Expected::NsMax(10),
        within_ns: Some(1),
        found: Some(Expected::Ns(9)),
        met: true,
        because: None,
    }];
    let lanes = Lanes {
        format: LANES_FORMAT,
        start_ns: 0,
        end_ns: 9,
        threads: vec![],
        cpus: vec![],
        threads_left_out: 0,
    };
    let states = [
        StateDocument::Played {
            release: "6.12.1",
            outcome: &outcome,
            counts: Counts { switches: 1, schedule_calls: 2 },
            checked: &checked,
            start_ns: 5,
            lanes: &lanes,
        },
        StateDocument::Failed { reason: "it hangs" },
        StateDocument::Unavailable { reason: "it has no such mode" },
    ];
    let model = |state| ModelDocument {
        variant: None,
        model: "full".parse().unwrap(),
        kernel: "debian:6.12".to_owned(),
        state,
    };
    let wait =
        WaitScore { thread: "high".to_owned(), wait: 1, latency_ns: 1, reference_latency_ns: 2 };
    let score = Score {
        model: "full".parse().unwrap(),
        reference: "none".parse().unwrap(),
        added_switches: Some(-1),
        added_schedule_calls: None,
        waits: vec![wait],
    };
    let scenario = ScenarioDocument {
        name: "driver-demo",
        description: "A driver waits.",
        cpus: 1,
        models: states.map(model).into(),
        scores: vec![ScoreDocument { variant: Some("a"), score }],
    };
    let scenarios = ScenariosDocument { format: 1, scenarios: vec![scenario] };
    keeps("scenarios", &to_value(scenarios).unwrap());
}
