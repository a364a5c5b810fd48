//! Extended attributes, ACLs among them: a new file gets exactly those of the file it replaces.

use std::os::fd::AsFd;

use rustix::fs::{Gid, Uid};
use rustix::io::{Errno, Result};

use super::sys;

use crate::Attributes;
use crate::fault::show;

/// More rights than those of the user who runs it: they would speak for whoever brings the file back.
const RIGHTS: &[u8] = b"security.capability";

/// Bytes of all names and values that are taken down.
const MOST: usize = 256 << 10;

/// Signatures of the old content; a kernel that checks them makes its own for the new one.
const SIGNATURES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Makes the attributes of `target` equal to those of `source`; what cannot be kept is told in `notes`.
pub(super) fn copy(source: impl AsFd, target: impl AsFd, notes: &mut Vec<String>) -> Result<()> {
    let wanted = names(&source)?;
    let present = names(&target)?;
    // `names` separates with NUL: an empty list is the usual case and ends here.
    for name in split(&wanted).filter(|name| !SIGNATURES.contains(name)) {
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
    drop_others(&present, |name| split(&wanted).any(|kept| kept == name), &target, notes);
    Ok(())
}

/// Owner and attributes of an open file; `E2BIG` where there are too many.
pub(super) fn of(file: impl AsFd) -> Result<Attributes> {
    let stat = sys::fstat(&file)?;
    let (mut named, mut size) = (Vec::new(), 0);
    for name in split(&names(&file)?).filter(|name| !SIGNATURES.contains(name) && *name != RIGHTS) {
        let value = match value(&file, name) {
            Err(Errno::NODATA) => continue,
            other => other?,
        };
        size += name.len() + value.len();
        if size > MOST {
            return Err(Errno::TOOBIG);
        }
        named.push((name.to_vec(), value));
    }
    Ok(Attributes { uid: stat.st_uid, gid: stat.st_gid, named })
}

/// Gives a new file an owner and attributes; what cannot be given is told in `notes`.
pub(super) fn give(wanted: &Attributes, target: impl AsFd, notes: &mut Vec<String>) -> Result<()> {
    let now = sys::fstat(&target)?;
    let Attributes { uid, gid, named } = wanted;
    if (now.st_uid, now.st_gid) != (*uid, *gid)
        && let Err(errno) = sys::fchown(&target, Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)))
    {
        notes.push(format!("the owner {uid}:{gid} could not be given back: {errno}"));
    }
    let present = names(&target)?;
    for (name, value) in named {
        if let Err(errno) = sys::fsetxattr(&target, name, value) {
            notes.push(format!("extended attribute {} could not be given back: {errno}", text(name)));
        }
    }
    drop_others(&present, |kept| named.iter().any(|(name, _)| name == kept), &target, notes);
    Ok(())
}

/// Takes off what the folder gave.
fn drop_others(present: &[u8], kept: impl Fn(&[u8]) -> bool, target: impl AsFd, notes: &mut Vec<String>) {
    for name in split(present) {
        // Labels of security modules cannot be taken off, and the folder's default one was just given.
        if kept(name) || name.starts_with(b"security.") {
            continue;
        }
        if let Err(errno) = sys::fremovexattr(&target, name) {
            notes.push(format!("extended attribute {} of the folder was added: {errno}", text(name)));
        }
    }
}

fn text(name: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    show(std::ffi::OsStr::from_bytes(name))
}

fn split(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|&byte| byte == 0).filter(|name| !name.is_empty())
}

/// All names, each with a NUL at its end; empty where the file system has none.
fn names(file: impl AsFd) -> Result<Vec<u8>> {
    let mut short = [0; 512];
    match sys::flistxattr(&file, &mut short) {
        Ok(length) => return Ok(short[..length].to_vec()),
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(Errno::RANGE) => {}
        Err(errno) => return Err(errno),
    }
    long(|buffer| sys::flistxattr(&file, buffer))
}

fn value(file: impl AsFd, name: &[u8]) -> Result<Vec<u8>> {
    long(|buffer| sys::fgetxattr(&file, name, buffer))
}

/// Calls with a longer and longer buffer, up to the 64 KiB that Linux allows for one value or list.
fn long(mut call: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
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
