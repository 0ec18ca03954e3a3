use preemptlab_model::Setting;

use crate::tune::{Measures, Settings, Step, cmdline, grub, unit};

/// First part of the script.
const HEAD: &str = r#"
set -eu
[ "$(id -u)" = 0 ] || { echo "$0: run it as root" >&2; exit 1; }
changed=

# Says what was changed.
say() {
    echo "$0: changed $1"
    changed=1
}

# Writes standard input to a file, which is the old one or the new one at any moment.
put() {
    mkdir -p "$(dirname "$1")"
    cat >"$1.new"
    chmod 644 "$1.new"
    sync
    mv "$1.new" "$1"
}

# The same for a file of preemptlab's own, unless it is there already.
own() {
    text=$(cat; echo .)
    if [ -e "$1" ] && [ "$(cat "$1"; echo .)" = "$text" ]; then return; fi
    printf %s "${text%.}" | put "$1"
    say "$1"
}

# Sets a file of the running kernel, unless it has the value already.
set_now() {
    for word in $(cat "$2"); do
        if [ "$word" = "$1" ]; then return; fi
    done
    printf %s "$1" >"$2"
    say "$2 to $1"
}
"#;

/// The command line where it is kept in entries: grubby's way, or the entries themselves.
const ENTRIES: &str = r#"elif [ -d /boot/loader/entries ] || [ -d /efi/loader/entries ] ||
    [ -d /boot/efi/loader/entries ]; then
    for entry in /boot/loader/entries/*.conf /efi/loader/entries/*.conf \
        /boot/efi/loader/entries/*.conf; do
        grep -qs '^linux' "$entry" || continue
        grep -qF -- " $words" "$entry" && continue
        sed "s|^options.*[^ ]|& $words|" "$entry" | put "$entry"
        say "$entry"
    done
    if [ -s /etc/kernel/cmdline ] && ! grep -qF -- " $words" /etc/kernel/cmdline; then
        sed "\$s|\$| $words|" /etc/kernel/cmdline | put /etc/kernel/cmdline
        say /etc/kernel/cmdline
    fi
else
    echo "$0: this machine has neither GRUB nor systemd-boot" >&2
    exit 1
fi
"#;

/// Last part of the script.
const TAIL: &str = r#"
if [ -z "$changed" ]; then
    echo "$0: nothing was changed: all of it was there already"
fi
"#;

/// Returns a POSIX shell script that needs no preemptlab. The script writes the same files as
/// `apply`, and names its changes. It keeps no journal, so it tells how to undo it.
pub fn emit(settings: &Settings) -> Measures {
    let mut text = "#!/bin/sh\n".to_owned();
    text += "# Written by preemptlab. It puts these settings into force without it:\n";
    for word in &settings.parameters {
        text += &format!("#   {word}\n");
    }
    for setting in &settings.run_time {
        text += &format!("#   {setting}\n");
    }
    let units = unit::files(settings);
    let words = settings.words();
    text +=
        "# To undo it, remove these files and the words below from the boot loader's entries:\n";
    text += &format!("#   {}, then update-grub\n", grub::PATH);
    for file in &units {
        text += &format!("#   {}\n", file.path);
    }
    text += HEAD;
    if let Some(release) = &settings.release {
        let install = settings.install().map(|command| command.to_string());
        let install = install.unwrap_or_else(|| "install it by hand".to_owned());
        text += &format!(
            "\n[ -e /boot/vmlinuz-{release} ] || {{\n    echo \"$0: the kernel {release} is not \
             here: {install}\" >&2\n    exit 1\n}}\n"
        );
    }
    if !words.is_empty() {
        text += &format!("\nwords='{}'\n", words.join(" "));
        text += &length();
    }
    if let Some(mode) = words.iter().find_map(|word| word.strip_prefix("preempt=")) {
        text += &offered(mode);
    }
    for file in &units {
        text += &own(&file.path, &file.content);
    }
    if !words.is_empty() {
        text += "\nif command -v grubby >/dev/null; then\n    \
                 before=$(grubby --info=ALL)\n    \
                 grubby --update-kernel=ALL --args=\"$words\"\n    \
                 [ \"$(grubby --info=ALL)\" = \"$before\" ] || say 'the boot entries, with grubby'\n\
                 elif command -v update-grub >/dev/null; then\n";
        let drop_in = grub::drop_in(&words, settings.release.as_deref());
        text += own(grub::PATH, &drop_in).trim_start();
        text += "    update-grub\n";
        text += ENTRIES;
    }
    if !settings.run_time.is_empty() {
        text += "\n# At once, until the next boot.\n";
    }
    for (path, value) in settings.run_time.iter().filter_map(Setting::write) {
        text += &format!("set_now '{value}' {path}\n");
    }
    text += TAIL;
    let path = "preemptlab-settings.sh".to_owned();
    let step = Step::Write { path, mode: 0o755, content: text };
    Measures { steps: vec![step], ..Measures::default() }
}

/// Returns the check that the kernel keeps the whole command line, before anything is changed. The
/// words that are there already are counted once.
fn length() -> String {
    let max = cmdline::bytes_max();
    format!(
        "line=$(cat /proc/cmdline)\n\
         for word in $words; do\n    \
             case \" $line \" in *\" $word \"*) ;; *) line=\"$line $word\" ;; esac\n\
         done\n\
         if [ \"${{#line}}\" -gt {max} ]; then\n    \
             echo \"$0: the command line would have ${{#line}} characters, and the kernel keeps {max}: \
         nothing was changed\" >&2\n    exit 1\nfi\n"
    )
}

/// Returns the warning of a mode that the running kernel does not offer.
fn offered(mode: &str) -> String {
    format!(
        "modes=$(cat /sys/kernel/debug/sched/preempt 2>/dev/null || :)\n\
         case \" $modes \" in\n\
         '  ' | *\" {mode} \"* | *\" ({mode}) \"*) ;;\n\
         *) echo \"$0: the running kernel would ignore preempt={mode}: it offers $modes\" >&2 ;;\n\
         esac\n"
    )
}

fn own(path: &str, content: &str) -> String {
    format!("\nown {path} <<'END'\n{content}END\n")
}
