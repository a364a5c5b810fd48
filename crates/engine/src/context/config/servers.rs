//! The language servers of files.

use crate::context::config::file::LanguageServerEntry as Row;
use crate::context::config::rule::{PathRule, RuleSource, invalid, within, word_if_any};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use emendate_lsp::{BUILTIN_SERVERS, ServerSpec, Severity, builtin_server};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Default time in milliseconds that a reply waits for a server.
const TIMEOUT_MS_DEFAULT: u64 = 3_000;
/// Maximum of that time.
const TIMEOUT_MS_MAX: u64 = 120_000;

/// The occasions on which a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ServerTrigger {
    /// After every edit.
    #[default]
    Edit,
    /// After edits of several files at once.
    Batch,
    /// Only by the tool `check`.
    Check,
    /// Never.
    Off,
}

impl OptionValue for ServerTrigger {
    const NAMED_VALUES: &'static [(&'static str, ServerTrigger)] = &[
        ("edit", ServerTrigger::Edit),
        ("batch", ServerTrigger::Batch),
        ("check", ServerTrigger::Check),
        ("off", ServerTrigger::Off),
    ];
}

impl OptionValue for Severity {
    const NAMED_VALUES: &'static [(&'static str, Severity)] = &Severity::ALL;
}

/// A language server for some files.
#[derive(Clone, Debug)]
pub(crate) struct LanguageServerConfig {
    pub(crate) spec: Arc<ServerSpec>,
    /// The files of the server, with the names of their languages.
    pub(crate) files: Vec<(PathRule, String)>,
    /// Names of files in a project directory, the most significant first.
    pub(crate) markers: Vec<String>,
    pub(crate) when: ServerTrigger,
    pub(crate) time: Duration,
    /// The file that configures it.
    pub(crate) origin: String,
}

impl LanguageServerConfig {
    /// Errors: `call.invalid` for an unknown name, an invalid pattern or occasion, a time out of range.
    pub(super) fn new(row: &Row, source: RuleSource<'_>) -> Result<LanguageServerConfig> {
        let known = builtin_server(&row.name);
        let command = match (&row.command, known) {
            (Some(command), _) if command.first().is_some_and(|word| !word.is_empty()) => command.clone(),
            (None, Some(known)) => known.argv.iter().map(|word| (*word).to_owned()).collect(),
            (Some(_), _) => return Err(invalid(source.origin, "lsp.command is empty")),
            (None, None) => return Err(unknown(row, source)),
        };
        let files: Vec<(String, String)> = match (&row.files, known) {
            (Some(files), _) => files.clone().into_iter().collect(),
            (None, Some(known)) => {
                known.files.iter().map(|(glob, language)| ((*glob).to_owned(), (*language).to_owned())).collect()
            }
            (None, None) => return Err(invalid(source.origin, "lsp.files is missing: { \"*.ext\" = \"language\" }")),
        };
        let files = files.into_iter().map(|(glob, language)| Ok((PathRule::new(&glob, source)?, language)));
        let of_known = || known.and_then(|known| serde_json::from_str(known.options).ok()).unwrap_or_default();
        let markers = known.map_or(&[][..], |known| known.markers).iter().map(|name| (*name).to_owned());
        let milliseconds =
            |key: &str, time: u64| within(source, key, time, 0..=TIMEOUT_MS_MAX).map(Duration::from_millis);
        let spec = ServerSpec {
            name: row.name.clone(),
            argv: command,
            options: row.initialization_options.clone().unwrap_or_else(of_known),
            settings: row.settings.clone().unwrap_or_default(),
            settle: row.settle_ms.map(|time| milliseconds("lsp.settle_ms", time)).transpose()?,
            severity_min: word_if_any(source, "lsp.least", row.least.as_deref())?.unwrap_or(Severity::Warning),
            says_when_ready: known.is_some_and(|known| known.says_when_ready),
        };
        Ok(LanguageServerConfig {
            spec: Arc::new(spec),
            files: files.collect::<Result<_>>()?,
            markers: row.root_markers.clone().unwrap_or_else(|| markers.collect()),
            when: word_if_any(source, "lsp.when", row.when.as_deref())?.unwrap_or_default(),
            time: milliseconds("lsp.timeout_ms", row.timeout_ms.unwrap_or(TIMEOUT_MS_DEFAULT))?,
            origin: source.origin.to_owned(),
        })
    }

    /// Returns the language of a file, if the server handles it.
    pub(crate) fn language(&self, relative: &Path, absolute: &Path) -> Option<&str> {
        self.files.iter().find(|(rule, _)| rule.matches(relative, absolute)).map(|(_, language)| &**language)
    }

    /// Converts to JSON for `emend config show`.
    pub(super) fn to_json(&self) -> Value {
        let files: Vec<&str> = self.files.iter().map(|(rule, _)| &*rule.text).collect();
        json!({
            "name": self.spec.name, "command": self.spec.argv, "files": files, "when": self.when.name(),
            "timeout_ms": u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX), "least": self.spec.severity_min.name(),
        })
    }
}

fn unknown(row: &Row, source: RuleSource<'_>) -> emendate_core::Error {
    let names: Vec<&str> = BUILTIN_SERVERS.iter().map(|known| known.name).collect();
    let what =
        format!("lsp.name: `{}` is not known; there are {}, or give command and files", row.name, names.join(", "));
    invalid(source.origin, &what)
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn read(text: &str, trusted: bool) -> emendate_core::Result<Config> {
        Config::default().with_file(text, "test", trusted)
    }

    #[test]
    fn known_server_needs_only_a_name_and_later_settings_win() {
        let text =
            "[[lsp]]\nname = 'ruff'\n[[lsp]]\nname = 'ruff'\nwhen = 'check'\ncommand = ['uvx', 'ruff', 'server']\n";
        let config = read(text, true).unwrap();
        let all: Vec<_> = config.language_servers().collect();
        assert_eq!((all.len(), all[0].1.len()), (1, 3));
        let own = "[[lsp]]\nname = 'x'\ncommand = ['x']\nfiles = { '*.x' = 'x' }\nsettings = { a = { b = 1 } }\n";
        let config = read(own, true).unwrap();
        assert_eq!(config.servers[0].spec.settings["a"]["b"], 1);
        assert!(config.shown().to_string().contains("timeout_ms"));
    }

    #[test]
    fn project_cannot_configure_servers() {
        assert_eq!(read("[[lsp]]\nname = 'ruff'\n", false).unwrap().language_servers().count(), 0);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("name = 'nothing'", "basedpyright"),
            ("name = 'x'\ncommand = ['x']", "lsp.files"),
            ("name = 'ruff'\ncommand = []", "lsp.command"),
            ("name = 'ruff'\nwhen = 'sometimes'", "sometimes"),
            ("name = 'ruff'\nleast = 'all'", "lsp.least"),
            ("name = 'ruff'\nfiles = { '[' = 'x' }", "glob"),
            ("nam = 'ruff'", "nam"),
        ] {
            let error = read(&format!("[[lsp]]\n{text}\n"), true).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
    }
}
