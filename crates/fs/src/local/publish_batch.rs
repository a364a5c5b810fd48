//! The common case of publishing for many files at once: replacing an existing file. The order does not matter: the
//! record holds the intended state of each, and after a crash every file is completed or restored.

use emendate_os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use emendate_core::{Code, Error, Result};

use super::lease::{LeasedFile, OpenMode};
use super::parent_dir::ParentDir;
use super::precondition::still_expected;
use super::transaction::{LocalTransaction, StagedFile};
use super::{LocalStore, kernel, rollback, sys};
use crate::{NewState, Precondition, WriteMethod, error};

impl LocalTransaction<'_> {
    /// Publishes, on several threads, every entry that needs only an exchange of names; leaves the others to be
    /// published one by one. After an error, some of them are published.
    pub(super) fn exchange_in_parallel(&mut self) -> Result<()> {
        if self.entries.len() < 2 {
            return Ok(());
        }
        let (local, folders, keeps) = (self.local, &self.folders, self.budget.keeps_displaced);
        let failed = AtomicBool::new(false);
        let ends = sys::in_parts(&mut self.entries, |part| {
            for entry in part {
                if failed.load(Ordering::Relaxed) {
                    break;
                }
                entry.published_by = exchange(local, &folders[entry.folder], entry, keeps)
                    .inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        });
        first_error(ends.into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    }
}

/// Chooses the error to report, in the order of the files. Errors that say where a foreign content is kept take
/// precedence, and the evidence of all of those is included.
fn first_error(mut errors: Vec<Error>) -> Option<Error> {
    errors.sort_by_key(|error| error.code() != Code::IoPartial);
    let mut errors = errors.into_iter();
    let first = errors.next()?;
    let others = errors.filter(|error| error.code() == Code::IoPartial);
    Some(others.fold(first, |first, other| first.evidence(other.evidence_text())))
}

/// Exchanges the target with its temporary file; `None` if nothing was done and the entry needs the general path.
fn exchange(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &mut StagedFile<'_>,
    keeps: bool,
) -> Result<Option<WriteMethod>> {
    let plain = matches!(
        (entry.write.precondition, entry.write.new_state),
        (Precondition::Version { .. }, NewState::File { like: None, .. })
    );
    if !plain || entry.temp.is_none() {
        return Ok(None);
    }
    let Some(old) = still_expected(local, folder, entry, OpenMode::Lease)? else { return Ok(None) };
    if old.is_open_for_writing() {
        entry.writer_seen = true;
        return Ok(None);
    }
    let here = folder.fd.as_fd();
    match &entry.temp {
        // Whatever the obstacle, nothing has changed.
        Some(temp) if kernel::exchange(here, &temp.name, entry.name).is_err() => Ok(None),
        _ => verify(here, entry, old, keeps).map(Some),
    }
}

/// Verifies the displaced file and keeps it leased until the transaction ends, so that a writer who resolved the name
/// before the exchange is still detected. Puts any unexpected file back.
pub(super) fn verify(
    folder: BorrowedFd<'_>,
    entry: &mut StagedFile<'_>,
    old: LeasedFile,
    keeps: bool,
) -> Result<WriteMethod> {
    let path = entry.write.path.absolute();
    let Some(temp) = &mut entry.temp else {
        return Ok(WriteMethod::Exchanged);
    };
    let cause = match old.is_displaced_file(folder, temp, entry.write.precondition) {
        Ok(true) => {
            entry.displaced = Some(old).filter(|_| keeps);
            return Ok(WriteMethod::Exchanged);
        }
        Ok(false) => error::raced(path, "was changed at the last moment, and that change was put back"),
        Err(errno) => error::os_error("compare", path, errno),
    };
    match rollback::put_back(folder, temp, entry.name) {
        Ok(()) => Err(cause),
        Err(what) => Err(error::partial(&cause, &what)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault_injection::{refuse_path, run, with_threads};
    use super::first_error;
    use crate::{
        Durability, FileVersion, FileWrite, LocalStore, NewState, Precondition, SafePath, Store, WriteMethod,
        WriteReport, error,
    };
    use emendate_core::{Code, Result};
    use emendate_os::io::Errno;
    use std::path::{Path, PathBuf};

    fn file_write((path, FileVersion { bytes, meta, .. }): &(SafePath, FileVersion)) -> FileWrite<'_> {
        FileWrite { path, precondition: Precondition::Version { bytes, meta }, new_state: NewState::content(&[b"new"]) }
    }

    /// Files with distinct contents beneath a root, with a journal next to it.
    struct BatchFixture {
        outer: tempfile::TempDir,
        local: LocalStore,
        files: Vec<(SafePath, FileVersion)>,
    }

    impl BatchFixture {
        fn new(name: &str, files: usize) -> BatchFixture {
            let outer = tempfile::tempdir().unwrap();
            let root = outer.path().join("root");
            std::fs::create_dir(&root).unwrap();
            let local = LocalStore::open(std::slice::from_ref(&root)).unwrap();
            let local = local.with_journal(&outer.path().join("journal")).unwrap();
            let file = |nth| {
                let path = root.join(format!("{name}-{nth:02}"));
                std::fs::write(&path, format!("old {nth}")).unwrap();
                let safe_path = local.resolve_path(&path).unwrap();
                let version = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
                (safe_path, version)
            };
            let files = (0..files).map(file).collect();
            BatchFixture { outer, local, files }
        }

        fn replace(&self, durability: Durability) -> Result<Vec<WriteReport>> {
            let writes: Vec<FileWrite<'_>> = self.files.iter().map(file_write).collect();
            self.local.stage(&writes, durability)?.commit()
        }

        /// Returns the contents of the files; checks that no other file is left, and nothing in the journal.
        fn texts(&self) -> Vec<String> {
            let count = |folder: &str| std::fs::read_dir(self.outer.path().join(folder)).unwrap().count();
            assert_eq!((count("root"), count("journal")), (self.files.len(), 0));
            self.files.iter().map(|(path, _)| std::fs::read_to_string(path.absolute()).unwrap()).collect()
        }
    }

    #[test]
    fn failure_in_one_thread_rolls_everything_back() {
        for (level, name) in [(Durability::Process, "process"), (Durability::Power, "power")] {
            let fixture = BatchFixture::new(&format!("in-threads-{name}"), 64);
            // One check before the first exchange, and one right before its own.
            refuse_path(&PathBuf::from(format!("in-threads-{name}-37")), 1, Errno::IO);
            let error = with_threads(|| fixture.replace(level)).unwrap_err();
            assert_eq!(error.code(), Code::IoFailed);
            assert!(error.message().contains("-37"), "{}", error.message());
            // At least those that the same thread had exchanged before.
            assert!(error.evidence_text().contains("were put back; nothing is changed"), "{}", error.evidence_text());
            assert_eq!(fixture.texts(), (0..64).map(|nth| format!("old {nth}")).collect::<Vec<_>>());
        }
        let fixture = BatchFixture::new("in-threads", 64);
        let written = with_threads(|| fixture.replace(Durability::Power)).unwrap();
        assert!(written.iter().all(|it| it.method == WriteMethod::Exchanged), "{written:?}");
        assert_eq!(fixture.texts(), vec!["new"; 64]);
    }

    #[test]
    fn first_error_is_reported_after_those_that_locate_contents() {
        let plain = |name: &str| error::os_error("open", Path::new(name), Errno::IO);
        let partial = |name: &str, what: &str| error::partial(&plain(name), what);
        assert!(first_error(Vec::new()).is_none());
        let first = first_error(vec![plain("/a"), plain("/b")]).unwrap();
        assert!(first.message().contains("/a"), "{}", first.message());
        let all = vec![plain("/a"), partial("/b", "kept at B"), plain("/c"), partial("/d", "kept at D")];
        let first = first_error(all).unwrap();
        assert_eq!(first.code(), Code::IoPartial);
        let evidence = first.evidence_text();
        assert!(evidence.contains("kept at B") && evidence.contains("kept at D"), "{evidence}");
        assert!(evidence.find("kept at B") < evidence.find("kept at D"), "{evidence}");
    }

    #[test]
    fn file_kept_open_is_waited_for_once() {
        let fixture = BatchFixture::new("waited", 2);
        if !fixture.local.probe(0).unwrap().leases {
            // Some sandboxes have no leases.
            return;
        }
        let keeper = std::fs::File::options().append(true).open(fixture.files[0].0.absolute()).unwrap();
        let ran = run(&[], || fixture.replace(Durability::Process));
        let methods: Vec<WriteMethod> = ran.result.unwrap().iter().map(|it| it.method).collect();
        assert_eq!(methods, [WriteMethod::InPlace, WriteMethod::Exchanged]);
        // Expected order: wait for the busy file, exchange the other one, then poll the busy file once.
        let exchanged = ran.names.iter().position(|name| *name == "rename").unwrap();
        let asked = |names: &[&str]| names.iter().filter(|name| **name == "lease").count();
        assert!(asked(&ran.names[..exchanged]) > 2);
        assert_eq!(asked(&ran.names[exchanged..]), 1);
        drop(keeper);
        assert_eq!(fixture.texts(), ["new", "new"]);
    }
}
