//! Tests `emend bulk`: rows of JSON in, rows of JSON out.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::fs;

const EDIT: &str = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n";

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn results(workspace: &TestWorkspace, name: &str) -> Vec<Value> {
    workspace.get(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names of the partial files of `out`.
fn partial(workspace: &TestWorkspace) -> Vec<String> {
    let names = fs::read_dir(workspace.work()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("out.")).collect()
}

/// Makes a run end in the middle, by a limit on the size of files in blocks of 512 bytes. It leaves its partial file.
pub(crate) fn interrupt(workspace: &TestWorkspace, args: &[&str], blocks: usize) {
    let mut limited = std::process::Command::new("sh");
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    limited.args(["-c", &script, env!("CARGO_BIN_EXE_emend")]).args(args).current_dir(workspace.work());
    assert!(!limited.env("EMEND_STATE", workspace.beside("state")).output().unwrap().status.success());
}

#[test]
fn a_bad_row_has_a_code_and_stops_nothing() {
    let workspace = TestWorkspace::new();
    let good = json!({ "id": 7, "before": "one\ntwo\n", "edit": EDIT });
    let rows =
        [good.clone(), json!({ "before": "one\n", "edit": EDIT }), json!({ "before": null, "edit": 3 }), json!([1])];
    workspace.put("in", format!("{}no json\n\n{good}", lines(&rows)));
    let ran = workspace.run(&["bulk", "in", "-o", "out", "--keep", "id"]).exits(0);
    assert!(ran.err.contains("7 rows, of which 5 failed"), "{ran:?}");
    assert!(ran.err.contains("call.invalid: 4 rows, the first in line 3: `before` is null in this row."), "{ran:?}");
    assert!(ran.err.contains("match.not_found: 1 row, in line 2: "), "{ran:?}");
    workspace.run(&["bulk", "in", "-o", "reasons", "--columns", "message,next"]).exits(0);
    let reasons = results(&workspace, "reasons").into_iter().skip(4).take(2).collect::<Vec<_>>();
    assert_eq!(reasons[0]["message"], "Line 5, column 2: this is not JSON: expected ident.");
    assert_eq!(reasons[1], json!({ "message": "Line 6 is empty.", "next": "Remove the line." }));
    assert!(ran.err.contains("`--columns ok,code,message,next`"), "{ran:?}");
    let with_messages = workspace.run(&["bulk", "in", "-o", "more", "--columns", "ok,message"]).exits(0);
    assert!(!with_messages.err.contains("--columns"), "{with_messages:?}");
    let made = results(&workspace, "out");
    let after = json!({ "id": 7, "ok": true, "code": null, "after": "one\n2\n", "format": "search_replace", "tier": "exact",
        "added": 1, "removed": 1 });
    assert_eq!((&made[0], &made[6], made.len()), (&after, &after, 7));
    let codes: Vec<&str> = made[1..6].iter().map(|row| row["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["match.not_found", "call.invalid", "call.invalid", "call.invalid", "call.invalid"]);
    assert_eq!(partial(&workspace), [""; 0]);
}

#[test]
fn a_byte_order_mark_may_precede_the_first_row() {
    let workspace = TestWorkspace::new();
    let row = json!({ "before": "one\ntwo\n", "edit": EDIT });
    workspace.put("in", format!("\u{FEFF}{row}\n"));
    workspace.run(&["bulk", "in", "-o", "out"]).exits(0);
    assert_eq!(results(&workspace, "out")[0]["after"], "one\n2\n");
}

#[test]
fn the_summary_is_one_json_object_on_request() {
    let workspace = TestWorkspace::new();
    workspace.put("in", lines(&[json!({ "before": 5, "edit": EDIT }), json!({ "before": "two\n", "edit": EDIT })]));
    let ran = workspace.run(&["bulk", "in", "-o", "out", "--json"]).exits(0);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    let failures = json!([{ "code": "call.invalid", "rows": 1, "firstLine": 1,
        "message": "`before` is not a string in this row." }]);
    assert_eq!(summary["data"], json!({ "rows": 2, "rowsBefore": 0, "failed": 1, "failures": failures }));
}

#[test]
fn a_second_run_of_the_same_output_is_refused() {
    let workspace = TestWorkspace::new();
    workspace.put("in", lines(&[json!({ "before": "two\n", "edit": EDIT })]));
    let args = ["bulk", "in", "-o", "out"];
    interrupt(&workspace, &args, 0);
    let [part] = &partial(&workspace)[..] else { panic!("{:?}", partial(&workspace)) };
    let other = fs::File::open(workspace.work().join(part)).unwrap();
    other.lock().unwrap();
    let ran = workspace.run(&args);
    assert!(ran.code != 0 && ran.err.contains("[conflict.raced]"), "{ran:?}");
    drop(other);
    workspace.run(&args).exits(0);
}

#[test]
fn rows_without_data_have_no_reward() {
    let workspace = TestWorkspace::new();
    let row = json!({ "before": "one\n", "edit": EDIT });
    let no_format = json!({ "before": "two\n", "edit": EDIT, "expected": "2\n", "format": "nope" });
    workspace.put("in", [lines(&[row, no_format]), "not JSON\n".into()].concat());
    workspace.run(&["bulk", "in", "-o", "out", "--do", "reward"]).exits(0);
    for row in results(&workspace, "out") {
        assert_eq!((&row["reward"], &row["code"]), (&json!(null), &json!("call.invalid")));
    }
}

#[test]
fn other_work() {
    let workspace = TestWorkspace::new();
    let row =
        json!({ "before": "one\ntwo\n", "edit": EDIT, "after": "one\n", "expected": "one\n2\n", "path": "a.txt" });
    workspace.put("in", lines(&[row]));
    let made = |args: &[&str]| {
        workspace.run(&[&["bulk", "in", "-o", "out", "--overwrite"], args].concat()).exits(0);
        results(&workspace, "out").remove(0)
    };
    assert_eq!(made(&["--do", "reward"]), json!({ "reward": 1.0, "ok": true, "code": null, "tier": "exact" }));
    assert_eq!(made(&["--do", "reward", "--measure", "similarity"])["reward"], 1.0);
    let diff = made(&["--do", "diff", "--columns", "diff,spans"]);
    assert_eq!(diff["spans"], json!([[4, 8, 4, 4]]));
    assert!(diff["diff"].as_str().unwrap().contains("-two\n"), "{diff}");
    let converted = made(&["--do", "convert", "--to", "apply_patch"])["diff"].to_string();
    assert!(converted.contains("*** Update File: a.txt"), "{converted}");
}

#[test]
fn kept_columns_are_neither_changed_nor_replaced() {
    let workspace = TestWorkspace::new();
    let row = json!({ "before": "one\ntwo\n", "edit": EDIT }).to_string();
    workspace.put("in", format!("{{\"id\":18446744073709551617,\"n\":[1.50],{}\n", &row[1..]));
    workspace.run(&["bulk", "in", "-o", "out", "--keep", "id,n,m", "--columns", "ok"]).exits(0);
    assert_eq!(workspace.get("out"), "{\"id\":18446744073709551617,\"n\":[1.50],\"m\":null,\"ok\":true}\n");
    for args in [&["--keep", "ok"][..], &["--keep", "id,id"], &["--columns", "ok,ok"]] {
        let ran = workspace.run(&[&["bulk", "in", "-o", "other"], args].concat()).exits(2);
        assert!(ran.err.contains("two columns `"), "{ran:?}");
    }
}

#[test]
fn an_interrupted_run_continues_behind_the_last_complete_row() {
    let workspace = TestWorkspace::new();
    let rows: Vec<Value> = (0..10_000).map(|id| json!({ "id": id, "before": "one\ntwo\n", "edit": EDIT })).collect();
    workspace.put("in", lines(&rows));
    let args = ["bulk", "in", "-o", "out", "--keep", "id", "--columns", "ok"];
    workspace.run(&args).exits(0);
    let whole = workspace.get("out");
    fs::remove_file(workspace.work().join("out")).unwrap();
    // The first run ends in the middle of a row.
    interrupt(&workspace, &args, whole.len() / 2 / 512);
    let [part] = &partial(&workspace)[..] else { panic!("{:?}", partial(&workspace)) };
    let done = workspace.get(part);
    assert!(!done.is_empty() && done.len() < whole.len(), "{}", done.len());
    let ran = workspace.run(&args).exits(0);
    assert!(ran.err.contains(&format!("continued after {} rows", done.matches('\n').count())), "{ran:?}");
    assert!(workspace.get("out") == whole, "the results differ");
    assert_eq!(partial(&workspace), [""; 0]);
}

#[test]
fn mistakes_are_refused_before_any_work() {
    let workspace = TestWorkspace::new();
    workspace.put("in", lines(&[json!({ "before": "", "edit": "" })]));
    workspace.put("out", "");
    let refused = |args: &[&str], said: &str| {
        let ran = workspace.run(&[&["bulk", "in", "-o"], args].concat());
        assert!(ran.code != 0 && ran.err.contains(said), "{ran:?}");
    };
    refused(&["out"], "exists already");
    refused(&["-"], "names no file");
    let ran = workspace.run(&["bulk", "missing", "-o", "new"]).exits(10);
    assert!(ran.err.contains("[file.not_found]"), "{ran:?}");
    refused(&["new", "--columns", "nothing"], "no field `nothing`");
    refused(&["new", "--do", "reward", "--measure", "nothing"], "not a reward");
    refused(&["new", "--do", "convert"], "--to");
    refused(&["new", "--do", "reward", "--tier-penalty=NaN"], "NaN is out of range");
    refused(&["new", "--do", "reward", "--tier-penalty=-1"], "-1 is out of range");
    refused(&["new", "--do", "diff", "--columns", "edits"], "no column `edits`");
    let ran = workspace.run(&["bulk", ".", "-o", "new"]);
    assert!(ran.err.contains("[path.not_regular]"), "{ran:?}");
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 2, "no partial file");
    assert_eq!((workspace.get("out"), workspace.work().join("new").exists()), (String::new(), false));
}

#[test]
fn rows_of_another_input_of_the_same_size_and_time_are_not_continued() {
    let workspace = TestWorkspace::new();
    let rows = |old: &str| lines(&vec![json!({ "before": format!("{old}\ntwo\n"), "edit": EDIT }); 20]);
    let put = |text: String| {
        workspace.put("in", text);
        let file = fs::File::options().write(true).open(workspace.work().join("in")).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    let args = ["bulk", "in", "-o", "out"];
    put(rows("one"));
    interrupt(&workspace, &args, 1);
    assert!(workspace.get(&partial(&workspace)[0]).contains('\n'));
    put(rows("ONE"));
    let ran = workspace.run(&args).exits(0);
    assert!(!ran.err.contains("continued"), "{ran:?}");
    assert_eq!(results(&workspace, "out")[0]["after"], "ONE\n2\n");
}

#[test]
fn only_a_regular_file_is_an_output() {
    let workspace = TestWorkspace::new();
    workspace.put("in", lines(&[json!({ "before": "two\n", "edit": EDIT })]));
    workspace.put("target", "kept\n");
    let work = workspace.work();
    fs::create_dir(work.join("directory")).unwrap();
    let mut outputs = vec!["directory", "/dev/null"];
    #[cfg(unix)]
    {
        for (link, target) in [("link", "target"), ("dangling", "nothing")] {
            std::os::unix::fs::symlink(target, work.join(link)).unwrap();
            outputs.push(link);
        }
        assert!(std::process::Command::new("mkfifo").arg(work.join("fifo")).status().unwrap().success());
        outputs.push("fifo");
    }
    let before = fs::read_dir(&work).unwrap().count();
    for output in outputs {
        for option in ["--overwrite", "--dry-run", "--columns=ok"] {
            let ran = workspace.run(&["bulk", "in", "-o", output, option]);
            assert!(ran.code != 0 && ran.err.contains("[path.not_regular]"), "{output}: {ran:?}");
        }
    }
    assert_eq!(fs::read_dir(&work).unwrap().count(), before, "no partial file");
    assert_eq!(workspace.get("target"), "kept\n");
    assert!(fs::symlink_metadata(work.join("link")).is_ok_and(|meta| meta.is_symlink()));
}

#[test]
fn results_never_replace_the_rows() {
    let workspace = TestWorkspace::new();
    let rows = "{\"before\": \"a\\n\", \"after\": \"b\\n\"}\n";
    workspace.put("in", rows);
    std::fs::hard_link(workspace.work().join("in"), workspace.work().join("same")).unwrap();
    for output in ["in", "./in", "same"] {
        let refused = workspace.run(&["bulk", "in", "-o", output, "--overwrite", "--do", "diff"]).exits(2).err;
        assert!(refused.contains("would replace the rows"), "{refused}");
    }
    assert_eq!(workspace.get("in"), rows);
    for option in [["--to", "unified_diff"], ["--tier-penalty", "1"]] {
        workspace.run(&[&["bulk", "in", "-o", "out"], &option[..]].concat()).exits(2);
    }
}
