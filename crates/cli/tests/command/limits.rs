//! Tests every row of the table of limits, at its number and just beyond it, through NDJSON and MCP.

use crate::workspace::TestWorkspace;
use emendate::{LIMITS, Limit};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write};
use std::process::{Command, Stdio};

/// The transport of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Ndjson,
    Mcp,
}

/// The calls of one test case.
#[derive(Default)]
struct LimitCase {
    /// The user's configuration.
    config: &'static str,
    /// The calls; the last one decides.
    calls: Vec<(&'static str, Value)>,
    /// The size to which the last message is padded with spaces, in bytes.
    padded: Option<usize>,
    /// Code of a refusal within the limit that has another reason.
    other: &'static str,
    /// Text of the reply beyond a limit that refuses nothing.
    told: &'static str,
}

/// Prepares the workspace for a row of the table and returns the calls for this number.
type Prepare = fn(&TestWorkspace, Transport, usize) -> LimitCase;

enum Row {
    /// Tested at the number and at one more.
    Edge(Prepare),
    /// Tested well within and well beyond the number, because the exact count cannot be controlled.
    Around(Prepare),
    /// Not tested here, with the reason.
    Elsewhere(&'static str),
}

use Row::{Around, Edge, Elsewhere};

const ROWS: &[(&str, Row)] = &[
    ("input", Edge(input)),
    ("work", Around(work)),
    ("nesting", Edge(nesting)),
    ("path", Edge(path)),
    ("name", Edge(name)),
    ("links", Edge(links)),
    ("file", Edge(file)),
    ("whole file", Edge(whole_file)),
    ("parts: places", Edge(parts_places)),
    ("parts: around", Edge(parts_around)),
    ("parts: line", Edge(parts_line)),
    ("parts: together", Edge(parts_together)),
    ("parts: lines", Edge(parts_lines)),
    ("files", Edge(files)),
    ("entries", Edge(entries)),
    ("replaced files", Edge(replaced_files)),
    ("together", Edge(together)),
    ("pattern", Edge(pattern)),
    ("context", Edge(context)),
    ("hits", Edge(hits)),
    ("listed", Edge(listed)),
    ("globs", Edge(globs)),
    ("ignore file", Edge(ignore_file)),
    ("edits", Edge(edits)),
    ("placeholders", Edge(placeholders)),
    ("places", Edge(places)),
    ("new text", Edge(new_text)),
    ("hunks", Edge(hunks)),
    ("snapshot files", Edge(snapshot_files)),
    ("snapshot file", Edge(snapshot_file)),
    ("snapshot contents", Elsewhere("It needs 64 MiB: crates/engine/tests/library/snapshots.rs.")),
    ("kept", Around(kept)),
    ("taken back", Around(taken_back)),
    ("reply", Edge(reply)),
    ("reply text", Around(reply_text)),
    ("reply data", Around(reply_data)),
    ("cells", Edge(cells)),
    ("image", Edge(image)),
    ("PDF", Edge(pdf)),
    #[cfg(feature = "pdf")]
    ("pages", Edge(pages)),
    #[cfg(not(feature = "pdf"))]
    ("pages", Elsewhere("This build reads no pages: `cargo test --features pdf` tries it.")),
    ("checked files", Edge(checked_files)),
    ("rewound", Elsewhere("It takes a thousand calls: crates/engine/tests/library/limits.rs.")),
    ("checked directories", Edge(checked_directories)),
    ("outlined files", Edge(outlined_files)),
    ("waiting questions", Elsewhere("Its calls wait: crates/history/src/questions.rs.")),
    ("comments", Elsewhere("No tool writes comments: crates/history/tests/suite/reviews.rs.")),
    ("comment", Elsewhere("No tool writes comments: crates/engine/tests/library/remarks.rs.")),
    ("reviewed hunks", Elsewhere("No tool marks hunks: crates/history/tests/suite/reviews.rs.")),
    ("asked files", Elsewhere("It needs a language server: crates/engine/tests/library/servers.rs.")),
    ("output", Edge(output)),
    ("checked", Edge(checked)),
    ("lines", Edge(lines)),
    ("parsed", Edge(parsed)),
    ("parse time", Elsewhere("It depends on the machine: crates/cli/tests/command/parsing.rs.")),
    ("parse memory", Elsewhere("It is about a process of its own: crates/cli/tests/command/parsing.rs.")),
    ("line", Edge(line)),
];

/// Creates a case with one call.
fn call(tool: &'static str, input: Value) -> LimitCase {
    LimitCase { calls: vec![(tool, input)], ..LimitCase::default() }
}

fn read(workspace: &TestWorkspace, name: &str) -> LimitCase {
    call("read", json!({ "file_path": workspace.path(name) }))
}

fn input(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put("a", "x\n");
    LimitCase { padded: Some(bytes), ..read(workspace, "a") }
}

fn work(workspace: &TestWorkspace, _: Transport, steps: usize) -> LimitCase {
    workspace.put("a", "x = 1\ny = 2\n".repeat(50_000));
    let edit = json!({ "file_path": workspace.path("a"), "old_string": "z", "new_string": "" });
    // Searching the whole file takes more steps than this.
    let config = if steps > most("work") { "[policy]\nmax_work = 10000\n" } else { "" };
    LimitCase { config, other: "match.not_found", ..call("edit", edit) }
}

fn nesting(workspace: &TestWorkspace, transport: Transport, levels: usize) -> LimitCase {
    workspace.put("a", "x\n");
    // The input is one of the levels, and its envelope is the others.
    let inside = levels - if transport == Transport::Ndjson { 2 } else { 3 };
    let deep = (1..inside).fold(json!([]), |inner, _| json!([inner]));
    call("read", json!({ "file_path": workspace.path("a"), "x": deep }))
}

/// Creates a file with this path and edits it.
fn made_and_edited(path: &str) -> LimitCase {
    let write = json!({ "file_path": path, "content": "one\n" });
    let edit = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
    LimitCase { calls: vec![("write", write), ("edit", edit)], ..LimitCase::default() }
}

fn path(workspace: &TestWorkspace, transport: Transport, bytes: usize) -> LimitCase {
    let mut path = workspace.path(&format!("{transport:?}"));
    while bytes - path.len() > 202 {
        path.push('/');
        path.push_str(&"d".repeat(200));
    }
    path.push('/');
    path.push_str(&"f".repeat(bytes - path.len()));
    made_and_edited(&path)
}

fn name(workspace: &TestWorkspace, transport: Transport, bytes: usize) -> LimitCase {
    let letter = if transport == Transport::Ndjson { "n" } else { "m" };
    made_and_edited(&workspace.path(&letter.repeat(bytes)))
}

fn links(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("l0", "x\n");
    for nth in 1..=count {
        let _ = std::os::unix::fs::symlink(format!("l{}", nth - 1), workspace.path(&format!("l{nth}")));
    }
    read(workspace, &format!("l{count}"))
}

/// Creates a file without blocks. Within the limit it is read, and is not text.
fn hollow(workspace: &TestWorkspace, bytes: usize) {
    fs::File::create(workspace.path("large")).unwrap().set_len(bytes as u64).unwrap();
}

fn file(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    hollow(workspace, bytes);
    LimitCase { other: "content.binary", ..read(workspace, "large") }
}

fn whole_file(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    hollow(workspace, bytes);
    let read = json!({ "file_path": workspace.path("large"), "format": "anchors" });
    LimitCase { other: "content.binary", ..call("read", read) }
}

/// Creates a call on a file that is too large to be held as a whole.
fn in_parts(workspace: &TestWorkspace, text: &str, tool: &'static str, mut input: Value) -> LimitCase {
    workspace.put("large", text);
    input["file_path"] = workspace.path("large").into();
    LimitCase { config: "[policy]\nstream_from = 0\nmax_whole = 1\n", ..call(tool, input) }
}

fn parts_places(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let edit = json!({ "old_string": "a", "new_string": "b", "replace_all": true, "dry_run": true });
    in_parts(workspace, &"a\n".repeat(count), "edit", edit)
}

fn parts_around(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    // The text has one line end, fifteen empty lines and a long line.
    let text = format!("the first line{}{}\nthe place\n", "\n".repeat(16), "x".repeat(bytes - 17));
    in_parts(workspace, &text, "edit", json!({ "old_string": "the place", "new_string": "here", "dry_run": true }))
}

fn parts_line(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let text = format!("first\n{}\nlast\n", "x".repeat(bytes));
    let case = in_parts(workspace, &text, "read", json!({}));
    LimitCase { calls: vec![("search", json!({ "pattern": "last", "path": workspace.path("large") }))], ..case }
}

fn parts_together(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let line = format!("place {}\n", "x".repeat((32 << 10) - 7));
    let text = "y".repeat(bytes % line.len()) + &line.repeat(bytes / line.len());
    let edit = json!({ "old_string": "place ", "new_string": "PLACE ", "replace_all": true, "dry_run": true });
    in_parts(workspace, &text, "edit", edit)
}

fn parts_lines(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let text = format!("first\n{}\nlast\n", "x".repeat(bytes - 1));
    in_parts(workspace, &text, "read", json!({ "offset": 2, "limit": 1 }))
}

fn files(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let mut patch = "*** Begin Patch\n".to_owned();
    for nth in 0..count {
        writeln!(patch, "*** Add File: f{nth}\n+x").unwrap();
    }
    patch.push_str("*** End Patch\n");
    call("apply", json!({ "input": patch, "directory": workspace.work(), "dry_run": true }))
}

/// A replacement is complete or refused.
fn entries(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("0", "");
    for nth in 1..count {
        // One file with many names needs no blocks. If the file system allows fewer names per file, it gets another
        // file.
        let (from, to) = (workspace.path(&(nth / 30_000 * 30_000).to_string()), workspace.path(&nth.to_string()));
        if fs::symlink_metadata(&to).is_err() && (nth % 30_000 == 0 || fs::hard_link(from, &to).is_err()) {
            fs::write(&to, "").unwrap();
        }
    }
    let replace = json!({ "path": workspace.work(), "old_string": "old", "new_string": "new" });
    LimitCase { other: "match.not_found", ..call("replace_in_files", replace) }
}

fn snapshot_files(workspace: &TestWorkspace, transport: Transport, count: usize) -> LimitCase {
    entries(workspace, transport, count);
    call("snapshot", json!({ "dry_run": true }))
}

fn snapshot_file(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    hollow(workspace, bytes);
    LimitCase { told: "they are larger than 8 MiB: 1", ..call("snapshot", json!({ "dry_run": true })) }
}

fn replaced_files(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    for nth in 0..count {
        let name = format!("d{}/r{nth}", nth % 100);
        // The files for the previous number exist already.
        if fs::symlink_metadata(workspace.path(&name)).is_err() {
            workspace.put(&name, "old\n");
        }
    }
    let replace = json!({ "path": workspace.work(), "old_string": "old", "new_string": "new", "dry_run": true });
    call("replace_in_files", replace)
}

fn together(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let copies = 8;
    workspace.put("a", "x\n".repeat(bytes / copies / 2));
    let copy = |nth| format!("diff --git a/a b/c{nth}\nsimilarity index 100%\ncopy from a\ncopy to c{nth}\n");
    let mut patch: String = (0..copies).map(copy).collect();
    for nth in 0..bytes % copies {
        let _ = write!(
            patch,
            "diff --git a/n{nth} b/n{nth}\nnew file mode 100644\n--- /dev/null\n+++ b/n{nth}\n@@ -0,0 +1 @@\n+\n"
        );
    }
    call("apply", json!({ "input": patch, "directory": workspace.work(), "dry_run": true }))
}

fn pattern(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put("a.txt", "x\n");
    call("search", json!({ "path": workspace.work(), "pattern": "x".repeat(bytes) }))
}

fn context(workspace: &TestWorkspace, _: Transport, lines: usize) -> LimitCase {
    workspace.put("a.txt", "x\n");
    let search = json!({ "path": workspace.work(), "pattern": "x", "context": lines });
    LimitCase { told: "at most 50 lines are shown", ..call("search", search) }
}

fn hits(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("a.txt", "x\n");
    let search = json!({ "path": workspace.work(), "pattern": "x", "limit": count });
    LimitCase { told: "at most 2000 hits are shown", ..call("search", search) }
}

fn listed(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("a.txt", "x\n");
    let list = json!({ "path": workspace.work(), "limit": count });
    LimitCase { told: "at most 10000 entries are shown", ..call("list", list) }
}

fn globs(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put("a.txt", "x\n");
    let rest = "x".repeat(bytes % (1 << 10));
    let whole = vec!["x".repeat(1 << 10); bytes >> 10];
    let globs: Vec<String> = whole.into_iter().chain((!rest.is_empty()).then_some(rest)).collect();
    call("search", json!({ "path": workspace.work(), "pattern": "x", "glob": globs }))
}

fn ignore_file(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put(".gitignore", "#".repeat(bytes));
    workspace.put("a.txt", "x\n");
    call("search", json!({ "path": workspace.work(), "pattern": "x" }))
}

fn edits(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("many", (0..count).map(|nth| format!("line {nth};\n")).collect::<String>());
    let edit = |nth: usize| json!({ "old_string": format!("line {nth};"), "new_string": nth.to_string() });
    let edits: Vec<Value> = (0..count).map(edit).collect();
    call("multi_edit", json!({ "file_path": workspace.path("many"), "edits": edits, "dry_run": true }))
}

fn placeholders(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let file: String = (0..count).map(|nth| format!("call_{nth}()\nother_{nth}()\n")).collect();
    let text: String = (0..count).map(|nth| format!("call_{nth}()\n# ... existing code ...\n")).collect();
    workspace.put("a.py", format!("{file}leave()\nstop()\nquit()\n"));
    let content = format!("{text}leave()\nhalt()\nquit()\n");
    call("write", dry(json!({ "file_path": workspace.path("a.py"), "content": content })))
}

fn places(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("a", "a".repeat(count / 2) + &"b".repeat(count - count / 2));
    let edits = ["a", "b"].map(|old| json!({ "old_string": old, "new_string": "", "replace_all": true }));
    call("multi_edit", dry(json!({ "file_path": workspace.path("a"), "edits": edits })))
}

fn places_in_files(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("a", "a".repeat(count / 2));
    workspace.put("b", "a".repeat(count - count / 2));
    call("replace_in_files", dry(json!({ "path": workspace.work(), "old_string": "a", "new_string": "" })))
}

fn new_text(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let places = [4, 5].into_iter().find(|places| bytes.is_multiple_of(*places)).unwrap();
    workspace.put("a", "a\n".repeat(places));
    let new = "b".repeat(bytes / places);
    let edit = json!({ "file_path": workspace.path("a"), "old_string": "a", "new_string": new, "replace_all": true });
    call("edit", dry(edit))
}

fn dry(mut input: Value) -> Value {
    input["dry_run"] = true.into();
    input
}

fn kept(workspace: &TestWorkspace, transport: Transport, bytes: usize) -> LimitCase {
    let beyond = bytes > most("kept");
    let name = format!("{transport:?}-{bytes}");
    workspace.put(&name, noise(if beyond { 1 << 20 } else { 1 << 10 }));
    let write = json!({ "file_path": workspace.path(&name), "content": "small\n" });
    LimitCase { config: if beyond { "[history]\nmegabytes = 1\n" } else { "" }, ..call("write", write) }
}

fn taken_back(workspace: &TestWorkspace, transport: Transport, bytes: usize) -> LimitCase {
    let name = format!("{transport:?}-{bytes}");
    workspace.feed(&["write", &name], "x\n").exits(0);
    if bytes > most("taken back") {
        // Nothing of it is read, and its blocks do not exist.
        let file = fs::OpenOptions::new().write(true).open(workspace.path(&name)).unwrap();
        file.set_len(bytes as u64).unwrap();
    }
    call("undo", json!({ "any_session": true }))
}

/// Returns text that compresses poorly.
pub(crate) fn noise(bytes: usize) -> String {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    let printed = |state: u64| char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap());
    std::iter::successors(Some(7), next).map(printed).take(bytes).collect()
}

fn reply(workspace: &TestWorkspace, _: Transport, chars: usize) -> LimitCase {
    // 100 lines, which are shown with seven characters before the text and one after it.
    let mut text = format!("{}\n", "x".repeat(chars / 100 - 8)).repeat(99);
    text.push_str(&"x".repeat(chars - text.len() - 99 * 7 - 8));
    text.push('\n');
    workspace.put("wide", text);
    read(workspace, "wide")
}

fn reply_text(workspace: &TestWorkspace, _: Transport, chars: usize) -> LimitCase {
    let lines = if chars > most("reply text") { 400 } else { 40 };
    workspace.put("a", format!("hit {}\n", "x".repeat(100)).repeat(lines));
    LimitCase {
        told: "the reply would be too long",
        ..call("search", json!({ "path": workspace.path("a"), "pattern": "hit", "limit": 1000 }))
    }
}

fn reply_data(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    // The data has a row for each file.
    for nth in 0..if bytes > most("reply data") { 6000 } else { 100 } {
        workspace.put(&format!("{nth}"), "old\n");
    }
    let replace = json!({ "path": workspace.work(), "old_string": "old", "new_string": "new", "dry_run": true });
    LimitCase { told: "\"omitted\"", ..call("replace_in_files", replace) }
}

fn hunks(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let write = json!({ "file_path": workspace.path("new"), "content": "x\n" });
    LimitCase {
        calls: vec![("write", write), ("history", json!({ "id": "last", "hunks": vec![1; count] }))],
        ..LimitCase::default()
    }
}

fn cells(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let cells = vec!["{}"; count].join(",");
    workspace.put("a.ipynb", format!("{{\"nbformat\": 4, \"cells\": [{cells}]}}"));
    call("read", json!({ "file_path": workspace.path("a.ipynb"), "cells": "0" }))
}

fn image(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    let chunk = |name: &[u8], length: usize| {
        let mut chunk = u32::try_from(length).unwrap().to_be_bytes().to_vec();
        chunk.extend(name);
        chunk.resize(12 + length, 1);
        chunk
    };
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(chunk(b"IHDR", 13));
    png.extend(chunk(b"IDAT", bytes - png.len() - 24));
    png.extend(chunk(b"IEND", 0));
    workspace.put("a.png", png);
    read(workspace, "a.png")
}

fn pdf(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put("a.pdf", format!("%PDF-{}", "x".repeat(bytes - 5)));
    call("read", json!({ "file_path": workspace.path("a.pdf"), "base64": true }))
}

#[cfg(feature = "pdf")]
fn pages(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    let mut text = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n".to_owned();
    let kids: String = (3..3 + count).map(|id| format!("{id} 0 R ")).collect();
    let _ = write!(text, "2 0 obj\n<< /Type /Pages /Kids [{kids}] /Count {count} >>\nendobj\n");
    for id in 3..3 + count {
        let _ = write!(text, "{id} 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n");
    }
    text.push_str("trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n");
    workspace.put("a.pdf", text);
    call("read", json!({ "file_path": workspace.path("a.pdf"), "pages": format!("1-{count}") }))
}

fn checked_files(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("a.txt", "");
    call("check", json!({ "paths": vec![workspace.path("a.txt"); count] }))
}

/// Creates files of a known language in a directory, and returns the directory.
fn directory_of(workspace: &TestWorkspace, transport: Transport, count: usize) -> String {
    let name = format!("{transport:?}-{count}");
    for nth in 0..count {
        workspace.put(&format!("{name}/{nth}.json"), "1");
    }
    workspace.path(&name)
}

fn checked_directories(workspace: &TestWorkspace, transport: Transport, count: usize) -> LimitCase {
    let check = json!({ "paths": [directory_of(workspace, transport, count)] });
    LimitCase { told: "are not checked", ..call("check", check) }
}

fn outlined_files(workspace: &TestWorkspace, transport: Transport, count: usize) -> LimitCase {
    let outline = json!({ "file_path": directory_of(workspace, transport, count) });
    LimitCase { told: "The outline ended early", ..call("outline", outline) }
}

fn output(workspace: &TestWorkspace, _: Transport, chars: usize) -> LimitCase {
    let output = json!({ "output_type": "stream", "name": "stdout", "text": "x".repeat(chars) });
    let cell = json!({ "cell_type": "code", "source": "1", "metadata": {}, "execution_count": 1, "outputs": [output] });
    workspace
        .put("a.ipynb", json!({ "nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell] }).to_string());
    LimitCase { told: "more characters", ..read(workspace, "a.ipynb") }
}

fn checked(workspace: &TestWorkspace, transport: Transport, bytes: usize) -> LimitCase {
    let path = workspace.path(&format!("{transport:?}-{bytes}.json"));
    let write = json!({ "file_path": path, "content": format!("1{}", " ".repeat(bytes - 1)) });
    LimitCase { told: "was not checked", ..call("write", write) }
}

fn lines(workspace: &TestWorkspace, _: Transport, count: usize) -> LimitCase {
    workspace.put("lines", "x\n".repeat(count));
    LimitCase { told: "are shown. Read on", ..read(workspace, "lines") }
}

fn parsed(workspace: &TestWorkspace, _: Transport, bytes: usize) -> LimitCase {
    workspace.put("a.json", format!("1{}", " ".repeat(bytes - 1)));
    call("outline", json!({ "file_path": workspace.path("a.json") }))
}

fn line(workspace: &TestWorkspace, _: Transport, chars: usize) -> LimitCase {
    workspace.put("line", "x".repeat(chars));
    LimitCase { told: "1 more characters of this line are not shown", ..read(workspace, "line") }
}

fn most(name: &str) -> usize {
    let limit = LIMITS.iter().find(|limit| limit.name == name).unwrap();
    usize::try_from(limit.most).unwrap()
}

/// Returns the message for a call, padded with spaces.
fn message(transport: Transport, id: usize, (tool, input): &(&str, Value), padded: Option<usize>) -> String {
    let mut text = match transport {
        Transport::Ndjson => json!({ "id": id, "tool": tool, "input": input }),
        Transport::Mcp => {
            let params = json!({ "name": tool, "arguments": input });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        }
    }
    .to_string();
    text.push_str(&" ".repeat(padded.map_or(0, |bytes| bytes - text.len())));
    text.push('\n');
    text
}

/// Returns the reply to the message with this id. The server's input stays open until then, because closing it means
/// that the client is gone.
fn reply_of(mut command: Command, lines: &str, id: usize) -> Value {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    let found = std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            // If the server ends early, the missing replies show it.
            let _ = stdin.write_all(lines.as_bytes());
            stdin
        });
        let values = replies.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        // A server that cannot read a message refuses it at once and cannot give its id.
        let found = values.into_iter().find(|reply| reply["id"] == id || reply["id"].is_null());
        drop(writer.join());
        found
    });
    assert!(child.wait().unwrap().success());
    found.unwrap()
}

/// Returns the reply to the first refused call, or to the last if none was: its code and all of it as text.
fn replied(workspace: &TestWorkspace, transport: Transport, case: &LimitCase) -> (Option<String>, String) {
    let config = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), case.config).unwrap();
    let common = ["--unread", "allow", "--durability", "none"];
    let (own, mut lines): (&[&str], String) = match transport {
        Transport::Ndjson => (&["serve", "--ndjson"], String::new()),
        Transport::Mcp => {
            let client = json!({ "name": "test", "version": "1" });
            let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
            let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            (&["mcp", "--profile", "full"], format!("{hello}\n{ready}\n"))
        }
    };
    let mut last = None;
    for (nth, call) in case.calls.iter().enumerate() {
        let padded = case.padded.filter(|_| nth + 1 == case.calls.len());
        lines.push_str(&message(transport, nth + 1, call, padded));
        let args: Vec<&str> = own.iter().chain(&common).copied().collect();
        let reply = reply_of(workspace.command(&args), &lines, nth + 1);
        let line = reply.to_string();
        let code = match transport {
            Transport::Ndjson => &reply["code"],
            Transport::Mcp if reply.get("error").is_some() => &reply["error"]["message"],
            Transport::Mcp => &reply["result"]["_meta"]["io.github.emendate/data"]["code"],
        };
        let code = code.as_str().map(str::to_owned);
        let refused = code.is_some();
        last = Some((code, line));
        if refused {
            break;
        }
        // The next call goes to a new server.
        lines.truncate(lines.len() - message(transport, nth + 1, call, padded).len());
    }
    last.unwrap()
}

fn tried(limit: &Limit, prepare: Prepare) {
    let workspace = TestWorkspace::new();
    let at = usize::try_from(limit.most).unwrap();
    for (number, beyond) in [(at, false), (at + 1, true)] {
        for transport in [Transport::Ndjson, Transport::Mcp] {
            let case = prepare(&workspace, transport, number);
            let (code, text) = replied(&workspace, transport, &case);
            let shown: String = text.chars().take(600).collect();
            let what = format!("{} at {number} through {transport:?}: {code:?} {shown}", limit.name);
            if !beyond {
                assert!(code.as_deref().is_none_or(|code| code == case.other), "{what}");
                assert!(case.told.is_empty() || !text.contains(case.told), "{what}");
                continue;
            }
            match limit.code {
                None => assert!(code.is_none() && text.contains(case.told) && !case.told.is_empty(), "{what}"),
                // The protocol refuses malformed messages with its own error.
                Some(_) if transport == Transport::Mcp && matches!(limit.name, "input" | "nesting") => {
                    assert!(text.contains("\"error\""), "{what}");
                }
                Some(refused) => assert_eq!(code.as_deref(), Some(refused.as_str()), "{what}"),
            }
        }
    }
}

#[test]
fn every_limit_is_tested_or_says_why_not() {
    let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, LIMITS.iter().map(|limit| limit.name).collect::<Vec<_>>());
    let reason = |row: &Row| if let Elsewhere(why) = row { !why.is_empty() } else { true };
    assert!(ROWS.iter().all(|(_, row)| reason(row)));
}

#[test]
fn places_of_all_files_count_together() {
    let limit = LIMITS.iter().find(|limit| limit.name == "places").unwrap();
    tried(limit, places_in_files);
}

/// Tests one part of the rows, so that several parts run in parallel.
fn part(nth: usize) {
    for (limit, (_, row)) in LIMITS.iter().zip(ROWS).skip(nth).step_by(PARTS) {
        match row {
            Edge(prepare) | Around(prepare) => tried(limit, *prepare),
            Elsewhere(_) => {}
        }
    }
}

const PARTS: usize = 4;

#[test]
fn limits_hold_at_and_beyond_their_number_0() {
    part(0);
}

#[test]
fn limits_hold_at_and_beyond_their_number_1() {
    part(1);
}

#[test]
fn limits_hold_at_and_beyond_their_number_2() {
    part(2);
}

#[test]
fn limits_hold_at_and_beyond_their_number_3() {
    part(3);
}
