//! The guard over names in memory; properties of a disk (links, identity) are tested in `tests/guarded.rs`.

use crate::context::config::{Config, PolicyMode};
use crate::context::policy::{Access, Guard};
use emendate_fs::{MemoryStore, SafePath, Store};
use std::path::Path;

/// The root of the names.
const ROOT: &str = if cfg!(windows) { "C:/r" } else { "/r" };

fn store() -> MemoryStore {
    MemoryStore::new(Path::new(ROOT))
}

/// Resolves a name below the root.
fn place(store: &MemoryStore, name: &str) -> SafePath {
    store.resolve_path(&Path::new(ROOT).join(name)).unwrap()
}

/// True for a name that a file can have on this system. Windows refuses some of those that the guard knows.
fn is_possible(name: &&str) -> bool {
    !cfg!(windows) || store().resolve_path(&Path::new(ROOT).join(name)).is_ok()
}

fn may(name: &str, access: Access, config: &Config) -> bool {
    let store = store();
    let own = Path::new(ROOT).join("state");
    let guard = Guard { config, store: &store, own: Some(&own) };
    guard.check(&place(&store, name), access).is_ok()
}

#[test]
fn control_files_are_readable_only() {
    let plain = Config::default();
    for path in [
        ".git/config",
        "a/.GIT/hooks/x",
        ".git /x",
        ".git./x",
        ".git. . /x",
        ".g\u{200c}it/config",
        "git~1/config",
        "GIT~2/x",
        ".git::$INDEX_ALLOCATION/config",
        ".git\\config",
        "a\\.git\\config",
        ".gitmodules",
        "gitmod~1",
        ".v\u{17f}code/tasks.json",
        ".\u{212a}iro/x",
        "node_modules/a/b.js",
        ".vscode/settings.json",
        ".idea/x",
        "w.code-workspace",
        ".cursor/rules/x",
        ".cursorrules",
        ".windsurfrules",
        ".zed/tasks.json",
        ".claude/settings.local.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".mcp.json",
        "x/mcp.json",
        ".continue/x",
        ".aider.conf.yml",
        ".roomodes",
        ".clinerules/x",
        "Documents/Cline/Hooks/PreToolUse",
        ".github/hooks/emend.json",
        ".copilot/hooks/emend.json",
        "emend.toml",
        ".emend.toml",
        ".config/emendate/config.toml",
        ".bashrc",
        ".zshrc",
        ".profile",
        ".bash_profile",
        ".envrc",
        ".npmrc",
        ".yarnrc.yml",
        ".gitconfig",
        ".config/git/config",
        ".devcontainer/x",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        ".jj/x",
        ".hg/hgrc",
        ".svn/x",
        ".git",
        ".vscode",
    ]
    .into_iter()
    .filter(is_possible)
    {
        assert!(!may(path, Access::Write, &plain) && may(path, Access::Read, &plain), "{path}");
    }
}

#[test]
fn secrets_cannot_be_read() {
    let plain = Config::default();
    for path in [
        ".env", "a/.env.local", ".ENV", ".env ", "prod.env", ".prod.env", "config/App.ENV", "a/prod.env.",
        ".ssh/id_rsa", ".ssh/config", ".gnupg/x", ".aws/credentials", ".kube/config", ".docker/config.json",
        ".git-credentials", "x/server.pem", "server.KEY", "x.p12", "id_ed25519", ".netrc", ".pypirc",
        "state/history.db", "state",
    ]
    .into_iter()
    .filter(is_possible)
    {
        assert!(!may(path, Access::Read, &plain) && !may(path, Access::Write, &plain), "{path}");
    }
}

#[test]
fn ordinary_names_are_unguarded() {
    let plain = Config::default();
    for path in [
        ".env.example", "a/.env.dist", "prod.env.example", "src/env", "src/dotenv.rs", "env.ts", "src/git.rs",
        "environment", ".gitignore", ".github/workflows/ci.yml", "CLAUDE.md", "id_map.rs", "git~1x/y", "digit~1",
        "a:b", "monkey.rs", "state.rs", "states/x", ".config/other", "key", "..x",
    ]
    .into_iter()
    .filter(is_possible)
    {
        assert!(may(path, Access::Write, &plain), "{path}");
    }
}

#[test]
fn rules_lift_or_tighten_the_guard() {
    let open = Config::default().with_rule(PolicyMode::Allow, ".git", "--allow").unwrap();
    assert!(may(".git/config", Access::Write, &open) && may(".GIT/config", Access::Write, &open));
    let shut = open.with_rule(PolicyMode::Deny, ".git/config", "emend.toml").unwrap();
    assert!(!may(".git/config", Access::Read, &shut));
}

#[test]
fn files_that_instruct_agents_are_reported() {
    let store = store();
    let flag = |path: &str| super::warning(&place(&store, path));
    for path in ["CLAUDE.md", "a/AGENTS.md", "gemini.md", ".github/workflows/ci.yml"] {
        assert!(flag(path).is_some_and(|note| note.contains("a person should review")), "{path}");
    }
    assert_eq!(flag("README.md").or(flag(".github/CODEOWNERS")), None);
    for path in ["CLAUDE.md", "a/Agents.md", ".github/copilot-instructions.md"] {
        assert!(super::is_instructions(Path::new(path)), "{path}");
    }
    assert!(!super::is_instructions(Path::new("Cargo.lock")) && !super::is_instructions(Path::new("notes.md")));
}

/// A rule with an absolute path.
const ABSOLUTE_RULE: &str = if cfg!(windows) { "deny = ['//C:/r/x/**']" } else { "deny = ['//r/x/**']" };

/// Returns the verdicts of a configuration's rules on `Edit` and `Read` of a path: free, ask or denied.
fn verdicts(text: &str, path: &str) -> [&'static str; 2] {
    let config = Config::default().with_file(text, "test", true).unwrap();
    let store = store();
    let safe_path = place(&store, path);
    let guard = Guard { config: &config, store: &store, own: None };
    [Access::Write, Access::Read].map(|access| match guard.judge(&safe_path, safe_path.relative(), access) {
        super::AccessVerdict::Free => "free",
        super::AccessVerdict::Ask(_) => "ask",
        super::AccessVerdict::Denied(_) => "denied",
    })
}

#[test]
fn deny_precedes_ask_and_ask_precedes_allow() {
    for (rules, path, wanted) in [
        ("deny = ['a']\nask = ['a']\nallow = ['a']", "a", ["denied", "denied"]),
        ("ask = ['a']\nallow = ['a']", "a", ["ask", "ask"]),
        ("ask = ['Edit(a)']", "a", ["ask", "free"]),
        ("deny = ['Read(a)']", "a", ["denied", "denied"]),
        ("deny = ['Edit(a)']", "a", ["denied", "free"]),
        ("default = 'ask'", "a", ["ask", "free"]),
        ("default = 'deny'\nallow = ['Edit(src/**)']", "a", ["denied", "free"]),
        ("default = 'deny'\nallow = ['Edit(src/**)']", "src/a", ["free", "free"]),
        // A user's own ask rule lifts the guard, subject to approval.
        ("ask = ['.vscode/**']", ".vscode/settings.json", ["ask", "ask"]),
        ("allow = ['Edit(.env)']", ".env", ["free", "free"]),
        ("allow = ['Read(.env)']", ".env", ["denied", "free"]),
        ("deny = ['Edit']", "x/y", ["denied", "free"]),
        (ABSOLUTE_RULE, "x/y", ["denied", "denied"]),
    ] {
        assert_eq!(verdicts(&format!("[policy]\n{rules}\n"), path), wanted, "{rules}");
    }
}

#[test]
fn ask_rule_of_a_project_does_not_lift_the_guard() {
    let config = Config::default().with_file("[policy]\nask = ['.vscode/**', 'a']\n", "emend.toml", false).unwrap();
    assert!(!may(".vscode/settings.json", Access::Write, &config));
    let store = store();
    let guard = Guard { config: &config, store: &store, own: None };
    assert!(guard.asking_rule(&place(&store, "a")).unwrap().is_some());
}

#[test]
fn documentation_follows_the_policy() {
    let store = store();
    let asks = |text: &str, path: &str| {
        let config = Config::default().with_file(text, "test", true).unwrap();
        let safe_path = place(&store, path);
        super::documentation(&config, &safe_path, config.documentation).map(|hit| hit.is_some())
    };
    let (ask, deny) = ("[policy]\ndocumentation = 'ask'\n", "[policy]\ndocumentation = 'deny'\n");
    assert!(asks(ask, "docs/x.MD").unwrap() && asks(ask, "README").unwrap() && !asks(ask, "a.rs").unwrap());
    assert!(asks(deny, "a.md").is_err());
    assert!(!asks(&format!("{deny}allow = ['docs/**']\n"), "docs/a.md").unwrap());
}
