//! The file beside the database that takes operations in one short write each; what is in it goes into the database when
//! there is time, or when somebody asks. A head says how far it is filled; entries follow. Who changes it holds its lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use emendate_core::{Code, ContentId, Error, Result};

use super::failure::of_io;
use super::open::{PATIENCE, make_directory};
use crate::clock;

/// Begins the head; another layout gets another number. No number makes a program that does not know it leave the file alone:
/// what a head says that it does not expect, an end beyond its own [`END`] among it, is damage to it, and the file is emptied.
const MAGIC: [u8; 8] = *b"EmndSpl1";
/// Bytes of the head: the mark, three numbers and their check.
const HEAD: usize = 40;
/// Where the entries begin.
const BODY: u64 = HEAD as u64;
/// Length and check before each entry.
const FRAME: usize = 12;
/// The most bytes of an entry for a few files: beyond, compressing is worth its time.
pub(super) const ENTRY: usize = 32 << 10;
/// So much more for each further file, and the most of all.
const FILE: usize = 1 << 10;
const LARGE: usize = 16 << 20;
/// The bytes of the file beyond which nothing is added. One large entry may reach beyond it: what is brought into the
/// database in one go is not more for the small ones that stand before it.
const MOST: u64 = 256 << 10;
/// The most bytes of the file.
const END: u64 = MOST + (FRAME + LARGE) as u64;
/// How long one waits first for another, and later.
const SHORT: Duration = Duration::from_micros(50);
const LONG: Duration = Duration::from_millis(1);

/// The most bytes of an entry for so many files.
pub(super) fn room(files: usize) -> usize {
    ENTRY.saturating_add(files.saturating_sub(1).saturating_mul(FILE)).min(LARGE)
}

/// How the file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of the next operation; 0 while that is not known.
    pub(super) next: u64,
    /// Where the entries end.
    end: u64,
    /// Rises with everything that changes what sessions know, here or in the database.
    pub(super) turn: u64,
}

impl Head {
    fn fresh() -> Head {
        // No turn comes twice, not even where the file was lost.
        Head { next: 0, end: BODY, turn: clock::now_us().cast_unsigned() }
    }

    /// True when everything is in the database.
    pub(super) fn is_empty(self) -> bool {
        self.end == BODY
    }

    fn pack(self) -> [u8; HEAD] {
        let mut out = [0; HEAD];
        let parts = [MAGIC, self.next.to_le_bytes(), self.end.to_le_bytes(), self.turn.to_le_bytes()].concat();
        let check = check(&parts);
        out.iter_mut().zip(parts.iter().chain(&check)).for_each(|(to, from)| *to = *from);
        out
    }

    fn unpack(bytes: &[u8; HEAD]) -> Option<Head> {
        let (parts, sum) = bytes.split_at_checked(32)?;
        let number = |at: usize| Some(u64::from_le_bytes(*parts.get(at..)?.first_chunk()?));
        let head = Head { next: number(8)?, end: number(16)?, turn: number(24)? };
        let whole = parts.starts_with(&MAGIC) && sum == check(parts);
        (whole && (BODY..=END).contains(&head.end)).then_some(head)
    }
}

fn check(bytes: &[u8]) -> [u8; 8] {
    ContentId::of(bytes).to_bytes().first_chunk().copied().unwrap_or_default()
}

/// The file, open.
pub(super) struct Spool {
    path: PathBuf,
    file: Arc<File>,
    /// The one that was open before was removed.
    anew: bool,
}

impl Spool {
    /// Opens the one of a database, making it as needed.
    pub(super) fn open(database: &Path) -> Result<Spool> {
        let path = database.with_extension("spool");
        let file = Arc::new(open(&path)?);
        Ok(Spool { path, file, anew: false })
    }

    /// How the file stands, without its lock; `None` when somebody is just writing that, or it is damaged.
    pub(super) fn look(&self) -> Option<Head> {
        read_head(&self.file).ok().flatten()
    }

    /// True, once, when the file was removed and made anew.
    pub(super) fn was_removed(&mut self) -> bool {
        std::mem::take(&mut self.anew)
    }

    /// Waits for its lock. The second answer is false when the file was damaged, and is empty now.
    pub(super) fn lock(&mut self) -> Result<(Locked, bool)> {
        let told = |error: &io::Error, path: &Path| of_io(error, "lock", path);
        loop {
            let sure = wait(&self.file, &self.path)?;
            // From here on it is given back when dropped.
            let mut locked = Locked { file: Arc::clone(&self.file), head: Head::fresh(), sure };
            if self.file.metadata().map_err(|error| told(&error, &self.path))?.nlink() == 0 {
                drop(locked);
                // Somebody may have removed the state directory with all that is in it.
                make_directory(self.path.parent().unwrap_or(&self.path))?;
                self.file = Arc::new(open(&self.path)?);
                self.anew = true;
                continue;
            }
            let found = read_head(&self.file).map_err(|error| told(&error, &self.path))?;
            let whole = found.is_some();
            locked.head = found.unwrap_or(locked.head);
            return Ok((locked, whole));
        }
    }
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|error| of_io(&error, "open", path))
}

/// A file without anything in it is a new one.
fn read_head(file: &File) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD];
    match file.read_at(&mut bytes, 0)? {
        0 => Ok(Some(Head::fresh())),
        read if read == bytes.len() => Ok(Head::unpack(&bytes)),
        _ => Ok(None),
    }
}

/// Takes the lock; false where the file system has none.
fn wait(file: &File, path: &Path) -> Result<bool> {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {
                let step = if waited < LONG { SHORT } else { LONG };
                std::thread::sleep(step);
                waited += step;
            }
            // The races that remain can cost what is remembered, nothing else.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(of_io(&error, "lock", path)),
        }
    }
    Err(Error::new(Code::LockTimeout, format!("Another process holds {}.", path.display()))
        .next("Repeat the call when the other process has finished."))
}

/// The file while its lock is held.
pub(super) struct Locked {
    file: Arc<File>,
    head: Head,
    /// It is a real lock.
    sure: bool,
}

impl Locked {
    pub(super) fn head(&self) -> Head {
        self.head
    }

    /// The entries, the oldest first; what follows a damaged one is lost, and the second answer false.
    pub(super) fn entries(&self) -> (Vec<Vec<u8>>, bool) {
        let mut body = vec![0; usize::try_from(self.head.end - BODY).unwrap_or(0)];
        if self.file.read_exact_at(&mut body, BODY).is_err() {
            return (Vec::new(), false);
        }
        let (mut entries, mut rest) = (Vec::new(), &body[..]);
        while let Some((entry, following)) = take(rest) {
            entries.push(entry.to_vec());
            rest = following;
        }
        (entries, rest.is_empty())
    }

    /// Adds an entry, in which operation [`Head::next`] stands. False, and nothing is done, where it has no room or no number.
    /// Whatever ends the process in here: there is the whole entry, or nothing of it.
    pub(super) fn append(&mut self, entry: &[u8]) -> io::Result<bool> {
        let size = (FRAME + entry.len()) as u64;
        let room = if entry.len() > ENTRY { END } else { MOST };
        let fits = entry.len() <= LARGE && self.head.end <= MOST && self.head.end + size <= room;
        if !self.sure || self.head.next == 0 || !fits {
            return Ok(false);
        }
        let length = u32::try_from(entry.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.file.write_all_at(&[&length[..], &check(entry), entry].concat(), self.head.end)?;
        let Head { next, end, turn } = self.head;
        self.set(Head { next: next + 1, end: end + size, turn: turn + 1 })?;
        Ok(true)
    }

    /// Says that something changes what sessions know: before it is changed.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        self.set(Head { turn: self.head.turn + 1, ..self.head })
    }

    /// Everything is in the database.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let end = self.head.end;
        self.set(Head { end: BODY, ..self.head })?;
        // The space of a large entry is given back at once.
        if end > MOST { self.file.set_len(BODY) } else { Ok(()) }
    }

    /// The next operation has at least that number.
    pub(super) fn number(&mut self, next: u64) -> io::Result<()> {
        self.set(Head { next: next.max(self.head.next), ..self.head })
    }

    /// Gives the space back, and with it what stood in entries that are in the database.
    pub(super) fn shrink(&mut self) -> io::Result<()> {
        self.clear()?;
        self.file.set_len(BODY)
    }

    fn set(&mut self, head: Head) -> io::Result<()> {
        self.file.write_all_at(&head.pack(), 0)?;
        self.head = head;
        Ok(())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Where that fails, closing the file does it.
        let _ = self.file.unlock();
    }
}

/// The first entry, and what follows it.
fn take(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (entry, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    (check(entry) == *sum).then_some((entry, rest))
}

#[cfg(test)]
mod tests {
    use super::{BODY, Spool};
    use std::os::unix::fs::FileExt as _;

    fn filled(entries: &[&[u8]]) -> (tempfile::TempDir, Spool) {
        let temp = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(&temp.path().join("x.db")).unwrap();
        let (mut locked, whole) = spool.lock().unwrap();
        assert!(whole && !locked.append(b"without a number").unwrap());
        locked.number(7).unwrap();
        for entry in entries {
            assert!(locked.append(entry).unwrap());
        }
        drop(locked);
        (temp, spool)
    }

    #[test]
    fn entries_come_back_until_they_are_cleared() {
        let (temp, spool) = filled(&[b"one", b"", b"three"]);
        let mut other = Spool::open(&temp.path().join("x.db")).unwrap();
        let before = other.look().unwrap();
        assert!(before.next == 10 && !before.is_empty());
        let (mut locked, _) = other.lock().unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec(), vec![], b"three".to_vec()], true));
        locked.clear().unwrap();
        assert_eq!(locked.entries(), (vec![], true));
        drop(locked);
        let after = spool.look().unwrap();
        assert_eq!((after.is_empty(), after.next, after.turn), (true, 10, before.turn));
    }

    #[test]
    fn damage_anywhere_is_noticed_and_costs_no_earlier_entry() {
        let (_temp, mut spool) = filled(&[b"one", b"two"]);
        let size = spool.file.metadata().unwrap().len();
        for at in 0..size {
            let mut byte = [0];
            spool.file.read_exact_at(&mut byte, at).unwrap();
            spool.file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            let (locked, whole) = spool.lock().unwrap();
            let (entries, all) = locked.entries();
            assert!(!whole || !all, "{at}");
            assert_eq!(entries.len(), usize::from(at >= BODY + 15), "{at}");
            drop(locked);
            spool.file.write_all_at(&byte, at).unwrap();
        }
        spool.file.set_len(size - 1).unwrap();
        assert!(!spool.lock().unwrap().0.entries().1);
    }

    #[test]
    fn a_write_that_was_cut_short_never_was() {
        let (_temp, mut spool) = filled(&[b"one"]);
        let (mut locked, _) = spool.lock().unwrap();
        let head = locked.head;
        locked.append(b"two").unwrap();
        // Killed between the entry and the head.
        locked.set(head).unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec()], true));
        locked.append(b"other").unwrap();
        assert_eq!(locked.entries(), (vec![b"one".to_vec(), b"other".to_vec()], true));
    }

    #[test]
    fn it_is_bounded_and_a_file_that_was_removed_is_not_written_to() {
        let (temp, mut spool) = filled(&[]);
        let (mut locked, _) = spool.lock().unwrap();
        let entry = vec![0; super::ENTRY];
        assert!(!locked.append(&vec![0; super::LARGE + 1]).unwrap());
        while locked.append(&entry).unwrap() {}
        assert_eq!(locked.entries().0.len(), 7);
        // A large one finds room behind small ones, and nothing behind it.
        let large = vec![1; super::LARGE];
        assert!(locked.append(&large).unwrap());
        assert!(!locked.append(&large).unwrap() && !locked.append(b"small").unwrap());
        drop(locked);
        let (mut locked, whole) = spool.lock().unwrap();
        let (entries, all) = locked.entries();
        assert_eq!((whole, all, entries.len(), entries[7] == large), (true, true, 8, true));
        locked.clear().unwrap();
        assert_eq!(spool.file.metadata().unwrap().len(), BODY);
        assert!(locked.append(&entry).unwrap());
        drop(locked);
        std::fs::remove_file(temp.path().join("x.spool")).unwrap();
        let (locked, whole) = spool.lock().unwrap();
        assert!(whole && locked.head().is_empty() && locked.head().next == 0);
        assert!(temp.path().join("x.spool").exists());
    }
}
