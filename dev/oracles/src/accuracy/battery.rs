//! Properties of files that an edit must keep, and handwritten cases.

use super::{Place, Task};

/// The table a task belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Properties of files.
    Battery,
    /// Handwritten cases.
    Case,
}

/// Returns all tasks with their section and name.
pub(super) fn tasks() -> Vec<(Section, &'static str, Task)> {
    let battery = battery().into_iter().map(|(name, task)| (Section::Battery, name, task));
    battery.chain(cases().into_iter().map(|(name, task)| (Section::Case, name, task))).collect()
}

/// Builds a task that edits one line of a three-line file, given the bytes before and after the line.
fn around(before: &[u8], after: &[u8]) -> Task {
    let file = [before, b"let limit = 10;", after].concat();
    let want = [before, b"let limit = 20;", after].concat();
    let line = String::from_utf8_lossy(before).matches('\n').count() + 1;
    Task {
        seen: file.clone(),
        file,
        line,
        old: Some("let limit = 10;".to_owned()),
        new: "let limit = 20;".to_owned(),
        want: Some(want),
        place: Place::Plain,
        may_refuse: false,
    }
}

/// Converts a task to UTF-16 with a byte order mark.
fn utf16(task: Task) -> Task {
    let wide = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let units = core::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    Task { seen: wide(task.seen), file: wide(task.file), want: task.want.map(wide), ..task }
}

fn battery() -> Vec<(&'static str, Task)> {
    let plain = || around(b"fn f() {\n", b"\n}\n");
    let twice = "let limit = 10;\nother();\nlet limit = 10;\n";
    let moved = Task {
        file: b"[a]\nretries = 5\n[b]\nretries = 3\n".to_vec(),
        ..Task::new("[a]\nretries = 3\n[b]\nretries = 1\n", "retries = 3", "retries = 4", None)
    };
    let blind = Task { old: None, ..Task::new("precious\n", "", "new text\n", None) };
    vec![
        ("CRLF", around(b"fn f() {\r\n", b"\r\n}\r\n")),
        ("mixed line ends", around(b"fn f() {\r\n", b"\n}\r\nend\n")),
        ("byte order mark", around(b"\xEF\xBB\xBFfn f() {\n", b"\n}\n")),
        ("UTF-16", utf16(plain())),
        ("Latin-1", around(b"// caf\xE9\n", b"\n// na\xEFve\n")),
        ("NUL", Task { may_refuse: true, ..around(b"// a\0b\n", b"\n}\n") }),
        ("no final newline", around(b"fn f() {\n", b"\n}")),
        ("mode", Task { place: Place::Executable, ..plain() }),
        ("symbolic link", Task { place: Place::Linked, ..plain() }),
        ("lone CR", around(b"fn f() {\r", b"\r}\r")),
        ("ambiguity", Task { line: 2, ..Task::new(twice, "let limit = 10;", "let limit = 20;", None) }),
        ("staleness", moved),
        ("blind overwrite", blind),
    ]
}

const JS: &str = "function f(a) {\n  if (a) {\n    go(a);\n  }\n  return a;\n}\n";
const PYTHON: &str = "def f():\n    a = 1\n    b = 2\n    return a + b\n";
const METHODS: &str = "class A:\n    def one(self):\n        x = 1\n        return x\n\n    def two(self):\n        x = 1\n        return x\n";

fn cases() -> Vec<(&'static str, Task)> {
    let mut out = places();
    out.extend(slips());
    out
}

/// Edits that test how the place is found.
fn places() -> Vec<(&'static str, Task)> {
    let js = JS;
    let names = "static int lock_file(struct ctx *ctx)\n{\n\treturn take(ctx);\n}\n";
    let rings = "struct tpacket_req3 *req = alloc(ring);\nreq->size = 10;\nsend_to(ring, req);\n";
    let python = PYTHON;
    vec![
        ("a plain edit", Task::new(js, "    go(a);", "    go(a, 1);", Some(&js.replace("go(a)", "go(a, 1)")))),
        (
            "old text without the file's indentation, new text with it",
            Task::new(
                python,
                "b = 2\nreturn a + b",
                "    b = 3\n    return a + b",
                Some(&python.replace("b = 2", "b = 3")),
            ),
        ),
        (
            "both texts without the file's indentation",
            Task::new(python, "a = 1\nb = 2", "a = 1\nb = 3", Some(&python.replace("b = 2", "b = 3"))),
        ),
        ("one body in two methods", Task::new(METHODS, "        x = 1\n        return x", "        return 1", None)),
        (
            "the same, told apart by a line above",
            Task::new(
                METHODS,
                "    def two(self):\n        x = 1",
                "    def two(self):\n        x = 2",
                Some(
                    "class A:\n    def one(self):\n        x = 1\n        return x\n\n    def two(self):\n        x = 2\n        return x\n",
                ),
            ),
        ),
        (
            "another function of a similar name",
            Task::new(names, "static int try_lock_file(struct ctx *ctx)\n{\n\treturn take(ctx);\n}", "", None),
        ),
        (
            "a digit in a name differs",
            Task::new(
                rings,
                "struct tpacket_req *req = alloc(ring);\nreq->size = 10;\nsend_to(ring, req);",
                "struct tpacket_req *req = alloc(ring);\nreq->size = 20;\nsend_to(ring, req);",
                None,
            ),
        ),
        ("the old text is not there", Task::new(js, "    stop(a);", "    go(b);", None)),
    ]
}

/// Edits with a mistake in the old text.
fn slips() -> Vec<(&'static str, Task)> {
    let js = JS;
    let python = PYTHON;
    let ports = "server:\n  port: 8080\n  host: a\nclient:\n  port: 8081\n  host: b\n";
    vec![
        (
            "the last line of the old text is cut off",
            Task::new(
                ports,
                "server:\n  port: 8080\n  ho",
                "server:\n  port: 9090\n  ho",
                Some(&ports.replace("8080", "9090")),
            ),
        ),
        (
            "curly quotes for straight ones",
            Task::new(
                "say(\"yes\");\nend();\n",
                "say(“yes”);\nend();",
                "say(“no”);\nend();",
                Some("say(\"no\");\nend();\n"),
            ),
        ),
        (
            "trailing blanks in the old text",
            Task::new(js, "  if (a) {  \n    go(a);", "  if (a) {\n    go(b);", Some(&js.replace("go(a)", "go(b)"))),
        ),
        (
            "a deletion",
            Task::new(python, "    a = 1\n    b = 2\n", "    b = 2\n", Some("def f():\n    b = 2\n    return a + b\n")),
        ),
    ]
}
