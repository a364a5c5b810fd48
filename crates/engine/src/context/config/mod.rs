//! The configuration: `emend.toml` of the user and of the project. A project file may tighten rules, never loosen them:
//! a cloned repository is not trusted, unless its user says so.

pub(crate) mod ask;
pub(crate) mod claude;
pub(crate) mod events;
pub(crate) mod file;
pub(crate) mod formatters;
pub(crate) mod hooks;
pub(crate) mod origins;
pub(crate) mod outside;
pub(crate) mod replies;
pub(crate) mod rule;
pub(crate) mod schemas;
pub(crate) mod servers;
pub(crate) mod shown;

use crate::context::config::ask::AskSettings;
use crate::context::config::events::EventSettings;
use crate::context::config::file::ConfigFile;
pub use crate::context::config::formatters::KNOWN_FORMATTERS as FORMATTERS;
pub(crate) use crate::context::config::formatters::{Formatter, FormatterTrigger};
pub(crate) use crate::context::config::hooks::{Hook, HookEvent};
use crate::context::config::origins::Origins;
pub use crate::context::config::outside::OutsideChanges;
pub(crate) use crate::context::config::rule::{Access, PathRule, RuleSource};
use crate::context::config::rule::{invalid, word_if_any};
pub use crate::context::config::schemas::UserFileLoader;
pub(crate) use crate::context::config::schemas::{FileSchema, Strictness};
pub(crate) use crate::context::config::servers::{LanguageServerConfig, ServerTrigger};
use crate::model::call_context::{ChangeDisplay, OptionValue, StalePolicy};
use crate::model::file_limits::{STREAM_FROM_BYTES, WHOLE_FILE_BYTES_MAX};
use crate::model::reply_limits::ReplyLimits;
use emendate_core::work::WORK_STEPS_MAX;
use emendate_core::{Charset, Error, Matching, Result};
use emendate_fs::Durability;
use emendate_history::HistoryLimits;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the largest file that is opened by default.
pub const FILE_BYTES_MAX: u64 = 16 << 30;

/// The effect of a rule, or of the default where no rule applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyMode {
    /// Allow. A rule also lifts the built-in guard.
    #[default]
    Allow,
    /// Require approval.
    Ask,
    /// Refuse.
    Deny,
}

impl OptionValue for PolicyMode {
    const NAMED_VALUES: &'static [(&'static str, PolicyMode)] =
        &[("allow", PolicyMode::Allow), ("ask", PolicyMode::Ask), ("deny", PolicyMode::Deny)];
}

/// Settings of an engine. [`Config::default`] applies without any file.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rules that lift the guard or the approval of edits.
    pub(crate) allow: Vec<PathRule>,
    /// The error in a project's file, which is then ignored.
    pub(crate) broken: Option<String>,
    /// Rules that require approval.
    pub(crate) ask: Vec<PathRule>,
    /// Rules that forbid reading and editing.
    pub(crate) deny: Vec<PathRule>,
    /// The default for edits without a rule.
    pub(crate) default: PolicyMode,
    /// The default for creating documentation (seed 000).
    pub(crate) documentation: PolicyMode,
    /// Rules of Claude Code apply as well.
    pub(crate) imports_claude: bool,
    /// Bytes of the largest file that is opened.
    pub(crate) max_file: u64,
    /// Bytes of the largest file that is loaded whole.
    pub(crate) max_whole: u64,
    /// Decides whether a model may make changes that cannot be undone without explicit permission.
    pub(crate) irreversible: PolicyMode,
    /// Steps of work that one call may take.
    pub(crate) max_work: u64,
    /// Bytes above which a file is streamed where possible.
    pub(crate) stream_from: u64,
    /// The tolerance of matching.
    pub(crate) matching: Matching,
    /// The reaction to stale edits.
    pub(crate) on_stale: StalePolicy,
    /// The form in which replies show changes.
    pub(crate) shows: ChangeDisplay,
    /// Limits on the size of replies.
    pub(crate) reply: ReplyLimits,
    /// True if a replaced code cell of a notebook loses its outputs.
    pub(crate) clear_outputs: bool,
    /// True if edits warn of a file that no longer parses.
    pub(crate) syntax_check: bool,
    /// The reaction to edits after which a file no longer parses.
    pub(crate) strictness: Strictness,
    /// Files that are not validated.
    pub(crate) unchecked: Vec<PathRule>,
    /// Schemas that results have to fit: all that match the file.
    pub(crate) schemas: Vec<FileSchema>,
    /// Loads the user's own schemas.
    own_files: schemas::UserFiles,
    /// The guarantee of a success in case of a power failure.
    pub(crate) durability: Durability,
    /// The limits of the history.
    pub(crate) history: HistoryLimits,
    /// The changes by others that become operations.
    pub(crate) outside: OutsideChanges,
    /// Questions that wait for a person.
    pub(crate) ask_settings: AskSettings,
    /// The command of the pager, if it was set.
    pub(crate) pager: Option<String>,
    /// The recorded events.
    pub(crate) events: EventSettings,
    /// Formatters; the first match applies.
    pub(crate) formatters: Vec<Formatter>,
    /// Hooks, in the order in which they run.
    pub(crate) hooks: Vec<Hook>,
    /// Language servers.
    pub(crate) servers: Vec<LanguageServerConfig>,
    /// Encodings of files that are not UTF-8; the first match applies.
    pub(crate) encodings: Vec<(PathRule, Charset)>,
    /// The user's home directory.
    home: Option<PathBuf>,
    /// Project files that their user trusts in their current version.
    trusted: Vec<(PathBuf, String)>,
    origins: Origins,
    /// Settings of files read so far that have no effect, as sentences for a person.
    ignored: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            allow: Vec::new(),
            broken: None,
            ask: Vec::new(),
            deny: Vec::new(),
            default: PolicyMode::Allow,
            documentation: PolicyMode::Allow,
            imports_claude: false,
            max_file: FILE_BYTES_MAX,
            max_whole: WHOLE_FILE_BYTES_MAX,
            irreversible: PolicyMode::Deny,
            max_work: WORK_STEPS_MAX,
            stream_from: STREAM_FROM_BYTES,
            matching: Matching::default(),
            on_stale: StalePolicy::default(),
            shows: ChangeDisplay::default(),
            reply: ReplyLimits::default(),
            clear_outputs: true,
            syntax_check: true,
            strictness: Strictness::default(),
            unchecked: Vec::new(),
            schemas: Vec::new(),
            own_files: schemas::UserFiles::default(),
            durability: Durability::default(),
            history: HistoryLimits::default(),
            outside: OutsideChanges::default(),
            ask_settings: AskSettings::default(),
            pager: None,
            events: EventSettings::default(),
            formatters: Vec::new(),
            hooks: Vec::new(),
            servers: Vec::new(),
            encodings: Vec::new(),
            home: None,
            trusted: Vec::new(),
            ignored: Vec::new(),
            origins: Origins::default(),
        }
    }
}

impl Config {
    /// Returns which changes by others become operations.
    pub fn outside_changes(&self) -> OutsideChanges {
        self.outside
    }

    /// Bytes of the largest file that is loaded whole.
    pub(crate) fn max_whole_bytes(&self) -> u64 {
        self.max_whole.min(self.max_file)
    }

    /// Adds a configuration file. `origin` names it in messages; `trusted` is true for the user's own files and false
    /// for a project's, whose rules can only tighten.
    ///
    /// Errors: `call.invalid` with the position in the file.
    pub fn with_file(self, text: &str, origin: &str, trusted: bool) -> Result<Config> {
        self.with_source(text, RuleSource::new(origin, trusted))
    }

    /// Adds a configuration file with the base directory of patterns that begin with `/`.
    pub(crate) fn with_source(mut self, text: &str, source: RuleSource<'_>) -> Result<Config> {
        let home = self.home.clone();
        let source = RuleSource { home: home.as_deref(), ..source };
        let file: ConfigFile =
            toml::from_str(text).map_err(|error| invalid(source.origin, error.to_string().trim_end()))?;
        self.add_policy(&file.policy, source)?;
        self.add_edit(&file.edit, source)?;
        self.origins.set_word(&mut self.shows, "reply.shows", file.reply.shows.as_deref(), source)?;
        self.add_reply_limits(&file.reply, source)?;
        self.origins.set(&mut self.clear_outputs, "notebook.clear_outputs", file.notebook.clear_outputs, source);
        let check = file.syntax.check;
        self.origins.keep_own(&mut self.syntax_check, "syntax.check", check, source, |check| u8::from(*check));
        self.add_checks(&file, source)?;
        for key in self.origins.take_looser() {
            let (table, field) = key.split_once('.').unwrap_or(("", key));
            self.note_ignored(&format!("[{table}] {field}"), "loosen", source);
        }
        if source.trusted {
            self.add_own(&file, source)?;
        } else {
            self.note_own_settings(&file, source);
        }
        for (glob, label) in &file.encoding {
            let charset = Charset::for_label(label)
                .ok_or_else(|| invalid(source.origin, &format!("`{label}` is not a known encoding")))?;
            self.encodings.push((PathRule::new(glob, source)?, charset));
        }
        Ok(self)
    }

    /// The command that shows long output on a terminal, if the user's file has one.
    pub fn pager(&self) -> Option<&str> {
        self.pager.as_deref()
    }

    fn add_policy(&mut self, policy: &file::PolicySection, source: RuleSource<'_>) -> Result<()> {
        for (effect, texts) in
            [(PolicyMode::Deny, &policy.deny), (PolicyMode::Ask, &policy.ask), (PolicyMode::Allow, &policy.allow)]
        {
            for text in texts {
                self.add(effect, text, source)?;
            }
        }
        if !source.trusted && !policy.allow.is_empty() {
            let what = "a project file cannot allow guarded paths; that part is ignored (see emend trust)";
            self.ignored.push(format!("{}: {what}.", source.origin));
        }
        if policy.irreversible.as_deref() == Some("ask") {
            return Err(invalid(source.origin, "policy.irreversible: `ask` is not possible; use one of: allow, deny"));
        }
        for (slot, key, text) in [
            (&mut self.default, "policy.default", &policy.default),
            (&mut self.documentation, "policy.documentation", &policy.documentation),
            (&mut self.irreversible, "policy.irreversible", &policy.irreversible),
        ] {
            self.origins.tighten_word(slot, key, text.as_deref(), source)?;
        }
        for name in &policy.import {
            if name != claude::IMPORT_NAME {
                let what = format!("policy.import: `{name}` is unknown; there is {}", claude::IMPORT_NAME);
                return Err(invalid(source.origin, &what));
            }
            self.origins.set(&mut self.imports_claude, "policy.import", Some(true), source);
        }
        for (slot, key, most) in [
            (&mut self.max_file, "policy.max_file", policy.max_file),
            (&mut self.max_whole, "policy.max_whole", policy.max_whole),
            (&mut self.max_work, "policy.max_work", policy.max_work),
        ] {
            self.origins.lower(slot, key, most, source);
        }
        // This affects only how a file is processed, never the result, so any source may set it.
        self.origins.set(&mut self.stream_from, "policy.stream_from", policy.stream_from, source);
        Ok(())
    }

    /// Adds settings of edits. A project cannot loosen those of the user's own file.
    fn add_edit(&mut self, edit: &file::EditSection, source: RuleSource<'_>) -> Result<()> {
        let matching = word_if_any(source, "edit.match", edit.r#match.as_deref())?;
        self.origins.keep_own(&mut self.matching, "edit.match", matching, source, |it| match it {
            Matching::Exact => 2,
            Matching::Strict => 1,
            Matching::Standard => 0,
        });
        let on_stale = word_if_any(source, "edit.on_stale", edit.on_stale.as_deref())?;
        self.origins.keep_own(&mut self.on_stale, "edit.on_stale", on_stale, source, |it| match it {
            StalePolicy::Reject | StalePolicy::Ask => 2,
            StalePolicy::Merge => 1,
            StalePolicy::Markers => 0,
        });
        Ok(())
    }

    /// Adds validation settings. A project can only make them stricter.
    fn add_checks(&mut self, file: &ConfigFile, source: RuleSource<'_>) -> Result<()> {
        let syntax = file.validate.syntax.as_deref();
        self.origins.tighten_word(&mut self.strictness, "validate.syntax", syntax, source)?;
        for pattern in &file.validate.skip {
            let rule = PathRule::new(pattern, source)?;
            if source.trusted {
                self.unchecked.push(rule);
            }
        }
        if !source.trusted && !file.validate.skip.is_empty() {
            let what =
                "a project file cannot leave files unchecked; [validate] skip is ignored there (see emend trust)";
            self.ignored.push(format!("{}: {what}.", source.origin));
        }
        for row in &file.schemas {
            self.schemas.push(FileSchema::new(row, source)?);
        }
        Ok(())
    }

    /// Sets the loader of schemas that the user's own configuration names, which may lie outside the roots.
    #[must_use]
    pub fn with_user_file_loader(mut self, files: Arc<UserFileLoader>) -> Config {
        self.own_files = schemas::UserFiles(Some(files));
        self
    }

    /// The loader of the user's own files, if there is one.
    pub(crate) fn user_file_loader(&self) -> Option<&UserFileLoader> {
        self.own_files.0.as_deref()
    }

    /// Notes the settings of a project's file that only a user may make.
    fn note_own_settings(&mut self, file: &ConfigFile, source: RuleSource<'_>) {
        let own = [
            ("[write] durability", file.write.durability.is_some()),
            ("[history]", file.history != file::HistorySection::default()),
            ("[events]", file.events != file::EventsSection::default()),
            ("[ask]", file.ask != file::AskSection::default()),
            ("[terminal]", file.terminal != file::TerminalSection::default()),
            ("[[formatters]]", !file.formatters.is_empty()),
            ("[[hooks]]", !file.hooks.is_empty()),
            ("[[lsp]]", !file.lsp.is_empty()),
        ];
        for (name, _) in own.iter().filter(|(_, is_set)| *is_set) {
            self.note_ignored(name, "set", source);
        }
    }

    /// Notes a setting of a project's file that only a user may set, or loosen.
    fn note_ignored(&mut self, name: &str, verb: &str, source: RuleSource<'_>) {
        let what =
            format!("{name} is ignored in a project file, because only the user may {verb} it (see emend trust)");
        self.ignored.push(format!("{}: {what}.", source.origin));
    }

    /// Adds settings that only a user may make.
    fn add_own(&mut self, file: &ConfigFile, source: RuleSource<'_>) -> Result<()> {
        if let Some(level) = &file.write.durability {
            let level = level.parse();
            let level = level.map_err(|error: Error| invalid(source.origin, error.message().trim_end_matches('.')))?;
            self.origins.set(&mut self.durability, "write.durability", Some(level), source);
        }
        self.origins.set(&mut self.history.history_days, "history.days", file.history.days, source);
        self.add_events(&file.events, source);
        self.add_ask(&file.ask, source)?;
        self.origins.set(&mut self.pager, "terminal.pager", file.terminal.pager.clone().map(Some), source);
        for row in &file.formatters {
            self.formatters.push(Formatter::new(row, source)?);
        }
        for row in &file.hooks {
            self.hooks.push(Hook::new(row, source)?);
        }
        for row in &file.lsp {
            let server = LanguageServerConfig::new(row, source)?;
            self.servers.retain(|known| known.spec.name != server.spec.name);
            self.servers.push(server);
        }
        self.origins.set_word(&mut self.outside, "history.outside", file.history.outside.as_deref(), source)?;
        let total = file.history.megabytes.map(|size| size.saturating_mul(1 << 20));
        self.origins.set(&mut self.history.total, "history.megabytes", total, source);
        Ok(())
    }

    /// Adds a rule; allow rules of an untrusted source are ignored.
    fn add(&mut self, effect: PolicyMode, text: &str, source: RuleSource<'_>) -> Result<()> {
        let rule = PathRule::new(text, source)?;
        match effect {
            PolicyMode::Deny => self.deny.push(rule),
            PolicyMode::Ask => self.ask.push(rule),
            PolicyMode::Allow if source.trusted => self.allow.push(rule),
            PolicyMode::Allow => {}
        }
        Ok(())
    }

    /// Adds the rules for files of a settings file of Claude Code. Rules for other tools are skipped, as are allow
    /// rules of a project. `base` is the directory for patterns that begin with `/`.
    ///
    /// Errors: `call.invalid` if it cannot be parsed, because it may contain deny rules.
    pub fn with_claude_settings(mut self, text: &str, origin: &str, base: &Path, trusted: bool) -> Result<Config> {
        let home = self.home.clone();
        let source = RuleSource { origin, trusted, base: Some(base), home: home.as_deref() };
        for (effect, rule) in claude::rules(text).map_err(|what| invalid(origin, &what))? {
            self.add(effect, &rule, source)?;
        }
        Ok(self)
    }

    /// True when rules of Claude Code are to be imported.
    pub fn imports_claude(&self) -> bool {
        self.imports_claude
    }

    /// Adds a rule as a person at the command line may: an allow rule of this kind lifts the guard.
    ///
    /// Errors: `call.invalid` for an invalid rule.
    pub fn with_rule(mut self, mode: PolicyMode, rule: &str, origin: &str) -> Result<Config> {
        let home = self.home.clone();
        self.add(mode, rule, RuleSource { home: home.as_deref(), ..RuleSource::new(origin, true) })?;
        Ok(self)
    }

    /// Sets the home directory, `~/` in rules. Rules added earlier are not affected.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Config {
        self.home = home;
        self
    }

    /// Sets the guarantee of a success in case of a power failure.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Config {
        self.durability = durability;
        self.origins.note("write.durability", "--durability");
        self
    }

    /// Notes rules that repeat the absolute path of a root: with one `/` before it, they cover nothing there.
    pub(crate) fn note_repeated_roots(&mut self, roots: &[&Path]) {
        let rules = self.deny.iter().chain(&self.ask).chain(&self.allow);
        for rule in rules.filter(|rule| roots.iter().any(|root| rule.repeats(root))) {
            self.ignored.push(format!(
                "{}: the rule `{}` begins with one slash and the path of the root, so it covers nothing there; an absolute \
                 path begins with two slashes.",
                rule.origin, rule.text
            ));
        }
    }

    /// Takes the sentences about settings that have no effect.
    pub(crate) fn take_ignored(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ignored)
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Trusts a project's file like one of the user's own, as long as its content has this [digest](Config::digest).
    #[must_use]
    pub fn with_trusted_file(mut self, path: PathBuf, digest: &str) -> Config {
        self.trusted.push((path, digest.to_owned()));
        self
    }

    /// Returns the digest of a trusted file: its BLAKE3 hash in hexadecimal digits.
    pub fn digest(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }

    /// True when the user trusts the current content of the file.
    pub(crate) fn trusts(&self, path: &Path, bytes: &[u8]) -> bool {
        self.trusted.iter().any(|(trusted, digest)| trusted == path && *digest == Config::digest(bytes))
    }

    /// The language servers: name, command line, and the file that configures it.
    pub fn language_servers(&self) -> impl Iterator<Item = (&str, &[String], &str)> {
        self.servers.iter().map(|it| (&*it.spec.name, &*it.spec.argv, &*it.origin))
    }

    /// The programs of the configured formatters.
    pub fn formatter_programs(&self) -> impl Iterator<Item = &str> {
        self.formatters.iter().filter_map(|it| it.command.first().map(String::as_str))
    }

    /// The programs of the configured hooks.
    pub fn hook_programs(&self) -> impl Iterator<Item = &str> {
        self.hooks.iter().filter_map(|it| it.command.first().map(String::as_str))
    }

    /// The JSON schema of a configuration file.
    pub fn schema() -> Value {
        schemars::schema_for!(ConfigFile).to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, FILE_BYTES_MAX, PolicyMode};
    use std::path::Path;

    #[test]
    fn project_can_only_tighten() {
        let text = "[policy]\nallow = ['.git']\ndeny = ['x']\nmax_file = 999999999999\n[write]\ndurability = 'none'\n";
        let project = Config::default().with_file(text, "emend.toml", false).unwrap();
        assert_eq!((project.allow.len(), project.deny.len(), project.max_file), (0, 1, FILE_BYTES_MAX));
        assert!(project.durability.syncs());
        let user = Config::default().with_file(text, "user", true).unwrap();
        let kept = |trusted| {
            let text = "[history]\ndays = 7\nmegabytes = 10\n";
            let history = Config::default().with_file(text, "emend.toml", trusted).unwrap().history;
            (history.history_days, history.total)
        };
        assert_eq!((kept(true), kept(false).0), ((7, 10 << 20), 60));
        assert_eq!((user.allow.len(), user.max_file), (1, 999_999_999_999));
    }

    #[test]
    fn settings_of_the_user_are_noted_in_a_project_file() {
        let text = "[[formatters]]\nfiles = '*'\ncommand = ['cat']\n[policy]\nirreversible = 'allow'\n[write]\ndurability = 'none'\n[history]\ndays = 7\n";
        let noted = |trusted| Config::default().with_file(text, "emend.toml", trusted).unwrap().take_ignored();
        let noted_in_project = noted(false).join("\n");
        for name in ["[[formatters]]", "[write] durability", "[history]", "[policy] irreversible"] {
            assert!(noted_in_project.contains(&format!("emend.toml: {name} is ignored")), "{noted_in_project}");
        }
        assert!(noted(true).is_empty());
    }

    #[test]
    fn looser_settings_of_a_project_are_noted() {
        let (strict, loose) = ("[policy]\ndocumentation = 'deny'\n", "[policy]\ndocumentation = 'allow'\n");
        let noted = |first, second, trusted| {
            let config = Config::default().with_file(first, "user", true).unwrap();
            config.with_file(second, "emend.toml", trusted).unwrap().take_ignored().concat()
        };
        assert!(noted(strict, loose, false).starts_with("emend.toml: [policy] documentation is ignored"));
        for (first, second, trusted) in
            [(strict, loose, true), (loose, strict, false), (loose, loose, false), (strict, strict, false)]
        {
            assert_eq!(noted(first, second, trusted), "", "{first} {second} {trusted}");
        }
    }

    #[test]
    fn settings_of_the_user_are_not_loosened_by_a_project() {
        let both = |user: &str, project: &str| {
            let config = Config::default().with_file(user, "user", true).unwrap();
            let mut config = config.with_file(project, "emend.toml", false).unwrap();
            let noted = config.take_ignored().concat();
            (format!("{:?} {:?} {} {}", config.matching, config.on_stale, config.syntax_check, config.max_whole), noted)
        };
        let of = |matching: &str, stale: &str, check: bool, most: u64| {
            let edit = format!("[edit]\nmatch = '{matching}'\non_stale = '{stale}'\n");
            format!("{edit}[syntax]\ncheck = {check}\n[policy]\nmax_whole = {most}\n")
        };
        let (strict, loose) = (of("exact", "reject", true, 1000), of("standard", "markers", false, 2000));
        let (kept, noted) = both(&strict, &loose);
        assert_eq!(kept, "Exact Reject true 1000");
        for name in ["[edit] match", "[edit] on_stale", "[syntax] check", "[policy] max_whole"] {
            assert!(noted.contains(&format!("emend.toml: {name} is ignored")), "{name}: {noted}");
        }
        assert_eq!(both(&loose, &strict), ("Exact Reject true 1000".to_owned(), String::new()));
        // What the user's file does not set, a project may.
        assert!(both("", "[edit]\nmatch = 'strict'\non_stale = 'markers'\n").0.starts_with("Strict Markers true"));
        assert!(both("", "[reply]\ntext = 50000\n").1.contains("[reply] text is ignored"));
    }

    #[test]
    fn rules_that_repeat_the_root_are_noted() {
        let noted = |rule: &str| {
            let mut config =
                Config::default().with_file(&format!("[policy]\ndeny = ['{rule}']\n"), "f", false).unwrap();
            config.note_repeated_roots(&[Path::new("/w/p"), Path::new("/")]);
            config.take_ignored().concat()
        };
        for rule in ["/w/p/s/**", "/w/p", "Read(/w/p/s)", "/w/p/(g)/x"] {
            assert!(noted(rule).contains(&format!("f: the rule `{rule}` begins with one slash")), "{rule}");
        }
        for rule in ["//w/p/s/**", "Read(//w/p/s)", "/w/pp/s", "w/p/s", "/s/w/p"] {
            assert_eq!(noted(rule), "", "{rule}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("[policy]\ndney = []", "dney"),
            ("[edit]\non_stale = 'maybe'", "maybe"),
            ("[encoding]\n'*.txt' = 'klingon'", "klingon"),
            ("[policy]\ndeny = ['[']", "glob"),
            ("[policy]\nask = ['Bash(ls)']", "Bash"),
            ("[policy]\ndefault = 'never'", "never"),
            ("[policy]\nirreversible = 'ask'", "allow, deny"),
            ("[ask]\nwait_seconds = 86401", "ask.wait_seconds is 86401; it must be from 0 to 86400"),
            ("[ask]\nnotify = ['']", "ask.notify"),
            ("[[hooks]]\non = 'before_edit'\ncommand = ['a']\nseconds = 0", "from 1 to 600"),
            ("[[formatters]]\nfiles = '*'\ncommand = ['a']\nseconds = 601", "from 1 to 600"),
            ("[[lsp]]\nname = 'gopls'\ntimeout_ms = 120001", "from 0 to 120000"),
            ("[policy]\nimport = ['codex']", "codex"),
            ("nonsense", "emend.toml"),
        ] {
            let error = Config::default().with_file(text, "emend.toml", true).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
    }

    #[test]
    fn project_modes_can_only_be_stricter() {
        let both = |user: &str, project: &str| {
            let with = |config: Config, mode, trusted| {
                config
                    .with_file(&format!("[policy]\ndefault = '{mode}'\ndocumentation = '{mode}'\n"), "f", trusted)
                    .unwrap()
            };
            let config = with(with(Config::default(), user, true), project, false);
            assert_eq!(config.default, config.documentation);
            config.default
        };
        assert_eq!(both("ask", "allow"), PolicyMode::Ask);
        assert_eq!(both("ask", "deny"), PolicyMode::Deny);
        assert_eq!(both("allow", "ask"), PolicyMode::Ask);
    }

    #[test]
    fn claude_code_rules_are_imported() {
        let text = r#"{"model": "x", "permissions": {"defaultMode": "plan", "deny": ["Read(./.env)", "Bash(rm:*)", "Edit(/gen/**)"],
            "ask": ["Edit(docs/**)"], "allow": ["Edit(src/**)", "WebFetch"]}}"#;
        let read = |trusted| {
            let config = Config::default()
                .with_claude_settings(text, ".claude/settings.json", Path::new("/r"), trusted)
                .unwrap();
            (config.deny.len(), config.ask.len(), config.allow.len())
        };
        assert_eq!((read(true), read(false)), ((2, 1, 1), (2, 1, 0)));
        let denied = |rules: &str| {
            let text = format!(r#"{{"permissions": {{"deny": {rules}}}}}"#);
            Config::default().with_claude_settings(&text, "s", Path::new("/r"), true).unwrap().deny.len()
        };
        assert_eq!(denied(r#"["Edit", "Write"]"#), 1, "all edits are denied");
        assert_eq!(denied(r#"["Edit", "Write", "NotebookEdit", "Edit(.env)"]"#), 1, "the built-in tools are replaced");
        assert_eq!(denied(r#"["Edit(b.txt) ", " Read(x)"]"#), 2, "blanks around a rule");
        for broken in ["{", "[]", r#"{"permissions": {"deny": "x"}}"#, r#"{"permissions": {"deny": ["Edit(b.txt"]}}"#] {
            let error = Config::default().with_claude_settings(broken, "s", Path::new("/"), true).unwrap_err();
            assert!(error.message().starts_with("s: "), "{error}");
        }
    }

    #[test]
    fn every_setting_is_shown_with_its_origin() {
        let text = "[policy]\ndeny = ['x']\ndefault = 'ask'\n[reply]\nshows = 'diff'\n[encoding]\n'*.txt' = 'latin1'\n";
        let shown = Config::default().with_file(text, "user", true).unwrap().shown();
        let of = |key: &str| {
            let row = shown.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
            format!("{} {}", row["value"], row["origin"].as_str().unwrap())
        };
        assert_eq!(of("policy.deny"), "\"x\" user");
        assert_eq!(of("policy.default"), "\"ask\" user");
        assert_eq!(of("reply.shows"), "\"diff\" user");
        assert_eq!(of("history.days"), "60 built in");
        assert_eq!(of("encoding.*.txt"), "\"latin1\" user");
        // Every setting that a file can have is listed.
        let schema = Config::schema();
        for (table, fields) in schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(table, _)| !["encoding", "formatters", "hooks", "lsp", "schemas"].contains(&&***table))
        {
            let name = fields["$ref"].as_str().map(|path| path.rsplit('/').next().unwrap().to_owned()).unwrap();
            for field in schema["$defs"][&name]["properties"]
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| !["ask", "allow", "skip"].contains(&&***key))
            {
                of(&format!("{table}.{field}"));
            }
        }
    }
}
