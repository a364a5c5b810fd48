//! Tests `emend setup` and `emend mcp install` where owners changed their files after an installation: what is theirs
//! stays, and everything of ours goes.

use crate::workspace::TestWorkspace;
use std::fs;

/// The home of somebody who has these files.
fn home(files: &[(&str, &str)]) -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for (name, text) in files {
        put(&workspace, name, text);
    }
    workspace
}

fn put(workspace: &TestWorkspace, name: &str, text: &str) {
    let path = workspace.beside("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn get(workspace: &TestWorkspace, name: &str) -> String {
    fs::read_to_string(workspace.beside("home").join(name)).unwrap()
}

fn setup(workspace: &TestWorkspace, client: &str) {
    workspace.run(&["setup", "--yes", "--client", client]).exits(0);
}

fn undo(workspace: &TestWorkspace, client: &str) {
    workspace.run(&["setup", "--undo", "--yes", "--client", client]).exits(0);
}

#[test]
fn created_file_that_its_client_wrote_again_is_removed() {
    let edits: [fn(&str) -> String; 3] = [
        |text| format!("{text}\n"),
        |text| text.replace("\"args\"", "\"disabled\": true, \"args\""),
        |text| serde_json::to_string(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap(),
    ];
    for edit in edits {
        let workspace = home(&[]);
        fs::create_dir_all(workspace.beside("home/.claude")).unwrap();
        setup(&workspace, "claude-code");
        for name in [".claude.json", ".claude/settings.json"] {
            put(&workspace, name, &edit(&get(&workspace, name)));
        }
        undo(&workspace, "claude-code");
        for name in [".claude.json", ".claude/settings.json"] {
            assert!(!workspace.beside("home").join(name).exists(), "{name}");
        }
    }
}

#[test]
fn command_of_the_owner_beside_ours_stays() {
    let theirs = "{\"type\": \"command\", \"command\": \"/me/format.sh\"}";
    for is_first in [false, true] {
        let workspace = home(&[(".claude/settings.json", "{\"model\": \"x\"}\n")]);
        setup(&workspace, "claude-code");
        let with = get(&workspace, ".claude/settings.json");
        let end = with.find("hook post-tool-use").unwrap();
        let end = end + with[end..].find('}').unwrap() + 1;
        let start = with[..end].rfind('{').unwrap();
        let (at, text) = if is_first { (start, format!("{theirs}, ")) } else { (end, format!(", {theirs}")) };
        let now = format!("{}{text}{}", &with[..at], &with[at..]);
        put(&workspace, ".claude/settings.json", &now);
        setup(&workspace, "claude-code");
        assert_eq!(get(&workspace, ".claude/settings.json"), now, "nothing is missing");
        undo(&workspace, "claude-code");
        let left = get(&workspace, ".claude/settings.json");
        assert!(left.contains("/me/format.sh") && !left.contains("emend"), "{left}");
    }
}

#[test]
fn file_of_strict_json_stays_strict() {
    let workspace = home(&[(".claude.json", "{}\n"), (".claude/settings.json", "{}\n")]);
    for (install, uninstall) in [
        (&["mcp", "install", "claude-code"][..], &["mcp", "uninstall", "claude-code"][..]),
        (&["setup", "--yes", "--client", "claude-code"], &["setup", "--undo", "--yes", "--client", "claude-code"]),
    ] {
        workspace.run(install).exits(0);
        let with = get(&workspace, ".claude.json");
        put(&workspace, ".claude.json", &with.replacen('{', "{\n  \"numStartups\": 1,", 1));
        workspace.run(uninstall).exits(0);
        let left: serde_json::Value = serde_json::from_str(&get(&workspace, ".claude.json")).unwrap();
        assert_eq!(left, serde_json::json!({ "numStartups": 1 }));
        put(&workspace, ".claude.json", "{}\n");
    }
}

#[test]
fn comment_of_the_owner_does_not_disable_denials_and_hooks() {
    let settings = "{ \"permissions\": {\"deny\": [\"WebFetch\" // no web\n]},\n \"hooks\": { // mine\n} }\n";
    let workspace = home(&[(".claude/settings.json", settings)]);
    setup(&workspace, "claude-code");
    let with = get(&workspace, ".claude/settings.json");
    let in_force: String = with.lines().map(|line| line.split("//").next().unwrap()).collect();
    let in_force: serde_json::Value = serde_json::from_str(&in_force).unwrap();
    assert_eq!(in_force["permissions"]["deny"].as_array().unwrap().len(), 4, "{with}");
    assert_eq!(in_force["hooks"].as_object().unwrap().len(), 4, "{with}");
    setup(&workspace, "claude-code");
    assert_eq!(get(&workspace, ".claude/settings.json"), with);
    undo(&workspace, "claude-code");
    assert_eq!(get(&workspace, ".claude/settings.json"), settings);
}

#[test]
fn version_and_comments_of_the_owner_stay() {
    let workspace = home(&[(".cursor/hooks.json", "{\"version\": 1}\n")]);
    setup(&workspace, "cursor");
    let with: serde_json::Value = serde_json::from_str(&get(&workspace, ".cursor/hooks.json")).unwrap();
    put(&workspace, ".cursor/hooks.json", &serde_json::to_string_pretty(&with).unwrap());
    undo(&workspace, "cursor");
    let left: serde_json::Value = serde_json::from_str(&get(&workspace, ".cursor/hooks.json")).unwrap();
    assert_eq!(left, serde_json::json!({ "version": 1 }));

    let config = "model = \"x\"\n\n# my servers\n[mcp_servers]\n";
    let workspace = home(&[(".codex/config.toml", config)]);
    workspace.run(&["mcp", "install", "codex"]).exits(0);
    // Without the record.
    fs::remove_dir_all(workspace.beside("state")).unwrap();
    workspace.run(&["mcp", "uninstall", "codex"]).exits(0);
    assert_eq!(get(&workspace, ".codex/config.toml"), config);
}

#[test]
fn quiet_installation_prints_nothing() {
    let workspace = home(&[(".cursor/mcp.json", "{}\n")]);
    for args in [
        &["mcp", "install", "cursor", "-q"][..],
        &["mcp", "uninstall", "cursor", "-q"],
        &["setup", "--yes", "--client", "cursor", "-q"],
        &["setup", "--undo", "--yes", "--client", "cursor", "-q"],
    ] {
        let ran = workspace.run(args).exits(0);
        assert_eq!((&*ran.out, &*ran.err), ("", ""), "{args:?}");
    }
    put(&workspace, ".cursor/mcp.json", "{");
    let ran = workspace.run(&["setup", "--yes", "--client", "cursor", "-q"]).exits(2);
    assert!(ran.out.contains("nothing was changed"), "{ran:?}");
}
