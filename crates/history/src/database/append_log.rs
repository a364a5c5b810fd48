//! The append log beside the database (the file `sessions.spool`), which takes an operation in one short write. Its
//! entries are moved to the database when idle, or for a query. A head contains the end offset; entries follow. Every
//! writer holds the lock.

use emendate_os::files::{self, FileExt, OpenOptionsExt};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use emendate_core::{Code, ContentId, Error, Result};

use super::failure::of_io;
use super::open::{LOCK_WAIT, identity, make_directory};
use crate::{LogStamp, clock};

/// First bytes of the head; another layout gets another number. An older program does not spare a file with an unknown
/// number: any head that it does not expect, including an end beyond its own [`FILE_BYTES_MAX`], counts as damage, and
/// it empties the file.
const MAGIC: [u8; 8] = *b"EmndSpl1";
/// Bytes of the head: magic, three numbers and their checksum.
const HEAD_BYTES: usize = 40;
/// Offset of the first entry.
const BODY_OFFSET: u64 = HEAD_BYTES as u64;
/// Bytes of length and checksum before each entry.
const FRAME_BYTES: usize = 12;
/// Maximum bytes of an entry for a few files: beyond, compression in the database pays off.
pub(super) const ENTRY_BYTES_MAX: usize = 32 << 10;
/// Additional bytes for each further file, and the maximum of an entry.
const EXTRA_FILE_BYTES: usize = 1 << 10;
const LARGE_ENTRY_BYTES_MAX: usize = 16 << 20;
/// File size beyond which nothing is appended. One large entry may extend beyond it, so a flush never has more small
/// entries before it than this.
const APPEND_UNTIL_BYTES: u64 = 256 << 10;
/// Maximum size of the file.
const FILE_BYTES_MAX: u64 = APPEND_UNTIL_BYTES + (FRAME_BYTES + LARGE_ENTRY_BYTES_MAX) as u64;
/// Polling intervals for the lock: at first, and later.
const SHORT_LOCK_POLL: Duration = Duration::from_micros(50);
const LONG_LOCK_POLL: Duration = Duration::from_millis(1);

/// Maximum bytes of an entry for this many files.
pub(super) fn entry_bytes_max(files: usize) -> usize {
    ENTRY_BYTES_MAX.saturating_add(files.saturating_sub(1).saturating_mul(EXTRA_FILE_BYTES)).min(LARGE_ENTRY_BYTES_MAX)
}

/// State of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AppendLogHead {
    /// Number of the next operation; 0 if unknown.
    pub(super) next: u64,
    /// End offset of the entries.
    end: u64,
    /// Generation: increases with every change of sessions' records, here or in the database.
    pub(super) generation: u64,
}

impl AppendLogHead {
    fn fresh() -> AppendLogHead {
        // Starts at the current time, so that no generation is reused even if the file was lost.
        AppendLogHead { next: 0, end: BODY_OFFSET, generation: clock::now_us().cast_unsigned() }
    }

    /// True if everything is in the database.
    pub(super) fn is_empty(self) -> bool {
        self.end == BODY_OFFSET
    }

    fn pack(self) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        let parts = [MAGIC, self.next.to_le_bytes(), self.end.to_le_bytes(), self.generation.to_le_bytes()].concat();
        let check = check(&parts);
        out.iter_mut().zip(parts.iter().chain(&check)).for_each(|(to, from)| *to = *from);
        out
    }

    fn unpack(bytes: &[u8; HEAD_BYTES]) -> Option<AppendLogHead> {
        let (parts, sum) = bytes.split_at_checked(32)?;
        let head =
            AppendLogHead { next: number_at(parts, 8)?, end: number_at(parts, 16)?, generation: number_at(parts, 24)? };
        let whole = parts.starts_with(&MAGIC) && sum == check(parts);
        (whole && (BODY_OFFSET..=FILE_BYTES_MAX).contains(&head.end)).then_some(head)
    }
}

/// Reads the eight-byte number at an offset.
fn number_at(parts: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*parts.get(at..)?.first_chunk()?))
}

fn check(bytes: &[u8]) -> [u8; 8] {
    ContentId::of(bytes).to_bytes().first_chunk().copied().unwrap_or_default()
}

/// The open file.
pub(super) struct AppendLog {
    path: PathBuf,
    file: Arc<File>,
    /// The previous file was removed and this one created instead.
    recreated: bool,
}

impl AppendLog {
    /// Opens the append log of a database, creating it if needed.
    pub(super) fn open(database: &Path) -> Result<AppendLog> {
        let path = database.with_extension("spool");
        let file = Arc::new(open(&path)?);
        Ok(AppendLog { path, file, recreated: false })
    }

    /// Reads the head without the lock; `None` if it is being written at this moment, or damaged.
    pub(super) fn read_head(&self) -> Option<AppendLogHead> {
        read_head(&self.file).ok().flatten()
    }

    /// Returns the stamp of the file that is now at the path, which may not be the open one.
    pub(super) fn stamp(&self) -> LogStamp {
        let at_path = identity(&self.path);
        let is_open = at_path.is_some() && at_path == files::id_of(&self.file);
        let head = match at_path {
            Some(_) if is_open => self.read_head(),
            Some(_) => File::open(&self.path).ok().and_then(|file| read_head(&file).ok().flatten()),
            None => None,
        };
        let file = at_path.unwrap_or_default();
        head.map_or(LogStamp { file, ..LogStamp::default() }, |head| LogStamp {
            file,
            state: (head.end, head.generation),
            next: head.next,
        })
    }

    /// True if another file is at the path than the open one, or none.
    pub(super) fn is_replaced(&self) -> bool {
        identity(&self.path) != files::id_of(&self.file)
    }

    /// True, once, after the file was removed and created again.
    pub(super) fn take_recreated(&mut self) -> bool {
        std::mem::take(&mut self.recreated)
    }

    /// Waits for the lock. The flag is false if the file was damaged; it counts as empty then.
    pub(super) fn lock(&mut self) -> Result<(AppendLogGuard, bool)> {
        loop {
            let sure = lock_file(&self.file, &self.path)?;
            // From here on dropping releases the lock.
            let mut locked =
                AppendLogGuard { file: Arc::clone(&self.file), head: AppendLogHead::fresh(), real_lock: sure };
            if files::is_removed(&self.file).map_err(|error| lock_failure(&error, &self.path))? {
                drop(locked);
                // The state directory may have been removed with all its content.
                make_directory(self.path.parent().unwrap_or(&self.path))?;
                self.file = Arc::new(open(&self.path)?);
                self.recreated = true;
                continue;
            }
            let found = read_head(&self.file).map_err(|error| lock_failure(&error, &self.path))?;
            let whole = found.is_some();
            locked.head = found.unwrap_or(locked.head);
            return Ok((locked, whole));
        }
    }
}

/// Returns the error of a log that cannot be locked.
fn lock_failure(error: &io::Error, path: &Path) -> Error {
    of_io(error, "lock", path)
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|error| of_io(&error, "open", path))
}

/// Reads the head; an empty file is a new one.
fn read_head(file: &File) -> io::Result<Option<AppendLogHead>> {
    let mut bytes = [0; HEAD_BYTES];
    match file.read_at(&mut bytes, 0)? {
        0 => Ok(Some(AppendLogHead::fresh())),
        read if read == bytes.len() => Ok(AppendLogHead::unpack(&bytes)),
        _ => Ok(None),
    }
}

/// Takes the lock; returns false if the file system has no locks.
fn lock_file(file: &File, path: &Path) -> Result<bool> {
    let mut waited = Duration::ZERO;
    while waited < LOCK_WAIT {
        match files::try_lock(file) {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {
                let step = if waited < LONG_LOCK_POLL { SHORT_LOCK_POLL } else { LONG_LOCK_POLL };
                std::thread::sleep(step);
                waited += step;
            }
            // The remaining races can only lose remembered state.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(of_io(&error, "lock", path)),
        }
    }
    Err(Error::new(Code::LockTimeout, format!("Another process holds {}.", path.display()))
        .next("Repeat the call when the other process has finished."))
}

/// The file while its lock is held.
pub(super) struct AppendLogGuard {
    file: Arc<File>,
    head: AppendLogHead,
    /// The file system supports locks.
    real_lock: bool,
}

impl AppendLogGuard {
    pub(super) fn head(&self) -> AppendLogHead {
        self.head
    }

    /// Returns the entries, the oldest first; everything after a damaged one is lost, and the flag is false then.
    pub(super) fn entries(&self) -> (Vec<Vec<u8>>, bool) {
        let mut body = vec![0; usize::try_from(self.head.end - BODY_OFFSET).unwrap_or(0)];
        if self.file.read_exact_at(&mut body, BODY_OFFSET).is_err() {
            return (Vec::new(), false);
        }
        let (mut entries, mut rest) = (Vec::new(), &body[..]);
        while let Some((entry, following)) = take(rest) {
            entries.push(entry.to_vec());
            rest = following;
        }
        (entries, rest.is_empty())
    }

    /// Appends an entry for operation [`AppendLogHead::next`]. Returns false, doing nothing, if there is no space or no
    /// number. Atomic if the process dies: the whole entry is there, or nothing of it.
    pub(super) fn append(&mut self, entry: &[u8]) -> io::Result<bool> {
        let size = (FRAME_BYTES + entry.len()) as u64;
        let room = if entry.len() > ENTRY_BYTES_MAX { FILE_BYTES_MAX } else { APPEND_UNTIL_BYTES };
        let fits =
            entry.len() <= LARGE_ENTRY_BYTES_MAX && self.head.end <= APPEND_UNTIL_BYTES && self.head.end + size <= room;
        if !self.real_lock || self.head.next == 0 || !fits {
            return Ok(false);
        }
        let length = u32::try_from(entry.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.file.write_all_at(&[&length[..], &check(entry), entry].concat(), self.head.end)?;
        let AppendLogHead { next, end, generation: turn } = self.head;
        self.set(AppendLogHead { next: next + 1, end: end + size, generation: turn + 1 })?;
        Ok(true)
    }

    /// Increments the generation: to be called before sessions' records change.
    pub(super) fn bump_generation(&mut self) -> io::Result<()> {
        self.set(AppendLogHead { generation: self.head.generation + 1, ..self.head })
    }

    /// Drops all entries, which are in the database.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let end = self.head.end;
        self.set(AppendLogHead { end: BODY_OFFSET, ..self.head })?;
        // The space of a large entry is released at once.
        if end > APPEND_UNTIL_BYTES { self.file.set_len(BODY_OFFSET) } else { Ok(()) }
    }

    /// Raises the number of the next operation to at least `next`.
    pub(super) fn raise_next_number(&mut self, next: u64) -> io::Result<()> {
        self.set(AppendLogHead { next: next.max(self.head.next), ..self.head })
    }

    /// Truncates the file, which also erases entries that are in the database.
    pub(super) fn shrink(&mut self) -> io::Result<()> {
        self.clear()?;
        self.file.set_len(BODY_OFFSET)
    }

    fn set(&mut self, head: AppendLogHead) -> io::Result<()> {
        self.file.write_all_at(&head.pack(), 0)?;
        self.head = head;
        Ok(())
    }
}

impl Drop for AppendLogGuard {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = files::unlock(&self.file);
    }
}

/// Splits off the first entry; `None` if it is incomplete or damaged.
fn take(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (entry, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    (check(entry) == *sum).then_some((entry, rest))
}

#[cfg(test)]
mod tests {
    use super::{AppendLog, BODY_OFFSET};
    use emendate_os::files::FileExt as _;

    fn filled(entries: &[&[u8]]) -> (tempfile::TempDir, AppendLog) {
        let temp = tempfile::tempdir().unwrap();
        let mut append_log = AppendLog::open(&temp.path().join("x.db")).unwrap();
        let (mut locked, whole) = append_log.lock().unwrap();
        assert!(whole && !locked.append(b"without a number").unwrap());
        locked.raise_next_number(7).unwrap();
        for entry in entries {
            assert!(locked.append(entry).unwrap());
        }
        drop(locked);
        (temp, append_log)
    }

    #[test]
    fn entries_are_returned_until_they_are_cleared() {
        let (temp, append_log) = filled(&[b"one", b"", b"three"]);
        let mut other = AppendLog::open(&temp.path().join("x.db")).unwrap();
        let before = other.read_head().unwrap();
        assert!(before.next == 10 && !before.is_empty());
        let (mut locked, _) = other.lock().unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec(), vec![], b"three".to_vec()], true));
        locked.clear().unwrap();
        assert_eq!(locked.entries(), (vec![], true));
        drop(locked);
        let after = append_log.read_head().unwrap();
        assert_eq!((after.is_empty(), after.next, after.generation), (true, 10, before.generation));
    }

    #[test]
    fn damage_is_detected_and_costs_no_earlier_entry() {
        let (_temp, mut append_log) = filled(&[b"one", b"two"]);
        let size = append_log.file.metadata().unwrap().len();
        for at in 0..size {
            let mut byte = [0];
            append_log.file.read_exact_at(&mut byte, at).unwrap();
            append_log.file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            let (locked, whole) = append_log.lock().unwrap();
            let (entries, all) = locked.entries();
            assert!(!whole || !all, "{at}");
            assert_eq!(entries.len(), usize::from(at >= BODY_OFFSET + 15), "{at}");
            drop(locked);
            append_log.file.write_all_at(&byte, at).unwrap();
        }
        append_log.file.set_len(size - 1).unwrap();
        assert!(!append_log.lock().unwrap().0.entries().1);
    }

    #[test]
    fn interrupted_write_leaves_no_entry() {
        let (_temp, mut append_log) = filled(&[b"one"]);
        let (mut locked, _) = append_log.lock().unwrap();
        let head = locked.head;
        locked.append(b"two").unwrap();
        // Killed between the entry and the head.
        locked.set(head).unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec()], true));
        locked.append(b"other").unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec(), b"other".to_vec()], true));
    }

    #[test]
    fn append_log_is_bounded() {
        let (_temp, mut append_log) = filled(&[]);
        let (mut locked, _) = append_log.lock().unwrap();
        let entry = vec![0; super::ENTRY_BYTES_MAX];
        assert!(!locked.append(&vec![0; super::LARGE_ENTRY_BYTES_MAX + 1]).unwrap());
        while locked.append(&entry).unwrap() {}
        assert_eq!(locked.entries().0.len(), 7);
        // A large entry fits after small ones, and nothing after it.
        let large = vec![1; super::LARGE_ENTRY_BYTES_MAX];
        assert!(locked.append(&large).unwrap());
        assert!(!locked.append(&large).unwrap() && !locked.append(b"small").unwrap());
        drop(locked);
        let (mut locked, whole) = append_log.lock().unwrap();
        let (entries, all) = locked.entries();
        assert_eq!((whole, all, entries.len(), entries[7] == large), (true, true, 8, true));
        locked.clear().unwrap();
        assert_eq!(append_log.file.metadata().unwrap().len(), BODY_OFFSET);
        assert!(locked.append(&entry).unwrap());
        drop(locked);
    }

    /// The state directory may be removed while a process works in it. Windows does not allow that.
    #[cfg(unix)]
    #[test]
    fn removed_append_log_is_recreated() {
        let (temp, mut append_log) = filled(&[b"one"]);
        std::fs::remove_file(temp.path().join("x.spool")).unwrap();
        let (locked, whole) = append_log.lock().unwrap();
        assert!(whole && locked.head().is_empty() && locked.head().next == 0);
        assert!(temp.path().join("x.spool").exists());
    }
}
