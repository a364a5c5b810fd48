//! Questions to a person that wait for an answer: one file each beside the database, so that they survive every process.
//!
//! `ID.question` never changes. The process that makes the call holds a lock on it, which ends with the process.
//! `ID.answer` is created in one step and only once, so the first answer wins. `ID.result` reports the end; the question
//! is removed after it was written.

use emendate_os::files::DirBuilderExt as _;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use emendate_core::{Code, Error, Result};

use crate::clock;

/// Questions of one root that wait at the same time.
pub const QUESTIONS_MAX: usize = 100;
/// Bytes of a stored question, or of an answer to it.
pub const QUESTION_BYTES_MAX: usize = 4 << 20;

/// Age from which a result is removed.
const RESULT_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Age from which a question is removed whose process ended.
const ABANDONED_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Attempts to take a lock that another process may hold for a moment, to find out whether it is held.
const LOCK_ATTEMPTS_MAX: u32 = 20;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 8;

/// The kinds of files, by their extension.
const QUESTION: &str = "question";
const ANSWER: &str = "answer";
const RESULT: &str = "result";

/// A stored question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredQuestion {
    /// The id of the question.
    pub id: String,
    /// The question, as it was stored.
    pub question: Vec<u8>,
    /// The answer, once there is one.
    pub answer: Option<Vec<u8>>,
    /// A process holds the question: it waits for the answer, or carries it out.
    pub is_held: bool,
}

/// The right to carry out the answer to a question, until it is dropped or the process ends.
#[derive(Debug)]
pub struct QuestionLock {
    id: String,
    /// Closing the file releases the lock.
    _file: File,
}

impl QuestionLock {
    /// The id of the question.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// The questions of one root.
#[derive(Clone, Debug)]
pub struct QuestionStore {
    directory: PathBuf,
}

impl QuestionStore {
    /// Names the questions beside a history; nothing is created yet.
    pub fn beside(history: &Path) -> QuestionStore {
        QuestionStore { directory: history.join("questions") }
    }

    /// The directory of the questions, which changes with each of them.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Stores a question and holds it. `None` if it is too large, or too many wait already.
    ///
    /// Errors: those of the disk.
    pub fn add(&self, question: &[u8]) -> Result<Option<QuestionLock>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if question.len() > QUESTION_BYTES_MAX {
            return Ok(None);
        }
        self.create_directory()?;
        if self.clean_up()? >= QUESTIONS_MAX {
            return Ok(None);
        }
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let seed = format!("{} {} {count}", clock::now_us(), std::process::id());
            let id = blake3::hash(seed.as_bytes()).to_hex()[..ID_DIGITS].to_owned();
            if self.path(&id, RESULT).exists() {
                continue;
            }
            let file = self.write_temporary(question)?;
            // Before anybody can find it. Without locks, another process takes it for abandoned and may answer it.
            let _ = file.as_file().try_lock();
            match file.persist_noclobber(self.path(&id, QUESTION)) {
                Ok(file) => return Ok(Some(QuestionLock { id, _file: file })),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failure("create", &error.error)),
            }
        }
    }

    /// Returns the questions without a result, the oldest first.
    ///
    /// Errors: those of the disk.
    pub fn list(&self) -> Result<Vec<StoredQuestion>> {
        let mut found = Vec::new();
        for (id, at) in self.ids()? {
            found.extend(self.get(&id)?.map(|question| (at, question)));
        }
        found.sort_by(|one, other| (one.0, &one.1.id).cmp(&(other.0, &other.1.id)));
        Ok(found.into_iter().map(|(_, question)| question).collect())
    }

    /// Returns a question without a result.
    ///
    /// Errors: those of the disk.
    pub fn get(&self, id: &str) -> Result<Option<StoredQuestion>> {
        if !is_id(id) || self.result(id)?.is_some() {
            return Ok(None);
        }
        let Some(question) = self.read(id, QUESTION)? else { return Ok(None) };
        let is_held = match File::open(self.path(id, QUESTION)) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(_) => return Ok(None),
        };
        Ok(Some(StoredQuestion { id: id.to_owned(), question, answer: self.answer(id)?, is_held }))
    }

    /// Returns the answer to a question.
    ///
    /// Errors: those of the disk.
    pub fn answer(&self, id: &str) -> Result<Option<Vec<u8>>> {
        self.read(id, ANSWER)
    }

    /// Returns the result of a question, as long as it is kept.
    ///
    /// Errors: those of the disk.
    pub fn result(&self, id: &str) -> Result<Option<Vec<u8>>> {
        self.read(id, RESULT)
    }

    /// Answers a question in one step. False, writing nothing, if it has an answer already.
    ///
    /// Errors: `call.too_large`; those of the disk.
    pub fn put_answer(&self, id: &str, answer: &[u8]) -> Result<bool> {
        if answer.len() > QUESTION_BYTES_MAX {
            let what = format!("An answer has at most {QUESTION_BYTES_MAX} bytes.");
            return Err(Error::new(Code::CallTooLarge, what).next("Approve the change, and edit the file afterwards."));
        }
        match self.write_temporary(answer)?.persist_noclobber(self.path(id, ANSWER)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failure("create", &error.error)),
        }
    }

    /// Replaces the answer to a question that the caller holds, whose first answer was never carried out.
    ///
    /// Errors: those of the disk.
    pub fn replace_answer(&self, lock: &QuestionLock, answer: &[u8]) -> Result<()> {
        let file = self.write_temporary(answer)?;
        file.persist(self.path(&lock.id, ANSWER)).map(drop).map_err(|error| self.failure("create", &error.error))
    }

    /// Takes over a question whose process ended. `None` if a process holds it, or it has a result.
    ///
    /// Errors: those of the disk.
    pub fn take(&self, id: &str) -> Result<Option<QuestionLock>> {
        for _ in 0..LOCK_ATTEMPTS_MAX {
            let file = match File::open(self.path(id, QUESTION)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(self.failure("open", &error)),
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => clock::wait_briefly(),
                // The process that held the question may have stored its result after the file was opened and before it
                // was locked.
                _ if self.result(id)?.is_some() => return Ok(None),
                _ => return Ok(Some(QuestionLock { id: id.to_owned(), _file: file })),
            };
        }
        Ok(None)
    }

    /// Stores the result of a question, and removes the question.
    ///
    /// Errors: those of the disk.
    pub fn finish(&self, lock: &QuestionLock, result: &[u8]) -> Result<()> {
        let file = self.write_temporary(result)?;
        file.persist(self.path(&lock.id, RESULT)).map_err(|error| self.failure("create", &error.error))?;
        // An answer remains, without its texts: whoever looked up the question before cannot be the first any more.
        self.replace_answer(lock, b"")?;
        let _ = fs::remove_file(self.path(&lock.id, QUESTION));
        Ok(())
    }

    /// Removes the files of a question; what cannot be removed is removed later.
    fn remove(&self, id: &str) {
        for kind in [QUESTION, ANSWER] {
            let _ = fs::remove_file(self.path(id, kind));
        }
    }

    /// Removes what is too old. Returns the number of questions that remain.
    fn clean_up(&self) -> Result<usize> {
        let mut waiting = 0;
        for entry in fs::read_dir(&self.directory).map_err(|error| self.failure("list", &error))?.flatten() {
            let path = entry.path();
            let age = entry.metadata().and_then(|found| found.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default();
            let id = path.file_stem().and_then(|id| id.to_str()).unwrap_or_default().to_owned();
            match path.extension().and_then(|kind| kind.to_str()) {
                Some(RESULT) if age > RESULT_KEPT => {
                    self.remove(&id);
                    let _ = fs::remove_file(&path);
                }
                Some(QUESTION) if age > ABANDONED_KEPT && self.take(&id)?.is_some() => self.remove(&id),
                Some(QUESTION) if !self.path(&id, RESULT).exists() => waiting += 1,
                // An answer that was written while its question was removed, or what a killed process left.
                Some(ANSWER) if age > RESULT_KEPT && !self.path(&id, QUESTION).exists() => self.remove(&id),
                None if age > RESULT_KEPT => drop(fs::remove_file(&path)),
                _ => {}
            }
        }
        Ok(waiting)
    }

    /// Returns the ids of all questions, with their times.
    fn ids(&self) -> Result<Vec<(String, SystemTime)>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failure("list", &error)),
        };
        let ids = entries.flatten().filter_map(|entry| {
            let path = entry.path();
            let is_question = path.extension().is_some_and(|kind| kind == QUESTION);
            let at = entry.metadata().and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            Some((path.file_stem()?.to_str()?.to_owned(), at)).filter(|_| is_question)
        });
        Ok(ids.take(2 * QUESTIONS_MAX).collect())
    }

    fn create_directory(&self) -> Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(|it| self.failure("create", &it))
    }

    /// Writes a new file under a name that nobody reads, accessible to its owner only.
    fn write_temporary(&self, bytes: &[u8]) -> Result<tempfile::NamedTempFile> {
        write_temporary_in(&self.directory, bytes).map_err(|error| self.failure("write in", &error))
    }

    fn read(&self, id: &str, kind: &str) -> Result<Option<Vec<u8>>> {
        if !is_id(id) {
            return Ok(None);
        }
        let file = match File::open(self.path(id, kind)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failure("open", &error)),
        };
        let mut bytes = Vec::new();
        let read = file.take(QUESTION_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failure("read", &error))?;
        Ok(Some(bytes).filter(|bytes| bytes.len() <= QUESTION_BYTES_MAX))
    }

    fn path(&self, id: &str, kind: &str) -> PathBuf {
        self.directory.join(format!("{id}.{kind}"))
    }

    fn failure(&self, what: &str, error: &io::Error) -> Error {
        crate::database::of_io(error, what, &self.directory)
    }
}

/// Writes a temporary file, which is made with mode 0600, and syncs it.
///
/// Errors: those of the file system.
fn write_temporary_in(directory: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    Ok(file)
}

/// True for the id of a question: it is a name of a file, so it must not be a path.
fn is_id(id: &str) -> bool {
    id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::{QUESTION_BYTES_MAX, QUESTIONS_MAX, QuestionStore};

    #[cfg(unix)]
    #[test]
    fn questions_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let store = QuestionStore::beside(temp.path());
        let _lock = store.add(b"why?").unwrap().unwrap();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(store.directory()), 0o700);
        assert!(std::fs::read_dir(store.directory()).unwrap().all(|entry| mode(&entry.unwrap().path()) == 0o600));
    }

    #[test]
    fn first_answer_wins_and_a_result_ends_a_question() {
        let temp = tempfile::tempdir().unwrap();
        let store = QuestionStore::beside(temp.path());
        assert_eq!(store.list().unwrap(), []);
        let lock = store.add(b"why?").unwrap().unwrap();
        let id = lock.id().to_owned();
        let listed = store.list().unwrap();
        assert_eq!(
            (listed.len(), &*listed[0].question, &listed[0].answer, listed[0].is_held),
            (1, &b"why?"[..], &None, true)
        );
        assert!(store.take(&id).unwrap().is_none());
        let won: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|nth| {
                    let (store, id) = (&store, &id);
                    scope.spawn(move || store.put_answer(id, &[nth]).unwrap())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let winner = u8::try_from(won.iter().position(|won| *won).unwrap()).unwrap();
        assert_eq!(store.get(&id).unwrap().unwrap().answer, Some(vec![winner]));
        // The process ends before it carries it out; another one does.
        drop(lock);
        assert!(!store.get(&id).unwrap().unwrap().is_held);
        let lock = store.take(&id).unwrap().unwrap();
        store.replace_answer(&lock, b"better").unwrap();
        assert_eq!(store.answer(&id).unwrap().unwrap(), b"better");
        store.finish(&lock, b"done").unwrap();
        assert_eq!((store.get(&id).unwrap(), store.result(&id).unwrap()), (None, Some(b"done".to_vec())));
        assert!(store.take(&id).unwrap().is_none() && !store.put_answer(&id, b"late").unwrap());
        for wrong in ["../secret", "", "0123456", "0123456G", "é234567"] {
            assert_eq!((store.get(wrong).unwrap(), store.result(wrong).unwrap()), (None, None), "{wrong}");
        }
    }

    #[test]
    fn number_and_size_of_questions_are_bounded() {
        let temp = tempfile::tempdir().unwrap();
        let store = QuestionStore::beside(temp.path());
        assert!(store.add(&vec![0; QUESTION_BYTES_MAX + 1]).unwrap().is_none());
        assert!(store.add(&vec![0; QUESTION_BYTES_MAX]).unwrap().is_some());
        let held: Vec<_> = (1..QUESTIONS_MAX).map(|_| store.add(b"?").unwrap().unwrap()).collect();
        assert!(store.add(b"?").unwrap().is_none());
        store.finish(&held[0], b"").unwrap();
        assert!(store.add(b"?").unwrap().is_some());
        assert!(store.put_answer(held[1].id(), &vec![0; QUESTION_BYTES_MAX + 1]).is_err());
    }
}
