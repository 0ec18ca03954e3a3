//! Templates of strangers, which nest, multiply and ask without end: each is refused with a sentence.
//! Harmless templates that look alike still work.

use std::fs;

use crate::common::{Desk, Finished};
use crate::hostile::not_refused;

const DEEP: &str = "nest too deeply; write them with fewer levels";
const MEMORY: &str = "takes more than 256 MiB of memory";
const STEPS: &str = "takes more than 1000000 steps";
const LARGE: &str = "the page gets larger than 16 MiB";
const LEVELS: &str = "maximum recursion limits";
const OWN: &str = "{% set n = namespace(a='aaaaaaaaaa') %}";

fn repeated(before: &str, part: &str, times: usize, after: &str) -> String {
    [before, &part.repeat(times), after].concat()
}

/// Templates whose expressions and statements nest.
fn nested() -> Vec<(&'static str, String, &'static str)> {
    let on_both =
        |open: &str, times, close: &str| format!("{}1{}", open.repeat(times), close.repeat(times));
    vec![
        ("minus", repeated("{{ ", "-", 300_000, "1 }}"), DEEP),
        ("plus", repeated("{{ ", "1+", 500_000, "1 }}"), DEEP),
        ("times", repeated("{{ ", "1*", 500_000, "1 }}"), DEEP),
        ("power", repeated("{{ ", "1**", 300_000, "1 }}"), DEEP),
        ("joined", repeated("{{ ", "1~", 400_000, "1 }}"), DEEP),
        ("not", repeated("{{ ", "not ", 200_000, "1 }}"), DEEP),
        ("and", repeated("{{ ", "1 and ", 150_000, "1 }}"), DEEP),
        ("or", repeated("{{ ", "0 or ", 150_000, "1 }}"), DEEP),
        ("else", repeated("{{ ", "1 if 0 else ", 80_000, "1 }}"), ""),
        ("attributes", repeated("{{ points", ".a", 500_000, " }}"), DEEP),
        ("indices", repeated("{{ points", "[0]", 300_000, " }}"), DEEP),
        ("calls", repeated("{{ points", "()", 300_000, " }}"), DEEP),
        ("filters", repeated("{{ 1", "|int", 200_000, " }}"), DEEP),
        ("tests", repeated("{{ 1", " is defined", 90_000, " }}"), ""),
        ("brackets", format!("{{{{ {} }}}}", on_both("(", 300_000, ")")), LEVELS),
        ("lists", format!("{{{{ {} }}}}", on_both("[", 300_000, "]")), LEVELS),
        ("maps", format!("{{{{ {} }}}}", on_both("{1:", 200_000, "}")), LEVELS),
        ("if", on_both("{% if 1 %}", 40_000, "{% endif %}"), LEVELS),
        ("for", on_both("{% for a in [1] %}", 30_000, "{% endfor %}"), LEVELS),
        ("elif", repeated("{% if 0 %}", "{% elif 0 %}", 80_000, "{% endif %}"), DEEP),
        ("loop", "{% for a in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}".to_owned(), ""),
    ]
}

/// Templates whose values nest or hold themselves.
fn values() -> Vec<(&'static str, String, &'static str)> {
    let own = "{% set n = namespace() %}{% set n.a = n %}";
    let grown =
        "{% set n = namespace(a=[]) %}{% for i in [0] * 90000 %}{% set n.a = [n.a] %}{% endfor %}";
    vec![
        ("itself", format!("{own}{{{{ n }}}}"), DEEP),
        ("itself as text", format!("{own}{{{{ n|string }}}}"), DEEP),
        ("itself joined", format!("{own}{{{{ n ~ n }}}}"), DEEP),
        ("itself sorted", format!("{own}{{{{ [n, n]|sort }}}}"), DEEP),
        ("itself printed", format!("{own}{{{{ n|pprint }}}}"), ""),
        ("grown", format!("{grown}{{{{ n.a }}}}"), DEEP),
        ("grown and compared", format!("{grown}{{{{ n.a == [n.a] }}}}"), DEEP),
    ]
}

/// Templates of which one step takes memory without bound.
fn multiplied() -> Vec<(&'static str, String, &'static str)> {
    let table = [
        ("indent", "{{ 'a\nb'|indent(10000000000) }}", MEMORY),
        ("indent of many", "{{ ('a\n' * 10000)|indent(100000) }}", MEMORY),
        ("%d", "{{ '%10000000000d'|format(1) }}", MEMORY),
        ("%s", "{{ '%9000000000s'|format('a') }}", MEMORY),
        ("%f", "{{ '%.10000000000f'|format(1.5) }}", MEMORY),
        ("%f of an integer", "{{ '%.10000000000f'|format(1) }}", ""),
        ("%x", "{{ '%04000000000x'|format(1) }}", MEMORY),
        ("batch", "{{ [1]|batch(10000000000, 1) }}", MEMORY),
        ("slice", "{{ [1]|slice(10000000000, 1) }}", MEMORY),
        ("slice without", "{{ [1]|slice(10000000000)|length }}", MEMORY),
        ("replace", "{% set a = 'a' * 100000 %}{{ a|replace('a', a)|length }}", MEMORY),
        ("split", "{{ ('a,' * 40000000)|split(',')|length }}", MEMORY),
        ("sort", "{{ ([1] * 90000000)|sort|first }}", MEMORY),
        ("list", "{{ ([1] * 90000000)|list|length }}", MEMORY),
        ("unique", "{{ ('ab' * 40000000)|list|unique }}", MEMORY),
        ("reverse", "{{ ('a' * 90000000)|reverse|upper|list|length }}", MEMORY),
        ("text", "{{ ('a' * 10000000000)|length }}", "repeated string is too large"),
        ("text twice", "{{ ('a' * 1000000 * 1000000)|length }}", "is too large"),
        ("numbers", "{{ 9 ** 9 ** 9 ** 9 }}", "unable to calculate"),
        ("page", "{{ 'a' * 20000000 }}", LARGE),
        (
            "steps",
            "{% for a in [0] * 9999 %}{% for b in [0] * 9999 %}{% endfor %}{% endfor %}",
            STEPS,
        ),
    ];
    let mut cases: Vec<_> = table.map(|(name, text, said)| (name, text.to_owned(), said)).into();
    let many = "{% for i in [0] * 60 %}";
    for (name, step, said) in [
        ("doubled", "n.a ~ n.a", MEMORY),
        ("joined by itself", "n.a|list|join(n.a)", MEMORY),
        ("lists of lists", "[n.a, n.a, n.a]|string", MEMORY),
        ("replaced by itself", "n.a|replace('a', n.a)", MEMORY),
        ("indented by itself", "n.a|indent(n.a|length) ~ '\n' ~ n.a", MEMORY),
    ] {
        let text = format!("{OWN}{many}{{% set n.a = {step} %}}{{% endfor %}}{{{{ n.a|length }}}}");
        cases.push((name, text, said));
    }
    cases
}

/// Templates that take time, ask without end, or ask for forbidden values.
fn asking() -> Vec<(&'static str, String, &'static str)> {
    let table = [
        (
            "time",
            "{% set a = 'a' * 9000000 %}{% for i in [0] * 99999 %}{% if 'ab' in a %}{% endif %}{% endfor %}",
            "takes more than 5 s of CPU time",
        ),
        (
            "time to replace",
            "{% set a = 'a' * 900000 %}{% for i in [0] * 99999 %}{% set b = a|replace('ab', 'c') %}{% endfor %}",
            "takes more than 5 s of CPU time",
        ),
        (
            "tables",
            "{% for i in [0] * 99999 %}{% set a = table('processes') %}{% endfor %}",
            "asks for more than 64 MiB of tables",
        ),
        ("names", "{{ table('a' * 99999) }}", "called by more than 64 KiB of names"),
        ("a name without end", "{{ table('a' * 9999) }}", "is no workload here"),
        ("columns", "{{ table('processes', *(['throughput'] * 500)) }}", "has at most 100 metrics"),
        ("a name that steers", "{{ table('\u{1b}[2J\u{202e}') }}", "is no workload here"),
        ("a file", "{% include '/etc/passwd' %}", "unknown statement include"),
        ("a parent", "{% extends '/etc/passwd' %}", "unknown statement extends"),
        ("a module", "{% import '/etc/passwd' as a %}", "unknown statement import"),
        ("a command", "{{ system('touch canary') }}", "system is unknown"),
        ("an attribute", "{{ ''.__class__.__mro__ }}", "undefined"),
        ("a variable", "{{ environment.PATH }}", "undefined"),
    ];
    let mut cases: Vec<_> = table.map(|(name, text, said)| (name, text.to_owned(), said)).into();
    cases.push(("a word without end", repeated("{{ ", "x", 900_000, " }}"), "undefined"));
    cases.push(("a filter without end", repeated("{{ 1|", "x", 900_000, " }}"), "is unknown"));
    cases.push(("a file without end", "a".repeat((1 << 20) + 1), "it is larger than 1 MiB"));
    cases
}

fn desk() -> Desk {
    let desk = Desk::new();
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/check");
    std::os::unix::fs::symlink(check, desk.path("check")).unwrap();
    desk
}

#[track_caller]
fn all_refused(cases: &[(&str, String, &str)]) {
    let desk = desk();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, template, said)| {
            desk.write("page.md.j2", template);
            let command = ["compare", "check", "--template", "page.md.j2", "--out", "page.md"];
            not_refused(&desk, name, &command, &["page.md.j2", said])
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let mut left: Vec<_> = fs::read_dir(desk.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["canaries", "check", "page.md.j2"]);
}

#[test]
fn a_template_that_nests_is_refused() {
    all_refused(&nested());
    all_refused(&values());
}

#[test]
fn a_template_that_multiplies_is_refused() {
    all_refused(&multiplied());
}

#[test]
fn a_template_that_asks_without_end_is_refused() {
    all_refused(&asking());
}

#[test]
fn a_template_that_does_much_and_ends_is_filled() {
    let desk = desk();
    let sum = repeated("{{ ", "1+", 900, "1 }}");
    let brackets = format!("{{{{ {}1{} }}}}", "(".repeat(60), ")".repeat(60));
    for (template, page) in [
        ("{{ 'a\nb'|indent(40) }}", format!("a\n{}b", " ".repeat(40))),
        ("{{ '%40d'|format(1) }}", format!("{}1", " ".repeat(39))),
        ("{{ [1, 2, 3]|batch(2, 0)|list }}", "[[1, 2], [3, 0]]".to_owned()),
        ("{% set n = namespace(a=1) %}{% set n.b = namespace(c=n.a) %}{{ n.b.c }}", "1".to_owned()),
        ("{% for a in [0] * 9999 %}{{ a }}{% endfor %}", "0".repeat(9999)),
        ("{{ ('a' * 9000000)|length }}", "9000000".to_owned()),
        ("{% for a in [0] * 2000 %}{% set b = table('processes') %}{% endfor %}x", "x".to_owned()),
        ("{{ 'ä' ~ '\u{1f600}' }}\r\n", "ä\u{1f600}\r\n".to_owned()),
        (&sum, "901".to_owned()),
        (&brackets, "1".to_owned()),
        ("", String::new()),
        ("no places", "no places".to_owned()),
    ] {
        desk.write("page.md.j2", template);
        desk.run(&["compare", "check", "--template", "page.md.j2", "--out", "page.md"]).succeeds();
        let filled = fs::read_to_string(desk.path("page.md")).unwrap();
        assert!(filled == page, "{template:.80}: {filled:.200}");
    }
    // A page of the largest size.
    desk.write("page.md.j2", "{{ 'a' * 16777216 }}");
    desk.run(&["compare", "check", "--template", "page.md.j2", "--out", "page.md"]).succeeds();
    assert_eq!(fs::metadata(desk.path("page.md")).unwrap().len(), 16 << 20);
    // To standard output, too.
    desk.write("page.md.j2", "{{ experiment }}\n");
    let said = desk.run(&["compare", "check", "--template", "page.md.j2"]);
    assert_eq!(said.succeeds().stdout, "check\n");
}

/// Where limits of the user's own are lower, the template's process cannot raise them.
#[test]
fn limits_of_the_users_own_hold() {
    let desk = desk();
    desk.write("page.md.j2", "{{ experiment }}\n");
    let limited = |limit: &str| {
        let script = format!("{limit}; exec \"$@\"");
        let command =
            [env!("CARGO_BIN_EXE_preemptlab"), "compare", "check", "--template", "page.md.j2"];
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script, "sh"]).args(command).current_dir(desk.path("."));
        Finished::new(shell.output().unwrap())
    };
    for limit in
        ["ulimit -s unlimited", "ulimit -s 512", "ulimit -n 16", "ulimit -f 0", "ulimit -v 400000"]
    {
        assert_eq!(limited(limit).succeeds().stdout, "check\n", "{limit}");
    }
    desk.write("page.md.j2", &repeated("{{ ", "-", 300_000, "1 }}"));
    for limit in ["ulimit -s unlimited", "ulimit -s 512", "ulimit -v 400000"] {
        limited(limit).fails(2, &[DEEP]);
    }
}
