//! Slips in the name of a kernel that is built: options after symbols, a symbol without a value, a
//! module. The message names the part that is wrong, and the name that was probably meant.

use crate::nearest;

/// The mistake in a name, and the name that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slip {
    pub(super) reason: String,
    pub(super) meant: String,
}

/// The options of a name, which stand before the symbols.
const OPTIONS: [&str; 3] = [",config=", ",clean", ",nodiff"];

/// The configurations that have a name.
const NAMED: [&str; 4] = ["lab", "debian", "debian-rt", "debian-cloud"];

/// Finds the first slip in a text that names no kernel; `None` where it is another error.
pub(super) fn find(text: &str) -> Option<Slip> {
    let (source, rest) = text.split_once(':')?;
    let parts = match source {
        "source" => "VERSION[,config=BASE][+SYMBOL=VALUE...]",
        "tree" => "PATH[,config=BASE][,clean][,nodiff][+SYMBOL=VALUE...]",
        "git" => "PATH@REVISION[,config=BASE][+SYMBOL=VALUE...]",
        _ => return None,
    };
    // A text may hold every separator.
    if rest.contains('"') {
        return None;
    }
    let (head, symbols) = rest.split_at(symbols_at(rest)?);
    let mut reason = None;
    let mut note = |text: String| {
        reason.get_or_insert(text);
    };
    let (head, symbols) = match OPTIONS.iter().filter_map(|option| symbols.find(option)).min() {
        None => (head.to_owned(), symbols.to_owned()),
        Some(at) => {
            note(format!("its parts stand in this order: {parts}"));
            let (before, options) = symbols.split_at(at);
            let (options, after) = options.split_at(symbols_at(options).unwrap_or(options.len()));
            (format!("{head}{options}"), format!("{before}{after}"))
        }
    };
    let head = with_path(&head, &mut note);
    let symbols: String = symbols
        .split('+')
        .skip(1)
        .map(|symbol| format!("+{}", mended(symbol, &mut note)))
        .collect();
    Some(Slip { reason: reason?, meant: format!("{source}:{head}{symbols}") })
}

/// Returns where the symbols of a name begin: at the first `+` before a word in capitals.
fn symbols_at(text: &str) -> Option<usize> {
    let begins = |place: &usize| {
        let word = text[place + 1..].split(['=', '+', ',']).next().unwrap_or_default();
        is_symbol(word)
    };
    text.match_indices('+').map(|(place, _)| place).find(begins).or_else(|| {
        // Without symbols, too, an option may be wrong.
        text.contains(OPTIONS[0]).then_some(text.len())
    })
}

fn is_symbol(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// Returns the part before the symbols, with a file's name as a path.
fn with_path(head: &str, note: &mut impl FnMut(String)) -> String {
    let Some((before, after)) = head.split_once(OPTIONS[0]) else { return head.to_owned() };
    let (base, options) = after.split_at(after.find(',').unwrap_or(after.len()));
    if base.is_empty() || NAMED.contains(&base) || base.contains(['/', '.']) {
        return head.to_owned();
    }
    note(format!(
        "`config={base}` is none of {}, and the path of a file has a `/`",
        NAMED.join(", ")
    ));
    let meant = match nearest(base, NAMED) {
        Some(named) => named.to_owned(),
        None => format!("./{base}"),
    };
    format!("{before}{}{meant}{options}", OPTIONS[0])
}

/// Returns a symbol with a value that it can have.
fn mended(symbol: &str, note: &mut impl FnMut(String)) -> String {
    let (name, value) = symbol.split_once('=').unwrap_or((symbol, ""));
    let plain = name.strip_prefix("CONFIG_").unwrap_or(name);
    if plain != name {
        note(format!("`+{symbol}`: symbols are written without `CONFIG_`"));
    }
    match value {
        "" => {
            note(format!("`+{symbol}` has no value: `+{plain}=y` builds it in"));
            format!("{plain}=y")
        }
        "m" => {
            note(format!(
                "`+{symbol}` would be a module, and a kernel that is built here has none: \
                 `+{plain}=y` builds it in"
            ));
            format!("{plain}=y")
        }
        value => format!("{plain}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_is_wrong_is_named() {
        for (text, said, meant) in [
            (
                "source:6.12,config=lab+HZ_1000=m",
                "`+HZ_1000=m` would be a module",
                "source:6.12,config=lab+HZ_1000=y",
            ),
            (
                "source:6.12,config=lab+HZ_1000",
                "`+HZ_1000` has no value",
                "source:6.12,config=lab+HZ_1000=y",
            ),
            ("source:6.12+HZ_1000=", "`+HZ_1000=` has no value", "source:6.12+HZ_1000=y"),
            ("source:6.12+PREEMPT+SMP=y", "`+PREEMPT` has no value", "source:6.12+PREEMPT=y+SMP=y"),
            (
                "source:6.12+HZ_1000=y,config=lab",
                "in this order: VERSION[,config=BASE][+SYMBOL=VALUE...]",
                "source:6.12,config=lab+HZ_1000=y",
            ),
            (
                "tree:.+A=y+B=n,config=debian,clean+C=y",
                "in this order: PATH[,config=BASE]",
                "tree:.,config=debian,clean+A=y+B=n+C=y",
            ),
            (
                "source:6.12,config=lab+CONFIG_HZ_1000=y",
                "without `CONFIG_`",
                "source:6.12,config=lab+HZ_1000=y",
            ),
            (
                "source:6.12,config=PREEMPT",
                "the path of a file has a `/`",
                "source:6.12,config=./PREEMPT",
            ),
            ("git:.@v6.12,config=debain+A=y", "is none of lab", "git:.@v6.12,config=debian+A=y"),
        ] {
            let slip = find(text).unwrap_or_else(|| panic!("{text}"));
            assert!(slip.reason.contains(said), "{text}: {}", slip.reason);
            assert_eq!(slip.meant, meant, "{text}");
        }
        for text in ["source:6.12", "source:6", "debian:6.12+A", "source:6.12+CMDLINE=\"a+B\"", ""]
        {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
