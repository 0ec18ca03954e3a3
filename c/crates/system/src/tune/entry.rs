//! Boot loader entries of type 1, as in the Boot Loader Specification of the UAPI group, which
//! systemd-boot reads, and GRUB on Fedora and its relatives. And `/etc/kernel/cmdline`, whose whole
//! content is a command line.

/// Returns the value of a key's last line; lines that begin with `#` are comments.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().rev().find_map(|line| value_of(line, key))
}

/// Returns the text after the key, if the line is the key's.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// Returns every word of an entry's command line, which may be spread over several lines.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| value_of(line, "options")).flat_map(str::split_ascii_whitespace)
}

/// Returns whether an entry boots a Linux kernel.
pub fn is_linux(text: &str) -> bool {
    value(text, "linux").is_some()
}

/// Returns whether an entry boots the kernel of a release: by its `version`, or by the name of the
/// image.
pub fn boots(text: &str, release: &str) -> bool {
    let image = value(text, "linux").unwrap_or_default();
    value(text, "version") == Some(release)
        || image.split('/').any(|part| part == release)
        || image.ends_with(&format!("-{release}"))
}

/// Returns the entry with words at the end of its command line: one line differs, or is new.
pub fn with(text: &str, words: &[String]) -> String {
    let words = words.join(" ");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    match lines.iter_mut().rev().find(|line| value_of(line, "options").is_some()) {
        Some(line) => append(line, &words),
        None => {
            if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
                last.push('\n');
            }
            lines.push(format!("options {words}\n"));
        }
    }
    lines.concat()
}

/// Returns the entry without the words that [`with`] put there; every other byte stays.
pub fn without(text: &str, words: &[String]) -> String {
    let lines = text.split_inclusive('\n').map(|line| match value_of(line, "options") {
        Some(_) => removed(line, words),
        None => line.to_owned(),
    });
    lines.collect()
}

/// Returns a file that is one command line, with words at its end.
pub fn cmdline_with(text: &str, words: &[String]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    match lines.iter_mut().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => append(line, &words.join(" ")),
        None => lines = vec![format!("{}\n", words.join(" "))],
    }
    lines.concat()
}

/// Returns a file that is one command line, without the words that [`cmdline_with`] put there.
pub fn cmdline_without(text: &str, words: &[String]) -> String {
    text.split_inclusive('\n').map(|line| removed(line, words)).collect()
}

fn append(line: &mut String, words: &str) {
    let end = line.trim_end().len();
    let tail = line.split_off(end);
    *line = format!("{line} {words}{tail}");
}

/// Returns the line without the words where they follow each other, as they were put there; else
/// without each of them.
fn removed(line: &str, words: &[String]) -> String {
    if words.is_empty() {
        return line.to_owned();
    }
    let together = format!(" {}", words.join(" "));
    if let Some(at) = line.rfind(&together) {
        let after = &line[at + together.len()..];
        if after.is_empty() || after.starts_with(char::is_whitespace) {
            return format!("{}{after}", &line[..at]);
        }
    }
    let is_ours = |word: &&str| words.iter().any(|ours| ours == word);
    if !line.split_ascii_whitespace().any(|word| is_ours(&word)) {
        return line.to_owned();
    }
    let kept: Vec<&str> = line.split_ascii_whitespace().filter(|word| !is_ours(word)).collect();
    let end = if line.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", kept.join(" "))
}

/// Returns `loader.conf` with another default, which is a pattern of file names (loader.conf(5)).
pub fn with_default(text: &str, pattern: &str) -> String {
    let mut is_there = false;
    let mut lines: Vec<String> = text
        .split_inclusive('\n')
        .map(|line| match value_of(line, "default") {
            Some(_) => {
                is_there = true;
                format!("default {pattern}\n")
            }
            None => line.to_owned(),
        })
        .collect();
    if !is_there {
        if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push('\n');
        }
        lines.push(format!("default {pattern}\n"));
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Entry that Debian's kernel-install writes.
    const ENTRY: &str = "# Boot Loader Specification type#1 entry\n\
        # File created by /usr/lib/kernel/install.d/90-loaderentry.install (systemd 257.8)\n\
        title      Debian GNU/Linux 13 (trixie)\n\
        version    6.12.117+deb13-amd64\n\
        machine-id 6c2f\n\
        options    root=UUID=12 ro quiet systemd.machine_id=6c2f\n\
        linux      /6c2f/6.12.117+deb13-amd64/linux\n\
        initrd     /6c2f/6.12.117+deb13-amd64/initrd.img-6.12.117+deb13-amd64\n";

    fn ours() -> Vec<String> {
        ["preempt=full", "threadirqs"].map(str::to_owned).to_vec()
    }

    #[test]
    fn one_line_gets_the_words() {
        let entry = with(ENTRY, &ours());
        assert!(entry.contains("systemd.machine_id=6c2f preempt=full threadirqs\n"));
        assert_eq!(entry.lines().count(), ENTRY.lines().count());
        assert_eq!(words(&entry).count(), 6);
        assert_eq!(without(&entry, &ours()), ENTRY);
        assert!(is_linux(&entry) && boots(&entry, "6.12.117+deb13-amd64"));
        assert!(!boots(&entry, "6.12.117"));
        assert!(!is_linux("title memtest\nefi /memtest.efi\n"));
    }

    #[test]
    fn an_entry_without_a_command_line_gets_one() {
        let entry = with("linux /vmlinuz", &ours());
        assert_eq!(entry, "linux /vmlinuz\noptions preempt=full threadirqs\n");
        assert_eq!(words(&entry).collect::<Vec<_>>(), ours());
    }

    #[test]
    fn words_that_were_moved_apart_are_found() {
        let moved = "options root=/dev/vda1 threadirqs ro preempt=full\nlinux /v\n";
        assert_eq!(without(moved, &ours()), "options root=/dev/vda1 ro\nlinux /v\n");
        let longer = "options ro preempt=full threadirqs2\n";
        assert_eq!(without(longer, &ours()), "options ro threadirqs2\n");
    }

    #[test]
    fn the_default_is_replaced_or_added() {
        assert_eq!(
            with_default("timeout 3\ndefault a*\n", "*-6.1.conf"),
            "timeout 3\ndefault *-6.1.conf\n"
        );
        assert_eq!(with_default("timeout 3", "b"), "timeout 3\ndefault b\n");
        assert_eq!(with_default("", "b"), "default b\n");
    }

    proptest! {
        #[test]
        fn what_was_added_is_taken_away_to_the_byte(
            text in "((title|options|linux|#) [ -~]{0,20}[!-~]( |\t)?\n){1,5}",
            tail in "|options root=[a-z]{1,5}|options ro",
        ) {
            let text = format!("{text}{tail}");
            prop_assume!(words(&text).all(|word| !ours().iter().any(|it| it == word)));
            prop_assume!(text.lines().any(|line| value_of(line, "options").is_some_and(|it| !it.is_empty())));
            prop_assert_eq!(without(&with(&text, &ours()), &ours()), text);
        }

        #[test]
        fn a_command_line_comes_back(text in "[a-z][a-z= ]{0,30}[a-z]\n?") {
            prop_assert_eq!(cmdline_without(&cmdline_with(&text, &ours()), &ours()), text);
        }
    }
}
