//! `reflink`: edits near the end of a large file on a file system that shares extents: an XFS image on a loop device.

use crate::exact::scratch;
use crate::outcome::{Outcome, size};
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::text::{Edits, OLD, source};
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn run(report: &mut Report) {
    let bytes = if report.setting.quick { 128 << 20 } else { 512 << 20 };
    let title = format!("an edit of {} on XFS, which shares extents", size(bytes));
    match Mount::new(6 * bytes as u64 + (512 << 20)) {
        Ok(mount) => report.race(&title, || edits(&title, &mount.path(), bytes)),
        Err(why) => report.missing(&title, &format!("it needs root, a loop device and mkfs.xfs: {why}")),
    }
}

/// A mounted file system that is unmounted on drop.
struct Mount {
    dir: tempfile::TempDir,
}

impl Mount {
    fn new(bytes: u64) -> Result<Mount, String> {
        let dir = tempfile::tempdir_in(scratch()).map_err(|error| error.to_string())?;
        let image = dir.path().join("image");
        let made = File::create(&image).and_then(|file| file.set_len(bytes));
        made.map_err(|error| error.to_string())?;
        succeeds(Command::new("mkfs.xfs").args(["-q", "-m", "reflink=1"]).arg(&image))?;
        let mount = Mount { dir };
        fs::create_dir(mount.path()).map_err(|error| error.to_string())?;
        succeeds(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(mount.path()))?;
        Ok(mount)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // If the mount itself failed, this does nothing.
        let _ = succeeds(Command::new("umount").arg(self.path()));
    }
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
}

/// Generates text with the block at this many thousandths of its length.
fn text(bytes: usize, thousandths: usize) -> String {
    let mut text = source(bytes).replacen(OLD, "", 1);
    let at = text.len() / 1000 * thousandths;
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text.insert_str(line, OLD);
    text
}

fn edits(title: &str, root: &Path, bytes: usize) -> Outcome {
    let config = Config::default().with_durability(Durability::None);
    let engine =
        Engine::open(&[root.to_owned()], StateLocation::Memory, config).unwrap_or_else(|error| panic!("{error}"));
    let engine = &engine;
    let whole = text(bytes, 500);
    let (floor, aside) = (root.join("floor.txt"), root.join("floor.tmp"));
    let mut cases = vec![Case::floor("write all of it + rename", || {
        settle();
        timed(|| fs::write(&aside, &whole).and_then(|()| fs::rename(&aside, &floor))).1
    })];
    for (name, thousandths) in [("ours: at 90 %", 900), ("ours: at 99.9 %", 999)] {
        let path = root.join(format!("ours{thousandths}.txt"));
        let _ = fs::write(&path, text(bytes, thousandths));
        let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
        let mut edits = Edits::new();
        cases.push(Case::ours(name, move || {
            let (old, new) = edits.next();
            let input = json!({ "file_path": path, "old_string": old, "new_string": new });
            settle();
            let (reply, time) = timed(|| engine.call(&caller, "edit", input));
            assert!(reply.result.is_ok(), "{}", reply.text());
            time
        }));
    }
    race(title, 5, cases).goal("", "ours: at 90 %", 0.25).goal("", "ours: at 99.9 %", 0.05)
}
