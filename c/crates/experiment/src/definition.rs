use preemptlab_workload::Definition;

use crate::SpecError;

/// Reads the `workload.toml` of a folder.
///
/// # Errors
///
/// [`SpecError`] with the line, and the nearest valid name for a misspelt one.
pub fn definition(text: &str) -> Result<Definition, SpecError> {
    let definition: Definition =
        toml::from_str(text).map_err(|error| SpecError::new(text, &error))?;
    definition
        .check()
        .map_err(|flaw| SpecError::at(text, &flaw.place, flaw.message, &flaw.help))?;
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"format = 1
packages = ["openssl"]

[[prepare]]
name = "key"
argv = ["/usr/bin/openssl", "genrsa"]

[[load]]
name = "hash"
argv = ["/workload/forever", "{seed}"]

[[probe]]
name = "sign"
argv = ["/usr/bin/openssl", "speed", "-seconds", "{seconds}"]

[[metric]]
name = "throughput"
unit = "signatures/s"
better = "higher"
from = "sign.stdout"
pattern = '^rsa .* ([\d.]+)$'

[[metric]]
name = "cpu"
unit = "s"
better = "lower"
from = "sign.user"

[latency]
from = "sign:/tmp/times"
unit = "ms"
"#;

    /// Returns the line of the error, its message and its remedy.
    #[track_caller]
    fn refused(from: &str, to: &str) -> (usize, String, String) {
        assert!(SMALL.contains(from), "{from}");
        let error = definition(&SMALL.replacen(from, to, 1)).unwrap_err();
        (error.line, error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn a_definition_is_read_and_written() {
        let read = definition(SMALL).unwrap();
        let again = toml::to_string(&read).unwrap();
        assert_eq!(definition(&again).unwrap(), read);
    }

    #[test]
    fn what_is_misspelt_has_its_line_and_the_nearest_name() {
        for (from, to, line, help) in [
            ("packages", "pakcages", 2, "did you mean `packages`?"),
            ("[[prepare]]", "[[prepar]]", 4, "did you mean `prepare`?"),
            ("better = \"higher\"", "better = \"hihger\"", 19, "did you mean `higher`?"),
            ("pattern", "patern", 21, "did you mean `pattern`?"),
            ("sign.user", "sgin.user", 27, "did you mean `sign`?"),
            ("unit = \"ms\"", "unit = \"mss\"", 31, "did you mean `ms`?"),
        ] {
            let (found, message, said) = refused(from, to);
            assert_eq!((found, said.as_str()), (line, help), "{message}");
        }
    }

    #[test]
    fn every_error_has_its_line_and_its_reason() {
        for (from, to, line, said) in [
            ("format = 1", "format = 2", 1, "format 2 is not known"),
            ("\"openssl\"", "\"-oDebug=1\"", 2, "the name of a Debian package"),
            ("\"openssl\"", "\"openssl=3.0\"", 2, "the name of a Debian package"),
            ("\"key\"", "\"the key\"", 5, "a name of small letters"),
            ("\"key\"", "\"sign\"", 5, "two commands have the name `sign`"),
            ("\"key\"", "\"fifo\"", 5, "the name of a cyclictest"),
            ("\"genrsa\"", "\"{seed}\"", 5, "runs before there are cells"),
            ("\"/usr/bin/openssl\"", "\"openssl\"", 6, "a program's path in the guest"),
            ("\"throughput\"", "\"wakeup.p99\"", 17, "that preemptlab itself has"),
            ("\"throughput\"", "\"context_switches\"", 17, "that preemptlab itself has"),
            ("\"throughput\"", "\"cpu\"", 17, "two metrics have the name `cpu`"),
            ("\"higher\"", "\"lower\"", 17, "is better the higher it is"),
            ("\"signatures/s\"", "\"\"", 18, "a unit such as"),
            ("\"sign.stdout\"", "\"sign.stdin\"", 20, "is nothing to read"),
            ("\"sign.stdout\"", "\"sign.real\"", 17, "has a pattern, but sign.real is no text"),
            ("\"sign.user\"", "\"sign.switches\"\namount = 7", 24, "is no time"),
            ("\"sign.user\"", "\"hash.real\"", 27, "how long a load ran before it was killed"),
            ("\"sign.user\"", "\"key.user\"", 27, "there is no load or probe `key`"),
            ("unit = \"s\"", "unit = \"ms\"", 24, "the metric cpu is not in ms"),
            ("([\\d.]+)", "[\\d.]+", 21, "has no group"),
            ("([\\d.]+)", "([\\d.+)", 21, "unclosed character class"),
            ("([\\d.]+)", "(\\w{500}{500})", 21, "too large"),
            ("\"sign:/tmp/times\"", "\"sign.user\"", 29, "is one number"),
            ("\"sign:/tmp/times\"", "\"sign:times\"", 30, "is nothing to read"),
        ] {
            let (found, message, help) = refused(from, to);
            assert!(message.contains(said), "{to}: {message}");
            assert_eq!(found, line, "{to}: {message}");
            assert!(!help.contains('\n'), "{help}");
        }
        for (from, to, said) in [
            ("packages", "window = \"500ms\"\npackages", "whole number of seconds"),
            ("packages", "limit = \"2h\"\npackages", "is not a time of at most an hour"),
            ("packages", "cyclictest = \"all\"\npackages", "unknown variant `all`"),
            ("name = \"sign\"", "name = \"sign\"\npolicy = \"fifo:99\"", "is not a policy"),
        ] {
            let (line, message, _) = refused(from, to);
            assert!(message.contains(said) && line > 1, "{line}: {message}");
        }
    }

    #[test]
    fn something_must_end_and_something_must_be_measured() {
        let no_probe = "format = 1\n";
        let error = definition(no_probe).unwrap_err();
        assert!(error.message.contains("nothing would end a cell"), "{error}");
        let no_metric = "format = 1\n[[probe]]\nname = \"a\"\nargv = [\"/bin/true\"]\n";
        let error = definition(no_metric).unwrap_err();
        assert!(error.message.contains("nothing is measured"), "{error}");
        definition("format = 1\ncyclictest = \"both\"\n").unwrap();
    }
}
