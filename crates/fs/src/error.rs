//! Constructors for this crate's errors: what happened, the evidence, and the call that would work.

use emendate_core::ErrorContext;
use emendate_os::ffi::OsStrExt;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use emendate_core::{Advice, Code, Error};
use emendate_os::fs::FileType;
use emendate_os::io::Errno;
use emendate_os::paths;

use crate::{DIR_ENTRIES_MAX, DirEntry, NAME_MAX_BYTES, PATH_MAX_BYTES, RootInfo, SafePath};

/// Formats a path for a message on one line: control and formatting characters are escaped, and bytes that are not
/// UTF-8 appear as `\xNN`.
pub fn show(path: impl AsRef<OsStr>) -> String {
    let bytes = path.as_ref().as_bytes();
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        // Fast path: nearly every path is printable ASCII.
        if chunk.valid().bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            out.push_str(chunk.valid());
            extend_invalid(&mut out, chunk.invalid());
            continue;
        }
        for char in chunk.valid().chars() {
            if char.is_control() || is_invisible(char) {
                out.extend(char.escape_default());
            } else {
                out.push(char);
            }
        }
        extend_invalid(&mut out, chunk.invalid());
    }
    out
}

fn extend_invalid(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{byte:02X}");
    }
}

/// True for invisible characters that change how others are displayed: directions, joiners, line and paragraph
/// separators, tags.
const fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Maps an error number to its code; the only place that does. `doing` is a verb phrase: "open", "write a file beside".
pub(crate) fn os_error(doing: &str, path: &Path, errno: Errno) -> Error {
    let (code, next) = match errno {
        Errno::NOSPC => (Code::IoNoSpace, "Free space on that disk, or ask for more, then repeat the call."),
        Errno::DQUOT => (
            Code::IoNoSpace,
            "The disk has space, but your quota is used up (see `quota -v`): remove some of your files there, or ask for more.",
        ),
        Errno::FBIG => {
            (Code::IoNoSpace, "Ask a person to raise the limit on the size of files (`ulimit -f`), or write less.")
        }
        Errno::ROFS => {
            (Code::IoReadOnly, "Ask for the file system to be mounted for writing, or work on another copy.")
        }
        Errno::ACCESS | Errno::PERM => {
            (Code::IoPermission, "Ask a person to grant the permission; do not work around it.")
        }
        Errno::LOOP => (Code::PathSymlink, "Name the file by its real path, without links."),
        Errno::XDEV => (Code::PathOutside, "Name a path below one of the roots."),
        Errno::NAMETOOLONG => (Code::PathInvalid, "Shorten it: a name has at most 255 bytes, a path at most 4095."),
        Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ => (Code::PathInvalid, "Check every part of the path."),
        Errno::NOENT => (Code::FileMissing, "Check the path, or create the file."),
        Errno::ISDIR | Errno::NXIO | Errno::NODEV => (Code::PathNotRegular, "Name a regular file."),
        Errno::EXIST => (Code::ConflictRaced, "Read the file, then repeat the call."),
        Errno::TXTBSY => (
            Code::IoFailed,
            "Wait until the other program has closed the file, or have a person close it, then repeat the call.",
        ),
        Errno::MFILE | Errno::NFILE => (
            Code::IoFailed,
            "Too many files are open; repeat the call with fewer files, or have the limit raised (`ulimit -n`).",
        ),
        _ => (Code::IoFailed, "Repeat the call; if it fails again, tell a person."),
    };
    // The C libraries have different words for this one, which callers cause themselves.
    let why = if errno == Errno::NAMETOOLONG { "the name is too long".to_owned() } else { errno.to_string() };
    let error = Error::new(code, format!("Cannot {doing} {}: {why}.", show(path))).next(next).fact("path", show(path));
    let number = errno.raw_os_error();
    if errno == Errno::FBIG { error.about(ErrorContext::SizeLimit(number)) } else { error.fact("errno", number) }
}

/// Directories that a batch must keep open, compared with the limits of the process.
#[derive(Clone, Copy)]
pub(crate) struct FdShortage {
    /// Directories of the batch.
    pub(crate) directories: usize,
    /// Files that the process may have open.
    pub(crate) limit: usize,
    /// Directories that fit into the limit.
    pub(crate) fit: usize,
    /// A limit that would be sufficient.
    pub(crate) enough: usize,
}

/// A batch needs more directories open at once than the process may hold.
pub(crate) fn too_many_dirs(shortage: FdShortage) -> Error {
    let FdShortage { directories, limit, fit, enough } = shortage;
    let what = format!(
        "The change affects {directories} directories, which must stay open and locked; this process may open {limit} files, enough for {fit} of them. Nothing was written."
    );
    let next = format!(
        "Send it in parts of at most {fit} directories each, or start the process with a higher limit of open files \
         (`ulimit -n {enough}`)."
    );
    Error::new(Code::CallTooLarge, what).next(next).fact("folders", directories).fact("limit", fit)
}

/// A record of the journal covers the file.
pub(crate) fn unfinished(path: &Path, record: &Path, why: &str) -> Error {
    let (path, record) = (show(path), show(record));
    Error::new(
        Code::IoFailed,
        format!(
            "{path} belongs to a call whose process died while it wrote, and that call could not be completed or undone yet. Nothing was changed."
        ),
    )
    .evidence(why)
    .evidence(format!("record: {record}"))
    .next(
        "Remove that obstacle and repeat the call, which first completes or undoes the other one; or have a person remove the record, so that all of its files stay as they are.",
    )
    .fact("path", path)
    .fact("record", record)
}

/// The path is outside all roots.
pub(crate) fn outside_roots(asked: &Path, roots: &[RootInfo]) -> Error {
    let mut error = Error::new(Code::PathOutside, format!("{} is outside the roots.", show(asked))).evidence("roots:");
    for root in roots {
        error = error.evidence(format!("  {}", show(&root.given)));
    }
    let next = match roots.first() {
        Some(root) => format!("Name a path below {}; only a person can add other directories.", show(&root.given)),
        None => "Ask a person to add a root.".to_owned(),
    };
    error.next(next).fact("path", show(asked))
}

/// The path cannot name a file.
pub(crate) fn invalid_path(asked: &Path, why: &str, next: impl Into<String>) -> Error {
    Error::new(Code::PathInvalid, format!("The path `{}` {why}.", show(asked)))
        .next(next.into())
        .fact("path", show(asked))
}

/// Returns the entries of a directory, or an error if there are more than the limit.
///
/// Errors: `call.too_large`.
pub(crate) fn check_listing(path: &SafePath, entries: Option<Vec<DirEntry>>) -> Result<Option<Vec<DirEntry>>, Error> {
    if entries.as_ref().is_none_or(|entries| entries.len() <= DIR_ENTRIES_MAX) {
        return Ok(entries);
    }
    let what = format!("The directory {} has more than {DIR_ENTRIES_MAX} entries.", show(path.absolute()));
    Err(Error::new(Code::CallTooLarge, what)
        .next("Name the files in it, or a directory further down; or exclude it with a glob such as \"!name/**\"."))
}

/// Checks a path without touching the disk: not empty, no NUL, absolute, not too long.
pub(crate) fn check_path_syntax(asked: &Path, roots: &[RootInfo]) -> Result<(), Error> {
    let bytes = asked.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(invalid_path(
            asked,
            "is empty",
            format!("Name a file, e.g. {}.", example(roots, Path::new("file.txt"))),
        ));
    }
    if bytes.len() > PATH_MAX_BYTES
        || bytes.split(|byte| paths::is_separator(*byte)).any(|name| name.len() > NAME_MAX_BYTES)
    {
        return Err(os_error("name a file by", asked, Errno::NAMETOOLONG));
    }
    if bytes.contains(&0) {
        return Err(invalid_path(asked, "contains a NUL byte", "Remove the NUL."));
    }
    if let Some(why) = paths::why_impossible(asked) {
        return Err(invalid_path(asked, &why, "Give the file another name."));
    }
    if !asked.is_absolute() {
        let next = if asked.starts_with("~") {
            format!(
                "Write the home directory out; `~` is not expanded. A path here is {}.",
                example(roots, Path::new("file.txt"))
            )
        } else {
            format!("Use the absolute path: {}", example(roots, asked))
        };
        return Err(invalid_path(asked, "is not absolute", next));
    }
    Ok(())
}

/// Returns a path beneath the first root, as an example for a message.
fn example(roots: &[RootInfo], name: &Path) -> String {
    let root = roots.first().map_or(Path::new("/"), |root| &root.given);
    show(root.join(name))
}

/// A symbolic link that must not be followed; `why` completes the sentence "The symbolic link A → B …".
pub(crate) fn refused_link(asked: &Path, link: &Path, target: &Path, why: &str) -> Error {
    Error::new(Code::PathSymlink, format!("The symbolic link {} → {} {why}.", show(link), show(target)))
        .evidence(format!("asked for: {}", show(asked)))
        .next("Name the real path of a file below a root; links that leave the roots or lead nowhere are not followed.")
        .fact("link", show(link))
        .fact("target", show(target))
}

/// Names a file type for a message.
pub(crate) fn kind_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "no file",
    }
}

/// The path is not a regular file; `what` comes from [`kind_name`].
pub(crate) fn not_regular(path: &Path, what: &str) -> Error {
    let next = if what == "a directory" {
        Advice::named("Name a file in it; {list()} shows them.").or("Name a file in it.")
    } else {
        "Name a regular file; nothing else can be read or edited.".into()
    };
    Error::new(Code::PathNotRegular, format!("{} is {what}, not a regular file.", show(path)))
        .next(next)
        .fact("path", show(path))
        .fact("kind", what)
}

/// The file has `size` bytes (`None`: it grew while it was read), more than `limit`.
pub(crate) fn too_large(path: &Path, size: Option<u64>, limit: u64) -> Error {
    let has = size.map_or_else(|| "more bytes than that".to_owned(), |size| format!("{size} bytes"));
    let error = Error::new(Code::FileTooLarge, format!("{} has {has}; the limit is {limit} bytes.", show(path)))
        .next("Work on a part of it by other means, or ask a person to raise the limit.")
        .fact("limit", limit);
    match size {
        Some(size) => error.about(ErrorContext::FileSize(size)),
        None => error,
    }
}

/// Another process changed the file first; `why` completes the sentence "path …".
pub(crate) fn raced(path: &Path, why: &str) -> Error {
    Error::new(Code::ConflictRaced, format!("{} {why}; nothing was written.", show(path)))
        .next("Read the file again, then repeat the edit against its current text.")
        .fact("path", show(path))
}

/// The file mode forbids writing, even though a rename would succeed.
pub(crate) fn read_only(path: &Path, mode: u32) -> Error {
    Error::new(Code::IoPermission, format!("{} is read-only (mode {:04o}).", show(path), mode & 0o7777))
        .next(format!("Ask a person whether it may be changed; then `{}` and repeat the call.", paths::MAKE_WRITABLE))
        .fact("path", show(path))
}

/// The error for a directory that is to become a file and holds other files.
pub(crate) fn holds_more(path: &Path, others: &[String]) -> Error {
    /// Names that the error lists.
    const NAMES_MAX: usize = 5;
    let more = others.len().saturating_sub(NAMES_MAX);
    let rest = if more > 0 { format!("\nand {more} more") } else { String::new() };
    let names = others[..others.len() - more].join("\n") + &rest;
    let path = show(path);
    Error::new(Code::PathNotRegular, format!("{path} is a directory that contains more than this call removes."))
        .evidence(names)
        .next("Remove or move these first, or give the file another name; nothing was changed.")
        .fact("kind", "a directory")
        .fact("path", path)
}

/// There is nothing to remove at the path.
pub(crate) fn nothing_to_remove(path: &Path) -> Error {
    Error::new(Code::FileMissing, format!("Cannot remove {}: nothing is there.", show(path)))
        .next("Omit the removal.")
        .fact("path", show(path))
}

/// The temporary file does not read back as written.
pub(crate) fn not_read_back(path: &Path) -> Error {
    let what =
        format!("The file system returned other bytes than were written beside {}; nothing was changed.", show(path));
    Error::new(Code::IoFailed, what)
        .next("Repeat the call; if it fails again, tell a person: writes to that file system are not reliable.")
        .fact("path", show(path))
}

/// One transaction has two writes for one file; the engine should have merged them.
pub(crate) fn duplicate_targets(path: &Path) -> Error {
    Error::new(Code::InternalBug, format!("Two drafts of one transaction write the same file, {}.", show(path)))
        .next("Report this; until it is fixed, send the edits of that file in separate calls.")
}

/// Converts an error after which something remained changed to `io.partial`; `what` describes the state of each file.
pub(crate) fn partial(cause: &Error, what: &str) -> Error {
    Error::new(Code::IoPartial, format!("Part of the change could not be undone. {}", cause.message()))
        .evidence(cause.evidence_text())
        .evidence(what)
        .next("Stop and tell a person; look at the files named above before anything else is written.")
}

/// Formats a number of bytes for people: `12.3 MB`.
pub fn readable_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    let mut tenths = u128::from(bytes) * 10;
    let mut unit = "bytes";
    for next in UNITS {
        if tenths < 10_000 {
            break;
        }
        (tenths, unit) = (tenths / 1000, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{}.{} {unit}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use super::{os_error, show};
    use emendate_core::Code;
    use emendate_os::ffi::OsStrExt;
    use emendate_os::io::Errno;
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn names_are_escaped_onto_one_line() {
        assert_eq!(show(OsStr::from_bytes(b"a\nb\xff\x1b[0m \xc3\xa9")), "a\\nb\\xFF\\u{1b}[0m é");
        assert_eq!(
            show("a\u{202E}txt.\u{2066}b\u{200B}\u{85}\u{2028}"),
            "a\\u{202e}txt.\\u{2066}b\\u{200b}\\u{85}\\u{2028}"
        );
    }

    #[test]
    fn every_errno_has_a_code() {
        let rows = [
            (Errno::NOSPC, Code::IoNoSpace),
            (Errno::DQUOT, Code::IoNoSpace),
            (Errno::FBIG, Code::IoNoSpace),
            (Errno::ROFS, Code::IoReadOnly),
            (Errno::ACCESS, Code::IoPermission),
            (Errno::PERM, Code::IoPermission),
            (Errno::LOOP, Code::PathSymlink),
            (Errno::XDEV, Code::PathOutside),
            (Errno::NAMETOOLONG, Code::PathInvalid),
            (Errno::MFILE, Code::IoFailed),
            (Errno::IO, Code::IoFailed),
        ];
        for (errno, code) in rows {
            let error = os_error("open", Path::new("/a"), errno);
            assert_eq!(error.code(), code);
            assert!(error.message().contains("/a") && !error.next_step().is_empty());
        }
    }

    #[test]
    fn sizes_are_readable() {
        for (bytes, shown) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 KB"), (12_345_678, "12.3 MB"), (5_000_000_000, "5.0 GB")]
        {
            assert_eq!(super::readable_size(bytes), shown);
        }
        assert!(super::readable_size(u64::MAX).ends_with(" PB"));
    }
}
