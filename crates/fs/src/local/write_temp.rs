//! Writes new content to a temporary file beside its target, with the metadata of the file it replaces. Runs on several
//! threads, so it takes one entry and not the whole transaction.

use std::ffi::OsStr;
use std::path::Path;

use emendate_os::fd::{AsFd, OwnedFd};

use emendate_core::{Result, work};
use emendate_os::fs::{Access, AtFlags, Gid, Mode, Uid};
use emendate_os::io::Errno;

use super::parent_dir::ParentDir;
use super::read::{self, READ_FLAGS};
use super::sys::{self, NameAt};
use super::temp::{self, TempFile};
use super::transaction::{StagedFile, failed_write};
use super::{LocalStore, attributes, splice};
use crate::{FileMeta, FileSource, NewState, Precondition, SafePath, SpliceChunk, error};

/// Chunks of a new content that are written between two checks of the call's meter.
const CHUNKS_PER_CHECK: usize = 1024;

/// Options that the temporary files of a transaction share.
#[derive(Clone, Copy)]
pub(super) struct TempOptions {
    /// Number of the transaction, if it has one.
    pub(super) batch: Option<u32>,
    /// Write-back starts early.
    pub(super) flush: bool,
}

/// Writes the temporary file of one entry.
///
/// Errors: `call.cancelled` and others; then what was written is removed with the transaction.
pub(super) fn write_entry(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    options: TempOptions,
) -> Result<()> {
    work::check()?;
    let batch = options.batch;
    let (path, name) = (entry.write.path.absolute(), entry.name);
    let there = open_replaced(folder, entry)?;
    entry.before = there.as_ref().map(|there| there.meta);
    match (entry.write.new_state, there) {
        (NewState::Absent, None) => Err(error::nothing_to_remove(path)),
        (NewState::Absent | NewState::Link { .. }, _) if folder.append_only => {
            Err(error::os_error("change the directory of", path, Errno::PERM))
        }
        (NewState::Absent, Some(ReplacedFile { meta, .. })) => {
            let temp = TempFile::reserve(name, meta, batch).map_err(|errno| error::os_error("remove", path, errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (NewState::Link { target }, _) => {
            let temp = TempFile::link(folder.fd.as_fd(), name, target, batch)
                .map_err(|errno| failed_write(folder, entry, "create a link beside", errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (NewState::File { like: Some(like), .. }, _) => {
            let (source, meta) = local
                .open_regular(like, READ_FLAGS)?
                .ok_or_else(|| error::os_error("open", like.absolute(), Errno::NOENT))?;
            if entry.moves_name && add_second_name(local, folder, entry, like, &meta, batch)? {
                return Ok(());
            }
            write_beside(folder, entry, &source, &meta, options)
        }
        (NewState::File { .. }, Some(ReplacedFile { file: Some(source), meta })) => {
            add_existing(folder, entry, &source, &meta, options)
        }
        (NewState::Spliced { .. }, Some(ReplacedFile { file: Some(model), meta })) => {
            if let Some(why) = in_place_reason(folder, &meta) {
                return Err(splice::needs_temp_file(path, meta.size, &why));
            }
            write_beside(folder, entry, &model, &meta, options)
        }
        (NewState::Spliced { .. }, _) => Err(error::raced(path, "is no longer a file")),
        (NewState::File { .. }, _) => add_new(folder, entry, options),
    }
}

fn add_new(folder: &ParentDir<'_>, entry: &mut StagedFile<'_>, options: TempOptions) -> Result<()> {
    if folder.append_only {
        // Files in an append-only directory cannot be removed, so neither could a temporary file.
        return Err(error::os_error("create", entry.path(), Errno::PERM));
    }
    // The kernel applies the umask and the directory's default ACL, as for any new file.
    let mode = sys::mode(entry.write.new_state.mode(0o666));
    let temp = TempFile::create(folder.fd.as_fd(), entry.name, mode, options.batch)
        .map_err(|errno| failed_write(folder, entry, "create", errno))?;
    let fd = entry.temp.insert(temp).fd.as_ref();
    if let (NewState::File { attributes: Some(wanted), .. }, Some(fd)) = (entry.write.new_state, fd) {
        attributes::apply_attributes(wanted, fd, &mut entry.notes)
            .map_err(|errno| failed_write(folder, entry, "give its attributes to a file beside", errno))?;
    }
    let fd = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
    if let (NewState::File { mode: Some(exactly), .. }, Some(fd)) = (entry.write.new_state, fd) {
        // An explicit mode ignores the umask.
        emendate_os::fs::fchmod(fd, sys::mode(exactly & 0o7777))
            .map_err(|errno| failed_write(folder, entry, "set the mode of a file beside", errno))?;
    }
    write_content(folder, entry, options.flush)
}

/// Gives the file at `like` a second name as the temporary file, so that it keeps its other names; false if it needs a
/// copy: of another mode, or where the file system allows no second name there.
fn add_second_name(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    like: &SafePath,
    meta: &FileMeta,
    batch: Option<u32>,
) -> Result<bool> {
    let Some(name) = like.relative().file_name() else { return Ok(false) };
    if entry.write.new_state.mode(meta.mode) != meta.mode & 0o7777 {
        return Ok(false);
    }
    let from = ParentDir::open(local, like)?;
    let at = NameAt { folder: from.fd.as_fd(), name };
    match TempFile::second_name(folder.fd.as_fd(), entry.name, at, *meta, batch) {
        Ok(Some(temp)) => entry.temp = Some(temp),
        Ok(None) => return Err(error::raced(like.absolute(), "was replaced by another file")),
        // The copy finds out what is wrong, if anything is.
        Err(_) => return Ok(false),
    }
    Ok(true)
}

/// Writes the new content. With `flush`, asks the kernel to start writing it to disk.
fn write_content(folder: &ParentDir<'_>, entry: &StagedFile<'_>, flush: bool) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let failed = |errno| failed_write(folder, entry, "write a temporary file beside", errno);
    let pieces = entry.write.new_state.chunks();
    temp::reserve(fd, 0, temp::length(pieces)).map_err(failed)?;
    let mut at = 0;
    for some in pieces.chunks(CHUNKS_PER_CHECK) {
        work::check()?;
        temp::write_at(fd, some, at).map_err(failed)?;
        at += temp::length(some);
    }
    if flush {
        // Only a hint: the sync later waits for the write and reports its errors.
        let _ = sys::begin_writing(fd, 0, temp::length(pieces));
    }
    Ok(())
}

fn write_spliced(
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    source: &FileSource,
    pieces: &[SpliceChunk<'_>],
    flush: bool,
) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let from = source.leased().ok_or_else(|| error::raced(entry.path(), "is elsewhere"))?;
    let written = splice::write_chunks(fd, from, pieces, flush).map_err(|errno| match errno {
        Errno::STALE => error::raced(entry.path(), "became shorter while it was copied"),
        Errno::CANCELED => work::check().err().unwrap_or_else(|| failed_write(folder, entry, "copy", errno)),
        _ => failed_write(folder, entry, "write a temporary file beside", errno),
    })?;
    entry.spliced = Some(written);
    Ok(())
}

/// The file that a write replaces.
struct ReplacedFile {
    /// The open file; `None` for a symbolic link.
    file: Option<OwnedFd>,
    meta: FileMeta,
}

/// Opens the file that the write replaces and compares its metadata with what the write expects. Fails if the caller
/// may not write it.
fn open_replaced(folder: &ParentDir<'_>, entry: &StagedFile<'_>) -> Result<Option<ReplacedFile>> {
    let path = entry.path();
    let (size, expected) = match entry.write.precondition {
        Precondition::Missing => return Ok(None),
        Precondition::Link { target } => {
            let meta = read::link_meta(&folder.fd, entry.name, target)
                .map_err(|errno| error::os_error("look at", path, errno))?;
            let meta = meta.ok_or_else(|| error::raced(path, "is no longer the same link"))?;
            return Ok(Some(ReplacedFile { file: None, meta }));
        }
        Precondition::Version { bytes, meta } => (bytes.len() as u64, meta),
        Precondition::Content { source, .. } => (source.meta().size, source.meta()),
    };
    let file = match sys::openat(&folder.fd, entry.name, READ_FLAGS, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Err(error::raced(path, "was removed")),
        Err(Errno::LOOP) => return Err(error::raced(path, "was replaced by a symbolic link")),
        Err(errno) => return Err(error::os_error("open", path, errno)),
    };
    let meta = read::regular_file_meta(&file, path)?;
    if !meta.same_file(expected) {
        return Err(error::raced(path, "was replaced by another file"));
    }
    if meta.size != size {
        return Err(error::raced(path, "was changed"));
    }
    if !is_decided_by_mode(path, &meta)? {
        check_access(folder, entry.name, path)?;
    }
    Ok(Some(ReplacedFile { file: Some(file), meta }))
}

fn add_existing(
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    source: &OwnedFd,
    meta: &FileMeta,
    options: TempOptions,
) -> Result<()> {
    if let Some(why) = in_place_reason(folder, meta) {
        entry.notes.push(format!("written in place: {why}"));
        return Ok(());
    }
    write_beside(folder, entry, source, meta, options)
}

/// Returns why a file must be written in place instead of being replaced, if it must.
fn in_place_reason(folder: &ParentDir<'_>, meta: &FileMeta) -> Option<String> {
    if meta.links > 1 {
        return Some(format!("the file has {} hard links", meta.links));
    }
    folder.append_only.then(|| "the directory is append-only or immutable".to_owned())
}

/// Fails for a file whose mode forbids its owner to write it, although a rename would get around that. False if the mode
/// alone does not decide.
pub(super) fn is_decided_by_mode(path: &Path, meta: &FileMeta) -> Result<bool> {
    // The kernel lets root write everything, so a file without write bits is refused here.
    let user = emendate_os::process::geteuid().as_raw();
    if meta.mode & 0o222 == 0 || (user == meta.uid && user != 0 && meta.mode & 0o200 == 0) {
        return Err(error::read_only(path, meta.mode));
    }
    // `accessat` would only repeat the path walk.
    Ok(user == 0 || user == meta.uid)
}

/// Fails for a file that the caller may not write.
pub(super) fn check_access(folder: &ParentDir<'_>, name: &OsStr, path: &Path) -> Result<()> {
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    let allowed = match sys::accessat(&folder.fd, name, Access::WRITE_OK, flags) {
        // `faccessat2` with flags exists since Linux 5.8.
        Err(Errno::NOSYS | Errno::INVAL) => sys::accessat(&folder.fd, name, Access::WRITE_OK, AtFlags::EACCESS),
        other => other,
    };
    match allowed {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(error::os_error("write", path, Errno::ACCESS)),
        Err(errno) => Err(error::os_error("write", path, errno)),
    }
}

/// Writes the temporary file with the metadata of `model`, or leaves `entry.temp` empty if the old file must be
/// overwritten.
fn write_beside(
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    model: &OwnedFd,
    meta: &FileMeta,
    options: TempOptions,
) -> Result<()> {
    let overwrites = entry.overwrites();
    let spliced = matches!(entry.write.new_state, NewState::Spliced { .. });
    // Private until it has its final mode: the content may be a secret.
    let temp = match TempFile::create(folder.fd.as_fd(), entry.name, Mode::from_raw_mode(0o600), options.batch) {
        Ok(temp) => temp,
        Err(Errno::ACCESS | Errno::PERM) if overwrites => {
            entry.notes.push("written in place: no file can be created in the directory".to_owned());
            return Ok(());
        }
        Err(Errno::ACCESS | Errno::PERM) if spliced => {
            return Err(splice::needs_temp_file(entry.path(), meta.size, "no file can be created in the directory"));
        }
        Err(errno) => return Err(failed_write(folder, entry, "create a temporary file beside", errno)),
    };
    let own = temp.meta;
    let temp = entry.temp.insert(temp);
    let Some(fd) = &temp.fd else {
        return Ok(());
    };
    let mut mode = entry.write.new_state.mode(meta.mode);
    if (own.uid, own.gid) != (meta.uid, meta.gid) {
        let uid = (own.uid != meta.uid).then(|| Uid::from_raw(meta.uid));
        let gid = (own.gid != meta.gid).then(|| Gid::from_raw(meta.gid));
        let given = sys::fchown(fd, uid, gid);
        let owner = format!("a new file cannot be given to owner {}:{}", meta.uid, meta.gid);
        if given.is_err() && overwrites {
            let _ = temp.discard(folder.fd.as_fd());
            entry.temp = None;
            entry.notes.push(format!("written in place: {owner}"));
            return Ok(());
        }
        if given.is_err() && spliced {
            return Err(splice::needs_temp_file(entry.path(), meta.size, &owner));
        }
        if given.is_err() {
            // Set-id bits would now act for another user.
            mode &= 0o777;
            entry.notes.push(format!("the owner could not be kept: {owner}"));
        }
    }
    match entry.write.new_state {
        NewState::Spliced { source, chunks: pieces } => write_spliced(folder, entry, source, pieces, options.flush)?,
        _ => write_content(folder, entry, options.flush)?,
    }
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    // Attributes before the mode: setting an ACL changes the group bits, and a change of owner clears the set-id bits.
    let given = match entry.write.new_state {
        NewState::File { attributes: Some(wanted), .. } => attributes::apply_attributes(wanted, fd, &mut entry.notes),
        _ => attributes::copy_xattrs(model, fd, &mut entry.notes),
    };
    given
        .and_then(|()| sys::fchmod(fd, sys::mode(mode)))
        .map_err(|errno| failed_write(folder, entry, "give its permissions to a copy of", errno))?;
    if let Some(temp) = &mut entry.temp {
        temp.meta.mode = temp.meta.mode & !0o7777 | mode;
    }
    Ok(())
}
