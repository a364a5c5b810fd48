//! `exact`: one exact edit, in memory and on disk.

use crate::race::{Case, Outcome, race, settle, timed};
use crate::text::{Edits, NEW, OLD, source};
use emendate::core::formats::replace::Replacement;
use emendate::core::{ChangeSet, Order, Settings, Snapshot, resolve};
use emendate::fs::Durability;
use emendate::{Caller, Config, Engine, State, Unread};
use serde_json::json;
use std::fs;
use std::hint::black_box;
use std::path::Path;

pub(crate) fn run(quick: bool) -> Vec<Outcome> {
    let sizes: &[usize] = if quick {
        &[1 << 10, 100 << 10, 1 << 20]
    } else {
        &[1 << 10, 10 << 10, 100 << 10, 282 << 10, 1 << 20, 10 << 20, 100 << 20]
    };
    let mut out = Vec::new();
    for &size in sizes {
        out.push(memory(size));
    }
    for &size in sizes {
        out.push(disk(size));
    }
    out
}

fn label(size: usize) -> String {
    if size < 1 << 20 { format!("{} KB", size >> 10) } else { format!("{} MB", size >> 20) }
}

/// The edit of the block in the middle.
pub(crate) fn change(base: &Snapshot) -> ChangeSet {
    let edit = Replacement { old_string: OLD.to_owned(), new_string: NEW.to_owned(), ..Replacement::default() };
    let resolved = edit.to_op().and_then(|op| resolve(base, &[op], Order::Together, Settings::default()));
    resolved.map_or_else(|error| panic!("{error}"), |resolved| resolved.changes)
}

/// Find, prove unique, splice; against copying the text once. The engine writes the pieces as they lie; the row with a
/// buffer is for those who want the new text in one.
fn memory(size: usize) -> Outcome {
    let text = source(size);
    let base = Snapshot::from_text(&text);
    base.id();
    let mut copy = vec![0u8; text.len() + 100];
    let mut whole = copy.clone();
    let rounds = if size > 10 << 20 { 15 } else { 101 };
    let times = u32::try_from((4 << 20) / size.max(1) + 1).unwrap_or(1);
    let cases = vec![
        Case::new("memcpy of the text", || {
            each(times, || black_box(&mut copy)[..text.len()].copy_from_slice(black_box(text.as_bytes())))
        }),
        Case::new("ours: find, unique, splice", || {
            each(times, || {
                let changes = change(black_box(&base));
                black_box(changes.pieces(base.raw()).map(<[u8]>::len).sum::<usize>());
            })
        }),
        Case::new("ours: the same into one buffer", || {
            each(times, || {
                let changes = change(black_box(&base));
                let mut at = 0;
                for piece in changes.pieces(base.raw()) {
                    whole[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                }
                black_box(&whole);
            })
        }),
        Case::new("std: matches().count() + replacen", || {
            each(times.div_ceil(20), || {
                let text = black_box(&text);
                black_box((text.matches(OLD).count(), text.replacen(OLD, NEW, 1)));
            })
        }),
    ];
    let outcome = race(format!("exact edit in memory, {}", label(size)), rounds, cases);
    // From 10,000 lines on.
    if size >= 282 << 10 { outcome.goal("ours: find, unique, splice", 3.0) } else { outcome }
}

/// The mean time of one of many runs, for what is too short to be timed alone.
pub(crate) fn each(times: u32, mut what: impl FnMut()) -> std::time::Duration {
    timed(|| (0..times).for_each(|_| what())).1 / times
}

/// One edit on disk without syncs; against writing the same bytes aside and renaming.
fn disk(size: usize) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned());
    let (theirs, ours) = (root.join("floor.txt"), root.join("ours.txt"));
    let text = source(size);
    let _ = (fs::write(&theirs, &text), fs::write(&ours, &text));
    let config = Config::default().with_durability(Durability::None);
    let engine =
        Engine::open(std::slice::from_ref(&root), State::Memory, config).unwrap_or_else(|error| panic!("{error}"));
    let caller = Caller { unread: Unread::Allow, ..Caller::default() };
    let mut edits = Edits::new();
    let rounds = if size > 10 << 20 { 9 } else { 41 };
    let cases = vec![
        Case::new("write + rename of the same bytes", || {
            let aside = root.join("floor.tmp");
            settle();
            timed(|| {
                let _ = fs::write(&aside, &text);
                let _ = fs::rename(&aside, &theirs);
            })
            .1
        }),
        Case::new("ours: edit through the engine", || {
            let (old, new) = edits.next();
            settle();
            let input = json!({ "file_path": ours, "old_string": old, "new_string": new });
            let (reply, time) = timed(|| engine.call(&caller, "edit", input));
            assert!(reply.result.is_ok(), "{}", reply.text());
            time
        }),
        Case::new("naive: read, matches, replacen, write + rename", || {
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
        }),
    ];
    let outcome = race(format!("exact edit on disk, no sync, {}", label(size)), rounds, cases);
    if (10 << 10..=10 << 20).contains(&size) { outcome.goal("ours: edit through the engine", 1.25) } else { outcome }
}

/// A folder on the disk that the repository is on.
pub(crate) fn scratch() -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    let _ = fs::create_dir_all(&folder);
    folder
}
