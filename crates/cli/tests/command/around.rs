//! Tests the commands besides the tools: help, lists, colours, configuration, tour and doctor.

use crate::workspace::{TestWorkspace, feed};
use serde_json::{Value, json};

const ESC: char = '\u{1b}';

#[test]
fn help_shows_examples_and_names_commands() {
    let workspace = TestWorkspace::new();
    let long = workspace.run(&["--help"]).exits(0).out;
    for part in ["Exit status", "11  text is ambiguous", "multi_edit", "--root", "telemetry", "EMEND_SESSION"] {
        assert!(long.contains(part), "{part}");
    }
    for command in ["read", "edit", "multi-edit", "write", "call", "serve", "mcp", "tools", "completions", "man"] {
        let help = workspace.run(&[command, "--help"]).exits(0).out;
        assert!(help.contains("Example"), "{command}: {help}");
        assert!(long.contains(command), "{command}");
    }
    for args in [&["tour", "--help"][..], &["doctor", "--help"], &["help", "edit"], &["--version"], &["-h"]] {
        assert!(!workspace.run(args).exits(0).out.is_empty(), "{args:?}");
    }
}

#[test]
fn list_names_are_separated_from_their_text() {
    let workspace = TestWorkspace::new();
    let tools = workspace.run(&["tools", "--json"]).exits(0).json();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"edit_anchors") && names.contains(&"replace_in_files"), "{names:?}");
    let formats = ["search_replace", "notebook_edit", "hashline_put"];
    for (args, names) in [
        (&["--help"][..], &names[..]),
        (&["help"], &names),
        (&["tools"], &names),
        (&["prompt"], &formats),
        (&["config", "formatters"], &["clang-format"]),
        (&["config", "servers"], &["basedpyright", "rust-analyzer"]),
    ] {
        let page = workspace.run(args).exits(0).out;
        let list = page.split("Tools, for call").last().unwrap();
        for name in names {
            let apart = |line: &str| line.strip_prefix(name).is_some_and(|text| text.starts_with("  "));
            let mut lines = list.lines().map(|line| line.trim_start_matches([' ', '✓']));
            assert!(lines.any(apart), "{args:?} {name}: {page}");
        }
    }
}

#[test]
fn schema_has_the_name_of_its_format() {
    let workspace = TestWorkspace::new();
    for format in ["anchors", "multi_edit", "notebook_edit"] {
        let page = workspace.run(&["schema", format]).exits(0).out;
        let schema: Value = serde_json::from_str(&page).unwrap();
        assert_eq!((&schema["title"], &schema["type"]), (&json!(format), &json!("object")));
    }
}

#[test]
fn json_is_one_value_on_each_line() {
    let workspace = TestWorkspace::with("one\n");
    for args in [
        &["config", "formatters"][..],
        &["config", "servers"],
        &["config", "schema"],
        &["config", "show"],
        &["schema", "apply_patch"],
        &["schema", "multi_edit"],
        &["doctor"],
        &["stats"],
    ] {
        let value = workspace.run(&[args, &["--json"]].concat()).exits(0).json();
        assert!(value.is_array() || value.is_object(), "{args:?}: {value}");
    }
    workspace.put("b.txt", "two\n");
    let both = workspace.run(&["read", "a.txt", "b.txt", "--json"]).exits(0).out;
    let texts: Vec<Value> = both.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((texts.len(), &texts[1]["text"]), (2, &json!("     1\ttwo\n")));
    let unknown = workspace.run(&["call", "nope"]).exits(2).json();
    assert_eq!(unknown["code"], "call.unknown_tool");
}

#[test]
fn tools_are_listed_and_shown() {
    let workspace = TestWorkspace::new();
    let list = workspace.run(&["tools"]).exits(0).out;
    let all = workspace.run(&["tools", "--json"]).exits(0).json();
    for tool in all.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(list.contains(name) && tool["inputSchema"]["properties"].is_object(), "{name}");
        let page = workspace.run(&["tools", name]).exits(0).out;
        let fields = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(page.contains("Example") && fields.keys().all(|field| page.contains(field)), "{page}");
        assert_eq!(&workspace.run(&["tools", name, "--json"]).exits(0).json(), tool);
    }
    let claude = workspace.run(&["tools", "--json", "--profile", "claude"]).exits(0).json();
    let names: Vec<&str> = claude.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"MultiEdit"), "{names:?}");
    workspace.run(&["tools", "Edit", "--profile", "claude"]).exits(0);
    assert!(workspace.run(&["tools", "nope"]).exits(2).err.contains("multi_edit"));
    assert_eq!(workspace.run(&["tools", "nope", "--json"]).exits(2).json()["code"], "call.unknown_tool");
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let workspace = TestWorkspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(workspace.run(&["completions", shell]).exits(0).out.contains("multi-edit"), "{shell}");
    }
    workspace.run(&["completions", "csh"]).exits(2);
    assert!(workspace.run(&["man"]).exits(0).out.contains(".TH emend 1"));
    assert!(workspace.run(&["man"]).out.contains("Directory where sessions are stored"));
    let page = workspace.run(&["man", "edit"]).exits(0).out;
    assert!(page.contains("emend\\-edit") && page.contains(&format!("emend {}", env!("CARGO_PKG_VERSION"))), "{page}");
    workspace.run(&["man", "nope"]).exits(2);
    for text in [&["man"][..], &["completions", "bash"], &["tour"]] {
        let refused = workspace.run(&[text, &["--json"]].concat()).exits(2).json();
        assert_eq!((&refused["code"], &refused["next"]), (&json!("call.invalid"), &json!("Omit --json.")), "{refused}");
    }
}

#[test]
fn colours_depend_on_flag_and_terminal() {
    let workspace = TestWorkspace::with("a\n");
    let dry = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command =
            workspace.command(&[&["edit", "a.txt", "--old", "a", "--new", "b", "--dry-run"], more].concat());
        command.envs(variables.iter().copied());
        feed(command, b"").exits(0).out
    };
    assert!(!dry(&[], &[]).contains(ESC), "no terminal");
    let colored = dry(&[], &["--color", "always"]);
    assert!(
        colored.contains("\u{1b}[31m-") && colored.contains("\u{1b}[32m+") && colored.contains("\u{1b}[36m@@"),
        "{colored}"
    );
    assert!(dry(&[("FORCE_COLOR", "1")], &[]).contains(ESC));
    assert!(dry(&[("CLICOLOR_FORCE", "1")], &[]).contains(ESC));
    assert!(dry(&[("EMEND_COLOR", "always")], &[]).contains(ESC));
    assert!(!dry(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], &[]).contains(ESC));
    assert!(!dry(&[("FORCE_COLOR", "1")], &["--color", "never"]).contains(ESC));
    assert!(dry(&[("NO_COLOR", "1")], &["--color", "always"]).contains(ESC));
    let error = workspace.run(&["read", "gone", "--color", "always"]).exits(10).err;
    assert!(error.starts_with("\u{1b}[1m\u{1b}[31merror\u{1b}[0m: "), "{error:?}");
    // A file's own escape sequences are content if no terminal interprets them.
    workspace.put("esc.txt", "\u{1b}[31mred\n");
    assert!(workspace.run(&["read", "esc.txt", "--color", "never"]).exits(0).out.contains("\u{1b}[31mred"));
}

#[test]
fn user_and_project_configuration_apply() {
    let workspace = TestWorkspace::with("a\n");
    let config = workspace.beside("home/.config/emendate");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[policy]\ndeny = ['a.txt']\n").unwrap();
    assert!(workspace.run(&["read", "a.txt"]).exits(14).err.contains("config.toml"));
    std::fs::write(config.join("config.toml"), "[policy]\nallow = ['.env']\n").unwrap();
    workspace.put(".env", "x\n");
    workspace.run(&["read", ".env"]).exits(0);
    workspace.put("emend.toml", "[policy]\nallow = ['.git']\n");
    assert!(workspace.run(&["read", "a.txt"]).exits(0).err.starts_with("note: "));
    workspace.put("emend.toml", "[policy]\ndney = []\n");
    // The rules are unknown: commands that only read still work, commands that write do not.
    assert!(workspace.run(&["read", "a.txt"]).exits(0).err.contains("dney"));
    workspace.run(&["config", "show"]).exits(0);
    assert!(workspace.run(&["edit", "a.txt", "--old", "a", "--new", "b"]).exits(14).err.contains("at line 2"));
    assert!(workspace.run(&["doctor"]).exits(1).out.contains("dney"));
}

#[test]
fn tour_succeeds() {
    let workspace = TestWorkspace::new();
    let temporary = workspace.beside("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    for name in ["emend-tour", "emend-tour-2"] {
        let mut command = workspace.command(&["tour"]);
        command.env("TMPDIR", &temporary);
        let ran = feed(command, b"").exits(0);
        for part in ["note: Found at another indentation", "match.ambiguous", "Undone: operation 2-", "emend doctor"] {
            assert!(ran.out.contains(part), "{part}\n{}", ran.out);
        }
        assert!(!ran.out.contains('✗') && ran.out.matches('✓').count() == 4, "{}", ran.out);
        assert!(ran.out.lines().count() <= 80, "{}", ran.out);
        assert!(temporary.join(name).join("shop.py").is_file(), "{name}");
    }
}

#[test]
fn doctor_reports_the_setup() {
    let workspace = TestWorkspace::new();
    let found = workspace.run(&["doctor", "--json"]).exits(0).json();
    assert!(found["ok"] == true && found["telemetry"] == false && found["version"].is_string());
    assert_eq!(found["roots"][0]["path"], workspace.work().display().to_string());
    assert_eq!(
        (&found["roots"][0]["writable"], &found["state"]["databases"][0]["opens"]),
        (&true.into(), &true.into())
    );
    assert_eq!(found["clients"], Value::Array(vec![]));
    let people = workspace.run(&["doctor"]).exits(0).out;
    assert!(people.contains("telemetry none") && people.contains("All is well"), "{people}");
    workspace.put("file", "");
    let broken = workspace.run(&["doctor", "--json", "--state", &workspace.path("file/state")]).exits(1).json();
    assert_eq!(broken["state"]["databases"][0]["opens"], false);
    let lost = workspace.run(&["doctor", "--json", "--root", "gone"]).exits(1).json();
    assert!(lost["problems"][0].as_str().unwrap().contains("gone"), "{lost}");
    assert_eq!(
        workspace.run(&["doctor", "--json", "--state", "none"]).exits(0).json()["state"]["directory"],
        Value::Null
    );
}

#[test]
fn doctor_examines_the_event_file() {
    let workspace = TestWorkspace::new();
    std::fs::create_dir(workspace.beside("d")).unwrap();
    let (directory, file) = (workspace.beside("d"), workspace.beside("e/events.jsonl"));
    let events = |path: &std::path::Path, more: &[&str], code| {
        let options = ["--events", path.to_str().unwrap(), "doctor"];
        workspace.run(&[&options, more].concat()).exits(code).out
    };
    assert!(!workspace.run(&["doctor"]).exits(0).out.contains("\nevents "));
    let said = events(&directory, &[], 1);
    assert!(said.contains(&format!("events    cannot be written: {}", directory.display())), "{said}");
    assert!(said.contains("problem   Events cannot be written to ") && said.contains("Is a directory"), "{said}");
    assert!(events(std::path::Path::new("/dev/full"), &[], 1).contains("it is not a regular file"));
    // A dry run writes no events, and creates nothing.
    assert!(!events(&file, &["--dry-run"], 0).contains("\nevents ") && !file.exists());
    let json: Value = serde_json::from_str(&events(&file, &["--json"], 0)).unwrap();
    assert_eq!(json["events"], json!({ "path": file.display().to_string(), "writable": true }));
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[test]
fn project_file_that_cannot_be_read_refuses_edits() {
    let workspace = TestWorkspace::with("one\n");
    std::fs::write(workspace.beside("shared.toml"), "[policy]\ndeny = ['a.txt']\n").unwrap();
    let file = workspace.work().join("emend.toml");
    for target in ["../shared.toml", "emend.toml", "nowhere"] {
        std::os::unix::fs::symlink(target, &file).unwrap();
        let refused = workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]);
        assert!(refused.code != 0 && refused.err.contains("[access.denied]"), "{target}: {refused:?}");
        assert!(workspace.run(&["doctor"]).exits(1).out.contains("emend.toml cannot be read: "), "{target}");
        std::fs::remove_file(&file).unwrap();
    }
    // A directory does not keep files from being read.
    std::fs::create_dir(&file).unwrap();
    workspace.run(&["read", "a.txt"]).exits(0);
    assert_ne!(workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).code, 0);
    assert_eq!(workspace.get("a.txt"), "one\n");
}

#[test]
fn formatter_that_is_not_installed_is_named() {
    let workspace = TestWorkspace::with("one\n");
    let config = workspace.beside("home/.config/emendate");
    std::fs::create_dir_all(&config).unwrap();
    let text = "[[formatters]]\nfiles = '*.txt'\ncommand = ['no-such-formatter']\n";
    std::fs::write(config.join("config.toml"), text).unwrap();
    let edited = workspace.run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    assert!(edited.out.contains("`no-such-formatter` cannot be started"), "{edited:?}");
    let found = workspace.run(&["doctor"]).exits(1).out;
    assert!(found.contains("there is no program `no-such-formatter`"), "{found}");
}
