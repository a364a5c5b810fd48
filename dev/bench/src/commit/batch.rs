//! Measures one call that changes many files.

use super::{RENAME, ScratchFiles, open};
use crate::outcome::Outcome;
use crate::race::{Case, race, settle, timed};
use crate::text::source;
use emendate::fs::Durability;
use emendate::{CallContext, UnreadPolicy};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Number of files in the batch, and bytes per file.
const FILES: usize = 200;
const SIZE: usize = 8 << 10;

pub(super) fn run(rounds: usize) -> Outcome {
    let files = ScratchFiles::new(SIZE);
    let (none, process, power) = ("ours, none", "ours, process", "ours, power");
    let cases = vec![
        by_hand(&files, RENAME, false),
        by_hand(&files, "write + fsync + rename of each, fsync of the folder", true),
        ours(&files, none, Durability::None),
        ours(&files, process, Durability::Process),
        ours(&files, power, Durability::Power),
    ];
    race(format!("one call that edits {FILES} files of {} KB", SIZE >> 10), rounds, cases)
        .beside("", process, none, 1.3)
        .beside("", power, none, 1.3)
}

/// Creates a directory of files for one case.
fn tree(files: &ScratchFiles, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = files.root.join(name.replace(|char: char| !char.is_ascii_alphanumeric(), "-"));
    let _ = fs::create_dir(&folder);
    let text = source(SIZE);
    let files = (0..FILES).map(|nth| folder.join(format!("f{nth}")));
    let files = files.inspect(|file| drop(fs::write(file, format!("{text}version 0\n")))).collect();
    (folder, files)
}

fn by_hand(scratch_files: &ScratchFiles, name: &str, sync: bool) -> Case<'static> {
    let (folder, files) = tree(scratch_files, name);
    let text = source(SIZE);
    let replace = move |file: &Path| {
        let aside = file.with_extension("tmp");
        let _ = fs::write(&aside, &text);
        if sync {
            let _ = File::open(&aside).and_then(|file| file.sync_all());
        }
        let _ = fs::rename(&aside, file);
    };
    Case::floor(name, move || {
        settle();
        timed(|| {
            for file in &files {
                replace(file);
            }
            if sync {
                let _ = File::open(&folder).and_then(|folder| folder.sync_all());
            }
        })
        .1
    })
}

fn ours(scratch_files: &ScratchFiles, name: &str, durability: Durability) -> Case<'static> {
    let (folder, files) = tree(scratch_files, name);
    let engine = open(&folder, scratch_files.state(&format!("state-{}", durability.as_str())), durability);
    let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    let mut version = 0;
    Case::ours(name, move || {
        let mut patch = "*** Begin Patch\n".to_owned();
        for file in &files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let _ = writeln!(patch, "*** Update File: {name}\n@@\n-version {version}\n+version {}", version + 1);
        }
        patch.push_str("*** End Patch\n");
        version += 1;
        let input = json!({ "input": patch, "directory": folder });
        settle();
        let (reply, time) = timed(|| engine.call(&caller, "apply", input));
        assert!(reply.result.is_ok(), "{}", reply.text());
        engine.history().store_unstored_contents();
        time
    })
}
