//! A file beside the database that takes the files of a first snapshot, in one write for each few hundred of them. The
//! next query moves them to the tables, or this process does after its answer. Files that were moved already are
//! recognized by their paths, so that a process that is killed in between does no harm. Every writer holds the lock of
//! the append log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use emendate_core::ContentId;
use emendate_os::files::{self, FileExt as _, OpenOptionsExt as _};

use crate::{FileKind, FileState, NewlyKnown, varint};

/// First bytes of a frame; another layout gets another number.
const MAGIC: [u8; 8] = *b"EmndFnd1";
/// Bytes before the content of a frame: magic, length and checksum.
const HEAD_BYTES: usize = 32;
/// Bytes of the largest frame that is read.
const FRAME_BYTES_MAX: u64 = 1 << 30;

/// The file, as this process left it.
pub(super) struct FoundFile {
    file: File,
    end: u64,
}

/// A file that a snapshot found.
pub(super) struct FoundEntry {
    path: Vec<u8>,
    state: FileState,
    bytes: Option<Vec<u8>>,
}

impl FoundEntry {
    pub(super) fn as_known(&self) -> NewlyKnown<'_> {
        NewlyKnown { path: &self.path, state: self.state, bytes: self.bytes.as_deref() }
    }
}

fn path_of(database: &Path) -> PathBuf {
    database.with_extension("found")
}

/// Size of the file, in bytes; 0 if there is none.
pub(super) fn size(database: &Path) -> u64 {
    fs::symlink_metadata(path_of(database)).map_or(0, |file| file.len())
}

/// True if there are files that are not in the tables yet.
pub(super) fn exists(database: &Path) -> bool {
    files::id_at(&path_of(database)).is_some()
}

/// Removes the file, whose content is in the tables. If this fails, it is recognized as moved next time.
pub(super) fn remove(database: &Path) {
    let _ = fs::remove_file(path_of(database));
}

impl FoundFile {
    /// Creates the file, accessible to its owner only.
    pub(super) fn create(database: &Path) -> io::Result<FoundFile> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path_of(database))?;
        Ok(FoundFile { file, end: 0 })
    }

    /// True if the file at the path is this one, as this process left it.
    pub(super) fn is_current(&self, database: &Path) -> bool {
        files::id_at(&path_of(database)) == files::id_of(&self.file)
            && self.file.metadata().is_ok_and(|meta| meta.len() == self.end)
    }

    /// Appends a frame. If the process dies meanwhile, the incomplete frame is ignored.
    pub(super) fn append(&mut self, found: &[NewlyKnown<'_>]) -> io::Result<()> {
        let frame = pack(found);
        self.file.write_all_at(&frame, self.end)?;
        self.end += frame.len() as u64;
        Ok(())
    }
}

/// Reads the frames one after the other, up to the first that is incomplete or damaged.
pub(super) struct Frames(File);

impl Frames {
    /// Errors: those of the disk, also if there is no file.
    pub(super) fn open(database: &Path) -> io::Result<Frames> {
        File::open(path_of(database)).map(Frames)
    }
}

impl Iterator for Frames {
    type Item = Vec<FoundEntry>;

    fn next(&mut self) -> Option<Vec<FoundEntry>> {
        let mut head = [0; HEAD_BYTES];
        self.0.read_exact(&mut head).ok()?;
        let (length, check) = head.strip_prefix(&MAGIC)?.split_first_chunk::<8>()?;
        let length = u64::from_le_bytes(*length);
        let mut body = Vec::new();
        self.0.by_ref().take(length.min(FRAME_BYTES_MAX)).read_to_end(&mut body).ok()?;
        let is_whole = body.len() as u64 == length && ContentId::of(&body).to_bytes() == *check;
        if is_whole { unpack(&body) } else { None }
    }
}

/// Serializes a frame.
fn pack(found: &[NewlyKnown<'_>]) -> Vec<u8> {
    let bytes: usize = found.iter().map(|it| it.path.len() + it.bytes.map_or(0, <[u8]>::len) + 64).sum();
    let mut out = Vec::with_capacity(HEAD_BYTES + bytes);
    out.resize(HEAD_BYTES, 0);
    for NewlyKnown { path, state, bytes } in found {
        varint::put(&mut out, path.len() as u64);
        out.extend_from_slice(path);
        out.extend_from_slice(&state.content.to_bytes());
        varint::put(&mut out, u64::from(state.mode) << 1 | u64::from(state.kind == FileKind::Link));
        out.push(u8::from(bytes.is_some()));
        if let Some(bytes) = bytes {
            varint::put(&mut out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
    let body = out.get(HEAD_BYTES..).unwrap_or_default();
    let head = [&MAGIC[..], &(body.len() as u64).to_le_bytes(), &ContentId::of(body).to_bytes()].concat();
    out.iter_mut().zip(head).for_each(|(to, from)| *to = from);
    out
}

fn unpack(mut rest: &[u8]) -> Option<Vec<FoundEntry>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let path = split(&mut rest)?.to_vec();
        let (content, after) = rest.split_first_chunk()?;
        rest = after;
        let mode = varint::take(&mut rest)?;
        let kind = if mode & 1 == 1 { FileKind::Link } else { FileKind::Regular };
        let state = FileState { content: ContentId::from_bytes(*content), mode: u32::try_from(mode >> 1).ok()?, kind };
        let has_bytes = varint::take(&mut rest)? != 0;
        let bytes = if has_bytes { Some(split(&mut rest)?.to_vec()) } else { None };
        found.push(FoundEntry { path, state, bytes });
    }
    Some(found)
}

/// Splits bytes with their length off the front.
fn split<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint::take(rest)?).ok()?;
    let (part, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::{FoundFile, Frames, path_of};
    use crate::{Database, FileKind, FileState, HistoryLimits, NewlyKnown, OperationLog as _, Sessions as _};
    use emendate_core::ContentId;
    use std::fs;
    use std::path::Path;

    fn state(bytes: &[u8]) -> FileState {
        FileState { content: ContentId::of(bytes), mode: 0o755, kind: FileKind::Regular }
    }

    /// Appends one frame with these files to a new file, or to the one that is there.
    fn keep(file: &mut FoundFile, found: &[(&str, &[u8])]) {
        let known = found.iter().map(|(path, bytes)| NewlyKnown {
            path: path.as_bytes(),
            state: state(bytes),
            bytes: Some(bytes),
        });
        file.append(&known.collect::<Vec<_>>()).unwrap();
    }

    fn paths(database: &Path) -> Vec<Vec<u8>> {
        Frames::open(database).unwrap().flatten().map(|entry| entry.path).collect()
    }

    #[test]
    fn damaged_or_incomplete_frames_end_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let database = temp.path().join("x.db");
        let mut file = FoundFile::create(&database).unwrap();
        let long = b"line\n".repeat(90);
        keep(&mut file, &[("/a", b"one"), ("/b", &long)]);
        let first = usize::try_from(file.end).unwrap();
        keep(&mut file, &[("/c", b"")]);
        let whole = fs::read(path_of(&database)).unwrap();
        assert!(whole.len() < 900);
        assert_eq!(paths(&database), [&b"/a"[..], b"/b", b"/c"]);
        for end in 0..whole.len() {
            fs::write(path_of(&database), &whole[..end]).unwrap();
            assert_eq!(paths(&database).len(), if end < first { 0 } else { 2 }, "{end}");
        }
        for at in 0..whole.len() {
            let mut harmed = whole.clone();
            harmed[at] ^= 1;
            fs::write(path_of(&database), harmed).unwrap();
            assert_eq!(paths(&database).len(), if at < first { 0 } else { 2 }, "{at}");
        }
    }

    /// A process is killed while it writes, and another one continues.
    #[test]
    fn what_a_killed_process_left_is_moved_before_another_one_writes() {
        let temp = tempfile::tempdir().unwrap();
        let open = || Database::open(temp.path(), HistoryLimits::default()).unwrap();
        let database = temp.path().join("sessions.db");
        drop(open());
        let mut file = FoundFile::create(&database).unwrap();
        keep(&mut file, &[("/a", b"one")]);
        keep(&mut file, &[("/torn", b"lost")]);
        let torn = file.end - 1;
        file.file.set_len(torn).unwrap();
        drop(file);

        let known = [NewlyKnown { path: b"/b", state: state(b"two"), bytes: Some(b"two") }];
        open().remember_files(&known).unwrap();
        assert_eq!(paths(&database), [&b"/b"[..]]);
        let store = open();
        let newest = store.newest_seen(&[b"/a", b"/b", b"/torn"]).unwrap();
        assert_eq!(newest, [Some(ContentId::of(b"one")), Some(ContentId::of(b"two")), None]);
        assert!(!path_of(&database).exists());
        assert_eq!(store.bytes(ContentId::of(b"two")).unwrap().as_deref(), Some(&b"two"[..]));
    }

    /// A process is killed after the tables have the files, before it removes them here. The file has changed since.
    #[test]
    fn files_that_were_moved_before_change_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let database = temp.path().join("sessions.db");
        let store = Database::open(temp.path(), HistoryLimits::default()).unwrap();
        for bytes in [&b"one"[..], b"other"] {
            // Another process would do this after it has written.
            store.forget("nobody", b"/a").unwrap();
            keep(&mut FoundFile::create(&database).unwrap(), &[("/a", bytes)]);
            assert_eq!(store.known_paths(&|_| true).unwrap(), [b"/a".to_vec()]);
            assert_eq!(store.newest_seen(&[b"/a"]).unwrap(), [Some(ContentId::of(b"one"))]);
            assert!(!path_of(&database).exists());
        }
    }

    /// Two processes are open all the time.
    #[test]
    fn another_process_sees_the_files_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let open = || Database::open(temp.path(), HistoryLimits::default()).unwrap();
        let (one, other) = (open(), open());
        for (nth, path) in [b"/a", b"/b", b"/c"].into_iter().enumerate() {
            let bytes = [b'x', u8::try_from(nth).unwrap()];
            let (writer, reader) = if nth % 2 == 0 { (&one, &other) } else { (&other, &one) };
            assert_eq!(reader.newest_seen(&[path]).unwrap(), [None]);
            writer.remember_files(&[NewlyKnown { path, state: state(&bytes), bytes: Some(&bytes) }]).unwrap();
            assert_eq!(reader.newest_seen(&[path]).unwrap(), [Some(ContentId::of(&bytes))]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let database = temp.path().join("x.db");
        FoundFile::create(&database).unwrap();
        assert_eq!(fs::metadata(path_of(&database)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
