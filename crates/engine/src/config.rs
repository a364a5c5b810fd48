//! The configuration: `emend.toml` of the user and of the project. A project file may tighten rules, never loosen them:
//! a cloned repository is not trusted.

use crate::caller::{OnStale, Shows, Word};
use emendate_core::{Charset, Code, Error, Matching, Result};
use emendate_fs::Durability;
use emendate_history::Limits;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Files larger than this are not opened, unless configured otherwise.
pub const MAX_FILE: u64 = 256 << 20;

/// Settings of an engine. [`Config::default`] is what holds without any file.
#[derive(Clone, Debug)]
pub struct Config {
    /// Paths (gitignore-like globs relative to the root) that may be edited although they are guarded.
    pub(crate) allow: Vec<Rule>,
    /// Paths that may be neither read nor edited.
    pub(crate) deny: Vec<Rule>,
    /// Largest file to open, in bytes.
    pub(crate) max_file: u64,
    /// How much matching may forgive.
    pub(crate) matching: Matching,
    /// What to do with stale edits.
    pub(crate) on_stale: OnStale,
    /// What replies show of a change.
    pub(crate) shows: Shows,
    /// Whether edits warn of a file that does not parse any more.
    pub(crate) syntax_check: bool,
    /// What a success means after a power cut.
    pub(crate) durability: Durability,
    /// How much the history keeps.
    pub(crate) history: Limits,
    /// Encodings of files that are not UTF-8, first match wins.
    pub(crate) encodings: Vec<(Rule, Charset)>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            allow: Vec::new(),
            deny: Vec::new(),
            max_file: MAX_FILE,
            matching: Matching::default(),
            on_stale: OnStale::default(),
            shows: Shows::default(),
            syntax_check: true,
            durability: Durability::default(),
            history: Limits::default(),
            encodings: Vec::new(),
        }
    }
}

/// A path rule and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) glob: String,
    pub(crate) origin: String,
    /// The path itself, and everything beneath it.
    matchers: [GlobMatcher; 2],
}

impl Rule {
    /// A glob as in gitignore: without a slash it matches a name at any depth, and a folder covers what is in it.
    pub(crate) fn new(glob: &str, origin: &str) -> Result<Rule> {
        let anchored = glob.trim_end_matches('/').contains('/');
        let body = glob.trim_start_matches('/').trim_end_matches('/');
        let pattern = if anchored { body.to_owned() } else { format!("**/{body}") };
        let compile = |pattern: &str| {
            let built = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
            built
                .map(|it| it.compile_matcher())
                .map_err(|error| invalid(origin, &format!("`{glob}` is not a glob: {error}")))
        };
        let matchers = [compile(&pattern)?, compile(&format!("{pattern}/**"))?];
        Ok(Rule { glob: glob.to_owned(), origin: origin.to_owned(), matchers })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        self.matchers.iter().any(|it| it.is_match(path))
    }
}

fn invalid(origin: &str, what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("{origin}: {what}."))
        .next("Correct the configuration file; nothing was changed.")
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    policy: Policy,
    edit: Edit,
    write: WriteTable,
    reply: ReplyTable,
    syntax: Syntax,
    history: HistoryTable,
    encoding: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Policy {
    allow: Vec<String>,
    deny: Vec<String>,
    max_file: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Edit {
    r#match: Option<String>,
    on_stale: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct HistoryTable {
    days: Option<u32>,
    megabytes: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ReplyTable {
    shows: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Syntax {
    check: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WriteTable {
    durability: Option<String>,
}

impl Config {
    /// Adds a configuration file. `origin` names it in messages; `trusted` is true for the user's own files and false
    /// for a project's, whose `allow` is ignored and whose `max_file` can only get smaller.
    ///
    /// Errors: `call.invalid` with the place in the file.
    pub fn with_file(mut self, text: &str, origin: &str, trusted: bool) -> Result<Config> {
        let file: File = toml::from_str(text).map_err(|error| invalid(origin, error.to_string().trim_end()))?;
        let rules = |globs: &[String]| globs.iter().map(|glob| Rule::new(glob, origin)).collect::<Result<Vec<Rule>>>();
        if trusted {
            self.allow.extend(rules(&file.policy.allow)?);
        }
        self.deny.extend(rules(&file.policy.deny)?);
        if let Some(max_file) = file.policy.max_file {
            self.max_file = if trusted { max_file } else { self.max_file.min(max_file) };
        }
        if let Some(word) = file.edit.r#match {
            self.matching = Matching::parse("edit.match", &word).map_err(|error| invalid(origin, error.message()))?;
        }
        if let Some(word) = file.edit.on_stale {
            self.on_stale = OnStale::parse("edit.on_stale", &word).map_err(|error| invalid(origin, error.message()))?;
        }
        if let Some(word) = file.reply.shows {
            self.shows = Shows::parse("reply.shows", &word).map_err(|error| invalid(origin, error.message()))?;
        }
        self.syntax_check = file.syntax.check.unwrap_or(self.syntax_check);
        if let Some(word) = file.write.durability.filter(|_| trusted) {
            self.durability = word.parse().map_err(|error: Error| invalid(origin, error.message()))?;
        }
        if trusted {
            self.history.history_days = file.history.days.unwrap_or(self.history.history_days);
            self.history.total = file.history.megabytes.map_or(self.history.total, |size| size.saturating_mul(1 << 20));
        }
        for (glob, label) in &file.encoding {
            let charset = Charset::for_label(label)
                .ok_or_else(|| invalid(origin, &format!("`{label}` is not a known encoding")))?;
            self.encodings.push((Rule::new(glob, origin)?, charset));
        }
        Ok(self)
    }

    /// Lifts the guard from paths that match this glob, as a person at the command line may.
    ///
    /// Errors: `call.invalid` when it is no glob.
    pub fn allowing(mut self, glob: &str, origin: &str) -> Result<Config> {
        self.allow.push(Rule::new(glob, origin)?);
        Ok(self)
    }

    /// Refuses paths that match this glob.
    ///
    /// Errors: `call.invalid` when it is no glob.
    pub fn denying(mut self, glob: &str, origin: &str) -> Result<Config> {
        self.deny.push(Rule::new(glob, origin)?);
        Ok(self)
    }

    /// Sets what a success means after a power cut.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Config {
        self.durability = durability;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, MAX_FILE, Rule};

    #[test]
    fn rules_match_like_gitignore() {
        let rule = |glob| Rule::new(glob, "test").unwrap();
        assert!(
            rule(".git").matches("a/.git/config") && rule(".git").matches(".GIT") && !rule(".git").matches("a.git")
        );
        assert!(rule("*.pem").matches("a/b.pem") && !rule("*.pem").matches("a/b.pem.txt"));
        assert!(rule("/secrets").matches("secrets/x/y") && !rule("src/*.rs").matches("src/a/b.rs"));
        assert!(rule("src/**").matches("src/a/b.rs"));
    }

    #[test]
    fn a_project_can_only_tighten() {
        let text = "[policy]\nallow = ['.git']\ndeny = ['x']\nmax_file = 999999999999\n[write]\ndurability = 'none'\n";
        let project = Config::default().with_file(text, "emend.toml", false).unwrap();
        assert_eq!((project.allow.len(), project.deny.len(), project.max_file), (0, 1, MAX_FILE));
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
    fn mistakes_are_named() {
        for (text, part) in [
            ("[policy]\ndney = []", "dney"),
            ("[edit]\non_stale = 'maybe'", "maybe"),
            ("[encoding]\n'*.txt' = 'klingon'", "klingon"),
            ("[policy]\ndeny = ['[']", "glob"),
            ("nonsense", "emend.toml"),
        ] {
            let error = Config::default().with_file(text, "emend.toml", true).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
    }
}
