use preemptlab_model::Setting;

use crate::{Measures, Settings, Step, grub, unit};

/// First part of the script.
const HEAD: &str = r#"
set -eu
[ "$(id -u)" = 0 ] || { echo "$0: run it as root" >&2; exit 1; }

# Writes standard input to a file, which is the old one or the new one at any moment.
put() {
    mkdir -p "$(dirname "$1")"
    cat >"$1.new"
    chmod 644 "$1.new"
    sync
    mv "$1.new" "$1"
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
    done
    if [ -s /etc/kernel/cmdline ] && ! grep -qF -- " $words" /etc/kernel/cmdline; then
        sed "\$s|\$| $words|" /etc/kernel/cmdline | put /etc/kernel/cmdline
    fi
else
    echo "$0: this machine has neither GRUB nor systemd-boot" >&2
    exit 1
fi
"#;

/// Returns a POSIX shell script that needs no preemptlab. The script writes the same files as
/// `apply`. It keeps no journal, so it tells how to undo it.
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
    for file in &units {
        text += &put(&file.path, &file.content);
    }
    if !words.is_empty() {
        text += &format!("\nwords='{}'\n", words.join(" "));
        text += "if command -v grubby >/dev/null; then\n    \
                 grubby --update-kernel=ALL --args=\"$words\"\n\
                 elif command -v update-grub >/dev/null; then\n";
        let drop_in = grub::drop_in(&words, settings.release.as_deref());
        text += put(grub::PATH, &drop_in).trim_start();
        text += "    update-grub\n";
        text += ENTRIES;
    }
    if !settings.run_time.is_empty() {
        text += "\n# At once, until the next boot.\n";
    }
    for (path, value) in settings.run_time.iter().filter_map(Setting::write) {
        text += &format!("printf %s '{value}' >{path}\n");
    }
    let path = "preemptlab-settings.sh".to_owned();
    let step = Step::Write { path, mode: 0o755, content: text };
    Measures { steps: vec![step], ..Measures::default() }
}

fn put(path: &str, content: &str) -> String {
    format!("\nput {path} <<'END'\n{content}END\n")
}
