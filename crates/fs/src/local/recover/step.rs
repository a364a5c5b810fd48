//! One step of a transaction during recovery: its state, and its completion or reversal.

use emendate_os::fd::BorrowedFd;
use emendate_os::ffi::{OsStrExt, OsStringExt};
use std::ffi::{OsStr, OsString};

use emendate_core::ContentId;
use emendate_os::fs::{FileType, Mode, OFlags, RenameFlags};
use emendate_os::io::Errno;

use super::super::journal_frame::{JournalStep, PathState};
use super::super::publish::{rename_new, replace_bytes};
use super::super::read::{self, READ_FLAGS};
use super::super::temp::{self, TempFile};
use super::super::transaction::OVERWRITE;
use super::super::tree_swap;
use super::super::{kernel, rollback, sys};
use super::{RecoveryReport, SkipReason, read_whole};
use crate::error;

/// State of a step before recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepState {
    /// The step can be completed or undone.
    Reversible,
    /// The step was not done yet, and another program changed the file.
    Blocked,
    /// The directory is missing, so nothing is known of the step.
    Unreachable,
    /// The step was done and cannot be undone: the displaced file is gone, or another program changed the file after
    /// it.
    Final,
}

/// One step during recovery.
pub(super) struct StepRecovery<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
    pub(super) step: &'a JournalStep,
    pub(super) want: PathState,
    pub(super) from: PathState,
    /// For a file that is overwritten in place: the bytes of `from` and of `want`.
    pub(super) bytes: Option<(&'a [u8], &'a [u8])>,
    pub(super) back: bool,
    pub(super) batch: u32,
}

impl StepRecovery<'_> {
    fn report_done(&self, out: &mut RecoveryReport) {
        let list = if self.back { &mut out.rolled_back } else { &mut out.rolled_forward };
        list.push(self.step.path.clone());
    }

    /// Determines the state of the step when completing the transaction.
    pub(super) fn state(&self) -> emendate_os::io::Result<StepState> {
        let (at_name, modified) = self.state_at(self.name)?;
        if let Some((from, want)) = self.bytes {
            return Ok(match at_name {
                PathState::File { .. } if is_torn(&self.content()?, from, want) => StepState::Reversible,
                _ => StepState::Blocked,
            });
        }
        let (at_temp, _) = self.state_at(&self.step.temp)?;
        Ok(if matches_state(at_name, self.want, self.from) {
            let undone = self.from == PathState::Missing || holds_temp(at_temp, self.from, self.want);
            if undone { StepState::Reversible } else { StepState::Final }
        } else if matches_state(at_name, self.from, self.want) {
            let same = self.want != PathState::Missing || modified == self.step.modified;
            if same { StepState::Reversible } else { StepState::Blocked }
        } else if holds_temp(at_temp, self.want, self.from)
            || self.want == PathState::Missing && at_temp == PathState::Missing
        {
            StepState::Blocked
        } else {
            StepState::Final
        })
    }

    /// Returns the state of a name and the file's modification time. Only a step that knows a directory looks into one.
    fn state_at(&self, name: &OsStr) -> emendate_os::io::Result<(PathState, i64)> {
        let (state, modified) = state_at(self.folder, name)?;
        let knows_trees = [self.want, self.from].iter().any(|state| matches!(state, PathState::Tree(_)));
        let state =
            if state == PathState::Other && knows_trees { tree_swap::state_at(self.folder, name)? } else { state };
        Ok((state, modified))
    }

    /// Returns the current bytes of the file.
    fn content(&self) -> emendate_os::io::Result<Vec<u8>> {
        read_whole(&sys::openat(self.folder, self.name, READ_FLAGS, Mode::empty())?)
    }

    pub(super) fn finish_step(&self, out: &mut RecoveryReport) -> std::result::Result<(), SkipReason> {
        match self.bytes {
            Some((from, want)) => self.overwrite(from, want, out),
            None => self.exchange(out),
        }
    }

    /// Completes a step by names: the wanted file has one of two names and gets the other.
    fn exchange(&self, out: &mut RecoveryReport) -> std::result::Result<(), SkipReason> {
        let temp = &*self.step.temp;
        if temp.is_empty() {
            return Err(SkipReason::Failed("it lacks the bytes of a file.".to_owned()));
        }
        let (at_name, modified) = self.state_at(self.name)?;
        let (at_temp, _) = self.state_at(temp)?;
        if matches_state(at_name, self.want, self.from) {
            return self.finish(temp, at_temp, out);
        }
        // A removal applies only to the very file that was to go: another program may have created an equal one since.
        let same = self.back || self.want != PathState::Missing || modified == self.step.modified;
        if !matches_state(at_name, self.from, self.want) || !same {
            return self.conflict(temp, at_temp, out);
        }
        if !matches_state(at_temp, self.want, self.from) {
            if at_temp == PathState::Missing {
                // Done long ago; another program restored the other content since.
                return Ok(());
            }
            out.notes.push(format!(
                "{} is unchanged: the new content to be written beside it was lost in a power cut.",
                error::show(&self.step.path)
            ));
            return self.remove_temp(temp, at_temp, out);
        }
        match (self.from, self.want) {
            (_, PathState::Missing) => sys::rename(self.folder, self.name, temp, RenameFlags::empty())?,
            (PathState::Missing, _) => {
                rename_new(self.folder, temp, self.name)?;
                self.report_done(out);
                return Ok(());
            }
            _ => match kernel::exchange(self.folder, temp, self.name) {
                Err(errno) if kernel::unsupported(errno) => {
                    sys::rename(self.folder, temp, self.name, RenameFlags::empty())?;
                    self.report_done(out);
                    return Ok(());
                }
                other => other?,
            },
        }
        // Verifies the displaced file, as in any transaction.
        let (displaced, _) = self.state_at(temp)?;
        if matches_state(displaced, self.from, self.want) {
            self.report_done(out);
        }
        self.finish(temp, displaced, out)
    }

    /// Removes the displaced file once the wanted one has its name, unless it is a save that nothing has checked yet.
    fn finish(
        &self,
        temp: &OsStr,
        displaced: PathState,
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        if displaced == PathState::Missing
            || matches_state(displaced, self.from, self.want)
            || matches_state(displaced, self.want, self.from)
        {
            return self.remove_temp(temp, displaced, out);
        }
        self.put_back(temp)?;
        self.conflict(temp, self.state_at(temp)?.0, out)
    }

    /// Restores the name of a file that was displaced by mistake.
    fn put_back(&self, temp: &OsStr) -> std::result::Result<(), SkipReason> {
        let Ok(ours) = sys::statat(self.folder, self.name) else {
            return Ok(rename_new(self.folder, temp, self.name)?);
        };
        let mut ours = TempFile { name: temp.to_owned(), fd: None, meta: read::file_meta(&ours), exists: true };
        rollback::put_back(self.folder, &mut ours, self.name).map_err(SkipReason::Failed)
    }

    /// Removes the file with the temporary name.
    fn remove_temp(
        &self,
        temp: &OsStr,
        there: PathState,
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        if there != PathState::Missing {
            temp::unlink_any(self.folder, temp)?;
            out.cleaned += 1;
        }
        Ok(())
    }

    /// Keeps our version beside a file that was changed since.
    fn conflict(
        &self,
        temp: &OsStr,
        there: PathState,
        out: &mut RecoveryReport,
    ) -> std::result::Result<(), SkipReason> {
        if there == PathState::Missing {
            // Done long ago and changed since, or a removal of a file that is not the one to remove.
            if self.want == PathState::Missing {
                self.report_unremoved(out);
            }
            return Ok(());
        }
        if matches_state(there, self.from, self.want) {
            // Done, and changed since.
            return self.remove_temp(temp, there, out);
        }
        let mut copy = self.copy_name();
        rename_new(self.folder, temp, &copy)?;
        self.report_copy(&mut copy, out);
        Ok(())
    }

    fn report_unremoved(&self, out: &mut RecoveryReport) {
        let path = error::show(&self.step.path);
        let by = if self.back { "created by a call that was undone" } else { "to be removed by a call" };
        out.notes.push(format!(
            "{path} was {by} after a crash; another program changed or created it since, so it stays as it is."
        ));
    }

    fn copy_name(&self) -> OsString {
        let tail = format!(".conflict-{:08x}", self.batch);
        let name = temp::shortened(self.name.as_bytes(), temp::NAME_BYTES_MAX - tail.len());
        OsString::from_vec([name, tail.as_bytes()].concat())
    }

    fn report_copy(&self, copy: &mut OsString, out: &mut RecoveryReport) {
        let copy = self.step.path.with_file_name(std::mem::take(copy));
        out.notes.push(format!(
            "{} was changed by another program after a crash and was not touched; the content that was to replace it is kept as {}.",
            error::show(&self.step.path),
            error::show(&copy)
        ));
        out.conflicts.push(copy);
    }

    /// Completes a step by bytes: a file with either content, or torn between both, gets the wanted one.
    fn overwrite(&self, from: &[u8], want: &[u8], out: &mut RecoveryReport) -> std::result::Result<(), SkipReason> {
        let (at_name, _) = self.state_at(self.name)?;
        if at_name == self.want {
            return Ok(());
        }
        if !matches!(at_name, PathState::File { .. }) {
            return self.keep_bytes(want, out);
        }
        let file = sys::openat(self.folder, self.name, OVERWRITE, Mode::empty())?;
        if !is_torn(&read_whole(&file)?, from, want) {
            return self.keep_bytes(want, out);
        }
        replace_bytes(&file, &[want], true)?;
        if let PathState::File { mode, .. } = self.want {
            sys::fchmod(&file, sys::mode(mode))?;
        }
        self.report_done(out);
        Ok(())
    }

    /// Keeps our version of a file that was to be overwritten, and that another program changed, replaced or removed.
    fn keep_bytes(&self, want: &[u8], out: &mut RecoveryReport) -> std::result::Result<(), SkipReason> {
        let mut copy = self.copy_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match sys::openat(self.folder, &copy, flags, Mode::from_raw_mode(0o600)) {
            Ok(kept) => replace_bytes(&kept, &[want], true)?,
            // Left by a recovery that was killed.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.report_copy(&mut copy, out);
        out.notes.push(format!(
            "If {} had other names (hard links), they may have its former content, the new one, or a mix of both.",
            error::show(&self.step.path)
        ));
        Ok(())
    }
}

/// True if the temporary file exists and its state matches.
fn holds_temp(at_temp: PathState, state: PathState, other: PathState) -> bool {
    at_temp != PathState::Missing && matches_state(at_temp, state, other)
}

/// True if `found` is `state` and not `other`, which may differ from it in the mode only.
fn matches_state(found: PathState, state: PathState, other: PathState) -> bool {
    if state.same_content(other) { found == state } else { found.same_content(state) }
}

/// True if every byte of `found` equals the byte of either version at its offset, or is zero beyond the end of the
/// shorter one. A crash during a write leaves this, and hardly any editor does. A growing file has zeros where nothing
/// is written yet; XFS zeroes the part beyond the new end of a shrinking file before the new length is on disk.
fn is_torn(found: &[u8], from: &[u8], want: &[u8]) -> bool {
    let shorter = from.len().min(want.len());
    found.len() <= from.len().max(want.len())
        && found.len() >= from.len().min(want.len())
        && found
            .iter()
            .enumerate()
            .all(|(at, byte)| from.get(at) == Some(byte) || want.get(at) == Some(byte) || (*byte == 0 && at >= shorter))
}

/// Returns the state of a name and the file's modification time.
fn state_at(folder: BorrowedFd<'_>, name: &OsStr) -> emendate_os::io::Result<(PathState, i64)> {
    let meta = match sys::statat(folder, name) {
        Err(Errno::NOENT) => return Ok((PathState::Missing, 0)),
        other => read::file_meta(&other?),
    };
    let state = match sys::file_type(meta.mode) {
        FileType::Symlink => PathState::Link(ContentId::of(sys::readlinkat(folder, name)?.as_bytes())),
        FileType::RegularFile => {
            let file = sys::openat(folder, name, READ_FLAGS, Mode::empty())?;
            PathState::File { content: ContentId::of(&read_whole(&file)?), mode: meta.mode & 0o7777 }
        }
        _ => PathState::Other,
    };
    Ok((state, meta.mtime_ns))
}

#[cfg(test)]
mod tests {
    use super::is_torn;

    #[test]
    fn torn_contents_are_recognized() {
        let (long, short) = (&b"old text"[..], &b"new"[..]);
        for found in [
            &b"old text"[..],
            b"new",
            b"new text",
            b"ned text",
            b"new\0\0\0\0\0",
            b"new\0",
            b"new t\0\0\0",
            b"old\0\0\0\0\0",
        ] {
            assert!(is_torn(found, long, short) && is_torn(found, short, long), "{found:?}");
        }
        for found in [&b"n\0w text"[..], b"new!text", b"ne", b"old texts"] {
            assert!(!is_torn(found, long, short), "{found:?}");
        }
    }
}
