//! The access policy: the guard over control files and secrets, and the rules of the configuration. Checked on the
//! resolved path below the root, on the path as named, and on all other names of the same entry ([`aliases`]); ignoring
//! case, and before the file exists.

pub(crate) mod aliases;
pub(crate) mod names;

pub(crate) use crate::context::config::Access;
use crate::context::config::{Config, PathRule, PolicyMode};
use crate::context::policy::names::fold_path;
use emendate_core::{Code, Error, Result};
use emendate_fs::{NameSet, SafePath, Store, shown};
use emendate_os::paths::with_slashes;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// The pattern of one row of a table below: consecutive components of a path. A `*` may be at one end of a component.
#[derive(Clone, Copy)]
struct NamePattern {
    text: &'static str,
    /// Number of components.
    names: usize,
}

impl NamePattern {
    const fn of(text: &'static str) -> NamePattern {
        let (mut names, mut at) = (1, 0);
        while at < text.len() {
            if text.as_bytes()[at] == b'/' {
                names += 1;
            }
            at += 1;
        }
        NamePattern { text, names }
    }
}

const fn patterns<const N: usize>(texts: [&'static str; N]) -> [NamePattern; N] {
    let mut all = [NamePattern::of(""); N];
    let mut at = 0;
    while at < N {
        all[at] = NamePattern::of(texts[at]);
        at += 1;
    }
    all
}

/// Secrets: neither read nor edited without a rule that allows it. Seed 003 guards every path that ends with `.env`
/// (also `prod.env` and `.prod.env`).
const SECRETS: &[NamePattern] = &patterns([
    ".env", ".env.*", "*.env", ".ssh", ".gnupg", ".aws/credentials", ".kube/config", ".docker/config.json",
    ".git-credentials", ".netrc", ".pgpass", ".pypirc", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
    "id_ed25519_sk", "*.pem", "*.key", "*.p12", "*.pfx",
]);

/// Sample files that contain no secrets.
const SECRET_SAMPLES: &[NamePattern] = &patterns([".env.example", ".env.sample", ".env.template", ".env.dist"]);

/// Files that control other programs, including this one: readable, but edited only if a rule allows it. In this order
/// those of version control, those that others install and execute, those of editors, of agents and of shells, and
/// those that are executed automatically.
const CONTROL_FILES: &[NamePattern] = &patterns([
    ".git", ".gitmodules", ".gitconfig", ".config/git", ".jj", ".hg", ".svn", "node_modules", ".npmrc", ".yarnrc*",
    ".vscode", ".idea", "*.code-workspace", ".zed", ".devcontainer", ".cursor", ".cursorrules", ".windsurf*",
    ".claude", ".codex", ".gemini", ".opencode", ".kiro", ".mcp.json", "mcp.json", ".continue", ".aider.conf.yml",
    ".roo*", ".clinerules", "documents/cline", ".github/hooks", ".copilot", "emend.toml", ".emend.toml",
    ".config/emendate", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
    ".config/fish", ".envrc", ".husky", ".pre-commit-config.yaml",
]);

/// Files that steer agents, run elsewhere or are generated, but are part of everyday work: edited freely, with a
/// warning.
const FLAGGED_FILES: &[(NamePattern, &str)] = &[
    (NamePattern::of("claude.md"), INSTRUCTIONS_WARNING),
    (NamePattern::of("claude.local.md"), INSTRUCTIONS_WARNING),
    (NamePattern::of("agents.md"), INSTRUCTIONS_WARNING),
    (NamePattern::of("gemini.md"), INSTRUCTIONS_WARNING),
    (NamePattern::of("copilot-instructions.md"), INSTRUCTIONS_WARNING),
    (NamePattern::of(".github/workflows"), WORKFLOW_WARNING),
    (NamePattern::of(".gitlab-ci.yml"), WORKFLOW_WARNING),
    (NamePattern::of("cargo.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("package-lock.json"), LOCK_FILE_WARNING),
    (NamePattern::of("npm-shrinkwrap.json"), LOCK_FILE_WARNING),
    (NamePattern::of("yarn.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("pnpm-lock.yaml"), LOCK_FILE_WARNING),
    (NamePattern::of("bun.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("deno.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("poetry.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("uv.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("pdm.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("pipfile.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("go.sum"), LOCK_FILE_WARNING),
    (NamePattern::of("composer.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("gemfile.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("flake.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("mix.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("pubspec.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("podfile.lock"), LOCK_FILE_WARNING),
    (NamePattern::of("packages.lock.json"), LOCK_FILE_WARNING),
    (NamePattern::of("vendor"), VENDORED_WARNING),
    (NamePattern::of("third_party"), VENDORED_WARNING),
    (NamePattern::of("bower_components"), VENDORED_WARNING),
];
const INSTRUCTIONS_WARNING: &str = "is read by agents as instructions; a person should review this change";
const LOCK_FILE_WARNING: &str = "is written by a package manager; change its source and regenerate it";
const VENDORED_WARNING: &str = "is vendored code; its next update will undo this change";
const WORKFLOW_WARNING: &str = "runs with the rights of the repository; a person should review this change";

/// The policy with everything it depends on.
pub(crate) struct Guard<'a> {
    pub(crate) config: &'a Config,
    pub(crate) store: &'a dyn Store,
    /// The engine's state directory, if it is below a root.
    pub(crate) own: Option<&'a Path>,
}

/// The rule that blocks a path.
#[derive(Clone)]
pub(crate) struct BlockingRule {
    pub(crate) rule: String,
    pub(crate) origin: String,
    next: &'static str,
}

impl BlockingRule {
    /// The reason to ask again: a person approved another change than the one that would be written now.
    pub(crate) fn of_another_change() -> BlockingRule {
        BlockingRule {
            rule: "another change was approved".to_owned(),
            origin: "the stored question".to_owned(),
            next: "",
        }
    }
}

/// The verdict of the rules on a path.
enum AccessVerdict {
    Free,
    /// Requires approval.
    Ask(BlockingRule),
    Denied(BlockingRule),
}

const ASK_FOR_RULE_CHANGE: &str = "Ask a person to change that rule if this is really wanted.";
const ASK_FOR_GUARD_CHANGE: &str = "Ask a person; they can allow it with [policy] allow in their own configuration, \
    usually ~/.config/emendate/config.toml, or with --allow on the command line.";

/// True for secrets, even if a rule allows them: their contents are never stored.
pub(crate) fn is_secret(path: &SafePath) -> bool {
    is_secret_name(path.relative())
        || (path.via_link().is_some()
            && path.requested().file_name().is_some_and(|name| is_secret_name(Path::new(name))))
}

/// True for a path that names a secret.
fn is_secret_name(path: &Path) -> bool {
    secret(&split(&fold_path(path))).is_some()
}

/// Returns a warning for a person when this file is changed; one sentence.
pub(crate) fn warning(path: &SafePath) -> Option<String> {
    let folded = fold_path(path.relative());
    let names = split(&folded);
    let (_, why) = FLAGGED_FILES.iter().find(|(pattern, _)| covers(pattern, &names))?;
    Some(format!("{} {why}.", with_slashes(&shown(path.relative()))))
}

/// True for a file that agents read as instructions, such as `CLAUDE.md`.
pub(crate) fn is_instructions(path: &Path) -> bool {
    let folded = fold_path(path);
    let names = split(&folded);
    FLAGGED_FILES.iter().any(|(pattern, why)| *why == INSTRUCTIONS_WARNING && covers(pattern, &names))
}

fn split(folded: &str) -> Vec<&str> {
    folded.split('/').collect()
}

fn secret(names: &[&str]) -> Option<&'static str> {
    find_pattern(SECRETS, names).filter(|_| find_pattern(SECRET_SAMPLES, names).is_none())
}

/// Returns the first pattern of a table that matches a path.
fn find_pattern(table: &'static [NamePattern], names: &[&str]) -> Option<&'static str> {
    table.iter().find(|pattern| covers(pattern, names)).map(|pattern| pattern.text)
}

/// Returns the built-in guard's pattern for a folded path.
fn guarded(names: &[&str], access: Access) -> Option<&'static str> {
    secret(names).or_else(|| if access == Access::Write { find_pattern(CONTROL_FILES, names) } else { None })
}

/// Returns the guarded names that can be looked up: those of the tables without a `*`.
fn spelled_out(access: Access) -> &'static NameSet {
    static READ_GUARDED: LazyLock<NameSet> = LazyLock::new(|| NameSet::new(without_stars(SECRETS)));
    static WRITE_GUARDED: LazyLock<NameSet> =
        LazyLock::new(|| NameSet::new(without_stars(SECRETS).chain(without_stars(CONTROL_FILES))));
    if access == Access::Write { &WRITE_GUARDED } else { &READ_GUARDED }
}

fn without_stars(table: &'static [NamePattern]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|pattern| pattern.text).filter(|name| !name.contains('*'))
}

impl Guard<'_> {
    /// Accepts a path, or names the rule that blocks it. Edits that need approval are accepted here, because the
    /// question requires a plan.
    ///
    /// Errors: `access.denied`; `access.ask` for a read that needs approval; `io.*` if a directory on the way cannot be
    /// read.
    pub(crate) fn check(&self, path: &SafePath, access: Access) -> Result<()> {
        self.check_name(path, access)?;
        for other in self.requested_path(path).into_iter().chain(aliases::guarded_aliases(self.store, path, access)?) {
            self.check_verdict(path, &other, access)?;
        }
        Ok(())
    }

    /// Checks the resolved path alone, without access to the disk.
    ///
    /// Errors: `access.denied`, `access.ask`.
    pub(crate) fn check_name(&self, path: &SafePath, access: Access) -> Result<()> {
        if self.own.is_some_and(|own| path.absolute().starts_with(own)) {
            let next = "Do not change it; history, undo and restore use its contents.";
            let hit = BlockingRule { rule: "the state directory".to_owned(), origin: "emend itself".to_owned(), next };
            return Err(denied(path, access, &hit, None));
        }
        self.check_verdict(path, path.relative(), access)
    }

    /// Returns the rule that requires approval before the file is changed.
    ///
    /// Errors: `io.*` if a directory on the way cannot be read.
    pub(crate) fn asking_rule(&self, safe_path: &SafePath) -> Result<Option<BlockingRule>> {
        if self.config.ask.is_empty() && self.config.default == PolicyMode::Allow {
            return Ok(None);
        }
        let others = self.requested_path(safe_path).into_iter().chain(aliases::guarded_aliases(
            self.store,
            safe_path,
            Access::Write,
        )?);
        let mut all = std::iter::once(safe_path.relative().to_owned()).chain(others);
        Ok(all.find_map(|path| match self.judge(safe_path, &path, Access::Write) {
            AccessVerdict::Ask(hit) => Some(hit),
            AccessVerdict::Free | AccessVerdict::Denied(_) => None,
        }))
    }

    fn check_verdict(&self, safe_path: &SafePath, path: &Path, access: Access) -> Result<()> {
        let other = (path != safe_path.relative()).then_some(path);
        match self.judge(safe_path, path, access) {
            AccessVerdict::Denied(hit) => Err(denied(safe_path, access, &hit, other)),
            AccessVerdict::Ask(hit) if access == Access::Read => Err(unapproved(safe_path, &hit)),
            AccessVerdict::Ask(_) | AccessVerdict::Free => Ok(()),
        }
    }

    /// Returns the path as named, relative to the root, if links led elsewhere.
    fn requested_path(&self, path: &SafePath) -> Option<PathBuf> {
        path.via_link()?;
        let root = self.store.roots().get(path.root())?;
        let asked = path.requested();
        let below = asked.strip_prefix(&root.given).or_else(|_| asked.strip_prefix(&root.canonical)).ok()?;
        Some(below.components().filter(|part| matches!(part, Component::Normal(_))).collect())
    }

    /// Applies the rules to a path below the root: deny takes precedence over ask, and ask over allow.
    fn judge(&self, safe_path: &SafePath, path: &Path, access: Access) -> AccessVerdict {
        let folded = fold_path(path);
        let absolute =
            self.store.roots().get(safe_path.root()).map_or(PathBuf::new(), |root| root.canonical.join(path));
        let about = |rule: &&PathRule| rule.matches(Path::new(&folded), &absolute) || rule.matches(path, &absolute);
        // A file that must not be read must not be edited either: the reply would show it.
        let mut denying = self
            .config
            .deny
            .iter()
            .filter(|rule| rule.is_about(access) || access == Access::Write && rule.is_about(Access::Read));
        if let Some(rule) = denying.find(about) {
            return AccessVerdict::Denied(BlockingRule::of(rule));
        }
        let asking = self.config.ask.iter().filter(|rule| rule.is_about(access)).find(about);
        // Permission to edit includes permission to read.
        let mut allowing = self
            .config
            .allow
            .iter()
            .filter(|rule| rule.is_about(access) || access == Access::Read && rule.is_about(Access::Write));
        let allowed = allowing.any(|rule| about(&rule));
        let lifted = allowed || asking.is_some_and(|rule| rule.trusted);
        if let Some(pattern) = guarded(&split(&folded), access).filter(|_| !lifted) {
            let (rule, origin) = (pattern.to_owned(), "the built-in guard".to_owned());
            return AccessVerdict::Denied(BlockingRule { rule, origin, next: ASK_FOR_GUARD_CHANGE });
        }
        match (asking, self.config.default) {
            (Some(rule), _) => AccessVerdict::Ask(BlockingRule::of(rule)),
            (None, mode) if access == Access::Write && !allowed => by_mode(mode, "policy.default"),
            (None, _) => AccessVerdict::Free,
        }
    }
}

impl BlockingRule {
    /// Creates a reference to a rule with its origin.
    pub(crate) fn new(rule: String, origin: String) -> BlockingRule {
        BlockingRule { rule, origin, next: ASK_FOR_RULE_CHANGE }
    }

    fn of(rule: &PathRule) -> BlockingRule {
        BlockingRule::new(rule.text.clone(), rule.origin.clone())
    }
}

/// Returns the verdict of a default mode.
fn by_mode(mode: PolicyMode, setting: &str) -> AccessVerdict {
    match mode {
        PolicyMode::Allow => AccessVerdict::Free,
        PolicyMode::Ask => AccessVerdict::Ask(configured_rule(setting)),
        PolicyMode::Deny => AccessVerdict::Denied(configured_rule(setting)),
    }
}

/// Returns the rule of the configuration that blocks.
fn configured_rule(setting: &str) -> BlockingRule {
    BlockingRule::new(setting.to_owned(), "the configuration".to_owned())
}

/// True when consecutive components of the path match the pattern's: the entry itself or an ancestor. Comparing two
/// dozen names is faster than compiling one glob.
fn covers(pattern: &NamePattern, names: &[&str]) -> bool {
    let NamePattern { text, names: wanted } = *pattern;
    if wanted == 1 {
        return names.iter().any(|name| is_named(name, text));
    }
    names.windows(wanted).any(|run| text.split('/').zip(run).all(|(want, name)| is_named(name, want)))
}

/// True when a component matches. Every call checks every pattern, so mismatches are detected by a single byte.
fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.as_bytes() {
        [b'*', end @ ..] => name.as_bytes().ends_with(end),
        [start @ .., b'*'] => name.as_bytes().starts_with(start),
        all => all.len() == name.len() && all == name.as_bytes(),
    }
}

fn denied(path: &SafePath, access: Access, hit: &BlockingRule, other: Option<&Path>) -> Error {
    let what = match access {
        Access::Read => "File is denied for reading by your permission settings.",
        Access::Write => "File is in a directory that is denied by your permission settings.",
    };
    denied_as(what, path, hit, other)
}

fn denied_as(what: &'static str, path: &SafePath, hit: &BlockingRule, other: Option<&Path>) -> Error {
    let BlockingRule { rule, origin, next } = hit;
    let is = other.map_or(String::new(), |other| format!("is the same as {}, which ", shown(other)));
    Error::new(Code::AccessDenied, what)
        .evidence(format!("{} {is}matches the rule `{rule}` of {origin}.", path.shown()))
        .next(*next)
        .fact("rule", rule.clone())
        .fact("origin", origin.clone())
}

/// Applies the rules about new files, `Write(PATTERN)`, to creating this one.
///
/// Errors: `access.denied`.
pub(crate) fn check_creation(config: &Config, path: &SafePath) -> Result<Option<BlockingRule>> {
    match config.deny.iter().find(|rule| is_creation_rule(path, rule)) {
        Some(rule) => Err(denied(path, Access::Write, &BlockingRule::of(rule), None)),
        None => Ok(config.ask.iter().find(|rule| is_creation_rule(path, rule)).map(BlockingRule::of)),
    }
}

/// True for a rule about creating this path.
fn is_creation_rule(path: &SafePath, rule: &PathRule) -> bool {
    rule.is_about_creation() && rule.matches(path.relative(), path.absolute())
}

const NO_DOCUMENTATION: &str = "Creating documentation files (*.md, README) requires explicit user request.";
const IF_DOCUMENTATION: &str = "Focus on code implementation unless specifically asked for docs; a person can allow it with \
    a rule as Write(**/*.md) or Write(README*) in [policy] allow of their own configuration, usually ~/.config/emendate/config.toml, or with \
    --allow on the command line.";

/// Applies the rules about creating documentation (seed 000): `None` if the file is not documentation, or a rule allows
/// it.
///
/// Errors: `access.denied`.
pub(crate) fn documentation(config: &Config, path: &SafePath, mode: PolicyMode) -> Result<Option<BlockingRule>> {
    let folded = fold_path(path.relative());
    let name = split(&folded).pop().unwrap_or_default().to_owned();
    if !(is_markdown(&name) || name.starts_with("readme"))
        || config.allow.iter().any(|rule| {
            (rule.is_about(Access::Write) || rule.is_about_creation()) && rule.matches(path.relative(), path.absolute())
        })
    {
        return Ok(None);
    }
    match by_mode(mode, "policy.documentation") {
        AccessVerdict::Free => Ok(None),
        AccessVerdict::Ask(hit) => Ok(Some(hit)),
        AccessVerdict::Denied(hit) => {
            let hit = BlockingRule { next: IF_DOCUMENTATION, ..hit };
            Err(denied_as(NO_DOCUMENTATION, path, &hit, None))
        }
    }
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "md" || it == "mdx")
}

/// Creates the error for a file whose reading needs approval.
fn unapproved(path: &SafePath, hit: &BlockingRule) -> Error {
    Error::new(Code::AccessAsk, "A person must approve this before the file is read.")
        .evidence(format!("{} matches the rule `{}` of {}.", path.shown(), hit.rule, hit.origin))
        .next("Ask the person to allow it in their configuration, or to give you what you need from it.")
        .fact("rule", hit.rule.clone())
        .fact("origin", hit.origin.clone())
}

#[cfg(test)]
mod tests;
