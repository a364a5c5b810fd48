//! Tests `emend setup`: every client is set up and restored byte for byte, and what must not be changed is left alone.

use crate::prompt::Terminal;
use crate::workspace::{Ran, TestWorkspace, feed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Files of owners: the path in the home, and the text.
const OWNED: &[(&str, &str)] = &[
    (".claude.json", "{\n  \"numStartups\": 3\n}"),
    (
        ".claude/settings.json",
        "{\r\n\t// mine\r\n\t\"permissions\": { \"deny\": [\"Write\", \"Read(.env)\"] },\r\n}\r\n",
    ),
    (".codex/config.toml", "model = \"x\" # mine"),
    (".cursor/mcp.json", "{\n\t\"mcpServers\": {}\n}\n"),
    (".config/Code/User/mcp.json", "{\n    // mine\n    \"inputs\": [],\n}\n"),
    (".config/zed/settings.json", "// Zed\n{\n  \"theme\": \"One\", // mine\n}\n"),
    (".config/Claude/claude_desktop_config.json", "\u{feff}{}"),
    (".gemini/settings.json", "{\"theme\":\"x\",\"tools\":{\"exclude\":[\"replace\"]}}"),
    (".codeium/windsurf/mcp_config.json", "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}\n"),
    (".config/opencode/opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"),
    (
        ".cursor/hooks.json",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"afterFileEdit\": [{ \"command\": \"./format.sh\" }]\n  }\n}\n",
    ),
    (".codeium/windsurf/hooks.json", "{\r\n\t\"hooks\": {} // mine\r\n}\r\n"),
];

/// Directories that show that a client was started once.
const STARTED: &[&str] =
    &[".pi/agent", ".junie", ".config/Code/User/globalStorage/saoudrizwan.claude-dev", ".config/opencode"];

/// All clients, as they are listed.
const CLIENTS: [&str; 12] = [
    "claude-code", "codex", "cursor", "vscode", "zed", "cline", "claude-desktop", "gemini-cli", "windsurf", "opencode",
    "pi", "junie",
];

fn home() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for (name, text) in OWNED {
        own(&workspace, name, text);
    }
    for name in STARTED {
        fs::create_dir_all(workspace.beside("home").join(name)).unwrap();
    }
    workspace
}

fn own(workspace: &TestWorkspace, name: &str, text: &str) -> PathBuf {
    let path = workspace.beside("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Every file and directory below the home, with content and mode.
fn tree(workspace: &TestWorkspace) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    fn walk(directory: &Path, out: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            out.insert(path.clone(), (mode, fs::read(&path).ok()));
            if path.is_dir() && !path.is_symlink() {
                walk(&path, out);
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(&workspace.beside("home"), &mut out);
    out
}

fn setup(workspace: &TestWorkspace, args: &[&str]) -> Ran {
    workspace.run(&[&["setup"], args].concat())
}

fn read(workspace: &TestWorkspace, name: &str) -> String {
    fs::read_to_string(workspace.beside("home").join(name)).unwrap()
}

/// The row of a client in the report.
fn row<'r>(report: &'r Value, client: &str) -> &'r Value {
    report["data"]["clients"].as_array().unwrap().iter().find(|row| row["client"] == client).unwrap()
}

#[test]
fn every_client_is_set_up_and_restored() {
    let workspace = home();
    let before = tree(&workspace);
    let error = setup(&workspace, &[]).exits(2);
    assert!(error.err.contains("Repeat the command with --yes"), "{error:?}");
    assert!(error.out.contains("Claude Code (") && error.out.contains("adds hooks: SessionStart"), "{error:?}");
    let dry = setup(&workspace, &["--dry-run"]).exits(0).out;
    assert!(dry.contains('+') && dry.contains("Zed: nothing was written."), "{dry}");
    assert!(tree(&workspace) == before, "neither changes anything");
    let report = setup(&workspace, &["--yes", "--json"]).exits(0).json();
    for client in CLIENTS {
        let row = row(&report, client);
        assert!(row["state"] == "changed" && row["server"]["works"] == true, "{row}");
        assert!(!row["steps"].as_array().unwrap().is_empty(), "{row}");
    }
    let settings = read(&workspace, ".claude/settings.json");
    for part in ["\"Edit\"", "UserPromptSubmit", "PreToolUse", "Edit|Write|NotebookEdit|Bash", "hook session-start"] {
        assert!(settings.contains(part), "{part}: {settings}");
    }
    assert_eq!(settings.matches('\n').count(), settings.matches("\r\n").count(), "line ends are kept");
    assert!(read(&workspace, ".codex/hooks.json").contains("hook user-prompt-submit --client codex"));
    let gemini = read(&workspace, ".gemini/settings.json");
    assert!(gemini.contains("BeforeTool") && gemini.contains("--client gemini-cli"), "{gemini}");
    assert!(read(&workspace, ".gemini/policies/emend-tools.toml").contains("[\"replace\", \"write_file\"]"));
    let program = env!("CARGO_BIN_EXE_emend");
    for name in [".config/opencode/plugins/emend.js", ".pi/agent/extensions/emend.ts"] {
        assert!(read(&workspace, name).contains(&format!("const EMEND = \"{program}\";")), "{name}");
    }
    for (name, parts) in [
        (
            ".cursor/hooks.json",
            &["{\n  \"version\": 1,", "./format.sh", "hook post-tool-use --client cursor", "Write|Delete|Shell"][..],
        ),
        (".codeium/windsurf/hooks.json", &["pre_write_code", "hook pre-tool-use --client windsurf --root /"]),
        (
            ".copilot/hooks/emend.json",
            &["{\n  \"version\": 1,", "\"type\": \"command\"", "hook session-start --client vscode"],
        ),
    ] {
        let text = read(&workspace, name);
        let missing = parts.iter().find(|part| !text.contains(**part));
        assert!(missing.is_none() && !text.contains("${"), "{missing:?} in {text}");
    }
    let with = tree(&workspace);
    let again = setup(&workspace, &["--yes"]).exits(0).out;
    assert!(again.contains("Claude Code: was set up already.") && again.contains("answers in"), "{again}");
    assert!(tree(&workspace) == with, "again changes nothing");
    let undone = setup(&workspace, &["--undo", "--yes"]).exits(0).out;
    assert!(undone.contains("Codex: as it was before emend."), "{undone}");
    let after = tree(&workspace);
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{}", path.display());
    }
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "what was created is removed");
}

#[test]
fn own_tools_may_stay() {
    let workspace = home();
    setup(&workspace, &["--yes", "--keep-builtins", "--client", "claude-code", "--client", "opencode"]).exits(0);
    let settings = read(&workspace, ".claude/settings.json");
    assert!(settings.contains("hook pre-tool-use") && !settings.contains("\"Edit\""), "{settings}");
    assert!(read(&workspace, ".config/opencode/opencode.json").contains("\"emend\""));
    assert!(!workspace.beside("home/.config/opencode/plugins").exists());
    assert_eq!(read(&workspace, ".cursor/mcp.json"), "{\n\t\"mcpServers\": {}\n}\n", "it was not named");
}

#[test]
fn client_that_was_never_started_is_set_up() {
    let workspace = TestWorkspace::new();
    fs::create_dir_all(workspace.beside("bin")).unwrap();
    fs::create_dir_all(workspace.beside("home")).unwrap();
    let error = setup(&workspace, &["--yes"]).exits(10).err;
    assert!(error.contains("No client was found") && error.contains("windsurf"), "{error}");
    assert!(setup(&workspace, &["--undo"]).exits(0).out.contains("nothing to undo"));
    for name in ["codex", "claude", "opencode"] {
        fs::write(workspace.beside("bin").join(name), "").unwrap();
    }
    let before = tree(&workspace);
    let run = |args: &[&str]| {
        let mut command = workspace.command(args);
        command.env("PATH", workspace.beside("bin"));
        feed(command, b"").exits(0).json()
    };
    let report = run(&["setup", "--yes", "--json"]);
    assert_eq!(report["data"]["clients"].as_array().unwrap().len(), 3, "{report}");
    assert!(row(&report, "codex")["found"].as_str().unwrap().contains("the program codex"), "{report}");
    assert!(workspace.beside("home/.codex/config.toml").is_file());
    run(&["setup", "--undo", "--yes", "--json"]);
    assert!(tree(&workspace) == before, "{:?}", tree(&workspace).keys());
}

#[test]
fn what_must_not_be_changed_is_left_alone_and_the_others_are_set_up() {
    let workspace = home();
    let elsewhere = own(&workspace, "dotfiles/mcp.json", "{}\n");
    let home = workspace.beside("home");
    // A file that is being written has only its beginning.
    own(&workspace, ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\"comma");
    own(&workspace, ".codex/config.toml", "a = 1\nb = = 2\n");
    fs::set_permissions(home.join(".config/zed/settings.json"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::remove_file(home.join(".config/Code/User/mcp.json")).unwrap();
    symlink(&elsewhere, home.join(".config/Code/User/mcp.json")).unwrap();
    own(&workspace, ".gemini/settings.json", "{\"$version\": 9}");
    // The second file of the client is broken, so the first one stays as it is.
    own(&workspace, ".claude/settings.json", "{,}");
    fs::remove_dir_all(home.join(".codeium/windsurf")).unwrap();
    symlink(home.join("dotfiles"), home.join(".codeium/windsurf")).unwrap();
    let before = tree(&workspace);
    let report = setup(&workspace, &["--yes", "--json"]);
    assert_ne!(report.code, 0);
    let report = report.json();
    for (client, what, next) in [
        ("cursor", "mcp.json:3:", "Correct the file"),
        ("codex", "config.toml:2:5", "Correct the file"),
        ("zed", "is read-only (mode 0444)", "chmod u+w"),
        ("vscode", "is a symbolic link to", "--follow-links"),
        ("windsurf", "windsurf is a symbolic link to", "--follow-links"),
        ("gemini-cli", "newer than this emend knows", "Update emend"),
        ("claude-code", "settings.json:1:2", "Correct the file"),
    ] {
        let row = row(&report, client);
        assert_eq!(row["state"], "failed", "{row}");
        assert!(row["problem"].as_str().unwrap().contains(what), "{row}");
        assert!(row["next"].as_str().unwrap().contains(next), "{row}");
    }
    for client in ["opencode", "pi", "cline", "junie"] {
        assert_eq!(row(&report, client)["state"], "changed", "{client}");
    }
    let after = tree(&workspace);
    let ours = |path: &Path| {
        ["opencode", ".pi", ".junie", "saoudrizwan", "Claude/"].iter().any(|it| path.to_str().unwrap().contains(it))
    };
    for (path, was) in before.iter().filter(|(path, _)| !ours(path)) {
        assert_eq!(after.get(path), Some(was), "{}", path.display());
    }
    let told = setup(&workspace, &["--yes"]).err + &setup(&workspace, &["--yes"]).out;
    assert!(told.contains("Zed: nothing was changed.") && told.contains("chmod u+w"), "{told}");
    setup(&workspace, &["--yes", "--client", "vscode", "--follow-links"]).exits(0);
    assert!(fs::read_to_string(&elsewhere).unwrap().contains("emend"));
}

#[test]
fn file_that_changes_after_the_plan_is_left_alone() {
    if !external::has(&["tmux"]) {
        return;
    }
    let workspace = home();
    let terminal = Terminal::open(&workspace);
    terminal.types("clear; emend setup --client cursor --client claude-code; echo status $?");
    terminal.shows("[y/N]");
    let path = own(&workspace, ".claude/settings.json", "{\"mine\": 1}");
    terminal.types("y");
    let screen = terminal.shows("status ");
    assert!(
        screen.contains("Claude Code: nothing was changed.") && screen.contains("changed after the change"),
        "{screen}"
    );
    assert!(screen.contains("Cursor: done."), "{screen}");
    assert_eq!(fs::read_to_string(path).unwrap(), "{\"mine\": 1}");
    assert_eq!(read(&workspace, ".claude.json"), OWNED[0].1, "the other file of the client");
    terminal.types("clear; emend setup --client zed; echo status $?");
    terminal.shows("[y/N]");
    terminal.types("");
    let screen = terminal.shows("status 0");
    assert!(screen.contains("Nothing was changed."), "{screen}");
    assert_eq!(read(&workspace, ".config/zed/settings.json"), OWNED[5].1);
}

#[test]
fn file_that_another_program_writes_is_left_alone() {
    let workspace = home();
    let path = workspace.beside("home/.cursor/mcp.json");
    let open = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let report = setup(&workspace, &["--yes", "--client", "cursor", "--json"]);
    assert_eq!(report.code, 12, "{report:?}");
    let row = row(&report.json(), "cursor").clone();
    assert!(row["problem"].as_str().unwrap().contains("is being written by"), "{row}");
    assert_eq!(fs::read_to_string(&path).unwrap(), OWNED[3].1);
    drop(open);
    setup(&workspace, &["--yes", "--client", "cursor"]).exits(0);
}

#[test]
fn doctor_reports_hooks_whose_program_is_gone() {
    let workspace = home();
    setup(&workspace, &["--yes", "--client", "claude-code"]).exits(0);
    workspace.run(&["doctor"]).exits(0);
    let settings = read(&workspace, ".claude/settings.json").replace(env!("CARGO_BIN_EXE_emend"), "/gone/emend");
    own(&workspace, ".claude/settings.json", &settings);
    let told = workspace.run(&["doctor"]).exits(1).out;
    assert!(told.contains("its hooks start /gone/emend, which is not there"), "{told}");
    setup(&workspace, &["--yes", "--client", "claude-code"]).exits(0);
    workspace.run(&["doctor"]).exits(0);
}

#[test]
fn scripts_of_cline_run_and_those_of_others_stay() {
    let workspace = home();
    own(&workspace, ".config/user-dirs.dirs", "XDG_DESKTOP_DIR=\"$HOME/x\"\nXDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\n");
    let others = own(&workspace, "Dokumente/Cline/Hooks/PostToolUse", "#!/bin/sh\necho '{}'\n");
    let before = tree(&workspace);
    let report = setup(&workspace, &["--yes", "--client", "cline"]).exits(0).out;
    assert!(report.contains("leaves ") && report.contains("hook post-tool-use --client cline --root "), "{report}");
    assert_eq!(fs::read_to_string(others).unwrap(), "#!/bin/sh\necho '{}'\n");
    let script = workspace.beside("home/Dokumente/Cline/Hooks/PreToolUse");
    let mut command = std::process::Command::new(&script);
    command.current_dir(workspace.beside("home")).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", workspace.beside("home"));
    let event = "{\"taskId\": \"t\", \"preToolUse\": {\"tool\": \"read_file\", \"parameters\": {\"path\": \"a\"}}}";
    assert_eq!(feed(command, event.as_bytes()).exits(0).out, "{\"cancel\":false}\n");
    workspace.run(&["doctor"]).exits(0);
    let text = fs::read_to_string(&script).unwrap().replace(env!("CARGO_BIN_EXE_emend"), "/gone/emend");
    fs::write(&script, text).unwrap();
    let told = workspace.run(&["doctor"]).exits(1).out;
    assert!(told.contains("Cline: its hooks start /gone/emend, which is not there"), "{told}");
    setup(&workspace, &["--yes", "--client", "cline"]).exits(0);
    setup(&workspace, &["--undo", "--yes", "--client", "cline"]).exits(0);
    let after = tree(&workspace);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before);
}

#[test]
fn hooks_that_must_not_be_changed_keep_the_client_as_it_is() {
    for (text, what, next) in [
        ("{\"version\": 2, \"hooks\": {}}\n", "newer than this emend knows", "Update emend"),
        ("{\"version\": 1, \"hooks\": {\n", "hooks.json:", "Correct the file"),
        ("{\"version\": 1, \"hooks\": []}\n", "is not an object", "Correct the file"),
        ("{\"hooks\": {\"afterFileEdit\": \"./x\"}}\n", "is not a list", "Correct the file"),
    ] {
        let workspace = home();
        own(&workspace, ".cursor/hooks.json", text);
        let before = tree(&workspace);
        let report = setup(&workspace, &["--yes", "--client", "cursor", "--json"]);
        assert_ne!(report.code, 0);
        let row = row(&report.json(), "cursor").clone();
        assert!(row["problem"].as_str().unwrap().contains(what), "{row}");
        assert!(row["next"].as_str().unwrap().contains(next), "{row}");
        assert!(tree(&workspace) == before, "{text}");
    }
    let workspace = home();
    let path = workspace.beside("home/.codeium/windsurf/hooks.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let before = tree(&workspace);
    let report = setup(&workspace, &["--yes", "--client", "windsurf", "--json"]).json();
    assert!(row(&report, "windsurf")["problem"].as_str().unwrap().contains("is read-only"), "{report}");
    assert!(tree(&workspace) == before);
}

#[test]
fn record_of_a_newer_version_is_respected() {
    let workspace = home();
    setup(&workspace, &["--yes", "--client", "cursor"]).exits(0);
    let with = read(&workspace, ".cursor/mcp.json");
    for entry in fs::read_dir(workspace.beside("state/setup")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "it may contain secrets");
        let text = fs::read_to_string(&path)
            .unwrap()
            .replace("\"version\":1", "\"version\":2")
            .replace("\"by\":\"0", "\"by\":\"9");
        fs::write(path, text).unwrap();
    }
    let report = setup(&workspace, &["--undo", "--yes", "--client", "cursor", "--json"]);
    assert!(
        report.json()["data"]["clients"][0]["problem"].as_str().unwrap().contains("set up by emend 9"),
        "{report:?}"
    );
    assert_eq!(read(&workspace, ".cursor/mcp.json"), with);
}

/// Pseudo-random numbers.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).unwrap()
}

#[test]
fn any_sequence_of_installations_and_changes_ends_with_the_bytes_of_the_owner() {
    for seed in 0..9 {
        let workspace = home();
        let mut seed = seed;
        // What the owner has, without anything of ours.
        let mut owned: BTreeMap<&str, String> = OWNED.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let client = ["claude-code", "gemini-cli", "codex", "opencode", "cursor", "vscode"][next(&mut seed) % 6];
        let mut done = Vec::new();
        for _ in 0..6 {
            let commands: [&[&str]; 6] = [
                &["mcp", "install", client],
                &["mcp", "install", client, "--root", "/usr"],
                &["setup", "--yes", "--client", client],
                &["setup", "--yes", "--keep-builtins", "--client", client],
                &["mcp", "uninstall", client],
                &["setup", "--undo", "--yes", "--client", client],
            ];
            match next(&mut seed) % 9 {
                nth @ 0..6 => {
                    done.push(format!("{:?}", commands[nth]));
                    workspace.run(commands[nth]).exits(0);
                }
                // The owner changes their files: a comment at the top, or at the end.
                nth => {
                    let name = OWNED[[0, 1, 2, 3, 4, 7, 8, 9, 10, 11][next(&mut seed) % 10]].0;
                    let comment = if name.ends_with("toml") { "#" } else { "//" };
                    let edit = |text: &str| {
                        if nth == 6 { format!("{comment} top\n{text}") } else { format!("{text}\n{comment} end\n") }
                    };
                    done.push(format!("{name} {nth}"));
                    own(&workspace, name, &edit(&read(&workspace, name)));
                    owned.entry(name).and_modify(|text| *text = edit(text));
                }
            }
        }
        setup(&workspace, &["--undo", "--yes", "--client", client]).exits(0);
        for (name, text) in &owned {
            assert_eq!(&read(&workspace, name), text, "{name} after {done:?}");
        }
        let files = tree(&workspace);
        let left: Vec<_> = files.iter().filter(|(_, (_, content))| content.is_some()).map(|(path, _)| path).collect();
        assert_eq!(left.len(), OWNED.len(), "{left:?} after {done:?}");
    }
}
