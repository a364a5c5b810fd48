//! Which paths may be read and edited: the guard over control files and secrets, and the rules of the configuration.
//! Checked on the resolved path, below the root, ignoring case; a guarded file that does not exist yet is guarded too.

use crate::config::Config;
use emendate_core::{Code, Error, Result};
use emendate_fs::Place;

/// What a call wants to do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Secrets: neither read nor edited without a rule that allows it.
const SECRETS: &[&str] = &[
    ".env",
    ".env.*",
    ".ssh",
    ".gnupg",
    ".aws/credentials",
    ".kube/config",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    ".netrc",
    ".pypirc",
];

/// Samples of the secrets that hold none.
const SAMPLES: &[&str] = &[".env.example", ".env.sample", ".env.template"];

/// Files that control other programs: readable, but edited only where a rule allows it.
const CONTROL: &[&str] = &[
    ".git",
    ".gitmodules",
    ".jj",
    ".hg",
    ".svn",
    "node_modules",
    ".vscode",
    ".idea",
    "*.code-workspace",
    ".cursor",
    ".cursorrules",
    ".windsurf*",
    ".zed",
    ".claude",
    ".codex",
    ".gemini",
    ".mcp.json",
    "mcp.json",
    ".continue",
    ".aider.conf.yml",
    ".roo*",
    ".clinerules",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".envrc",
    ".npmrc",
    ".yarnrc*",
    ".gitconfig",
    ".devcontainer",
    ".husky",
    ".pre-commit-config.yaml",
];

/// True for secrets, also where a rule allows them: their contents are never stored.
pub(crate) fn is_secret(place: &Place) -> bool {
    let lower = folded(place).to_lowercase();
    let names: Vec<&str> = lower.split('/').collect();
    secret(&names).is_some()
}

fn secret(names: &[&str]) -> Option<&'static str> {
    hit(SECRETS, names).filter(|_| hit(SAMPLES, names).is_none())
}

fn hit(table: &'static [&'static str], names: &[&str]) -> Option<&'static str> {
    table.iter().copied().find(|pattern| covers(pattern, names))
}

/// Lets a call through, or names the rule that stops it.
///
/// Errors: `access.denied`.
pub(crate) fn check(config: &Config, place: &Place, access: Access) -> Result<()> {
    let path = folded(place);
    if let Some(rule) = config.deny.iter().find(|rule| rule.matches(&path)) {
        let next = "Ask a person to change that rule if this is really wanted.";
        return Err(denied(place, access, &rule.glob, &rule.origin, next));
    }
    if config.allow.iter().any(|rule| rule.matches(&path)) {
        return Ok(());
    }
    let lower = path.to_lowercase();
    let names: Vec<&str> = lower.split('/').collect();
    let control = if access == Access::Write { hit(CONTROL, &names) } else { None };
    match secret(&names).or(control) {
        Some(pattern) => {
            let next = "Ask a person; they can allow it with [policy] allow in their own emend.toml, or with --allow on the command line.";
            Err(denied(place, access, pattern, "the built-in guard", next))
        }
        None => Ok(()),
    }
}

/// True when consecutive names of the path match the pattern's: the thing itself, or a folder above. A `*` stands at one
/// end of a name. Two dozen names are compared faster than one glob is compiled.
fn covers(pattern: &str, names: &[&str]) -> bool {
    let wanted: Vec<&str> = pattern.split('/').collect();
    let same = |(want, name): (&&str, &&str)| match (want.strip_prefix('*'), want.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => want == name,
    };
    names.windows(wanted.len()).any(|run| wanted.iter().zip(run).all(same))
}

/// The path below the root as rules see it: trailing dots and blanks of a name, which some file systems drop, do not count.
fn folded(place: &Place) -> String {
    let names = place.relative().components().map(|part| {
        let name = part.as_os_str().to_string_lossy();
        let bare = name.trim_end_matches(['.', ' ']);
        if bare.is_empty() { name.into_owned() } else { bare.to_owned() }
    });
    names.collect::<Vec<String>>().join("/")
}

fn denied(place: &Place, access: Access, rule: &str, origin: &str, next: &str) -> Error {
    let what = match access {
        Access::Read => "File is denied for reading by your permission settings.",
        Access::Write => "File is in a directory that is denied by your permission settings.",
    };
    Error::new(Code::AccessDenied, what)
        .evidence(format!("{} matches the rule `{rule}` of {origin}.", place.shown()))
        .next(next)
        .fact("rule", rule)
        .fact("origin", origin)
}

#[cfg(test)]
mod tests {
    use super::{Access, check};
    use crate::config::Config;
    use emendate_fs::{Memory, Store};
    use std::path::Path;

    #[test]
    fn guarded_names() {
        let store = Memory::new(Path::new("/r"));
        let may =
            |path: &str, access, config: &Config| check(config, &store.admit(Path::new(path)).unwrap(), access).is_ok();
        let plain = Config::default();
        for path in
            ["/r/.git/config", "/r/a/.GIT/hooks/x", "/r/.git /x", "/r/node_modules/a/b.js", "/r/.vscode/settings.json"]
        {
            assert!(!may(path, Access::Write, &plain) && may(path, Access::Read, &plain), "{path}");
        }
        for path in ["/r/.env", "/r/a/.env.local", "/r/.ssh/id_rsa", "/r/x/server.pem", "/r/.ENV"] {
            assert!(!may(path, Access::Read, &plain), "{path}");
        }
        for path in ["/r/.env.example", "/r/src/git.rs", "/r/environment", "/r/.gitignore", "/r/.github/x.yml"] {
            assert!(may(path, Access::Write, &plain), "{path}");
        }
        let open = Config::default().allowing(".git", "--allow").unwrap();
        assert!(may("/r/.git/config", Access::Write, &open));
        let shut = open.denying(".git/config", "emend.toml").unwrap();
        assert!(!may("/r/.git/config", Access::Read, &shut));
    }
}
