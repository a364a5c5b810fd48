//! Writes one draft to a temporary file beside its target, with the metadata of the file it replaces. Runs on several
//! threads, so it takes one entry and not the plan.

use std::os::fd::{AsFd, OwnedFd};

use emendate_core::Result;
use rustix::fs::{Access, AtFlags, FallocateFlags, Gid, Mode, Uid};
use rustix::io::Errno;

use super::folder::Folder;
use super::look::{self, LOOK};
use super::stage::{Entry, failed_write};
use super::temp::{self, Temp};
use super::{Local, attributes, splice, sys};
use crate::{Expect, Goal, Piece, Source, Stamp, fault};

/// Options that the temporary files of a transaction share.
#[derive(Clone, Copy)]
pub(super) struct TempOptions {
    /// Number of the transaction, if it has one.
    pub(super) batch: Option<u32>,
    /// Write-back starts early.
    pub(super) flush: bool,
}

/// Writes the temporary file of one entry.
pub(super) fn aside(local: &Local, folder: &Folder<'_>, entry: &mut Entry<'_>, options: TempOptions) -> Result<()> {
    let batch = options.batch;
    let (path, name) = (entry.draft.place.absolute(), entry.name);
    let there = standing(folder, entry)?;
    entry.before = there.as_ref().map(|there| there.stamp);
    match (entry.draft.goal, there) {
        (Goal::Gone, None) => Err(fault::nothing(path)),
        (Goal::Gone | Goal::Link { .. }, _) if folder.fixed => {
            Err(fault::os("change the folder of", path, Errno::PERM))
        }
        (Goal::Gone, Some(Standing { stamp, .. })) => {
            let temp = Temp::reserve(name, stamp, batch).map_err(|errno| fault::os("remove", path, errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (Goal::Link { target }, _) => {
            let temp = Temp::link(folder.fd.as_fd(), name, target, batch)
                .map_err(|errno| failed_write(folder, entry, "create a link beside", errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (Goal::File { like: Some(like), .. }, _) => {
            let (source, stamp) =
                local.open_regular(like, LOOK)?.ok_or_else(|| fault::os("open", like.absolute(), Errno::NOENT))?;
            beside(folder, entry, &source, &stamp, options)
        }
        (Goal::File { .. }, Some(Standing { file: Some(source), stamp })) => {
            add_existing(folder, entry, &source, &stamp, options)
        }
        (Goal::Spliced { .. }, Some(Standing { file: Some(model), stamp })) => {
            if let Some(why) = in_place(folder, &stamp) {
                return Err(splice::only_aside(path, stamp.size, &why));
            }
            beside(folder, entry, &model, &stamp, options)
        }
        (Goal::Spliced { .. }, _) => Err(fault::raced(path, "is no file any more")),
        (Goal::File { .. }, _) => add_new(folder, entry, options),
    }
}

fn add_new(folder: &Folder<'_>, entry: &mut Entry<'_>, options: TempOptions) -> Result<()> {
    if folder.fixed {
        // Files in an append-only directory cannot be removed, so neither could a temporary file.
        return Err(fault::os("create", entry.path(), Errno::PERM));
    }
    // The kernel applies the umask and the directory's default ACL, as for any new file.
    let mode = Mode::from_raw_mode(entry.draft.goal.mode(0o666));
    let temp = Temp::create(folder.fd.as_fd(), entry.name, mode, options.batch)
        .map_err(|errno| failed_write(folder, entry, "create", errno))?;
    let fd = entry.temp.insert(temp).fd.as_ref();
    if let (Goal::File { attributes: Some(wanted), .. }, Some(fd)) = (entry.draft.goal, fd) {
        attributes::give(wanted, fd, &mut entry.notes)
            .map_err(|errno| failed_write(folder, entry, "give its attributes to a file beside", errno))?;
    }
    let fd = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
    if let (Goal::File { mode: Some(exactly), .. }, Some(fd)) = (entry.draft.goal, fd) {
        // An explicit mode ignores the umask.
        rustix::fs::fchmod(fd, Mode::from_raw_mode(exactly & 0o7777))
            .map_err(|errno| failed_write(folder, entry, "set the mode of a file beside", errno))?;
    }
    fill(folder, entry, options.flush)
}

/// Writes the new content. With `flush`, asks the kernel to start writing it to disk.
fn fill(folder: &Folder<'_>, entry: &Entry<'_>, flush: bool) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let pieces = entry.draft.goal.pieces();
    temp::reserve(fd, FallocateFlags::empty(), 0, temp::length(pieces))
        .and_then(|()| temp::write(fd, pieces))
        .map_err(|errno| failed_write(folder, entry, "write a temporary file beside", errno))?;
    if flush {
        // Only a hint: the sync later waits for the write and reports its errors.
        let _ = sys::begin_writing(fd, 0, temp::length(pieces));
    }
    Ok(())
}

fn fill_spliced(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    source: &Source,
    pieces: &[Piece<'_>],
    flush: bool,
) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let from = source.leased().ok_or_else(|| fault::raced(entry.path(), "is elsewhere"))?;
    let written = splice::write(fd, from, pieces, flush).map_err(|errno| match errno {
        Errno::STALE => fault::raced(entry.path(), "became shorter while it was copied"),
        _ => failed_write(folder, entry, "write a temporary file beside", errno),
    })?;
    entry.spliced = Some(written);
    Ok(())
}

/// The file that a draft replaces.
struct Standing {
    /// The open file; `None` for a symbolic link.
    file: Option<OwnedFd>,
    stamp: Stamp,
}

/// Opens the file that the draft replaces and compares its metadata with what the draft expects. Fails if the caller
/// may not write it.
fn standing(folder: &Folder<'_>, entry: &Entry<'_>) -> Result<Option<Standing>> {
    let path = entry.path();
    let (size, expected) = match entry.draft.expect {
        Expect::Missing => return Ok(None),
        Expect::Link { target } => {
            let stamp =
                look::link_at(&folder.fd, entry.name, target).map_err(|errno| fault::os("look at", path, errno))?;
            let stamp = stamp.ok_or_else(|| fault::raced(path, "is not the link any more that it was"))?;
            return Ok(Some(Standing { file: None, stamp }));
        }
        Expect::Version { bytes, stamp } => (bytes.len() as u64, stamp),
        Expect::Content { source, .. } => (source.stamp().size, source.stamp()),
    };
    let file = match sys::openat(&folder.fd, entry.name, LOOK, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
        Err(Errno::LOOP) => return Err(fault::raced(path, "was replaced by a symbolic link")),
        Err(errno) => return Err(fault::os("open", path, errno)),
    };
    let stamp = look::regular(&file, path)?;
    if !stamp.same_file(expected) {
        return Err(fault::raced(path, "was replaced by another file"));
    }
    if stamp.size != size {
        return Err(fault::raced(path, "was changed"));
    }
    permitted(folder, entry, &stamp)?;
    Ok(Some(Standing { file: Some(file), stamp }))
}

fn add_existing(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    source: &OwnedFd,
    stamp: &Stamp,
    options: TempOptions,
) -> Result<()> {
    if let Some(why) = in_place(folder, stamp) {
        entry.notes.push(format!("written in place: {why}"));
        return Ok(());
    }
    beside(folder, entry, source, stamp, options)
}

/// Returns why a file must be written in place instead of being replaced, if it must.
fn in_place(folder: &Folder<'_>, stamp: &Stamp) -> Option<String> {
    if stamp.links > 1 {
        return Some(format!("the file has {} hard links", stamp.links));
    }
    folder.fixed.then(|| "the folder is append-only or immutable".to_owned())
}

/// Fails for a file that the caller may not write, although a rename would get around that.
fn permitted(folder: &Folder<'_>, entry: &Entry<'_>, stamp: &Stamp) -> Result<()> {
    // The kernel lets root write everything, so a file without write bits is refused here.
    let user = rustix::process::geteuid().as_raw();
    if stamp.mode & 0o222 == 0 || (user == stamp.uid && user != 0 && stamp.mode & 0o200 == 0) {
        return Err(fault::read_only(entry.path(), stamp.mode));
    }
    if user == 0 || user == stamp.uid {
        // The mode bits decide; `accessat` would only repeat the path walk.
        return Ok(());
    }
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    let allowed = match sys::accessat(&folder.fd, entry.name, Access::WRITE_OK, flags) {
        // `faccessat2` with flags exists since Linux 5.8.
        Err(Errno::NOSYS | Errno::INVAL) => sys::accessat(&folder.fd, entry.name, Access::WRITE_OK, AtFlags::EACCESS),
        other => other,
    };
    match allowed {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(fault::os("write", entry.path(), Errno::ACCESS)),
        Err(errno) => Err(fault::os("write", entry.path(), errno)),
    }
}

/// Writes the temporary file with the metadata of `model`, or leaves `entry.temp` empty if the old file must be
/// overwritten.
fn beside(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    model: &OwnedFd,
    stamp: &Stamp,
    options: TempOptions,
) -> Result<()> {
    let overwrites = entry.overwrites();
    let spliced = matches!(entry.draft.goal, Goal::Spliced { .. });
    // Private until it has its final mode: the content may be a secret.
    let temp = match Temp::create(folder.fd.as_fd(), entry.name, Mode::from_raw_mode(0o600), options.batch) {
        Ok(temp) => temp,
        Err(Errno::ACCESS | Errno::PERM) if overwrites => {
            entry.notes.push("written in place: no file can be created in the folder".to_owned());
            return Ok(());
        }
        Err(Errno::ACCESS | Errno::PERM) if spliced => {
            return Err(splice::only_aside(entry.path(), stamp.size, "no file can be created in the folder"));
        }
        Err(errno) => return Err(failed_write(folder, entry, "create a temporary file beside", errno)),
    };
    let own = temp.stamp;
    let temp = entry.temp.insert(temp);
    let Some(fd) = &temp.fd else {
        return Ok(());
    };
    let mut mode = entry.draft.goal.mode(stamp.mode);
    if (own.uid, own.gid) != (stamp.uid, stamp.gid) {
        let uid = (own.uid != stamp.uid).then(|| Uid::from_raw(stamp.uid));
        let gid = (own.gid != stamp.gid).then(|| Gid::from_raw(stamp.gid));
        let given = sys::fchown(fd, uid, gid);
        let owner = format!("a new file cannot be given to owner {}:{}", stamp.uid, stamp.gid);
        if given.is_err() && overwrites {
            let _ = temp.discard(folder.fd.as_fd());
            entry.temp = None;
            entry.notes.push(format!("written in place: {owner}"));
            return Ok(());
        }
        if given.is_err() && spliced {
            return Err(splice::only_aside(entry.path(), stamp.size, &owner));
        }
        if given.is_err() {
            // Set-id bits would now act for another user.
            mode &= 0o777;
            entry.notes.push(format!("the owner could not be kept: {owner}"));
        }
    }
    match entry.draft.goal {
        Goal::Spliced { source, pieces } => fill_spliced(folder, entry, source, pieces, options.flush)?,
        _ => fill(folder, entry, options.flush)?,
    }
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    // Attributes before the mode: setting an ACL changes the group bits, and a change of owner clears the set-id bits.
    let given = match entry.draft.goal {
        Goal::File { attributes: Some(wanted), .. } => attributes::give(wanted, fd, &mut entry.notes),
        _ => attributes::copy(model, fd, &mut entry.notes),
    };
    given
        .and_then(|()| sys::fchmod(fd, Mode::from_raw_mode(mode)))
        .map_err(|errno| failed_write(folder, entry, "give its permissions to a copy of", errno))?;
    if let Some(temp) = &mut entry.temp {
        temp.stamp.mode = temp.stamp.mode & !0o7777 | mode;
    }
    Ok(())
}
