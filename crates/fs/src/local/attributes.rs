//! Extended attributes, including ACLs: a new file gets exactly those of the file it replaces.

use emendate_os::fd::AsFd;

use emendate_os::fs::{Gid, Uid};
use emendate_os::io::{Errno, Result};

use super::sys;

use crate::FileAttributes;
use crate::error::show;

/// File capabilities grant more rights than the user who restores the file may have.
const CAPABILITY_XATTR: &[u8] = b"security.capability";

/// Maximum bytes of all names and values that are saved.
const XATTR_BYTES_MAX: usize = 256 << 10;

/// Signatures of the old content; a kernel that checks them computes new ones.
const SIGNATURE_XATTRS: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Makes the attributes of `target` equal to those of `source`; reports what could not be kept in `notes`.
pub(super) fn copy_xattrs(source: impl AsFd, target: impl AsFd, notes: &mut Vec<String>) -> Result<()> {
    let wanted = names(&source)?;
    let present = names(&target)?;
    // `split` skips empty names, so an empty list (the usual case) ends here.
    for name in split(&wanted).filter(|name| !SIGNATURE_XATTRS.contains(name)) {
        let value = match value(&source, name) {
            Err(Errno::NODATA) => continue,
            other => other.and_then(|value| sys::fsetxattr(&target, name, &value)),
        };
        match value {
            Ok(()) => {}
            Err(errno @ (Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::INVAL)) => {
                notes.push(format!("extended attribute {} could not be kept: {errno}", text(name)));
            }
            Err(errno) => return Err(errno),
        }
    }
    remove_inherited(&present, |name| split(&wanted).any(|kept| kept == name), &target, notes);
    Ok(())
}

/// Returns the owner and attributes of an open file; `E2BIG` if there are too many.
pub(super) fn read_attributes(file: impl AsFd) -> Result<FileAttributes> {
    let stat = sys::fstat(&file)?;
    let (mut named, mut size) = (Vec::new(), 0);
    for name in split(&names(&file)?).filter(|name| !SIGNATURE_XATTRS.contains(name) && *name != CAPABILITY_XATTR) {
        let value = match value(&file, name) {
            Err(Errno::NODATA) => continue,
            other => other?,
        };
        size += name.len() + value.len();
        if size > XATTR_BYTES_MAX {
            return Err(Errno::TOOBIG);
        }
        named.push((name.to_vec(), value));
    }
    Ok(FileAttributes { uid: stat.st_uid, gid: stat.st_gid, xattrs: named })
}

/// Applies an owner and attributes to a new file; reports what could not be applied in `notes`.
pub(super) fn apply_attributes(wanted: &FileAttributes, target: impl AsFd, notes: &mut Vec<String>) -> Result<()> {
    let now = sys::fstat(&target)?;
    let FileAttributes { uid, gid, xattrs: named } = wanted;
    if (now.st_uid, now.st_gid) != (*uid, *gid)
        && let Err(errno) = sys::fchown(&target, Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)))
    {
        notes.push(format!("the owner {uid}:{gid} could not be restored: {errno}"));
    }
    let present = names(&target)?;
    for (name, value) in named {
        if let Err(errno) = sys::fsetxattr(&target, name, value) {
            notes.push(format!("extended attribute {} could not be restored: {errno}", text(name)));
        }
    }
    remove_inherited(&present, |kept| named.iter().any(|(name, _)| name == kept), &target, notes);
    Ok(())
}

/// Removes attributes that the file inherited from its directory.
fn remove_inherited(present: &[u8], kept: impl Fn(&[u8]) -> bool, target: impl AsFd, notes: &mut Vec<String>) {
    for name in split(present) {
        // Security labels cannot be removed, and the directory's default label was just applied.
        if kept(name) || name.starts_with(b"security.") {
            continue;
        }
        if let Err(errno) = sys::fremovexattr(&target, name) {
            notes.push(format!("extended attribute {} of the directory was added: {errno}", text(name)));
        }
    }
}

fn text(name: &[u8]) -> String {
    use emendate_os::ffi::OsStrExt;
    show(std::ffi::OsStr::from_bytes(name))
}

fn split(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|&byte| byte == 0).filter(|name| !name.is_empty())
}

/// Returns all attribute names, each NUL-terminated; empty if the file system has no attributes.
fn names(file: impl AsFd) -> Result<Vec<u8>> {
    let mut short = [0; 512];
    match sys::flistxattr(&file, &mut short) {
        Ok(length) => return Ok(short[..length].to_vec()),
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(Errno::RANGE) => {}
        Err(errno) => return Err(errno),
    }
    with_growing_buffer(|buffer| sys::flistxattr(&file, buffer))
}

fn value(file: impl AsFd, name: &[u8]) -> Result<Vec<u8>> {
    with_growing_buffer(|buffer| sys::fgetxattr(&file, name, buffer))
}

/// Calls with a growing buffer, up to 64 KiB, the kernel's limit for one value or list.
fn with_growing_buffer(mut call: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut size = 1 << 10;
    loop {
        let mut buffer = vec![0; size];
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if size < 64 << 10 => size *= 4,
            Err(errno) => return Err(errno),
        }
    }
}
