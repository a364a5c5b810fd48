//! Tests that errors at the command line name its options and arguments, never the fields of calls in JSON.

use crate::workspace::TestWorkspace;
use emendate::TOOLS;
use serde_json::Value;
use std::collections::BTreeSet;

const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "code", "id": "a1", "metadata": {}, "source": ["x"], "outputs": [],
  "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

/// Commands that fail, with the exit status, and the beginning of the advice or a part of it.
const FAILURES: &[(&str, i32, &str)] = &[
    ("read a.txt --limit 0", 2, "Omit --limit, or"),
    ("read a.txt:99", 10, "Read it with --offset 4 or less."),
    ("read a.py --symbol nope", 10, "Call emend outline a.py to see"),
    ("read a.txt --symbol nope", 15, "Use emend read with --offset and --limit, and emend edit with --old."),
    ("read n.ipynb --cells 9", 10, "Give cell 0"),
    ("search [", 2, "give --literal for plain text, or give --multiline if"),
    ("replace '' new .", 2, "Give a value"),
    ("undo ''", 2, "Give a value"),
    ("edit a.txt --old one --new two --tag ''", 2, "Give a value"),
    ("replace same same .", 17, "Send a NEW that differs from OLD;"),
    ("replace nothing new .", 10, "Check PATH, --glob and the text with emend search"),
    ("replace ( new --regex", 2, "omit --regex for plain text, or give --multiline if"),
    ("replace same new --expect 9", 17, "Narrow PATH, --glob or the text"),
    ("edit a.txt --old same --new other", 11, "give --all"),
    ("edit a.txt --old same --new other --expect 0", 2, "Give --all for"),
    ("edit a.txt --old one --new other --tag zz", 2, "or omit --tag."),
    ("edit two.ipynb --old x --new y", 15, "Call emend notebook-edit; --source is the whole new source of the cell."),
    ("notebook-edit n.ipynb --source x", 2, "Give --cell or --number, as emend read shows them."),
    ("notebook-edit n.ipynb --source x --mode insert", 2, "Give --type: code"),
    (
        "notebook-edit n.ipynb --source x --mode delete --number 0",
        2,
        "Omit --source to delete the cell; to change it, omit --mode.",
    ),
    ("multi-edit a.txt", 2, "Send a JSON array, one object"),
    ("apply change.diff --include *.zig", 17, "Correct the patterns in --include"),
    ("apply change.diff --include [", 2, "Use * for any characters"),
    ("apply change.diff --whitespace error", 16, "remove them with --whitespace fix."),
    ("apply change.diff --format whole_file --reverse", 2, "Omit --reverse."),
    ("undo --last 0", 2, "Give --last: 1 to"),
    ("undo --last 99", 10, "Repeat the call with --last 1, or call emend history"),
    ("undo a-b", 2, "emend history lists them. For the last change of a file give --file instead of ID"),
    ("diff 2..1", 2, "older one first"),
    ("show --from x", 2, "Omit --from for the first files."),
    ("reviewed 99", 10, "Call emend history"),
    ("preview", 16, "or give its name as --format."),
    ("apply nameless.diff", 16, "or give the path of the file as --file."),
    ("restore a.txt@99", 10, "Call emend history"),
];

/// The names of fields that no text has by chance.
fn fields() -> BTreeSet<String> {
    let schemas = TOOLS.iter().filter_map(|tool| tool.schema().get("properties")?.as_object().cloned());
    schemas
        .flat_map(|fields: serde_json::Map<String, Value>| fields.into_iter().map(|(name, _)| name))
        .filter(|it| it.contains('_'))
        .collect()
}

#[test]
fn errors_name_options_and_arguments() {
    let workspace = TestWorkspace::with("one\nsame\nsame\nend\n");
    workspace.put("a.py", "def one():\n    return 1\n");
    workspace.put("n.ipynb", NOTEBOOK);
    workspace.put(
        "two.ipynb",
        NOTEBOOK.replace("[{", "[{\"cell_type\": \"raw\", \"metadata\": {}, \"source\": [\"x\"]}, {"),
    );
    workspace.put("change.diff", "--- a/a.txt\n+++ b/a.txt\n@@ -4 +4 @@\n-end\n+the end  \n");
    workspace.put("nameless.diff", "@@ -4 +4 @@\n-end\n+the end\n");
    workspace.run(&["edit", "a.py", "--old", "return 1", "--new", "return 2"]).exits(0);
    workspace.run(&["edit", "a.py", "--old", "return 2", "--new", "return 3", "--session", "other"]).exits(0);
    let fields = fields();
    for (line, code, advice) in FAILURES {
        let args: Vec<&str> = line.split(' ').map(|word| word.trim_matches('\'')).collect();
        let ran = workspace.run(&args).exits(*code);
        assert!(ran.err.contains("\nnext: ") && ran.err.contains(advice), "{line}\n{}", ran.err);
        let named = ran.err.split(|it: char| !it.is_alphanumeric() && it != '_').find(|word| fields.contains(*word));
        assert_eq!(named, None, "{line}\n{}", ran.err);
        assert!(!ran.err.contains("{\"") && ran.out.is_empty(), "{line}\n{}", ran.err);
    }
}
