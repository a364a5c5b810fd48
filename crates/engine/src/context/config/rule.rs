//! Path rules in the syntax of gitignore, with the actions and anchors of Claude Code's permissions: `secrets/**`,
//! `Edit(/src/**)`, `Read(~/.ssh/**)`, `Edit(//etc/**)`.

use crate::model::call_context::OptionValue;
use emendate_core::{Code, Error, Result};
use emendate_os::paths::below_top;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ops::RangeInclusive;
use std::path::Path;

/// The kind of access to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Actions that a rule can name. Claude Code's editing tools all follow its rules for `Edit`, its searching ones those
/// for `Read`.
pub(super) const RULE_ACTIONS: &[(&str, Access)] = &[("Read", Access::Read), ("Edit", Access::Write)];

/// A path rule with its origin.
#[derive(Clone, Debug)]
pub(crate) struct PathRule {
    /// The rule as written.
    pub(crate) text: String,
    /// The file, flag or variable that contains it.
    pub(crate) origin: String,
    /// True for a rule of the user, false for one of a project.
    pub(crate) trusted: bool,
    /// The action it applies to; `None` for both.
    action: Option<Access>,
    /// True for a rule that applies only to creating files.
    creates: bool,
    /// Matched against the path below the root, or against the absolute one.
    absolute: bool,
    matcher: Gitignore,
}

/// The origin of a rule.
#[derive(Clone, Copy)]
pub(crate) struct RuleSource<'a> {
    pub(crate) origin: &'a str,
    pub(crate) trusted: bool,
    /// The base directory of a leading `/`; `None` for the root.
    pub(crate) base: Option<&'a Path>,
    /// The base directory of a leading `~/`.
    pub(crate) home: Option<&'a Path>,
}

impl<'a> RuleSource<'a> {
    /// Creates a source whose patterns are relative to the root.
    pub(crate) fn new(origin: &'a str, trusted: bool) -> RuleSource<'a> {
        RuleSource { origin, trusted, base: None, home: None }
    }
}

impl PathRule {
    /// Parses a pattern as in gitignore: without a slash it matches a name at any depth, and a directory matches
    /// everything in it. `//` begins an absolute path, `~/` one in the home directory, `/` and `./` one at the root.
    ///
    /// Errors: `call.invalid` for an invalid pattern, and for unknown actions.
    pub(crate) fn new(text: &str, source: RuleSource<'_>) -> Result<PathRule> {
        let text = text.trim();
        if is_unfinished(text) {
            return Err(invalid_rule(source, text, "is not a complete rule such as Edit(PATTERN)"));
        }
        let creates = created(text);
        let (action, pattern) = match creates {
            Some(pattern) => (Some(Access::Write), pattern),
            None => split(text).map_err(|name| {
                invalid_rule(source, text, &format!(
                    "names the action {name}; rules are about Read(PATTERN), Edit(PATTERN), Write(PATTERN) for new files, or a PATTERN"
                ))
            })?,
        };
        let creates = creates.is_some();
        if pattern.is_empty() || pattern.starts_with(['!', '#']) {
            return Err(invalid_rule(source, text, "is not a pattern: it is empty, or begins with ! or #"));
        }
        let (absolute, line) =
            anchored(pattern, source).ok_or_else(|| invalid_rule(source, text, "needs a home directory"))?;
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        let built = builder.case_insensitive(true).and_then(|it| it.add_line(None, &line)).and_then(|it| it.build());
        let matcher = built.map_err(|error| invalid_rule(source, text, &format!("is not a glob: {error}")))?;
        let (text, origin) = (text.to_owned(), source.origin.to_owned());
        Ok(PathRule { text, origin, trusted: source.trusted, action, creates, absolute, matcher })
    }

    /// True when the rule applies to this action.
    pub(crate) fn is_about(&self, access: Access) -> bool {
        !self.creates && self.action.is_none_or(|action| action == access)
    }

    /// True when the rule applies to creating files only.
    pub(crate) fn is_about_creation(&self) -> bool {
        self.creates
    }

    /// True for a pattern that repeats this absolute path below its base, because it begins with one slash.
    pub(crate) fn repeats(&self, root: &Path) -> bool {
        let is_action = !self.text.starts_with('/');
        let pattern = self.text.find("(/").filter(|_| is_action).map_or(&*self.text, |at| &self.text[at + 1..]);
        !pattern.starts_with("//") && root.parent().is_some() && Path::new(pattern).starts_with(root)
    }

    /// True when it matches the path, given relative to the root and absolute.
    pub(crate) fn matches(&self, relative: &Path, absolute: &Path) -> bool {
        // Windows has names such as `C:\a`, which a glob cannot contain.
        let path = below_top(if self.absolute { absolute } else { relative });
        !path.as_os_str().is_empty() && self.matcher.matched_path_or_any_parents(&path, false).is_ignore()
    }
}

/// Returns the error of a rule.
fn invalid_rule(source: RuleSource<'_>, text: &str, what: &str) -> Error {
    invalid(source.origin, &format!("`{text}` {what}"))
}

/// True for a text that begins as a rule about an action, and is none. As a pattern it would match no file that was
/// meant, and protect nothing.
fn is_unfinished(text: &str) -> bool {
    text.split_once('(').is_some_and(|(before, _)| {
        let name = before.trim_end();
        let actions = RULE_ACTIONS.iter().map(|(action, _)| *action).chain(["Write"]);
        let is_action = actions.into_iter().any(|action| action.eq_ignore_ascii_case(name));
        is_action && (name != before || !text.ends_with(')'))
    })
}

/// Returns the pattern of a rule about new files: `Write(PATTERN)`.
fn created(text: &str) -> Option<&str> {
    if text == "Write" { Some("**") } else { text.strip_prefix("Write(")?.strip_suffix(')').map(str::trim) }
}

/// Splits a rule into action and pattern.
///
/// Errors: the name of an unknown action.
fn split(text: &str) -> Result<(Option<Access>, &str), &str> {
    if let Some(action) = access_named(text) {
        return Ok((Some(action), "**"));
    }
    match text.strip_suffix(')').and_then(|it| it.split_once('(')) {
        Some((name, pattern)) if name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_') => {
            access_named(name).map(|action| (Some(action), pattern.trim())).ok_or(name)
        }
        _ => Ok((None, text.trim())),
    }
}

/// Returns the access that an action names.
fn access_named(name: &str) -> Option<Access> {
    RULE_ACTIONS.iter().find(|(action, _)| *action == name).map(|(_, access)| *access)
}

/// Converts a pattern to a line of gitignore; also returns whether that applies to absolute paths. `None` without a
/// home directory to resolve `~/`.
fn anchored(pattern: &str, source: RuleSource<'_>) -> Option<(bool, String)> {
    if let Some(rest) = pattern.strip_prefix("//") {
        let (first, others) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return Some((true, format!("/{}{others}", below_top(Path::new(first)).display())));
    }
    if let Some(rest) = pattern.strip_prefix("~/") {
        return Some((true, glob_below(source.home?, rest)));
    }
    Some(match (pattern.strip_prefix("./"), pattern.strip_prefix('/'), source.base) {
        (Some(rest), ..) => (false, format!("/{rest}")),
        (None, Some(rest), Some(base)) => (true, glob_below(base, rest)),
        (None, ..) => (false, pattern.to_owned()),
    })
}

/// Returns the pattern of paths below a directory.
fn glob_below(folder: &Path, rest: &str) -> String {
    format!("/{}/{rest}", globset::escape(&below_top(folder).to_string_lossy()))
}

/// Creates the error for a fault in a configuration.
pub(super) fn invalid(origin: &str, what: &str) -> Error {
    let place = match origin {
        flag if flag.starts_with("--") => "option",
        variable if variable.starts_with("EMEND_") => "variable",
        _ => "configuration file",
    };
    Error::new(Code::CallInvalid, format!("{origin}: {what}."))
        .next(format!("Correct the {place}; nothing was changed."))
}

/// The time limits of the programs that a configuration names, in seconds.
pub(super) const SECONDS_RANGE: RangeInclusive<u64> = 1..=600;

/// Returns a number of the configuration that has to be in a range.
///
/// Errors: `call.invalid` with the range.
pub(super) fn within(source: RuleSource<'_>, key: &str, number: u64, range: RangeInclusive<u64>) -> Result<u64> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err(invalid(source.origin, &format!("{key} is {number}; it must be from {} to {}", range.start(), range.end())))
}

/// Parses a word of a closed set, with the position in case of an error.
pub(super) fn word<W: OptionValue>(source: RuleSource<'_>, key: &str, text: &str) -> Result<W> {
    W::parse(key, text).map_err(|error| invalid(source.origin, error.message().trim_end_matches('.')))
}

/// Parses a word of a closed set, if a file has one.
pub(super) fn word_if_any<W: OptionValue>(source: RuleSource<'_>, key: &str, text: Option<&str>) -> Result<Option<W>> {
    text.map(|text| word(source, key, text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::{Access, PathRule, RuleSource};
    use std::path::Path;

    fn rule(text: &str) -> PathRule {
        PathRule::new(text, RuleSource::new("test", true)).unwrap()
    }

    fn covers(text: &str, path: &str) -> bool {
        rule(text).matches(Path::new(path), &Path::new("/r").join(path))
    }

    #[test]
    fn rules_match_like_gitignore() {
        for (text, path) in [
            (".git", "a/.git/config"),
            (".git", ".GIT"),
            ("*.pem", "a/b.pem"),
            ("/secrets", "secrets/x/y"),
            ("./secrets", "secrets/x"),
            ("src/**", "src/a/b.rs"),
            ("secrets/", "a/secrets/x"),
            ("Edit(src/**)", "src/a"),
            ("Edit", "anything"),
            ("//r/src/*", "src/a"),
            ("a[1]", "a1"),
            (" a/b ", "a/b"),
            (" Edit(a/b) ", "a/b"),
            ("Edit(app/(group)/x)", "app/(group)/x"),
            ("app/(group)/x", "app/(group)/x"),
        ] {
            assert!(covers(text, path), "{text} {path}");
        }
        for (text, path) in [
            (".git", "a.git"),
            ("*.pem", "a/b.pem.txt"),
            ("src/*.rs", "src/a/b.rs"),
            ("/secrets", "a/secrets"),
            ("//etc/**", "etc/x"),
            ("//r/src", "src2"),
        ] {
            assert!(!covers(text, path), "{text} {path}");
        }
    }

    #[test]
    fn rules_have_actions_and_anchors() {
        assert!(rule("Read(a)").is_about(Access::Read) && !rule("Read(a)").is_about(Access::Write));
        assert!(rule("a").is_about(Access::Read) && rule("a").is_about(Access::Write));
        let home = RuleSource { home: Some(Path::new("/home/me")), ..RuleSource::new("test", true) };
        let secret = PathRule::new("Read(~/.ssh/**)", home).unwrap();
        assert!(secret.matches(Path::new("x"), Path::new("/home/me/.ssh/id")));
        assert!(PathRule::new("Read(~/.ssh/**)", RuleSource::new("test", true)).is_err(), "home is unknown");
        let based = RuleSource { base: Some(Path::new("/other/[x]")), ..RuleSource::new("test", true) };
        let based = PathRule::new("/a/*", based).unwrap();
        assert!(based.matches(Path::new("q"), Path::new("/other/[x]/a/b")));
        assert!(!based.matches(Path::new("a/b"), Path::new("/r/a/b")));
    }

    #[cfg(windows)]
    #[test]
    fn rules_match_paths_with_drives() {
        let home = RuleSource { home: Some(Path::new(r"C:\Users\me")), ..RuleSource::new("test", true) };
        for text in ["Read(~/.ssh/**)", "//C:/Users/me/.ssh/**", "//c/users/me/.ssh/**"] {
            let rule = PathRule::new(text, home).unwrap();
            assert!(rule.matches(Path::new("x"), Path::new(r"C:\Users\me\.ssh\id")), "{text}");
            assert!(!rule.matches(Path::new("x"), Path::new(r"D:\Users\me\.ssh\id")), "{text}");
        }
    }

    #[test]
    fn invalid_rules_are_refused() {
        for text in [
            "", "!a", "#a", "Bash(ls)", "Edit()", "a[", "Wrote(x)", "Edit(b.txt", " Read(b.txt", "Edit (b.txt)",
            "edit(b", "Write(a) x",
        ] {
            let error = PathRule::new(text, RuleSource::new("emend.toml", true)).unwrap_err();
            assert!(error.message().starts_with("emend.toml: "), "{error}");
        }
    }
}
