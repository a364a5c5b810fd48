//! Both files with several writers, damage and limits.

use super::{CallTally, Event, Sink, TallyKey};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const HOUR: u64 = 3_600_000_000;

fn event(tool: &'static str, code: &'static str, at: u64) -> Event {
    let (format, tier) = if tool == "edit" { ("replace", (code == "ok").then_some(2)) } else { ("", None) };
    let (model, session) = ("m\n\t1".to_owned(), "s".to_owned());
    Event {
        at,
        micros: 100,
        tool,
        format,
        code,
        tier,
        transport: "cli",
        model,
        session,
        paths: vec!["/a".into()],
        ..Event::default()
    }
}

fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/counts");
    (folder, path)
}

fn events(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn line_describes_a_call_without_files() {
    let (_folder, path) = folder();
    let sink = Sink::default().file(path.clone(), 1 << 20, false);
    sink.push(event("edit", "ok", 1_700_000_000_000_000));
    assert!(!path.exists(), "pushing does not wait for the disk");
    sink.flush();
    let line = events(&path).remove(0);
    assert_eq!(line["time"], "2023-11-14T22:13:20.000000Z");
    assert!(line["tool"] == "edit" && line["ok"] == true && line["tier"] == 2 && line["model"] == "m1", "{line}");
    assert!(!line.to_string().contains("/a"), "{line}");
    let sink = Sink::default().file(path.clone(), 1 << 20, true);
    sink.push(event("read", "file.not_found", 0));
    drop(sink);
    let line = events(&path).remove(1);
    assert!(line["paths"][0] == "/a" && line["ok"] == false && line["tier"].is_null(), "{line}");
}

#[test]
fn full_file_is_rotated() {
    let (_folder, path) = folder();
    let old = path.with_file_name("counts.1");
    for round in 0..200 {
        let sink = Sink::default().file(path.clone(), 2000, false);
        sink.push(event("edit", "ok", round));
        drop(sink);
        let size = |path: &Path| fs::metadata(path).map_or(0, |it| it.len());
        assert!(size(&path) <= 2000 && size(&old) <= 2300, "{round}: {} {}", size(&path), size(&old));
    }
    assert!(events(&old).len() > 3);
}

#[test]
fn compacting_keeps_the_counts() {
    let (_folder, path) = folder();
    let sink = Sink::default().counters(path.clone());
    let now = 20_000 * 24 * HOUR;
    for nth in 0..2000 {
        sink.push(event("edit", if nth % 4 == 0 { "match.not_found" } else { "ok" }, now - nth % 50 * HOUR));
        sink.push(event("read", "ok", now));
    }
    sink.push(event("write", "access.ask", now));
    sink.flush();
    let tally = CallTally::since(&path, 0).unwrap();
    let total = tally.total();
    assert_eq!((total.calls, total.ok, total.asked, total.micros), (4001, 3500, 1, 400_100));
    assert_eq!(total.per_mille(), Some(875));
    let by =
        |by| tally.by(by).into_iter().map(|row| (row.name.clone(), row.calls, row.per_mille())).collect::<Vec<_>>();
    let names = |list: &[(&str, u64, Option<u64>)]| {
        list.iter().map(|(name, calls, ok)| ((*name).to_owned(), *calls, *ok)).collect::<Vec<_>>()
    };
    assert_eq!(by(TallyKey::Tool), names(&[("edit", 2000, Some(750)), ("read", 2000, Some(1000)), ("write", 1, None)]));
    assert_eq!(by(TallyKey::Format), names(&[("replace", 2000, Some(750))]));
    assert_eq!(by(TallyKey::Tier), names(&[("2", 1500, Some(1000))]));
    assert_eq!(by(TallyKey::Model), names(&[("m1", 4001, Some(875))]));
    assert_eq!(CallTally::since(&path, now).unwrap().total().calls, 2041);
    // Invalid lines are skipped.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("half a li\n{text}1\t2\n\u{0}")).unwrap();
    assert_eq!(CallTally::since(&path, 0).unwrap().total(), total);
    let lines = text.lines().count();
    super::counts::compact(&mut fs::File::open(&path).unwrap(), &path).unwrap();
    assert!(fs::read_to_string(&path).unwrap().lines().count() < lines);
    assert_eq!(CallTally::since(&path, 0).unwrap().total(), total);
}

#[test]
fn counters_stay_small() {
    let (_folder, path) = folder();
    let sink = Sink::default().counters(path.clone());
    for nth in 0..60_000 {
        sink.push(Event { model: format!("model-{nth}"), ..event("edit", "ok", nth * HOUR / 100) });
    }
    sink.flush();
    let size = fs::metadata(&path).unwrap().len();
    assert!(size <= super::counts::COUNTERS_BYTES_MAX + 64 * 1024, "{size}");
    let newest = CallTally::since(&path, 0).unwrap().by(TallyKey::Model);
    assert!(newest.iter().any(|row| row.name == "model-59999") && !newest.iter().any(|row| row.name == "model-1"));
}

#[test]
fn several_writers_lose_nothing() {
    let (_folder, path) = folder();
    let file = path.with_file_name("events.jsonl");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for nth in 0..100 {
                    // A sink each, like separate processes.
                    let sink = Sink::default().counters(path.clone()).file(file.clone(), 1 << 30, false);
                    sink.push(event("edit", "ok", nth));
                }
            });
        }
    });
    assert_eq!(CallTally::since(&path, 0).unwrap().total().calls, 400);
    assert_eq!(events(&file).len(), 400);
}

#[test]
fn write_failure_is_reported_once_and_events_are_kept_for_a_while() {
    let (folder, path) = folder();
    fs::write(folder.path().join("below"), "a file").unwrap();
    let sink = Sink::default().counters(path.clone());
    for _ in 0..2 {
        sink.push(event("edit", "ok", 0));
        sink.flush();
    }
    let notices = sink.notices();
    assert!(notices.len() == 1 && notices[0].contains("counts"), "{notices:?}");
    for _ in 0..10_000 {
        sink.push(event("edit", "ok", 0));
    }
    assert!(
        sink.waiting().events.len() <= super::UNWRITTEN_EVENTS_MAX + super::QUEUED_EVENTS_MAX
            && sink.notices().is_empty()
    );
    fs::remove_file(folder.path().join("below")).unwrap();
    drop(sink);
    assert!(CallTally::since(&path, 0).unwrap().total().calls >= super::UNWRITTEN_EVENTS_MAX as u64);
}

/// A pipe without a reader must not block anything.
#[cfg(unix)]
#[test]
fn pipe_is_not_written() {
    let (folder, _path) = folder();
    let pipe = folder.path().join("pipe");
    emendate_os::fs::mknodat(
        emendate_os::fs::CWD,
        &pipe,
        emendate_os::fs::FileType::Fifo,
        emendate_os::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    let sink = Sink::default().file(pipe, 1 << 20, false);
    sink.push(event("edit", "ok", 0));
    sink.flush();
    assert!(sink.notices()[0].contains("not a regular file"));
}

#[test]
fn burst_is_written_together() {
    let (_folder, path) = folder();
    let sink = Sink::default().counters(path.clone());
    let calls = || CallTally::since(&path, 0).unwrap().total().calls;
    sink.push(event("edit", "ok", 0));
    sink.flush_if_due();
    assert_eq!(calls(), 1, "the first is written at once");
    sink.waiting().written_at = Some(std::time::Instant::now() + std::time::Duration::from_secs(60));
    for _ in 0..5 {
        sink.push(event("edit", "ok", 0));
        sink.flush_if_due();
    }
    assert_eq!(calls(), 1);
    sink.waiting().written_at = None;
    sink.flush_if_due();
    assert_eq!(calls(), 6);
}

#[test]
fn without_a_file_calls_are_not_timed() {
    assert!(Sink::default().begin().is_none());
    let (_folder, path) = folder();
    assert!(Sink::default().counters(path).begin().is_some());
}
