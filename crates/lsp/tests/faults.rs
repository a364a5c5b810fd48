//! A server that hangs, crashes, lies and stays (`tests/lsp/fake.py`): answers arrive in time, and never refer to
//! another text.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests play the outside world"
)]

use emendate_core::Span;
use emendate_lsp::{
    AnswerBasis, CheckRequest, DiagnosticReport, DiagnosticsFailure, FileText, ServerSpec, Servers, Severity, SpanEdit,
    UnknownReason,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than any step that should succeed.
const LONG: Duration = Duration::from_secs(60);
/// Time limit of steps that should fail.
const SHORT: Duration = Duration::from_millis(700);

fn spec(faults: &[&str]) -> Arc<ServerSpec> {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lsp/fake.py");
    let words = ["python3", fake.to_str().unwrap()].into_iter().chain(faults.iter().copied());
    Arc::new(ServerSpec {
        name: "fake".to_owned(),
        argv: words.map(str::to_owned).collect(),
        options: Value::Null,
        settings: json!({ "fake": { "level": 3 } }),
        settle: None,
        severity_min: Severity::Warning,
        says_when_ready: false,
    })
}

/// A gate at which the server waits, so that nothing depends on the speed of the machine.
struct Gate {
    folder: tempfile::TempDir,
}

impl Gate {
    fn new() -> Gate {
        Gate { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("open")
    }

    fn fault(&self, name: &str) -> String {
        format!("{name}={}", self.path().display())
    }

    fn open(&self) {
        std::fs::write(self.path(), "").unwrap();
    }
}

/// A project with one file.
struct ProjectFixture {
    dir: tempfile::TempDir,
    servers: Servers,
    spec: Arc<ServerSpec>,
}

impl ProjectFixture {
    fn new(faults: &[&str]) -> ProjectFixture {
        ProjectFixture::of(spec(faults))
    }

    fn of(spec: Arc<ServerSpec>) -> ProjectFixture {
        ProjectFixture { dir: tempfile::tempdir().unwrap(), servers: Servers::default(), spec }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("a b.fake")
    }

    fn ask(&self, before: &str, after: &str, time: Duration) -> Result<DiagnosticReport, DiagnosticsFailure> {
        let file = self.file();
        let head = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let most = before.len().min(after.len()) - head;
        let tail = before.bytes().rev().zip(after.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
        let edit = SpanEdit { span: Span::new(head, before.len() - tail), len: after.len() - tail - head };
        let job = CheckRequest {
            path: &file,
            language: "fake",
            before: Some(FileText { path: &file, text: before }),
            after: Some(after),
            edits: vec![edit],
            written: true,
            copied: false,
        };
        self.servers.check(&self.spec, self.dir.path(), &[job], time).remove(0)
    }

    /// Waits until the server runs, however slow the machine is.
    fn started(&self) {
        while self.ask("fine", "fine", SHORT).is_err_and(|unknown| unknown.reason == UnknownReason::Starting) {}
    }

    /// Returns positions and messages of the new problems, and the number of existing ones.
    #[track_caller]
    fn found(&self, before: &str, after: &str) -> (Vec<(usize, usize)>, usize, AnswerBasis) {
        let found = self.ask(before, after, LONG).unwrap();
        (found.new.iter().map(|it| it.start).collect(), found.existing, found.basis)
    }

    #[track_caller]
    fn unknown(&self, time: Duration) -> DiagnosticsFailure {
        self.ask("bad\nfine\n", "bad\nugly\n", time).unwrap_err()
    }
}

#[test]
fn new_problems_are_separated_in_every_protocol_variant() {
    for (faults, basis) in [
        (&[][..], AnswerBasis::Asked),
        (&["full"], AnswerBasis::Asked),
        (&["cancels"], AnswerBasis::Asked),
        (&["curious"], AnswerBasis::Asked),
        (&["push"], AnswerBasis::Version),
        (&["push", "full"], AnswerBasis::Version),
    ] {
        let project = ProjectFixture::new(faults);
        assert_eq!(project.found("bad\nfine\n", "ä😀 ugly\nbad\nodd fine\n"), (vec![(1, 4)], 1, basis), "{faults:?}");
        // The next edit starts from there, even after another program changed the file.
        assert_eq!(project.found("ä😀 ugly\nbad\n", "ä😀 ugly\nfine\n"), (vec![], 1, basis), "{faults:?}");
        assert_eq!(project.found("other\n", "other\nbad\n\nbad\n"), (vec![(2, 1), (4, 1)], 0, basis), "{faults:?}");
    }
}

#[test]
fn diagnostics_of_other_texts_are_ignored() {
    for faults in [&["push", "wrong-version"][..], &["push", "other-file"]] {
        let project = ProjectFixture::new(faults);
        project.started();
        assert_eq!(project.unknown(SHORT).reason, UnknownReason::Timeout, "{faults:?}");
    }
}

#[test]
fn diagnostics_without_a_version_are_ignored() {
    for faults in [&["push", "unversioned"][..], &["push", "unversioned", "stale"]] {
        assert_eq!(ProjectFixture::new(faults).unknown(LONG).reason, UnknownReason::Version, "{faults:?}");
    }
    // Unless silence is configured to count.
    let settle = Some(Duration::from_millis(300));
    let project = ProjectFixture::of(Arc::new(ServerSpec { settle, ..(*spec(&["push", "unversioned"])).clone() }));
    assert_eq!(project.found("bad\nfine\n", "bad\nugly\n"), (vec![(2, 1)], 1, AnswerBasis::Silence));
    assert_eq!(project.found("bad\nugly\n", "fine\nugly\n"), (vec![], 1, AnswerBasis::Silence));
}

#[test]
fn answers_before_loading_are_ignored() {
    // The first answer of the server reports no problems.
    for (faults, basis) in [(&["loads"][..], AnswerBasis::Asked), (&["loads", "push"], AnswerBasis::Version)] {
        // If it publishes unasked, the silence must be long enough for a slow machine.
        let project = ProjectFixture::of(Arc::new(ServerSpec {
            settle: Some(Duration::from_secs(2)),
            ..(*spec(faults)).clone()
        }));
        assert_eq!(project.found("bad\nfine\n", "bad\nugly\n"), (vec![(2, 1)], 1, basis));
    }
    let patient = Arc::new(ServerSpec { says_when_ready: true, ..(*spec(&[])).clone() });
    assert_eq!(ProjectFixture::of(patient).unknown(SHORT).reason, UnknownReason::Starting);
}

#[test]
fn late_server_costs_only_the_time_limit_and_is_used_next_time() {
    let gate = Gate::new();
    let project = ProjectFixture::new(&[&gate.fault("start-gate")]);
    assert_eq!(project.unknown(SHORT).reason, UnknownReason::Starting);
    gate.open();
    assert_eq!(project.found("bad\nfine\n", "bad\nugly\n").0, [(2, 1)]);
    for (more, basis) in [(&[][..], AnswerBasis::Asked), (&["push"], AnswerBasis::Version)] {
        let gate = Gate::new();
        let project = ProjectFixture::new(&[&[&*gate.fault("gate")], more].concat());
        project.started();
        let begun = Instant::now();
        assert_eq!(project.unknown(SHORT).reason, UnknownReason::Timeout, "{more:?}");
        assert!(begun.elapsed() < LONG / 2);
        gate.open();
        // A late answer about that text is not taken for one about this.
        assert_eq!(project.found("bad\nugly\n", "bad\nugly\n\nugly\n"), (vec![(4, 1)], 2, basis));
    }
}

#[test]
fn silent_server_costs_only_the_time_limit() {
    for faults in [&["mute"][..], &["hangs"]] {
        let project = ProjectFixture::new(faults);
        let begun = Instant::now();
        let why = project.unknown(SHORT).reason;
        assert!(matches!(why, UnknownReason::Starting | UnknownReason::Timeout), "{faults:?}: {why:?}");
        drop(project);
        assert!(begun.elapsed() < LONG / 2, "{faults:?}");
    }
}

#[test]
fn invalid_message_ends_the_server() {
    for (faults, part) in [
        (&["garbage"][..], "wrote `Hello"),
        (&["huge-header"], "wrote `XXX"),
        (&["huge-length"], "99999999999"),
        (&["dies-at-start"], "status 1: no license"),
        (&["dies-at-text"], "status 1: cannot go on"),
        (&["refuses"], "not in this folder"),
    ] {
        let unknown = ProjectFixture::new(faults).unknown(LONG);
        assert_eq!(
            (unknown.reason, unknown.detail.contains(part)),
            (UnknownReason::Crashed, true),
            "{faults:?}: {unknown:?}"
        );
    }
}

#[test]
fn crashed_server_is_restarted_after_a_pause() {
    let project = ProjectFixture::new(&["dies-of-bad"]);
    assert_eq!(project.found("fine\n", "fine\nugly\n").0, [(2, 1)]);
    assert_eq!(project.ask("fine\n", "bad\n", LONG).unwrap_err().reason, UnknownReason::Crashed);
    // The server is not restarted at once, but eventually.
    assert_eq!(project.ask("fine\n", "fine\nugly\n", LONG).unwrap_err().reason, UnknownReason::Crashed);
    let begun = Instant::now();
    while project.ask("fine\n", "fine\nugly\n", LONG).is_err() {
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn missing_program_is_reported() {
    let words = vec!["no-such-language-server".to_owned()];
    let unknown = ProjectFixture::of(Arc::new(ServerSpec { argv: words, ..(*spec(&[])).clone() })).unknown(LONG);
    assert_eq!((unknown.reason, unknown.detail.contains("no-such-language-server")), (UnknownReason::Missing, true));
}

#[test]
fn created_and_removed_files_are_reported() {
    let project = ProjectFixture::new(&[]);
    let (file, moved) = (project.file(), project.dir.path().join("moved.fake"));
    let ask = |path: &Path, before: Option<FileText<'_>>, after: Option<&str>| {
        let job = CheckRequest { path, language: "fake", before, after, edits: vec![], written: true, copied: false };
        let found = project.servers.check(&project.spec, project.dir.path(), &[job], LONG).remove(0).unwrap();
        (found.new.len(), found.existing)
    };
    // All problems of a new file are new; a moved file takes its problems along.
    assert_eq!(ask(&file, None, Some("bad\nugly\n")), (2, 0));
    let text = "bad\nugly\n";
    assert_eq!(ask(&moved, Some(FileText { path: &file, text }), Some(text)), (0, 2));
    assert_eq!(ask(&moved, Some(FileText { path: &moved, text }), None), (0, 0));
}

#[test]
fn many_files_are_diagnosed_at_once() {
    let project = ProjectFixture::new(&[]);
    let paths: Vec<PathBuf> = (0..100).map(|nth| project.dir.path().join(format!("{nth}.fake"))).collect();
    let job = |path| CheckRequest {
        path,
        language: "fake",
        before: Some(FileText { path, text: "fine\n" }),
        after: Some("fine\nbad\n"),
        edits: vec![],
        written: true,
        copied: false,
    };
    let jobs: Vec<CheckRequest<'_>> = paths.iter().map(|path| job(&**path)).collect();
    let all = project.servers.check(&project.spec, project.dir.path(), &jobs, LONG);
    // More than can be open at once.
    let known = all.iter().filter(|found| found.as_ref().is_ok_and(|found| found.new.len() == 1)).count();
    assert_eq!(known, 100, "{:?}", all.iter().find(|found| found.is_err()));
}

/// Returns the ids of processes that the server wrote down and that still exist.
fn alive(pids: &Path) -> Vec<String> {
    let all = std::fs::read_to_string(pids).unwrap_or_default();
    let runs = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    all.lines().filter(runs).map(str::to_owned).collect()
}

#[test]
fn no_server_process_is_left_over() {
    let stubborn = &["refuses", "never-stops", "deaf-to-signals"][..];
    for faults in [&[][..], &["never-stops", "deaf-to-signals"], stubborn, &["mute"], &["push", "gate=/never"]] {
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        let base = spec(faults);
        let env = ["env".to_owned(), format!("FAKE_PIDS={}", pids.display())];
        let words: Vec<String> = env.into_iter().chain(base.argv.iter().cloned()).collect();
        let project = ProjectFixture::of(Arc::new(ServerSpec { argv: words, ..(*base).clone() }));
        let _ = project.ask("bad\n", "ugly\n", SHORT * 2);
        let _ = project.ask("ugly\n", "bad\n", SHORT);
        drop(project);
        assert_eq!(alive(&pids), Vec::<String>::new(), "{faults:?}");
    }
}
