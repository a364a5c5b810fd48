//! `exact`: measures one exact edit, in memory and on disk.

use crate::outcome::{Outcome, size};
use crate::race::{Case, each, race, settle, timed};
use crate::report::Report;
use crate::text::{Edits, NEW, OLD, source};
use emendate::core::formats::replace::Replacement;
use emendate::core::{ChangeSet, OpOrder, ResolveSettings, Snapshot, resolve};
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, Reply, StateLocation, UnreadPolicy};
use serde_json::json;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

const STD: &str = "std: matches().count() + replacen";

/// Bytes of 10,000 lines of source text.
pub(crate) const LINES_10_000: usize = 282 << 10;

pub(crate) fn run(report: &mut Report) {
    let setting = report.setting;
    let mut sizes = vec![1 << 10, 100 << 10, LINES_10_000, 1 << 20, 10 << 20];
    if !setting.quick {
        sizes.extend([10 << 10, 100 << 20]);
    }
    sizes.sort_unstable();
    for &bytes in &sizes {
        report.race(&format!("exact edit in memory, {}", size(bytes)), || memory(bytes, setting.quick));
    }
    sizes.extend(setting.quick.then_some(100 << 20));
    sizes.extend(setting.big.then_some(1 << 30));
    for bytes in sizes {
        report.race(&format!("exact edit on disk, no sync, {}", size(bytes)), || disk(bytes, setting.quick));
    }
}

/// Returns the edit of the block in the middle.
pub(crate) fn change(base: &Snapshot) -> ChangeSet {
    let edit = Replacement { old_string: OLD.to_owned(), new_string: NEW.to_owned(), ..Replacement::default() };
    let resolved = edit.to_op().and_then(|op| resolve(base, &[op], OpOrder::Together, ResolveSettings::default()));
    resolved.map_or_else(|error| panic!("{error}"), |resolved| resolved.changes)
}

/// Measures the search, the proof of uniqueness and the splicing, compared with one copy of the text. The engine writes
/// the chunks without joining them; the row with a buffer joins them.
fn memory(bytes: usize, quick: bool) -> Outcome {
    let text = source(bytes);
    let base = Snapshot::from_text(&text);
    base.id();
    let mut copy = vec![0u8; text.len() + 100];
    let mut whole = copy.clone();
    let rounds = if quick || bytes > 10 << 20 { 15 } else { 101 };
    let times = u32::try_from((4 << 20) / bytes.max(1) + 1).unwrap_or(1);
    let cases = vec![
        Case::floor("memcpy of the text", || {
            each(times, || black_box(&mut copy)[..text.len()].copy_from_slice(black_box(text.as_bytes())))
        }),
        Case::ours("ours: find, unique, splice", || {
            each(times, || {
                let changes = change(black_box(&base));
                black_box(changes.chunks(base.raw()).map(<[u8]>::len).sum::<usize>());
            })
        }),
        Case::ours("ours: the same into one buffer", || {
            each(times, || {
                let changes = change(black_box(&base));
                let mut at = 0;
                for piece in changes.chunks(base.raw()) {
                    whole[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                }
                black_box(&whole);
            })
        }),
        Case::peer(STD, || {
            each(times.div_ceil(20), || {
                let text = black_box(&text);
                black_box((text.matches(OLD).count(), text.replacen(OLD, NEW, 1)));
            })
        }),
    ];
    let outcome = race(format!("exact edit in memory, {}", size(bytes)), rounds, cases);
    let ours = "ours: find, unique, splice";
    let outcome = if bytes >= LINES_10_000 { outcome.goal("G5", ours, 3.0) } else { outcome };
    if bytes == 1 << 20 { outcome.beside("G5", ours, STD, 0.1) } else { outcome }
}

/// Measures one edit on disk without syncs, compared with writing the same bytes to a temporary file and renaming it,
/// and with `cp` for 1 GB.
fn disk(bytes: usize, quick: bool) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned());
    let (theirs, ours) = (root.join("floor.txt"), root.join("ours.txt"));
    let text = source(bytes);
    let _ = (fs::write(&theirs, &text), fs::write(&ours, &text));
    let config = Config::default().with_durability(Durability::None);
    let engine = Engine::open(std::slice::from_ref(&root), StateLocation::Memory, config)
        .unwrap_or_else(|error| panic!("{error}"));
    let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let mut edits = Edits::new();
    let rounds = match (bytes, quick) {
        (0..=0xF_FFFF, false) => 41,
        (0..=0xF_FFFF, true) => 21,
        (0..=0xA0_0000, _) => 15,
        (0..=0x1000_0000, false) => 9,
        _ => 5,
    };
    let huge = bytes > 100 << 20;
    let aside = root.join("floor.tmp");
    let ours = Case::ours("ours: edit through the engine", || {
        let (old, new) = edits.next();
        settle();
        let input = json!({ "file_path": ours, "old_string": old, "new_string": new });
        let (reply, time) = timed(|| engine.call(&caller, "edit", input));
        assert!(reply.result.is_ok(), "{}", reply.text());
        // A server also does this after its reply.
        engine.history().store_unstored_contents();
        time
    });
    let by_hand = || {
        settle();
        let write = || if huge { fs::copy(&theirs, &aside).map(drop) } else { fs::write(&aside, &text) };
        timed(|| write().and_then(|()| fs::rename(&aside, &theirs))).1
    };
    let naive = || {
        let aside = root.join("naive.tmp");
        settle();
        timed(|| {
            let text = fs::read_to_string(&theirs).unwrap_or_default();
            if text.matches(OLD).count() == 1 {
                let _ = fs::write(&aside, text.replacen(OLD, NEW, 1));
                let _ = fs::rename(&aside, root.join("naive.txt"));
            }
        })
        .1
    };
    let floor = if huge { "cp + rename" } else { "write + rename of the same bytes" };
    let mut cases =
        vec![Case::floor(floor, by_hand), ours, Case::peer("naive: read, matches, replacen, write + rename", naive)];
    if bytes >= 10 << 20 {
        for (name, hunk) in
            [("ours: a line replaced by its number", "replace 3..3:"), ("ours: a line appended", "insert tail:")]
        {
            let path = root.join(format!("{}.txt", hunk.len()));
            let _ = fs::write(&path, &text);
            cases.push(rows(name, hunk, &engine, path));
        }
    }
    let most = match bytes {
        0x2800..=0x1_9000 => 1.15,
        _ if huge => 1.2,
        _ => 1.25,
    };
    race(format!("exact edit on disk, no sync, {}", size(bytes)), rounds, cases).goal(
        "G1",
        "ours: edit through the engine",
        most,
    )
}

/// Creates a case of edits by line number in hashline, each under the header of the previous reply.
fn rows<'e>(name: &'static str, hunk: &'static str, engine: &'e Engine, path: PathBuf) -> Case<'e> {
    let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let read = json!({ "file_path": path, "format": "hashline", "limit": 1 });
    let mut header = first_line(&engine.call(&caller, "read", read));
    let mut edits = Edits::new();
    Case::ours(name, move || {
        let line = edits.next().1.lines().last().unwrap_or_default().to_owned();
        let input = json!({ "input": format!("{header}\n{hunk}\n+{line}\n"), "directory": path.parent() });
        settle();
        let (reply, time) = timed(|| engine.call(&caller, "apply", input));
        assert!(reply.result.is_ok(), "{}", reply.text());
        header = first_line(&reply);
        time
    })
}

fn first_line(reply: &Reply) -> String {
    reply.text().lines().next().unwrap_or_default().to_owned()
}

/// Returns a directory on the repository's disk.
pub(crate) fn scratch() -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    let _ = fs::create_dir_all(&folder);
    folder
}
