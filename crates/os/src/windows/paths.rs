//! Paths as Windows writes them, and names that it cannot have.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::errno::{Errno, Result};
use super::fd::BorrowedFd;
use super::ffi::{OsStrExt as _, OsStringExt as _, narrow, wide};

/// The byte between the parts of a path.
pub const SEPARATOR: u8 = b'\\';
/// True if a file that begins with `#!` is a program.
pub const RUNS_SCRIPTS: bool = false;
/// The command that makes a file writable.
pub const MAKE_WRITABLE: &str = "attrib -r";
/// Prefix of a path that no program changes.
const VERBATIM: &[u8] = br"\\?\";
/// Prefix of a path on another machine that no program changes.
const VERBATIM_UNC: &[u8] = br"\\?\UNC\";
/// Prefix of a path in the kernel's namespace.
const KERNEL: &str = r"\??\";
/// Names of devices in every directory, with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
/// Prefixes of names of devices; a digit follows.
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];

/// True for the bytes that separate the parts of a path.
pub const fn is_separator(byte: u8) -> bool {
    byte == b'\\' || byte == b'/'
}

/// Returns why the system cannot have a file of this path; it completes a sentence that begins with the path.
pub fn why_impossible(path: &Path) -> Option<String> {
    let path = normal(path);
    let bytes = path.as_os_str().as_bytes();
    let rest = if bytes.get(1) == Some(&b':') { bytes.get(2..).unwrap_or_default() } else { bytes };
    let (part, why) = rest
        .split(|byte| is_separator(*byte))
        .filter(|part| *part != b"." && *part != b"..")
        .find_map(|part| Some((part, reserved(part)?)))?;
    Some(format!("has a part that Windows cannot have as a name: `{}` {why}", String::from_utf8_lossy(part)))
}

/// Returns why no file can have this name; it completes a sentence that begins with the name.
pub(crate) fn reserved(name: &[u8]) -> Option<&'static str> {
    if name == b"." || name == b".." {
        return None;
    }
    if matches!(name.last(), Some(b'.' | b' ')) {
        return Some("ends with a dot or a space, which other programs remove");
    }
    if name.contains(&b':') {
        return Some("contains a colon, which separates the name of a stream");
    }
    if name.iter().any(|byte| *byte < b' ' || b"<>\"|?*".contains(byte)) {
        return Some("contains a character that names cannot have");
    }
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    is_device(stem.trim_ascii_end()).then_some("is the name of a device")
}

fn is_device(stem: &[u8]) -> bool {
    if DEVICES.iter().any(|device| stem.eq_ignore_ascii_case(device.as_bytes())) {
        return true;
    }
    let Some((kind, digit)) = stem.split_at_checked(3) else { return false };
    // The digits may be superscripts.
    NUMBERED_DEVICES.iter().any(|device| kind.eq_ignore_ascii_case(device.as_bytes()))
        && matches!(digit, [b'0'..=b'9'] | b"\xC2\xB9" | b"\xC2\xB2" | b"\xC2\xB3")
}

/// Returns an absolute path in the spelling that [`canonical`] uses: backslashes, an upper-case drive letter, and no
/// `\\?\`.
pub fn normal(path: &Path) -> Cow<'_, Path> {
    let bytes = path.as_os_str().as_bytes();
    let is_normal = !bytes.contains(&b'/') && !bytes.starts_with(VERBATIM) && !matches!(bytes, [b'a'..=b'z', b':', ..]);
    if is_normal {
        return Cow::Borrowed(path);
    }
    let bytes: Vec<u8> = bytes.iter().map(|byte| if *byte == b'/' { b'\\' } else { *byte }).collect();
    let mut bytes = if let Some(rest) = bytes.strip_prefix(VERBATIM_UNC) {
        [br"\\", rest].concat()
    } else {
        match bytes.strip_prefix(VERBATIM) {
            Some(rest @ [_, b':', ..]) => rest.to_vec(),
            _ => bytes,
        }
    };
    if let [letter, b':', ..] = &mut bytes[..] {
        letter.make_ascii_uppercase();
    }
    Cow::Owned(OsString::from_vec(bytes).into())
}

/// Returns the real path of an existing file, without links, short names and `\\?\`.
///
/// Errors: those of the system.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    Ok(normal(&std::fs::canonicalize(path)?).into_owned())
}

/// Returns a name as the directory stores it, if the directory has it: another spelling, or a short name, may have found
/// the file.
pub fn stored_name(folder: BorrowedFd<'_>, name: OsString) -> OsString {
    super::open::stored_name(folder, &name).unwrap_or(name)
}

/// Returns an absolute path as rules and globs see it: with slashes, and with the letter of its drive, or the name of
/// its machine, as the first part. A relative path only gets slashes.
pub fn below_top(path: &Path) -> Cow<'_, Path> {
    let path = normal(path);
    let bytes: Vec<u8> =
        path.as_os_str().as_bytes().iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
    let bytes = match &bytes[..] {
        [letter, b':', rest @ ..] => [&[*letter], rest].concat(),
        all => all[all.iter().take_while(|byte| **byte == b'/').count()..].to_vec(),
    };
    Cow::Owned(OsString::from_vec(bytes).into())
}

/// Returns a relative path as diffs and patches write it, with slashes.
pub fn with_slashes(path: &str) -> Cow<'_, str> {
    if path.contains('\\') { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) }
}

/// Returns a path in the form that a `file:` URL contains: it begins with a slash, and has no other separators.
pub fn in_address(path: &Path) -> Cow<'_, OsStr> {
    let path = normal(path);
    let bytes: Vec<u8> =
        path.as_os_str().as_bytes().iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
    let slash: &[u8] = if bytes.starts_with(b"//") { b"" } else { b"/" };
    Cow::Owned(OsString::from_vec([slash, &bytes].concat()))
}

/// Returns the path that a `file:` URL contains.
pub fn of_address(path: OsString) -> PathBuf {
    let mut bytes = path.into_vec();
    if matches!(bytes[..], [b'/', b'a'..=b'z' | b'A'..=b'Z', b':', ..]) {
        bytes.remove(0);
    }
    normal(Path::new(OsStr::from_bytes(&bytes))).into_owned()
}

/// Converts an absolute path to one in the kernel's namespace.
///
/// Errors: `EINVAL` for a path that is not absolute, or has a name that Windows cannot have.
pub(crate) fn kernel_path(path: &Path) -> Result<Vec<u16>> {
    // Checked before dots and spaces at the ends of names are removed.
    if why_impossible(path).is_some() {
        return Err(Errno::INVAL);
    }
    let path = std::path::absolute(path).map_err(|_| Errno::INVAL)?;
    let path = normal(&path);
    let units = wide(path.as_os_str());
    let (prefix, rest) = match path.as_os_str().as_bytes() {
        [b'\\', b'\\', ..] => (r"\??\UNC\", units.get(2..)),
        [_, b':', b'\\', ..] => (KERNEL, Some(&units[..])),
        _ => return Err(Errno::INVAL),
    };
    Ok(prefix.encode_utf16().chain(rest.unwrap_or_default().iter().copied()).collect())
}

/// Converts a path in the kernel's namespace to one of Windows.
pub(crate) fn of_kernel(units: &[u16]) -> OsString {
    let path = narrow(units);
    match path.as_bytes().strip_prefix(KERNEL.as_bytes()) {
        Some(rest) if rest.starts_with(br"UNC\") => OsString::from_vec([br"\\", &rest[4..]].concat()),
        Some(rest) => OsStr::from_bytes(rest).to_owned(),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{below_top, in_address, kernel_path, normal, of_address, why_impossible};
    use std::path::Path;

    #[test]
    fn paths_have_one_spelling() {
        for (given, expected) in [
            (r"C:\a\b", r"C:\a\b"),
            ("c:/a/b", r"C:\a\b"),
            (r"\\?\c:\a", r"C:\a"),
            (r"\\?\UNC\host\share\a", r"\\host\share\a"),
            ("//host/share/a", r"\\host\share\a"),
            (r"\\?\Volume{1}\a", r"\\?\Volume{1}\a"),
        ] {
            assert_eq!(normal(Path::new(given)), Path::new(expected), "{given}");
        }
    }

    #[test]
    fn names_that_other_programs_misread_are_refused() {
        let refused = [
            r"C:\a\NUL", r"C:\nul.txt", r"C:\a\con", r"C:\Aux.tar.gz", r"C:\com1", r"C:\LPT9.x", "C:\\COM\u{B9}",
            r"C:\CONIN$", r"C:\nul \a", r"C:\a.\b", r"C:\a \b", r"C:\a.txt:stream", r"C:\a\b?", r"C:\a*", "C:\\a\u{1}",
            r"C:\a|b", "C:\\a\"b", r"C:\<a>",
        ];
        for path in refused {
            assert!(why_impossible(Path::new(path)).is_some(), "{path}");
            assert!(kernel_path(Path::new(path)).is_err(), "{path}");
        }
        for path in [r"C:\a\null", r"C:\.env", r"C:\com", r"C:\com10", r"C:\a..b\c", r"C:\x\..\y", r"\\host\share\a b"]
        {
            assert_eq!(why_impossible(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn rules_see_drives_and_machines_as_directories() {
        for (given, expected) in [
            (r"c:\a\b", "C/a/b"),
            (r"\\?\C:\a", "C/a"),
            (r"\\host\share\a", "host/share/a"),
            ("C:", "C"),
            (r"a\b", "a/b"),
        ] {
            assert_eq!(below_top(Path::new(given)), Path::new(expected), "{given}");
        }
    }

    #[test]
    fn addresses_and_paths_are_converted() {
        assert_eq!(&*in_address(Path::new(r"c:\a b\c")), "/C:/a b/c");
        assert_eq!(of_address("/c:/a b/c".into()), Path::new(r"C:\a b\c"));
        assert_eq!(of_address(in_address(Path::new(r"\\host\share\a")).into_owned()), Path::new(r"\\host\share\a"));
    }
}
