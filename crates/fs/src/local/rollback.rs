//! Rollback: undoes published entries after a later one of the same transaction failed.

use emendate_os::fd::{AsFd, BorrowedFd};
use std::ffi::OsStr;

use emendate_core::{Code, Error};
use emendate_os::fs::{AtFlags, Mode, RenameFlags};
use emendate_os::io::{Errno, Result};

use super::publish::{rename_new, replace_bytes};
use super::sys;
use super::temp::{self, TempFile, identity_at};
use super::transaction::{LocalTransaction, OVERWRITE, StagedFile};
use super::{attributes, kernel, read};
use crate::{FileMeta, Precondition, WriteMethod, error};

/// Attempts to exchange names while another program keeps saving.
const EXCHANGE_ATTEMPTS: u32 = 64;

/// Restores every published entry, the last one first, and returns the error to report.
pub(super) fn undo(plan: &mut LocalTransaction<'_>, cause: Error) -> Error {
    let sync = plan.durability.syncs();
    let mut back = 0;
    let mut failures = Vec::new();
    let aborted = plan.record.abort().or_else(|_| plan.record.abort());
    for entry in plan.entries.iter_mut().rev() {
        let Some(method) = entry.published_by.take() else {
            continue;
        };
        let folder = plan.folders[entry.folder].fd.as_fd();
        let result = match method {
            WriteMethod::Created => remove_created(folder, entry),
            WriteMethod::Exchanged => match &mut entry.temp {
                Some(temp) => put_back(folder, temp, entry.name),
                None => Ok(()),
            },
            WriteMethod::Renamed => rename_back(folder, entry, sync).map_err(|errno| errno.to_string()),
            WriteMethod::InPlace => write_back(folder, entry, sync).map_err(|errno| errno.to_string()),
            WriteMethod::Removed => match &mut entry.temp {
                Some(temp) => rename_back_to(folder, temp, entry.name),
                None => Ok(()),
            },
        };
        match result {
            Ok(()) => back += 1,
            Err(what) => failures.push(format!("{} was changed: {what}", error::show(entry.path()))),
        }
    }
    if cause.code() == Code::IoPartial || !failures.is_empty() || aborted.is_err() {
        if let Err(error) = aborted {
            failures.push(format!("{} So the next start may finish the call.", error.message()));
        } else if plan.record.is_committed() {
            failures.push("The record of it is kept in the journal: the next start undoes the rest.".to_owned());
        }
        plan.keep_record();
        return error::partial(&cause, &failures.join("\n"));
    }
    if back > 0 {
        return cause.evidence(format!("{back} files that were already written were put back; nothing is changed."));
    }
    cause
}

/// Undoes an exchange without losing a concurrent save: the newest foreign content gets the name. An error describes
/// where the contents are; the temporary name is then left alone.
pub(super) fn put_back(folder: BorrowedFd<'_>, temp: &mut TempFile, name: &OsStr) -> std::result::Result<(), String> {
    let mut placed = (temp.meta.dev, temp.meta.ino);
    let result = (|| {
        let mut hand = identity_at(folder, temp)?;
        for _ in 0..EXCHANGE_ATTEMPTS {
            match kernel::exchange(folder, &temp.name, name) {
                Ok(()) => {
                    let got = identity_at(folder, temp)?;
                    if got == placed {
                        return Ok(true);
                    }
                    // Another save replaced what we had placed, so it is newer than what we put back.
                    (placed, hand) = (hand, got);
                }
                // The file was removed; ours still gets the name, so that nothing is lost.
                Err(Errno::NOENT) => match kernel::rename_new(folder, &temp.name, name) {
                    Err(Errno::EXIST) => {}
                    other => return other.map(|()| false),
                },
                // The placed file is lost with this, as intended; a save over it at this moment is lost too.
                Err(errno) if kernel::unsupported(errno) => {
                    return sys::rename(folder, &temp.name, name, RenameFlags::empty()).map(|()| false);
                }
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::AGAIN)
    })();
    match result {
        Ok(live) => {
            temp.exists = live;
            Ok(())
        }
        Err(errno) => Err(report_kept(temp, errno)),
    }
}

/// Keeps the temporary name: its content may be the only copy.
fn report_kept(temp: &mut TempFile, errno: Errno) -> String {
    temp.exists = false;
    format!("the other content is kept as {} in the same directory: {errno}", error::show(&temp.name))
}

/// Restores the name of a displaced file, unless the name is in use again.
pub(super) fn rename_back_to(
    folder: BorrowedFd<'_>,
    temp: &mut TempFile,
    name: &OsStr,
) -> std::result::Result<(), String> {
    match rename_new(folder, &temp.name, name) {
        Ok(()) => {
            temp.exists = false;
            Ok(())
        }
        Err(errno) => Err(report_kept(temp, errno)),
    }
}

/// Removes a file that we created, unless another program replaced it.
fn remove_created(folder: BorrowedFd<'_>, entry: &mut StagedFile<'_>) -> std::result::Result<(), String> {
    let Some(temp) = &mut entry.temp else {
        return Ok(());
    };
    let ours = (temp.meta.dev, temp.meta.ino);
    let result = match kernel::rename_new(folder, entry.name, &temp.name) {
        // Takes the name first and checks the file then: it cannot be replaced in between.
        Ok(()) => match identity_at(folder, temp) {
            Ok(found) if found == ours => {
                temp.exists = true;
                Ok(())
            }
            Ok(_) => kernel::rename_new(folder, &temp.name, entry.name),
            Err(errno) => Err(errno),
        },
        Err(Errno::NOENT) => Ok(()),
        Err(errno) if kernel::unsupported(errno) => sys::statat(folder, entry.name).and_then(|stat| {
            let now = read::file_meta(&stat);
            if (now.dev, now.ino) == ours { sys::unlinkat(folder, entry.name, AtFlags::empty()) } else { Ok(()) }
        }),
        Err(errno) => Err(errno),
    };
    result.map_err(|errno| errno.to_string())
}

/// Restores the old content of a name that was taken by a plain rename; the old inode is gone.
fn rename_back(folder: BorrowedFd<'_>, entry: &mut StagedFile<'_>, sync: bool) -> Result<()> {
    let Some(ours) = &mut entry.temp else {
        return Ok(());
    };
    let published = sys::statat(folder, entry.name)?;
    if !read::file_meta(&published).same_file(&ours.meta) {
        // A newer save of another program; it stays.
        return Ok(());
    }
    match entry.write.precondition {
        Precondition::Missing => return Ok(()),
        // Such a write is alone in its transaction, so nothing can fail after its rename.
        Precondition::Content { .. } => return Err(Errno::OPNOTSUPP),
        Precondition::Link { target } => *ours = TempFile::link(folder, entry.name, target, None)?,
        Precondition::Version { bytes, meta } => {
            let published = sys::openat(folder, entry.name, read::READ_FLAGS, Mode::empty());
            *ours = TempFile::create(folder, entry.name, Mode::from_raw_mode(0o600), None)?;
            let Some(fd) = &ours.fd else {
                return Ok(());
            };
            temp::write(fd, &[bytes])?;
            sys::fchown(
                fd,
                Some(emendate_os::fs::Uid::from_raw(meta.uid)),
                Some(emendate_os::fs::Gid::from_raw(meta.gid)),
            )?;
            if let Ok(published) = published {
                attributes::copy_xattrs(&published, fd, &mut entry.notes)?;
            }
            sys::fchmod(fd, sys::mode(meta.mode & 0o7777))?;
            if sync {
                sys::fdatasync(fd)?;
            }
        }
    }
    sys::rename(folder, &ours.name, entry.name, RenameFlags::empty())?;
    ours.exists = false;
    Ok(())
}

/// Restores the old bytes of a file that could not be overwritten, unless another file has the name by now. Opens it
/// again: a failed sync must not be repeated on the same descriptor.
pub(super) fn restore_bytes(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    before: &FileMeta,
    bytes: &[u8],
    sync: bool,
) -> Result<()> {
    let file = sys::openat(folder, name, OVERWRITE, Mode::empty())?;
    if !read::file_meta(&sys::fstat(&file)?).same_file(before) {
        return Ok(());
    }
    replace_bytes(&file, &[bytes], sync)?;
    sys::fchmod(file.as_fd(), sys::mode(before.mode & 0o7777))
}

/// Restores the old bytes of an overwritten file, unless another program wrote to it since.
fn write_back(folder: BorrowedFd<'_>, entry: &StagedFile<'_>, sync: bool) -> Result<()> {
    let (Precondition::Version { bytes, meta }, Some(before)) = (entry.write.precondition, entry.before) else {
        return Ok(());
    };
    let file = sys::openat(folder, entry.name, OVERWRITE, Mode::empty())?;
    let now = read::file_meta(&sys::fstat(&file)?);
    if !now.same_file(meta) || !read::same_chunks(&file, entry.write.new_state.chunks())? {
        return Ok(());
    }
    replace_bytes(&file, &[bytes], sync)?;
    sys::fchmod(file.as_fd(), sys::mode(before.mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::{TempFile, put_back};
    use emendate_os::fd::AsFd;
    use emendate_os::fs::Mode;
    use std::ffi::OsStr;

    #[test]
    fn newest_foreign_content_gets_the_name() {
        // State of the name when "first" is put back: our file, a newer save, nothing.
        for (at_name, ends) in [(Some("ours"), "first"), (Some("newer"), "newer"), (None, "first")] {
            let folder = tempfile::tempdir().unwrap();
            let open = std::fs::File::open(folder.path()).unwrap();
            let mut temp = TempFile::create(open.as_fd(), OsStr::new("f"), Mode::from_raw_mode(0o600), None).unwrap();
            let (name, aside) = (folder.path().join("f"), folder.path().join(&temp.name));
            match at_name {
                Some("ours") => std::fs::rename(&aside, &name).unwrap(),
                Some(text) => std::fs::write(&name, text).unwrap(),
                None => {}
            }
            let _ = std::fs::remove_file(&aside);
            std::fs::write(&aside, "first").unwrap();
            put_back(open.as_fd(), &mut temp, OsStr::new("f")).unwrap();
            assert_eq!(std::fs::read_to_string(&name).unwrap(), ends);
            temp.discard(open.as_fd()).unwrap();
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
