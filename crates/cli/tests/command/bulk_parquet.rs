//! Tests `emend bulk` with Parquet files; those of `crates/arrow` test the contents of results.

use crate::bulk::interrupt;
use crate::workspace::TestWorkspace;
use emendate_arrow::part_rows;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn put(workspace: &TestWorkspace, name: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../arrow/tests/fixtures");
    fs::copy(fixtures.join(format!("{name}.parquet")), workspace.work().join("in")).unwrap();
}

fn rows(workspace: &TestWorkspace, name: &str) -> u64 {
    part_rows(&File::open(workspace.work().join(name)).unwrap()).unwrap()
}

/// The directories of parts.
fn partial(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.work()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "part")).collect()
}

#[test]
fn a_table_in_and_a_table_out() {
    let workspace = TestWorkspace::new();
    put(&workspace, "string");
    let ran = workspace.run(&["bulk", "in", "-o", "out", "--keep", "id"]).exits(0);
    assert!(ran.err.contains("5 rows, of which 3 failed"), "{ran:?}");
    assert!(ran.err.contains("match.not_found: 1 row, in row 2: "), "{ran:?}");
    assert_eq!((rows(&workspace, "out"), partial(&workspace)), (5, Vec::new()));
    workspace.run(&["bulk", "in", "-o", "diffs", "--do", "diff"]).exits(2);
    workspace.run(&["bulk", "in", "-o", "none", "--dry-run"]).exits(0);
    assert!(!workspace.work().join("none").exists());
}

#[test]
fn an_interrupted_run_continues_after_the_last_part() {
    let workspace = TestWorkspace::new();
    put(&workspace, "many");
    let args = ["bulk", "in", "-o", "out", "--keep", "n"];
    workspace.run(&args).exits(0);
    let whole = fs::read(workspace.work().join("out")).unwrap();
    // All parts are written, but they cannot be joined.
    fs::remove_file(workspace.work().join("out")).unwrap();
    interrupt(&workspace, &args, whole.len() / 512);
    let [parts] = &partial(&workspace)[..] else { panic!("{:?}", partial(&workspace)) };
    fs::remove_file(parts.join("00000001.parquet")).unwrap();
    fs::remove_file(parts.join("00000002.parquet")).unwrap();
    fs::write(parts.join("unfinished"), "half of a part").unwrap();
    let lock = File::open(parts.join("lock")).unwrap();
    lock.lock().unwrap();
    let ran = workspace.run(&args);
    assert!(ran.code != 0 && ran.err.contains("[conflict.raced]"), "{ran:?}");
    drop(lock);
    let ran = workspace.run(&args).exits(0);
    assert!(ran.err.contains("continued after 68672 rows"), "{ran:?}");
    assert!(fs::read(workspace.work().join("out")).unwrap() == whole, "the results differ");
    assert_eq!(partial(&workspace), [""; 0].map(PathBuf::from));
}

#[test]
fn mistakes_leave_nothing() {
    let workspace = TestWorkspace::new();
    put(&workspace, "string");
    let refused = |args: &[&str], said: &str| {
        let ran = workspace.run(&[&["bulk", "in", "-o", "out"], args].concat());
        assert!(ran.code != 0 && ran.err.contains(said), "{ran:?}");
        assert_eq!((workspace.work().join("out").exists(), partial(&workspace)), (false, Vec::new()));
    };
    refused(&["--keep", "nothing"], "no column `nothing`");
    refused(&["--do", "reward"], "no column `expected`");
    refused(&["--columns", "nothing"], "no column `nothing`");
    fs::write(workspace.work().join("in"), "PAR1 and no more").unwrap();
    refused(&[], "cannot be read");
}
