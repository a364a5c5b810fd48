//! The formatters of files.

use crate::context::config::file::{CommandEntry, FormatterEntry as Row};
use crate::context::config::rule::{PathRule, RuleSource, SECONDS_RANGE, invalid, within, word_if_any};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use std::time::Duration;

/// Formatters known by name, with their command lines: each reads standard input and writes standard output.
pub static KNOWN_FORMATTERS: &[(&str, &[&str])] = &[
    ("biome", &["biome", "format", "--stdin-file-path={path}"]),
    ("black", &["black", "--quiet", "--stdin-filename", "{path}", "-"]),
    ("clang-format", &["clang-format", "--assume-filename={path}"]),
    ("gofmt", &["gofmt"]),
    ("prettier", &["prettier", "--stdin-filepath", "{path}"]),
    ("ruff", &["ruff", "format", "--quiet", "--stdin-filename", "{path}", "-"]),
    ("rustfmt", &["rustfmt", "--quiet", "--emit", "stdout"]),
    ("shfmt", &["shfmt", "--filename", "{path}"]),
    ("stylua", &["stylua", "--stdin-filepath", "{path}", "-"]),
    ("taplo", &["taplo", "format", "--stdin-filepath", "{path}", "-"]),
    ("zig", &["zig", "fmt", "--stdin"]),
];

/// Default time limit of a formatter in seconds.
const FORMATTER_SECONDS_DEFAULT: u64 = 10;

/// The files to format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FormatterTrigger {
    /// New files and those that were formatted before: only the edit's own changes are formatted.
    #[default]
    Formatted,
    /// All files.
    Always,
}

impl OptionValue for FormatterTrigger {
    const NAMED_VALUES: &'static [(&'static str, FormatterTrigger)] =
        &[("formatted", FormatterTrigger::Formatted), ("always", FormatterTrigger::Always)];
}

/// A formatter for some files.
#[derive(Clone, Debug)]
pub(crate) struct Formatter {
    pub(crate) files: PathRule,
    pub(crate) command: Vec<String>,
    pub(crate) when: FormatterTrigger,
    pub(crate) time: Duration,
}

impl Formatter {
    /// Errors: `call.invalid` for an invalid pattern, command or trigger.
    pub(super) fn new(row: &Row, source: RuleSource<'_>) -> Result<Formatter> {
        let command = match &row.command {
            CommandEntry::Name(name) => {
                let Some((_, command)) = KNOWN_FORMATTERS.iter().find(|(known, _)| known == name) else {
                    let names: Vec<&str> = KNOWN_FORMATTERS.iter().map(|(name, _)| *name).collect();
                    return Err(invalid(
                        source.origin,
                        &format!(
                            "formatters.command: `{name}` is not known; there are {}, or write the words of a command as a list",
                            names.join(", ")
                        ),
                    ));
                };
                command.iter().map(|word| (*word).to_owned()).collect()
            }
            CommandEntry::Words(command) if command.first().is_some_and(|word| !word.is_empty()) => command.clone(),
            CommandEntry::Words(_) => return Err(invalid(source.origin, "formatters.command is empty")),
        };
        let when = word_if_any(source, "formatters.when", row.when.as_deref())?.unwrap_or_default();
        let seconds = row.seconds.unwrap_or(FORMATTER_SECONDS_DEFAULT);
        let time = Duration::from_secs(within(source, "formatters.seconds", seconds, SECONDS_RANGE)?);
        Ok(Formatter { files: PathRule::new(&row.files, source)?, command, when, time })
    }

    /// Returns the command line for a file.
    pub(crate) fn command_for(&self, path: &str) -> Vec<String> {
        self.command.iter().map(|word| word.replace("{path}", path)).collect()
    }
}
