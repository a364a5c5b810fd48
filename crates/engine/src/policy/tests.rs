//! The guard over names in memory; what only a disk has (links, identity) is in `tests/guarded.rs`.

use super::{Access, Guard};
use crate::config::Config;
use emendate_fs::{Memory, Store};
use std::path::Path;

fn may(path: &str, access: Access, config: &Config) -> bool {
    let store = Memory::new(Path::new("/r"));
    let guard = Guard { config, store: &store, own: Some(Path::new("/r/state")) };
    guard.check(&store.admit(Path::new(path)).unwrap(), access).is_ok()
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
    ] {
        let path = format!("/r/{path}");
        assert!(!may(&path, Access::Write, &plain) && may(&path, Access::Read, &plain), "{path}");
    }
}

#[test]
fn secrets_are_not_even_read() {
    let plain = Config::default();
    for path in [
        ".env",
        "a/.env.local",
        ".ENV",
        ".env ",
        ".ssh/id_rsa",
        ".ssh/config",
        ".gnupg/x",
        ".aws/credentials",
        ".kube/config",
        ".docker/config.json",
        ".git-credentials",
        "x/server.pem",
        "server.KEY",
        "x.p12",
        "id_ed25519",
        ".netrc",
        ".pypirc",
        "state/history.db",
        "state",
    ] {
        let path = format!("/r/{path}");
        assert!(!may(&path, Access::Read, &plain) && !may(&path, Access::Write, &plain), "{path}");
    }
}

#[test]
fn everyday_names_are_free() {
    let plain = Config::default();
    for path in [
        ".env.example",
        "src/git.rs",
        "environment",
        ".gitignore",
        ".github/workflows/ci.yml",
        "CLAUDE.md",
        "id_map.rs",
        "git~1x/y",
        "digit~1",
        "a:b",
        "monkey.rs",
        "state.rs",
        "states/x",
        ".config/other",
        "key",
        "..x",
    ] {
        assert!(may(&format!("/r/{path}"), Access::Write, &plain), "{path}");
    }
}

#[test]
fn rules_lift_and_tighten() {
    let open = Config::default().allowing(".git", "--allow").unwrap();
    assert!(may("/r/.git/config", Access::Write, &open) && may("/r/.GIT/config", Access::Write, &open));
    let shut = open.denying(".git/config", "emend.toml").unwrap();
    assert!(!may("/r/.git/config", Access::Read, &shut));
}

#[test]
fn files_that_steer_agents_are_told_of() {
    let store = Memory::new(Path::new("/r"));
    let flag = |path: &str| super::flag(&store.admit(Path::new(path)).unwrap());
    for path in ["/r/CLAUDE.md", "/r/a/AGENTS.md", "/r/gemini.md", "/r/.github/workflows/ci.yml"] {
        assert!(flag(path).is_some_and(|note| note.contains("a person should look")), "{path}");
    }
    assert_eq!(flag("/r/README.md").or(flag("/r/.github/CODEOWNERS")), None);
}
