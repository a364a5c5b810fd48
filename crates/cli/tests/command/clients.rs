//! Tests `emend mcp install` and `uninstall` in a home of their own, and doctor's report on clients.

use crate::workspace::{Ran, TestWorkspace, feed};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

/// Creates a home in which every client is installed, with some existing configuration files.
fn home() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for folder in [
        ".claude",
        ".codex",
        ".cursor",
        ".gemini",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev",
        ".config/zed",
        ".config/Claude",
    ] {
        fs::create_dir_all(workspace.beside("home").join(folder)).unwrap();
    }
    fs::create_dir(workspace.work().join(".git")).unwrap();
    workspace
}

fn own(workspace: &TestWorkspace, name: &str, text: &str) -> std::path::PathBuf {
    let path = workspace.beside("home").join(name);
    fs::write(&path, text).unwrap();
    path
}

fn program() -> String {
    Path::new(env!("CARGO_BIN_EXE_emend")).canonicalize().unwrap().display().to_string()
}

fn doctor(workspace: &TestWorkspace, exit: i32) -> Value {
    workspace.run(&["doctor", "--json"]).exits(exit).json()
}

/// Client, its file in the home, the owner's text in it, the start of the entry, and required output.
const FILES: [(&str, &str, &str, &str); 8] = [
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 3\n}",
        "\"mcpServers\": {\n    \"emend\": {\n      \"type\": \"stdio\",\n      \"alwaysLoad\": true,\n",
    ),
    ("codex", ".codex/config.toml", "model = \"x\" # mine\n", "[mcp_servers.emend]\ncommand = "),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\r\n\t// mine\r\n\t\"mcpServers\": {}\r\n}\r\n",
        "\t\"mcpServers\": {\r\n\t\t\"emend\": {\r\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n    // mine\n    \"inputs\": [],\n}\n",
        "    \"servers\": {\n        \"emend\": {\n",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed\n{\n  \"theme\": \"One\", // mine\n}\n",
        "  \"context_servers\": {\n    \"emend\": {\n      \"source\": \"custom\"",
    ),
    (
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "",
        "\"mcpServers\": {\n    \"emend\": {\n      \"command\"",
    ),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "\u{feff}{}",
        "\"mcpServers\": {\n    \"emend\": {\n",
    ),
    (
        "gemini-cli",
        ".gemini/settings.json",
        "{\"theme\":\"x\"}",
        "{\"theme\":\"x\",\"mcpServers\":{\"emend\":{\"command\":",
    ),
];

#[test]
fn every_client_is_installed_and_restored() {
    let workspace = home();
    for (client, file, text, part) in FILES {
        let path = workspace.beside("home").join(file);
        if !text.is_empty() {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let work = workspace.path("");
        let root = if matches!(client, "cline" | "claude-desktop") { vec!["--root", &*work] } else { vec![] };
        let install = [&["mcp", "install", client], &root[..]].concat();
        let dry = workspace.run(&[&install[..], &["--dry-run"]].concat()).exits(0).out;
        assert!(dry.contains('+') && dry.contains("nothing was written"), "{dry}");
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "{client}: a dry run");
        let told = workspace.run(&install).exits(0).out;
        let with = fs::read_to_string(&path).unwrap();
        assert!(with.contains(part) && with.contains(&program()), "{client}\n{with}");
        assert!(
            told.contains(&format!("emend mcp uninstall {client}")) && told.contains("undo: emend undo 1-"),
            "{told}"
        );
        let backup = path.with_file_name(format!("{}.emend-backup", path.file_name().unwrap().to_str().unwrap()));
        if text.is_empty() {
            assert!(!backup.exists(), "an absent file has no backup");
        } else {
            assert_eq!(fs::read_to_string(&backup).unwrap(), text);
            for file in [&backup, &path] {
                assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "may contain secrets");
            }
        }
        assert!(workspace.run(&install).exits(0).out.contains("nothing to do"), "{client}: again changes nothing");
        assert_eq!(fs::read_to_string(&path).unwrap(), with);
        let found = doctor(&workspace, 0)["clients"].clone();
        let row = found.as_array().unwrap().iter().find(|row| row["client"] == client).unwrap();
        assert!(
            row["works"] == true && row["tools"].as_u64() > Some(3) && row["version"] == env!("CARGO_PKG_VERSION"),
            "{row}"
        );
        workspace.run(&["mcp", "uninstall", client]).exits(0);
        if text.is_empty() {
            assert!(!path.exists(), "{client}: the file that was created is removed");
            continue;
        }
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "{client}: every byte is as before");
        assert!(!backup.exists(), "{client}: the backup of what is there is removed");
        assert!(workspace.run(&["mcp", "uninstall", client]).exits(0).out.contains("nothing to do"));
    }
    assert_eq!(doctor(&workspace, 0)["clients"], Value::Array(vec![]));
}

#[test]
fn requested_arguments_are_in_the_entry() {
    let workspace = home();
    let args = |words: &[&str], file: &str| {
        workspace.run(&[&["mcp", "install"], words].concat()).exits(0);
        let text = fs::read_to_string(workspace.beside(file)).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        json["mcpServers"]["emend"]["args"].to_string()
    };
    assert_eq!(args(&["claude-code"], "home/.claude.json"), r#"["mcp"]"#);
    let work = workspace.work().display().to_string();
    let two = ["claude-code", "--profile", "hashline", "--root", ".", "--root", "/usr"];
    assert_eq!(
        args(&two, "home/.claude.json"),
        format!(r#"["mcp","--profile","hashline","--root","{work}","--root","/usr"]"#)
    );
    assert_eq!(args(&["cursor"], "home/.cursor/mcp.json"), r#"["mcp","--root","${workspaceFolder}"]"#);
    assert_eq!(args(&["claude-code", "--scope", "project"], "work/.mcp.json"), r#"["mcp"]"#);
    for (words, exit, part) in [
        (&["claude-desktop"][..], 2, "--root DIR"),
        (&["cline", "--scope", "project"], 2, "no configuration of a project"),
        (&["cursor", "--replace-builtins"], 2, "Omit --replace-builtins"),
        (&["cursor", "--root", "gone"], 2, "gone"),
        (&["emacs"], 2, "claude-desktop"),
        (&["cursor", "--profile", "x"], 2, "hashline"),
    ] {
        let Ran { err, .. } = workspace.run(&[&["mcp", "install"], words].concat()).exits(exit);
        assert!(err.contains(part), "{words:?} {err}");
    }
    workspace.run(&["mcp", "--profile", "claude", "install", "cursor"]).exits(2);
}

#[test]
fn built_in_tools_are_replaced_and_restored() {
    let workspace = home();
    let text =
        "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(.env)\", // secret\n      \"Write\"\n    ]\n  }\n}\n";
    let settings = own(&workspace, ".claude/settings.json", text);
    let told = workspace.run(&["mcp", "install", "claude-code", "--replace-builtins"]).exits(0).out;
    assert!(told.contains("can no longer use its own Edit, NotebookEdit"), "{told}");
    let servers = fs::read_to_string(workspace.beside("home/.claude.json")).unwrap();
    assert!(servers.contains("\"args\": [\"mcp\", \"--profile\", \"claude\"]"), "{servers}");
    assert!(fs::read_to_string(&settings).unwrap().contains("\"Write\",\n      \"Edit\",\n"));
    // Installing again without the flag keeps the denied tools; they are remembered until uninstallation.
    workspace.run(&["mcp", "install", "claude-code"]).exits(0);
    assert!(fs::read_to_string(&settings).unwrap().contains("\"NotebookEdit\""));
    let told = workspace.run(&["mcp", "uninstall", "claude-code"]).exits(0).out;
    assert!(told.contains("has its own Edit, NotebookEdit again"), "{told}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), text, "Write was denied by its owner");
    // With an invalid settings file the server entries stay unchanged, too.
    fs::write(&settings, "{,}").unwrap();
    let error = workspace.run(&["mcp", "install", "claude-code", "--replace-builtins"]).exits(2).err;
    assert!(error.contains("settings.json:1:2"), "{error}");
    assert!(!workspace.beside("home/.claude.json").exists(), "it was removed with our entry, and is not created");
}

#[test]
fn second_installation_keeps_the_backup_of_the_original() {
    let workspace = home();
    let original = "{ \"theme\": \"mine\" }\n";
    let path = own(&workspace, ".cursor/mcp.json", original);
    let backup = path.with_file_name("mcp.json.emend-backup");
    for args in [&["--profile", "default"][..], &["--profile", "hashline"]] {
        workspace.run(&[&["mcp", "install", "cursor"], args].concat()).exits(0);
        assert_eq!(fs::read_to_string(&backup).unwrap(), original, "{args:?}");
    }
    // A change by the owner stays.
    let changed = fs::read_to_string(&path).unwrap().replace("mine", "other");
    fs::write(&path, changed).unwrap();
    workspace.run(&["mcp", "uninstall", "cursor"]).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), original.replace("mine", "other"));
    assert!(!backup.exists());
}

#[test]
fn file_that_is_not_utf8_is_not_changed() {
    let workspace = home();
    let path = own(&workspace, ".cursor/mcp.json", "");
    let text: Vec<u8> = "\u{feff}{\"mcpServers\": {}}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&path, &text).unwrap();
    let refused = workspace.run(&["mcp", "install", "cursor"]).exits(15).err;
    assert!(refused.contains("is not in UTF-8"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), text);
}

#[test]
fn rules_that_the_server_does_not_have_are_named() {
    let workspace = home();
    for words in [&["mcp", "install", "cursor", "--force"][..], &["setup", "--yes", "--client", "zed"]] {
        let done = workspace.run(&[words, &["--deny", "secrets/**"]].concat()).exits(0);
        assert!(done.err.contains("put `deny = [\"secrets/**\"]` below [policy]"), "{done:?}");
    }
}

#[test]
fn printed_undo_names_the_state_directory() {
    let workspace = home();
    let state = workspace.path("st ate");
    let done = workspace.run(&["mcp", "install", "cursor", "--force", "--state", &state]).exits(0).out;
    assert!(done.contains(&format!(" --state '{state}' --allow ")), "{done}");
    let without = workspace.run(&["mcp", "install", "zed", "--force", "--state", "none"]).exits(0).out;
    assert!(!without.contains("undo: "), "{without}");
}

#[test]
fn broken_file_that_no_installation_changed_stays() {
    let workspace = home();
    let hooks = own(&workspace, ".cursor/hooks.json", "{ \"hooks\": ");
    workspace.run(&["mcp", "install", "cursor"]).exits(0);
    workspace.run(&["mcp", "uninstall", "cursor"]).exits(0);
    assert_eq!(fs::read_to_string(hooks).unwrap(), "{ \"hooks\": ");
    assert!(!workspace.beside("home/.cursor/mcp.json").exists());
}

#[test]
fn entry_that_the_owner_wrote_comes_back() {
    let workspace = home();
    let json = "{\n  \"mcpServers\": {\n    \"emend\": {\"command\": \"/old/emend\", \"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}}\n  }\n}\n";
    let toml = "[mcp_servers.emend]\ncommand = \"/old/emend\" # mine\n";
    for (client, name, original) in [("cursor", ".cursor/mcp.json", json), ("codex", ".codex/config.toml", toml)] {
        let path = own(&workspace, name, original);
        let mut backup = path.clone().into_os_string();
        backup.push(".emend-backup");
        let planned = workspace.run(&["mcp", "install", client, "--dry-run"]).exits(0);
        assert!(!format!("{}{}", planned.out, planned.err).contains("adds the server"), "{planned:?}");
        for profile in ["default", "hashline"] {
            workspace.run(&["mcp", "install", client, "--profile", profile]).exits(0);
            assert_eq!(fs::read_to_string(&backup).unwrap(), original);
        }
        // A change by the owner stays.
        let changed = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("\n{changed}")).unwrap();
        workspace.run(&["mcp", "uninstall", client]).exits(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("\n{original}"));
    }
    // The entry of an installation whose record is lost is not taken for the owner's.
    workspace.run(&["mcp", "install", "zed", "--force"]).exits(0);
    let path = workspace.beside("home/.config/zed/settings.json");
    fs::remove_dir_all(workspace.beside("state").join("setup")).unwrap();
    workspace.run(&["mcp", "install", "zed", "--profile", "hashline", "--force"]).exits(0);
    workspace.run(&["mcp", "uninstall", "zed"]).exits(0);
    assert!(!fs::read_to_string(path).unwrap_or_default().contains("emend"));
}

#[test]
fn remote_server_of_the_owner_comes_back() {
    let workspace = home();
    let json = "{\r\n\t\"mcpServers\": {\"emend\": {\"url\": \"https://emend.test/mcp\", \"headers\": {\"A\": \"k\"}}}\r\n}\r\n";
    let toml =
        "[mcp_servers.emend]\nurl = \"https://emend.test/mcp\" # mine\n[mcp_servers.emend.http_headers]\nA = \"k\"\n";
    for (client, name, original) in [("cursor", ".cursor/mcp.json", json), ("codex", ".codex/config.toml", toml)] {
        let path = own(&workspace, name, original);
        // Nothing of ours is there.
        workspace.run(&["mcp", "uninstall", client]).exits(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), original);
        for profile in ["default", "hashline"] {
            workspace.run(&["mcp", "install", client, "--profile", profile]).exits(0);
            let installed = fs::read_to_string(&path).unwrap();
            // An entry with a program and an address would be ambiguous.
            assert!(installed.contains("command") && !installed.contains("url") && !installed.contains("headers"));
        }
        workspace.run(&["mcp", "uninstall", client]).exits(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), original);
    }
}

#[test]
fn trailing_comma_of_the_owner_comes_back() {
    let workspace = home();
    let original = "{\"mcpServers\":{\"a\":{\"command\":\"x\"},}}";
    let path = own(&workspace, ".cursor/mcp.json", original);
    workspace.run(&["mcp", "install", "cursor"]).exits(0);
    workspace.run(&["mcp", "uninstall", "cursor"]).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), original);
}

#[test]
fn line_ends_come_back_after_a_change_of_the_entry() {
    let workspace = home();
    let json = "\u{feff}{\r\n  \"theme\": \"d\"\r\n}\r\n";
    let toml = "model = \"x\"\r\n[tui]\r\nb = 1\r\n";
    for (client, name, original) in [("cursor", ".cursor/mcp.json", json), ("codex", ".codex/config.toml", toml)] {
        let path = own(&workspace, name, original);
        workspace.run(&["mcp", "install", client]).exits(0);
        // The owner changes our entry, so the installation cannot be reverted by its record alone.
        let installed = fs::read_to_string(&path).unwrap();
        let disabled = installed.replace("\"emend\": {", "\"emend\": { \"disabled\": true,");
        fs::write(&path, disabled.replace("emend]\r\n", "emend]\r\nenabled = false\r\n")).unwrap();
        assert_ne!(fs::read_to_string(&path).unwrap(), installed);
        workspace.run(&["mcp", "install", client, "--profile", "claude"]).exits(0);
        workspace.run(&["mcp", "uninstall", client]).exits(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), original);
    }
}

#[test]
fn backup_of_somebody_else_stays() {
    let workspace = home();
    let backup = own(&workspace, ".cursor/mcp.json.emend-backup", "not JSON\n");
    let path = own(&workspace, ".cursor/mcp.json", "{}\n");
    workspace.run(&["mcp", "install", "cursor"]).exits(0);
    workspace.run(&["mcp", "uninstall", "cursor"]).exits(0);
    assert_eq!(fs::read_to_string(backup).unwrap(), "not JSON\n");
    assert_eq!(fs::read_to_string(path).unwrap(), "{}\n");
}

#[test]
fn uninstallation_after_an_undo_removes_what_is_left() {
    let workspace = home();
    let path = own(&workspace, ".cursor/mcp.json", "{}\n");
    let told = workspace.run(&["mcp", "install", "cursor"]).exits(0).out;
    let undo = told.lines().find_map(|line| line.strip_prefix("undo: emend ")).unwrap().replace('\'', "");
    workspace.run(&undo.split(' ').collect::<Vec<_>>()).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    workspace.run(&["mcp", "uninstall", "cursor"]).exits(0);
    assert!(!workspace.beside("home/.cursor/mcp.json.emend-backup").exists());
    assert!(!workspace.beside("state/setup").exists());
}

#[test]
fn uninstallation_removes_what_was_created() {
    let workspace = TestWorkspace::new();
    fs::create_dir_all(workspace.beside("home/.config")).unwrap();
    let before = std::process::Command::new("find").arg(workspace.beside("home")).output().unwrap().stdout;
    for (client, scope) in [("cursor", "user"), ("codex", "user"), ("zed", "user"), ("claude-code", "project")] {
        let more: &[&str] = if client == "claude-code" { &["--replace-builtins"] } else { &[] };
        let args = [&["mcp", "install", client, "--scope", scope, "--force"], more].concat();
        workspace.run(&args).exits(0);
        workspace.run(&args).exits(0);
        workspace.run(&["mcp", "uninstall", client, "--scope", scope]).exits(0);
        let after = std::process::Command::new("find").arg(workspace.beside("home")).output().unwrap().stdout;
        assert_eq!(String::from_utf8(after).unwrap(), String::from_utf8(before.clone()).unwrap(), "{client}");
    }
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 0);
}

#[test]
fn client_on_the_search_path_needs_no_force() {
    let workspace = TestWorkspace::new();
    let program = workspace.beside("bin/codex");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "").unwrap();
    let mut command = workspace.command(&["mcp", "install", "codex"]);
    command.env("PATH", workspace.beside("bin"));
    feed(command, b"").exits(0);
    assert!(workspace.beside("home/.codex/config.toml").is_file());
}

#[test]
fn own_reads_of_the_client_count_for_the_server() {
    let workspace = home();
    workspace.put("a.txt", "one\n");
    workspace.run(&["mcp", "install", "claude-code", "--replace-builtins"]).exits(0);
    let settings = fs::read_to_string(workspace.beside("home/.claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let hook = &settings["hooks"]["PostToolUse"][0];
    assert_eq!(hook["matcher"], "Read|Edit|Write|NotebookEdit|Bash");
    let edit = json!({ "file_path": workspace.path("a.txt"), "old_string": "one", "new_string": "two" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "Edit", "arguments": edit } });
    let serve = || workspace.feed(&["mcp", "--profile", "claude"], call.to_string()).exits(0).json()["result"].clone();
    assert_eq!(serve()["isError"], true, "it was not read");
    let event = json!({ "session_id": "x", "cwd": workspace.work(), "tool_name": "Read",
        "tool_input": { "file_path": workspace.path("a.txt") } });
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(hook["hooks"][0]["command"].as_str().unwrap()).current_dir(workspace.work());
    shell.env("HOME", workspace.beside("home")).env("EMEND_STATE", workspace.beside("state"));
    feed(shell, event.to_string().as_bytes()).exits(0);
    assert_eq!(serve()["isError"], false);
    assert_eq!(workspace.get("a.txt"), "two\n");
}

#[test]
fn files_denied_to_claude_code_stay_denied_after_replacing_its_tools() {
    let workspace = home();
    workspace.put("a.txt", "a\n");
    workspace.put("gen/b.txt", "b\n");
    fs::create_dir_all(workspace.beside("home/.config/emendate")).unwrap();
    own(&workspace, ".config/emendate/config.toml", "[policy]\nimport = ['claude-code']\n");
    own(&workspace, ".claude/settings.json", "{\"permissions\": {\"deny\": [\"Edit(gen/**)\"]}}");
    workspace.run(&["mcp", "install", "claude-code", "--replace-builtins"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "a", "--new", "A"]).exits(0);
    workspace.run(&["edit", "gen/b.txt", "--old", "b", "--new", "B"]).exits(14);
}

#[test]
fn protected_and_invalid_files_stay_unchanged() {
    let workspace = home();
    let broken = own(&workspace, ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {},,\n  }\n}\n");
    for command in [&["mcp", "install", "cursor"][..], &["mcp", "uninstall", "cursor"]] {
        let error = workspace.run(command).exits(2).err;
        assert!(error.contains("mcp.json:3:13: ") && error.contains("\"a\": {},,"), "{error}");
    }
    assert!(!broken.with_file_name("mcp.json.emend-backup").exists());
    let found = doctor(&workspace, 1);
    assert!(found["problems"][0].as_str().unwrap().contains("mcp.json:3:13"), "{found}");
    // The user's own rules apply to this command, too.
    fs::write(&broken, "{}").unwrap();
    workspace.run(&["mcp", "install", "cursor", "--deny", "~/.cursor/**"]).exits(14);
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{}");
    assert!(!broken.with_file_name("mcp.json.emend-backup").exists(), "a refused change has no backup");
    // A project's file must not be a link to elsewhere; a user's own may be.
    fs::write(workspace.beside("elsewhere.json"), "{}").unwrap();
    symlink(workspace.beside("elsewhere.json"), workspace.work().join(".mcp.json")).unwrap();
    workspace.run(&["mcp", "install", "claude-code", "--scope", "project"]).exits(14);
    assert_eq!(fs::read_to_string(workspace.beside("elsewhere.json")).unwrap(), "{}");
    fs::remove_file(&broken).unwrap();
    symlink(workspace.beside("elsewhere.json"), &broken).unwrap();
    let error = workspace.run(&["mcp", "install", "cursor"]).exits(14).err;
    assert!(error.contains("is a symbolic link to") && error.contains("--follow-links"), "{error}");
    assert_eq!(fs::read_to_string(workspace.beside("elsewhere.json")).unwrap(), "{}");
    workspace.run(&["mcp", "install", "cursor", "--follow-links"]).exits(0);
    assert!(broken.is_symlink() && fs::read_to_string(workspace.beside("elsewhere.json")).unwrap().contains("emend"));
    fs::remove_file(workspace.beside("elsewhere.json")).unwrap();
    assert!(workspace.run(&["mcp", "install", "cursor", "--follow-links"]).exits(14).err.contains("does not exist"));
}

#[test]
fn absent_clients_need_force() {
    let workspace = TestWorkspace::new();
    let error = workspace.run(&["mcp", "install", "zed"]).exits(10).err;
    assert!(error.contains("does not seem to be installed") && error.contains("--force"), "{error}");
    assert!(!workspace.beside("home").exists());
    workspace.run(&["mcp", "install", "zed", "--scope", "project"]).exits(0);
    assert!(workspace.get(".zed/settings.json").contains("context_servers"));
    workspace.run(&["mcp", "install", "zed", "--force"]).exits(0);
    assert!(workspace.beside("home/.config/zed/settings.json").is_file());
    // Environment variables move a client's files.
    let mut command = workspace.command(&["mcp", "install", "codex"]);
    fs::create_dir(workspace.beside("codex")).unwrap();
    command.env("CODEX_HOME", workspace.beside("codex"));
    feed(command, b"").exits(0);
    assert!(workspace.beside("codex/config.toml").is_file());
}

#[test]
fn installation_is_an_operation_of_the_history() {
    let workspace = home();
    let path = own(&workspace, ".cursor/mcp.json", "{ /* mine */ }\n");
    let told = workspace.run(&["mcp", "install", "cursor"]).exits(0).out;
    let undo = told.lines().find_map(|line| line.strip_prefix("undo: emend ")).unwrap().replace('\'', "");
    let words: Vec<&str> = undo.split(' ').collect();
    workspace.run(&words).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ /* mine */ }\n");
    let data = workspace.run(&["mcp", "install", "cursor", "--json"]).exits(0).json();
    assert!(data["data"]["files"][0]["operation"].is_string() && data["data"]["client"] == "cursor", "{data}");
    let error = workspace.run(&["mcp", "install", "claude-desktop", "--json"]).exits(2).json();
    assert_eq!(error["code"], "call.invalid");
}

#[test]
fn doctor_reports_broken_client_entries() {
    let workspace = home();
    let entry = |command: &str, args: &str, env: &str| {
        let entry = format!(
            "{{\"mcpServers\": {{\"emend\": {{\"command\": \"{command}\", \"args\": {args}, \"env\": {env}}}}}}}"
        );
        own(&workspace, ".cursor/mcp.json", &entry);
        let found = doctor(&workspace, 1);
        let (what, row) = (found["problems"][0].as_str().unwrap().to_owned(), &found["clients"][0]);
        assert!(row["works"] == false && what.contains("emend setup --client cursor"), "{found}");
        what
    };
    assert!(entry("/gone/emend", "[]", "{}").contains("/gone/emend cannot be started"));
    assert!(entry("/bin/sh", "[\"-c\", \"echo wrong >&2; exit 3\"]", "{}").contains("it says: wrong"));
    assert!(entry("/bin/sh", "[\"-c\", \"echo hello; cat\"]", "{}").contains("not a protocol message: hello"));
    assert!(entry("/bin/sh", "[\"-c\", \"$X\"]", "{\"X\": \"echo from-env\"}").contains("from-env"));
    let empty = r#"while read line; do case $line in *initialize\\\"*) echo '{\"id\":1,\"result\":{\"serverInfo\":{\"version\":\"0.0.1\"}}}';; *tools*) echo '{\"id\":2,\"result\":{\"tools\":[]}}';; esac; done"#;
    assert!(entry("/bin/sh", &format!("[\"-c\", \"{empty}\"]"), "{}").contains("offers no tools"));
    own(&workspace, ".cursor/mcp.json", "{\"mcpServers\": {\"emend\": \"x\"}}");
    let wrong = doctor(&workspace, 1)["problems"][0].as_str().unwrap().to_owned();
    assert!(wrong.contains("1:26: `mcpServers.emend` is not an object (correct "), "{wrong}");
    // Another program and an old version both work and are reported.
    let other = empty.replace("[]", "[{}]");
    own(
        &workspace,
        ".cursor/mcp.json",
        &format!("{{\"mcpServers\": {{\"emend\": {{\"command\": \"/bin/sh\", \"args\": [\"-c\", \"{other}\"]}}}}}}"),
    );
    let found = doctor(&workspace, 0);
    let told = found["notices"].to_string();
    assert!(told.contains("Cursor starts /bin/sh; this program is") && told.contains("version 0.0.1"), "{found}");
    assert!(workspace.run(&["doctor"]).exits(0).out.contains("client    Cursor: answers in"));
}

#[test]
fn servers_configured_by_a_repository_are_not_started() {
    let workspace = home();
    let mark = workspace.beside("mark").display().to_string();
    let program = program();
    for (command, args, env) in [
        ("/bin/sh", format!("[\"-c\", \"touch {mark}\"]"), "{}".to_owned()),
        (&*program, "[\"write\", \"x.txt\"]".to_owned(), "{}".to_owned()),
        (&*program, "[\"mcp\", \"install\", \"codex\"]".to_owned(), "{}".to_owned()),
    ] {
        workspace.put(
            ".mcp.json",
            format!(
                "{{\"mcpServers\": {{\"emend\": {{\"command\": \"{command}\", \"args\": {args}, \"env\": {env}}}}}}}"
            ),
        );
        let found = doctor(&workspace, 0);
        assert!(found["clients"][0]["skipped"].is_string(), "{found}");
        assert!(!Path::new(&mark).exists() && !workspace.beside("home/.codex/config.toml").exists());
    }
    // The entry starts this program as a server, but sets variables that could change how it runs.
    let env = "{\"LD_PRELOAD\": \"/gone.so\", \"EMEND_PROFILE\": \"claude\"}";
    workspace.put(
        ".mcp.json",
        format!(
            "{{\"mcpServers\": {{\"emend\": {{\"command\": \"{program}\", \"args\": [\"mcp\"], \"env\": {env}}}}}}}"
        ),
    );
    let found = doctor(&workspace, 0);
    assert_eq!((&found["clients"][0]["works"], &found["clients"][0]["tools"]), (&true.into(), &5.into()), "{found}");
}

#[test]
fn file_that_cannot_be_understood_is_to_be_corrected_by_hand() {
    let workspace = TestWorkspace::new();
    let file = workspace.beside("home/.cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in ["{", r#"{"mcpServers": []}"#] {
        fs::write(&file, text).unwrap();
        let found = workspace.run(&["doctor"]).exits(1).out;
        assert!(found.contains("mcp.json:1:") && found.contains("(correct "), "{found}");
        assert!(!found.contains("emend setup"), "{found}");
    }
}
