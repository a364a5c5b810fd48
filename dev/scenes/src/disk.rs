//! The files of a scene: creates them, changes them behind the engine's back and reads them.

use crate::scene::{Act, Thing};
use crate::system;
use emendate_os::files::mode_of;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Placeholder in files for the directory of the scripted language server.
const SERVERS: &str = "$SERVERS";
const FOLDER_OF_SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/lsp");

/// The file system entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A regular file with these bytes and this mode.
    File(Vec<u8>, u32),
    /// A directory.
    Folder,
    /// A symbolic link.
    Link(PathBuf),
    /// A FIFO.
    Fifo,
}

/// All entries below a directory, by their paths relative to it.
pub type Tree = BTreeMap<PathBuf, Node>;

/// Reads the entry at `path`, or `None` if it does not exist.
///
/// # Errors
/// Returns the operating system's error.
pub fn look(path: &Path) -> io::Result<Option<Node>> {
    let meta = match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other?,
    };
    let kind = meta.file_type();
    Ok(Some(if kind.is_symlink() {
        Node::Link(fs::read_link(path)?)
    } else if kind.is_dir() {
        Node::Folder
    } else if kind.is_file() {
        Node::File(fs::read(path)?, mode_of(&meta) & 0o7777)
    } else {
        Node::Fifo
    }))
}

/// Reads everything below `base`.
///
/// # Errors
/// Returns the operating system's error.
pub fn tree(base: &Path) -> io::Result<Tree> {
    let mut out = Tree::new();
    let mut open = vec![base.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(node) = look(&path)? else { continue };
            if node == Node::Folder {
                open.push(path.clone());
            }
            if let Ok(name) = path.strip_prefix(base) {
                out.insert(name.to_owned(), node);
            }
        }
    }
    Ok(out)
}

/// Changes `path` as another program would. `text` replaces `$ROOT` and the like.
///
/// # Errors
/// Returns the operating system's error as text.
pub fn act(path: &Path, act: &Act, text: impl Fn(&str) -> Result<String, String>) -> Result<(), String> {
    let done = match act {
        Act::Make(_, thing) => make(path, thing, text),
        Act::Append(_, bytes) => fs::read(path).and_then(|old| fs::write(path, [&*old, bytes].concat())),
        Act::Delete(_) if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(path),
        Act::Delete(_) => fs::remove_file(path),
        Act::Chmod(_, mode) => system::set_mode(path, *mode),
        Act::Touch(_) => {
            writable(path).and_then(|file| file.set_modified(SystemTime::now() + Duration::from_secs(3600)))
        }
        Act::Call(_) | Act::After(..) | Act::Events(..) => Ok(()),
    };
    done.map_err(|error| format!("{}: {error}", path.display()))
}

/// Opens a file to change its time, for which Windows requires the right to write.
fn writable(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).append(!system::IS_UNIX).open(path)
}

fn make(path: &Path, thing: &Thing, text: impl Fn(&str) -> Result<String, String>) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let target = |target: &str| text(target).map_err(io::Error::other);
    match thing {
        Thing::Folder => fs::create_dir_all(path),
        Thing::Link(to) => system::link(Path::new(&target(to)?), path),
        Thing::HardLink(to) => fs::hard_link(path.with_file_name(to), path),
        Thing::Fifo => {
            let made = Command::new("mkfifo").arg(path).status()?.success();
            if made { Ok(()) } else { Err(io::Error::other("mkfifo failed")) }
        }
        Thing::File(bytes, style) => {
            let modified = fs::metadata(path).and_then(|meta| meta.modified());
            let written = if style.by_rename { path.with_extension("scene-new") } else { path.to_owned() };
            match std::str::from_utf8(bytes).ok().filter(|text| text.contains(SERVERS)) {
                Some(text) => fs::write(&written, text.replace(SERVERS, FOLDER_OF_SERVERS))?,
                None => fs::write(&written, bytes)?,
            }
            if let Some(mode) = style.mode {
                system::set_mode(&written, mode)?;
            }
            if style.keep_mtime {
                writable(&written)?.set_modified(modified?)?;
            }
            if style.by_rename { fs::rename(&written, path) } else { Ok(()) }
        }
    }
}

/// Describes the difference, or returns `None` if there is none.
pub fn difference(wanted: Option<&Node>, found: Option<&Node>) -> Option<String> {
    match (wanted, found) {
        _ if wanted == found => None,
        (Some(Node::File(wanted, mode)), Some(Node::File(found, found_mode))) if wanted == found => {
            Some(format!("mode {mode:o} is wanted, but it is {found_mode:o}"))
        }
        (Some(Node::File(wanted, _)), Some(Node::File(found, _))) => {
            Some(format!("wanted:\n{}\nfound:\n{}", shown(wanted), shown(found)))
        }
        (wanted, found) => Some(format!("{} is wanted, but there is {}", kind(wanted), kind(found))),
    }
}

fn kind(node: Option<&Node>) -> String {
    match node {
        None => "nothing".to_owned(),
        Some(Node::File(bytes, _)) => {
            format!("a file of {} bytes ({})", bytes.len(), shown(&bytes[..bytes.len().min(60)]))
        }
        Some(Node::Folder) => "a folder".to_owned(),
        Some(Node::Link(to)) => format!("a link to {}", to.display()),
        Some(Node::Fifo) => "a FIFO".to_owned(),
    }
}

/// Formats bytes for a person: one line of output per line, truncated if it is long.
fn shown(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string().replace("\\n", "\\n\n");
    match text.char_indices().nth(3000) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
