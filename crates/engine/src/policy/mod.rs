//! The access policy: the guard over control files and secrets, and the rules of the configuration. Checked on the
//! resolved path below the root, on the path as named, and on all other names of the same entry ([`aliases`]); ignoring
//! case, and before the file exists.

mod aliases;
mod names;

pub(crate) use crate::config::Access;
use crate::config::{Config, Mode, Rule};
use emendate_core::{Code, Error, Result};
use emendate_fs::{Place, Store, Wanted, shown};
use names::folded;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// The pattern of one row of a table below: consecutive components of a path. A `*` may be at one end of a component.
#[derive(Clone, Copy)]
struct Pattern {
    text: &'static str,
    /// Number of components.
    names: usize,
}

impl Pattern {
    const fn of(text: &'static str) -> Pattern {
        let (mut names, mut at) = (1, 0);
        while at < text.len() {
            if text.as_bytes()[at] == b'/' {
                names += 1;
            }
            at += 1;
        }
        Pattern { text, names }
    }
}

const fn patterns<const N: usize>(texts: [&'static str; N]) -> [Pattern; N] {
    let mut all = [Pattern::of(""); N];
    let mut at = 0;
    while at < N {
        all[at] = Pattern::of(texts[at]);
        at += 1;
    }
    all
}

/// Secrets: neither read nor edited without a rule that allows it. A `*` may be at one end of a component.
const SECRETS: &[Pattern] = &patterns([
    ".env",
    ".env.*",
    // `prod.env`, `.prod.env`: seed 003 guards every path that ends with `.env`.
    "*.env",
    ".ssh",
    ".gnupg",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".git-credentials",
    ".netrc",
    ".pgpass",
    ".pypirc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
]);

/// Sample files that contain no secrets.
const SAMPLES: &[Pattern] = &patterns([".env.example", ".env.sample", ".env.template", ".env.dist"]);

/// Files that control other programs, including this one: readable, but edited only if a rule allows it.
const CONTROL: &[Pattern] = &patterns([
    // Version control.
    ".git",
    ".gitmodules",
    ".gitconfig",
    ".config/git",
    ".jj",
    ".hg",
    ".svn",
    // Installed and executed by others.
    "node_modules",
    ".npmrc",
    ".yarnrc*",
    // Editors.
    ".vscode",
    ".idea",
    "*.code-workspace",
    ".zed",
    ".devcontainer",
    // Agents.
    ".cursor",
    ".cursorrules",
    ".windsurf*",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".kiro",
    ".mcp.json",
    "mcp.json",
    ".continue",
    ".aider.conf.yml",
    ".roo*",
    ".clinerules",
    "emend.toml",
    ".emend.toml",
    ".config/emendate",
    // Shells, and automatically executed files.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish",
    ".envrc",
    ".husky",
    ".pre-commit-config.yaml",
]);

/// Files that steer agents, run elsewhere or are generated, but are part of everyday work: edited freely, with a
/// warning.
const FLAGGED: &[(Pattern, &str)] = &[
    (Pattern::of("claude.md"), INSTRUCTIONS),
    (Pattern::of("claude.local.md"), INSTRUCTIONS),
    (Pattern::of("agents.md"), INSTRUCTIONS),
    (Pattern::of("gemini.md"), INSTRUCTIONS),
    (Pattern::of("copilot-instructions.md"), INSTRUCTIONS),
    (Pattern::of(".github/workflows"), WORKFLOW),
    (Pattern::of(".gitlab-ci.yml"), WORKFLOW),
    (Pattern::of("cargo.lock"), LOCK),
    (Pattern::of("package-lock.json"), LOCK),
    (Pattern::of("npm-shrinkwrap.json"), LOCK),
    (Pattern::of("yarn.lock"), LOCK),
    (Pattern::of("pnpm-lock.yaml"), LOCK),
    (Pattern::of("bun.lock"), LOCK),
    (Pattern::of("deno.lock"), LOCK),
    (Pattern::of("poetry.lock"), LOCK),
    (Pattern::of("uv.lock"), LOCK),
    (Pattern::of("pdm.lock"), LOCK),
    (Pattern::of("pipfile.lock"), LOCK),
    (Pattern::of("go.sum"), LOCK),
    (Pattern::of("composer.lock"), LOCK),
    (Pattern::of("gemfile.lock"), LOCK),
    (Pattern::of("flake.lock"), LOCK),
    (Pattern::of("mix.lock"), LOCK),
    (Pattern::of("pubspec.lock"), LOCK),
    (Pattern::of("podfile.lock"), LOCK),
    (Pattern::of("packages.lock.json"), LOCK),
    (Pattern::of("vendor"), VENDORED),
    (Pattern::of("third_party"), VENDORED),
    (Pattern::of("bower_components"), VENDORED),
];
const INSTRUCTIONS: &str = "is read by agents as instructions; a person should look at this change";
const LOCK: &str = "is written by a package manager; change what it is made from and let that write it";
const VENDORED: &str = "is a copy of somebody else's code; the next update of it will undo this change";
const WORKFLOW: &str = "runs with the rights of the repository; a person should look at this change";

/// The policy with everything it depends on.
pub(crate) struct Guard<'a> {
    pub(crate) config: &'a Config,
    pub(crate) store: &'a dyn Store,
    /// The engine's state directory, if it is below a root.
    pub(crate) own: Option<&'a Path>,
}

/// The rule that blocks a path.
#[derive(Clone)]
pub(crate) struct Hit {
    pub(crate) rule: String,
    pub(crate) origin: String,
    next: &'static str,
}

/// The verdict of the rules on a path.
enum Verdict {
    Free,
    /// Requires approval.
    Ask(Hit),
    Denied(Hit),
}

const ASK_RULE: &str = "Ask a person to change that rule if this is really wanted.";
const ASK_GUARD: &str =
    "Ask a person; they can allow it with [policy] allow in their own emend.toml, or with --allow on the command line.";

/// True for secrets, even if a rule allows them: their contents are never stored.
pub(crate) fn is_secret(place: &Place) -> bool {
    let named = |path: &Path| secret(&split(&folded(path))).is_some();
    named(place.relative())
        || (place.via_link().is_some() && place.asked().file_name().is_some_and(|name| named(Path::new(name))))
}

/// Returns a warning for a person when this file is changed; one sentence.
pub(crate) fn flag(place: &Place) -> Option<String> {
    let folded = folded(place.relative());
    let names = split(&folded);
    let (_, why) = FLAGGED.iter().find(|(pattern, _)| covers(pattern, &names))?;
    Some(format!("{} {why}.", shown(place.relative())))
}

/// True for a file that agents read as instructions, such as `CLAUDE.md`.
pub(crate) fn is_instructions(path: &Path) -> bool {
    let folded = folded(path);
    let names = split(&folded);
    FLAGGED.iter().any(|(pattern, why)| *why == INSTRUCTIONS && covers(pattern, &names))
}

fn split(folded: &str) -> Vec<&str> {
    folded.split('/').collect()
}

fn secret(names: &[&str]) -> Option<&'static str> {
    hit(SECRETS, names).filter(|_| hit(SAMPLES, names).is_none())
}

/// Returns the first pattern of a table that matches a path.
fn hit(table: &'static [Pattern], names: &[&str]) -> Option<&'static str> {
    table.iter().find(|pattern| covers(pattern, names)).map(|pattern| pattern.text)
}

/// Returns the built-in guard's pattern for a folded path.
fn guarded(names: &[&str], access: Access) -> Option<&'static str> {
    secret(names).or_else(|| if access == Access::Write { hit(CONTROL, names) } else { None })
}

/// Returns the guarded names that can be looked up: those of the tables without a `*`.
fn spelled_out(access: Access) -> &'static Wanted {
    static READ: LazyLock<Wanted> = LazyLock::new(|| Wanted::new(without_stars(SECRETS)));
    static WRITE: LazyLock<Wanted> =
        LazyLock::new(|| Wanted::new(without_stars(SECRETS).chain(without_stars(CONTROL))));
    if access == Access::Write { &WRITE } else { &READ }
}

fn without_stars(table: &'static [Pattern]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|pattern| pattern.text).filter(|name| !name.contains('*'))
}

impl Guard<'_> {
    /// Accepts a path, or names the rule that blocks it. Edits that need approval are accepted here, because the
    /// question requires a plan.
    ///
    /// Errors: `access.denied`; `access.ask` for a read that needs approval; `io.*` if a directory on the way cannot be
    /// read.
    pub(crate) fn check(&self, place: &Place, access: Access) -> Result<()> {
        self.check_name(place, access)?;
        for other in self.asked(place).into_iter().chain(aliases::of(self.store, place, access)?) {
            self.settled(place, &other, access)?;
        }
        Ok(())
    }

    /// Checks the resolved path alone, without access to the disk.
    ///
    /// Errors: `access.denied`, `access.ask`.
    pub(crate) fn check_name(&self, place: &Place, access: Access) -> Result<()> {
        if self.own.is_some_and(|own| place.absolute().starts_with(own)) {
            let next = "Leave it alone; history, undo and restore show and use what is in it.";
            let hit = Hit { rule: "the state directory".to_owned(), origin: "emend itself".to_owned(), next };
            return Err(denied(place, access, &hit, None));
        }
        self.settled(place, place.relative(), access)
    }

    /// Returns the rule that requires approval before the file is changed.
    ///
    /// Errors: `io.*` if a directory on the way cannot be read.
    pub(crate) fn asks(&self, place: &Place) -> Result<Option<Hit>> {
        if self.config.ask.is_empty() && self.config.default == Mode::Allow {
            return Ok(None);
        }
        let others = self.asked(place).into_iter().chain(aliases::of(self.store, place, Access::Write)?);
        let mut all = std::iter::once(place.relative().to_owned()).chain(others);
        Ok(all.find_map(|path| match self.judge(place, &path, Access::Write) {
            Verdict::Ask(hit) => Some(hit),
            Verdict::Free | Verdict::Denied(_) => None,
        }))
    }

    fn settled(&self, place: &Place, path: &Path, access: Access) -> Result<()> {
        let other = (path != place.relative()).then_some(path);
        match self.judge(place, path, access) {
            Verdict::Denied(hit) => Err(denied(place, access, &hit, other)),
            Verdict::Ask(hit) if access == Access::Read => Err(unapproved(place, &hit)),
            Verdict::Ask(_) | Verdict::Free => Ok(()),
        }
    }

    /// Returns the path as named, relative to the root, if links led elsewhere.
    fn asked(&self, place: &Place) -> Option<PathBuf> {
        place.via_link()?;
        let root = self.store.roots().get(place.root())?;
        let asked = place.asked();
        let below = asked.strip_prefix(&root.given).or_else(|_| asked.strip_prefix(&root.canonical)).ok()?;
        Some(below.components().filter(|part| matches!(part, Component::Normal(_))).collect())
    }

    /// Applies the rules to a path below the root: deny takes precedence over ask, and ask over allow.
    fn judge(&self, place: &Place, path: &Path, access: Access) -> Verdict {
        let folded = folded(path);
        let absolute = self.store.roots().get(place.root()).map_or(PathBuf::new(), |root| root.canonical.join(path));
        let about = |rule: &&Rule| rule.matches(Path::new(&folded), &absolute) || rule.matches(path, &absolute);
        // A file that must not be read must not be edited either: the reply would show it.
        let denies = |rule: &&Rule| rule.is_about(access) || (access == Access::Write && rule.is_about(Access::Read));
        if let Some(rule) = self.config.deny.iter().filter(denies).find(about) {
            return Verdict::Denied(Hit::of(rule));
        }
        let asking = self.config.ask.iter().filter(|rule| rule.is_about(access)).find(about);
        // Permission to edit includes permission to read.
        let allows = |rule: &&Rule| rule.is_about(access) || (access == Access::Read && rule.is_about(Access::Write));
        let allowed = self.config.allow.iter().filter(allows).any(|rule| about(&rule));
        let lifted = allowed || asking.is_some_and(|rule| rule.trusted);
        if let Some(pattern) = guarded(&split(&folded), access).filter(|_| !lifted) {
            let (rule, origin) = (pattern.to_owned(), "the built-in guard".to_owned());
            return Verdict::Denied(Hit { rule, origin, next: ASK_GUARD });
        }
        match (asking, self.config.default) {
            (Some(rule), _) => Verdict::Ask(Hit::of(rule)),
            (None, mode) if access == Access::Write && !allowed => by_mode(mode, "policy.default"),
            (None, _) => Verdict::Free,
        }
    }
}

impl Hit {
    /// Creates a reference to a rule with its origin.
    pub(crate) fn new(rule: String, origin: String) -> Hit {
        Hit { rule, origin, next: ASK_RULE }
    }

    fn of(rule: &Rule) -> Hit {
        Hit::new(rule.text.clone(), rule.origin.clone())
    }
}

/// Returns the verdict of a default mode.
fn by_mode(mode: Mode, setting: &str) -> Verdict {
    let hit = || Hit::new(setting.to_owned(), "the configuration".to_owned());
    match mode {
        Mode::Allow => Verdict::Free,
        Mode::Ask => Verdict::Ask(hit()),
        Mode::Deny => Verdict::Denied(hit()),
    }
}

/// True when consecutive components of the path match the pattern's: the entry itself or an ancestor. Comparing two
/// dozen names is faster than compiling one glob.
fn covers(pattern: &Pattern, names: &[&str]) -> bool {
    let Pattern { text, names: wanted } = *pattern;
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

fn denied(place: &Place, access: Access, hit: &Hit, other: Option<&Path>) -> Error {
    let what = match access {
        Access::Read => "File is denied for reading by your permission settings.",
        Access::Write => "File is in a directory that is denied by your permission settings.",
    };
    let Hit { rule, origin, next } = hit;
    let is = other.map_or(String::new(), |other| format!("is the same as {}, which ", shown(other)));
    Error::new(Code::AccessDenied, what)
        .evidence(format!("{} {is}matches the rule `{rule}` of {origin}.", place.shown()))
        .next(*next)
        .fact("rule", rule.clone())
        .fact("origin", origin.clone())
}

/// Applies the rules about new files, `Write(PATTERN)`, to creating this one.
///
/// Errors: `access.denied`.
pub(crate) fn created(config: &Config, place: &Place) -> Result<Option<Hit>> {
    let about = |rule: &&Rule| rule.is_about_creation() && rule.matches(place.relative(), place.absolute());
    match config.deny.iter().find(about) {
        Some(rule) => Err(denied(place, Access::Write, &Hit::of(rule), None)),
        None => Ok(config.ask.iter().find(about).map(Hit::of)),
    }
}

const NO_DOCUMENTATION: &str = "Creating documentation files (*.md, README) requires explicit user request. Focus on code implementation unless specifically asked \
    for docs; a person can allow it with documentation = \"allow\" or a rule as Write(**/*.md) under [policy] in emend.toml.";

/// Applies the rules about creating documentation (seed 000): `None` if the file is not documentation, or a rule allows
/// it.
///
/// Errors: `access.denied`.
pub(crate) fn documentation(config: &Config, place: &Place, mode: Mode) -> Result<Option<Hit>> {
    let folded = folded(place.relative());
    let name = split(&folded).pop().unwrap_or_default().to_owned();
    let about = |rule: &Rule| {
        (rule.is_about(Access::Write) || rule.is_about_creation()) && rule.matches(place.relative(), place.absolute())
    };
    if !(is_markdown(&name) || name.starts_with("readme")) || config.allow.iter().any(about) {
        return Ok(None);
    }
    match by_mode(mode, "policy.documentation") {
        Verdict::Free => Ok(None),
        Verdict::Ask(hit) => Ok(Some(hit)),
        Verdict::Denied(hit) => {
            let hit = Hit { next: NO_DOCUMENTATION, ..hit };
            Err(denied(place, Access::Write, &hit, None))
        }
    }
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "md" || it == "mdx")
}

/// Creates the error for a file whose reading needs approval.
fn unapproved(place: &Place, hit: &Hit) -> Error {
    Error::new(Code::AccessAsk, "A person has to agree before this file is read.")
        .evidence(format!("{} matches the rule `{}` of {}.", place.shown(), hit.rule, hit.origin))
        .next("Ask the person to allow it in their configuration, or to give you what you need from it.")
        .fact("rule", hit.rule.clone())
        .fact("origin", hit.origin.clone())
}

#[cfg(test)]
mod tests;
