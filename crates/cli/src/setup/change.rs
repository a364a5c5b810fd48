//! A change of one file of a client: planned, made through the engine like any edit, and undone if a later one fails.

use super::record::{RecordLocation, StoredRecord};
use crate::approval;
use crate::clients::ConfigLocation;
use crate::context::CliContext;
use emendate::core::{ChangeSet, Code, Error, Result, Snapshot};
use emendate::fs::{Durability, FileWrite, LocalStore, NewState, Precondition, Store as _, shown};
use emendate::{Engine, PolicyMode, Reply, SeedCodes};
use emendate_clients::{ConfigFormat, InstallRecord, Withdrawal};
use emendate_os::files;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Suffix of the backup of a file.
const BACKUP_SUFFIX: &str = ".emend-backup";

/// A file before the change.
pub(crate) struct PriorFile {
    pub(crate) spot: ConfigLocation,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) stored: Option<StoredRecord>,
    record_file: RecordLocation,
}

impl PriorFile {
    /// Reads a file and its record.
    ///
    /// Errors: content that is not text or cannot be read; a record of a newer version of this program.
    pub(crate) fn read(context: &CliContext<'_>, spot: ConfigLocation) -> Result<PriorFile> {
        let record_file = RecordLocation::of(context, &spot.path);
        Ok(PriorFile { snapshot: spot.read()?, stored: record_file.read()?, record_file, spot })
    }

    pub(crate) fn text(&self) -> &str {
        self.snapshot.as_ref().map_or("", Snapshot::text)
    }

    pub(crate) fn name(&self) -> String {
        shown(&self.spot.path)
    }

    /// The content as it is on disk; `None` for a file that does not exist or is not in UTF-8.
    fn raw(&self) -> Option<String> {
        String::from_utf8(self.snapshot.as_ref()?.raw().to_vec()).ok()
    }

    /// Returns how many directories above the file do not exist.
    pub(crate) fn missing_directories(&self) -> usize {
        self.spot.path.ancestors().skip(1).take_while(|directory| !directory.exists()).count()
    }

    /// Refuses a file that somebody protected against changes: replacing it would circumvent that.
    ///
    /// Errors: `io.permission`.
    fn check_writable(&self) -> Result<()> {
        let mode = std::fs::metadata(&self.spot.path).map_or(0o600, |meta| files::mode_of(&meta));
        if mode & 0o222 != 0 {
            return Ok(());
        }
        let what = format!("{} is read-only (mode {:04o}).", self.name(), mode & 0o7777);
        Err(Error::new(Code::IoPermission, what)
            .next(format!("Nothing was changed. If it may change, chmod u+w {}, and repeat the command.", self.name())))
    }

    /// Refuses a file that another program has open for writing: what it writes next would be lost.
    ///
    /// Errors: `stale.changed`.
    fn check_unused(&self) -> Result<()> {
        let Some(program) = emendate_os::processes::writer_of(&self.spot.path) else { return Ok(()) };
        let what = format!("{} is being written by {program}.", self.name());
        Err(Error::new(Code::StaleChanged, what)
            .next("Nothing was changed. Wait until it has finished, or end it, and repeat the command."))
    }

    /// The error for a file that is no longer as it was read.
    fn changed(&self) -> Error {
        let what = format!("{} changed after the change was planned; another program writes it.", self.name());
        Error::new(Code::StaleChanged, what).next(
            "Nothing was changed. Close the client, or wait until it has saved its settings, and repeat the command.",
        )
    }

    /// Returns the path of the backup.
    fn backup_path(&self) -> PathBuf {
        PathBuf::from(format!("{}{BACKUP_SUFFIX}", self.name()))
    }

    /// Returns the file before the first installation; `None` if it did not exist, or nothing is known about it.
    pub(crate) fn original(&self) -> Result<Option<String>> {
        match &self.stored {
            Some(stored) => Ok(stored.record.original.clone()),
            None => Ok(self.backup()?.map(|kept| kept.text().to_owned())),
        }
    }

    /// Returns a text with the line ends and the byte order mark of the file; `None` for a file that does not exist or is
    /// not in UTF-8.
    fn in_layout(&self, text: &str) -> Option<String> {
        let snapshot = self.snapshot.as_ref()?;
        let plain = Snapshot::from_text(snapshot.text());
        let changes = ChangeSet::diff(&plain, &Snapshot::from_text(text));
        let (raw, mut out, mut at) = (snapshot.raw(), Vec::new(), 0);
        for splice in changes.splices() {
            let span = snapshot.raw_span(splice.span);
            out.extend_from_slice(&raw[at..span.start()]);
            out.extend(snapshot.encode_for(splice.span, std::str::from_utf8(&splice.text).ok()?).ok()?);
            at = span.end();
        }
        out.extend_from_slice(&raw[at..]);
        String::from_utf8(out).ok()
    }

    /// Removes what an installation left that was taken back in another way: its record, the backup and directories that
    /// are empty.
    pub(crate) fn forget_installation(&self) {
        let Some(stored) = &self.stored else { return };
        self.record_file.remove();
        if stored.has_backup {
            let _ = std::fs::remove_file(self.backup_path());
        }
        if self.snapshot.is_none() {
            self.remove_directories(stored.directories);
        }
    }

    fn remove_directories(&self, count: usize) {
        for directory in self.spot.path.ancestors().skip(1).take(count) {
            // A directory that is not empty stays.
            let _ = std::fs::remove_dir(directory);
        }
    }

    /// Returns the backup; `None` if there is none.
    pub(crate) fn backup(&self) -> Result<Option<Snapshot>> {
        ConfigLocation { path: self.backup_path(), root: self.spot.root.clone() }.read()
    }
}

/// A file and its new content.
pub(crate) struct ConfigChange {
    pub(crate) before: PriorFile,
    pub(crate) text: String,
    /// The meaning of the change, for people.
    pub(crate) meaning: Vec<String>,
    /// The bytes that the file has to have in the end, which the layout of `text` may not decide.
    exact: Option<String>,
    /// The file is its owner's, without anything of ours, and no file has the name of its backup. Only such a file is
    /// backed up.
    needs_backup: bool,
    /// The file without anything of ours, for the record of an installation; `None` if it does not exist then.
    without_ours: Option<String>,
    /// The file was created by this program and is removed, with this many directories above it if they are empty.
    removal: Option<usize>,
    /// The backup is no longer needed.
    drops_backup: bool,
    /// True for an installation, which is recorded.
    installs: bool,
    /// Directories above the file that did not exist when the change was planned.
    missing_before: usize,
    /// The file is a program.
    pub(crate) is_executable: bool,
}

impl ConfigChange {
    /// The change that installs something. `removed` is the present text without anything of ours.
    pub(crate) fn install(before: PriorFile, text: String, removed: &str, format: ConfigFormat) -> ConfigChange {
        let is_original = before.stored.is_none() && removed == before.text();
        let without_ours = match (&before.stored, before.raw()) {
            (Some(stored), Some(raw)) => match stored.record.withdraw(&raw, removed, format) {
                Withdrawal::Nothing => None,
                Withdrawal::Text(text) => Some(text),
                // A file of ours that somebody changed is nobody else's.
                Withdrawal::Overlapping if removed.is_empty() => stored.record.original.as_ref().map(|_| String::new()),
                Withdrawal::Overlapping => before.in_layout(removed),
            },
            (_, Some(raw)) if is_original => Some(raw),
            _ => before.in_layout(removed),
        };
        let has_file = before.snapshot.is_some();
        ConfigChange {
            needs_backup: is_original && has_file && before.backup_path().symlink_metadata().is_err(),
            missing_before: before.missing_directories(),
            before,
            text,
            meaning: Vec::new(),
            exact: None,
            without_ours,
            removal: None,
            drops_backup: false,
            installs: true,
            is_executable: false,
        }
    }

    /// The change that takes everything of ours out. `created_directories` are those that an installation without a
    /// record created.
    ///
    /// Errors: a backup that cannot be read.
    pub(crate) fn uninstall(
        before: PriorFile,
        removed: String,
        created_directories: usize,
        format: ConfigFormat,
    ) -> Result<ConfigChange> {
        let mut change = ConfigChange::install(before, removed, "", format);
        (change.installs, change.needs_backup, change.without_ours) = (false, false, None);
        if change.before.text() == change.text {
            return Ok(change);
        }
        let raw = change.before.raw();
        let withdrawn = change.before.stored.as_ref().zip(raw.as_deref());
        match withdrawn.map(|(stored, raw)| (stored.record.withdraw(raw, &change.text, format), stored.directories)) {
            Some((Withdrawal::Nothing, directories)) => change.removal = Some(directories),
            Some((Withdrawal::Text(text), _)) => {
                Snapshot::open_text(text.clone())?.text().clone_into(&mut change.text);
                change.exact = Some(text);
                change.drops_backup = change.before.stored.as_ref().is_some_and(|stored| stored.has_backup);
            }
            // Every file that existed before has a backup.
            Some((Withdrawal::Overlapping, _)) | None => match change.before.backup()? {
                Some(kept) => {
                    let is_ours = change.before.stored.as_ref().is_none_or(|stored| stored.has_backup);
                    change.drops_backup = is_ours && kept.text() == change.text;
                }
                None if matches!(change.text.trim(), "" | "{}") => {
                    let recorded = change.before.stored.as_ref().map_or(0, |stored| stored.directories);
                    change.removal = Some(recorded.max(created_directories));
                }
                None => {}
            },
        }
        Ok(change)
    }

    /// True if it changes anything.
    pub(crate) fn is_one(&self) -> bool {
        self.before.text() != self.text || self.removal.is_some()
    }

    /// Opens an engine that may edit this file and no other guarded one. Denials by the user remain in force.
    pub(crate) fn engine(&self, context: &CliContext<'_>) -> Result<Engine> {
        // The person's own command about this very file: the guard is for models.
        let rule = approval::rule_about(&self.before.name());
        let config = context.config()?.with_rule(PolicyMode::Allow, &rule, "emend mcp")?;
        Engine::open(std::slice::from_ref(&self.before.spot.root), context.state(), config)
    }

    /// Makes the change, or shows it in a dry run. A file that changed since it was read is left alone.
    pub(crate) fn call(&self, context: &CliContext<'_>, engine: &Engine, dry_run: bool) -> Reply {
        let tag = self.before.snapshot.as_ref().map(|snapshot| snapshot.id().tag().to_string());
        if self.removal.is_some() {
            let read = json!({ "file_path": self.before.name(), "limit": 1 });
            let patch = format!("*** Begin Patch\n*** Delete File: {}\n*** End Patch\n", self.before.name());
            let input = json!({ "input": patch, "directory": self.before.spot.root, "dry_run": dry_run });
            return approval::call(context, |caller| {
                // The session knows the text that the installation wrote, and a patch cannot name another version.
                match engine.call(caller, "read", read.clone()).result {
                    Ok(seen) if seen.data.get("tag").and_then(Value::as_str) != tag.as_deref() => {
                        Reply::refusal(self.before.changed(), SeedCodes::None)
                    }
                    _ => engine.call(caller, "apply", input.clone()),
                }
            });
        }
        let mut input =
            json!({ "file_path": self.before.name(), "content": self.text, "on_stale": "reject", "dry_run": dry_run });
        if self.exact.is_some() {
            // What was there before may have been invalid.
            input["allow_invalid"] = true.into();
        }
        match &tag {
            Some(tag) => input["tag"] = tag.clone().into(),
            None => input["overwrite"] = false.into(),
        }
        approval::call(context, |caller| engine.call(caller, "write", input.clone()))
    }

    /// Refuses what no dry run finds: a protected file, and one that is no longer as it was when the change was planned;
    /// and an installation in a file whose bytes no record could give back.
    ///
    /// Errors: `io.permission`, `stale.changed`, `content.undecodable`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.installs && self.before.snapshot.is_some() && self.before.raw().is_none() {
            let what = format!("{} is not in UTF-8; nothing was changed.", self.before.name());
            return Err(Error::new(Code::ContentUndecodable, what).next("Save it as UTF-8, and repeat the command."));
        }
        if self.is_one() {
            self.before.check_writable()?;
            self.before.check_unused()?;
        }
        let now = self.before.spot.read()?;
        if now.as_ref().map(Snapshot::raw) == self.before.snapshot.as_ref().map(Snapshot::raw) {
            return Ok(());
        }
        Err(self.before.changed())
    }

    /// Copies the file next to itself, byte for byte, with the same mode. A later installation keeps the copy of the
    /// first one.
    pub(crate) fn back_up(&self, durability: Durability) -> Result<Option<PathBuf>> {
        let Some(snapshot) = self.before.snapshot.as_ref().filter(|_| self.needs_backup) else { return Ok(None) };
        let path = self.before.backup_path();
        let copy = ConfigLocation { path: path.clone(), root: self.before.spot.root.clone() };
        put(&copy, Some(&self.before.spot), snapshot.raw(), durability)?;
        Ok(Some(path))
    }

    /// Completes the change after the engine made it: the exact bytes, the record, and what is no longer needed.
    ///
    /// Errors: those of the file system.
    pub(crate) fn complete(&self, durability: Durability) -> Result<()> {
        let now = self.before.spot.read()?;
        let raw = now.as_ref().map(Snapshot::raw);
        if let Some(exact) = self.exact.as_ref().filter(|exact| raw != Some(exact.as_bytes())) {
            put(&self.before.spot, None, exact.as_bytes(), durability)?;
        }
        if let Some(bytes) = raw.filter(|_| self.is_executable) {
            put_program(&self.before.spot, bytes, durability)?;
        }
        if self.installs {
            let written = raw.and_then(|raw| std::str::from_utf8(raw).ok());
            let stored = self.before.stored.as_ref();
            if let Some(written) = written {
                let record = InstallRecord { original: self.without_ours.clone(), written: written.to_owned() };
                let directories = stored.map_or(0, |stored| stored.directories) + self.created();
                let has_backup = stored.map_or(self.needs_backup, |stored| stored.has_backup);
                self.before.record_file.write(&StoredRecord { record, directories, has_backup })?;
            }
            return Ok(());
        }
        self.before.record_file.remove();
        if self.drops_backup {
            let _ = std::fs::remove_file(self.before.backup_path());
        }
        self.before.remove_directories(self.removal.unwrap_or(0));
        Ok(())
    }

    /// The directories that the change created, as counted before it.
    fn created(&self) -> usize {
        if self.before.snapshot.is_some() { 0 } else { self.missing_before }
    }

    /// Takes the change back, because another one of the same client failed. A failure leaves what the backup and the
    /// history can restore.
    pub(crate) fn take_back(&self, durability: Durability) {
        if let Some(snapshot) = &self.before.snapshot {
            drop(put(&self.before.spot, None, snapshot.raw(), durability));
        } else {
            let _ = std::fs::remove_file(&self.before.spot.path);
            self.before.remove_directories(self.missing_before);
        }
        match &self.before.stored {
            Some(stored) => drop(self.before.record_file.write(stored)),
            None => self.before.record_file.remove(),
        }
        if self.needs_backup {
            let _ = std::fs::remove_file(self.before.backup_path());
        }
    }
}

/// Writes these bytes to a file, with the mode of another one if it is new.
fn put(spot: &ConfigLocation, like: Option<&ConfigLocation>, bytes: &[u8], durability: Durability) -> Result<()> {
    let store = LocalStore::open(std::slice::from_ref(&spot.root))?;
    let like = like.map(|like| store.resolve_path(&like.path)).transpose()?;
    let chunks = [bytes];
    let state = NewState::File { chunks: &chunks, executable: None, mode: None, like: like.as_ref(), attributes: None };
    put_state(&store, spot, state, durability)
}

/// Writes these bytes to a file that can be executed.
fn put_program(spot: &ConfigLocation, bytes: &[u8], durability: Durability) -> Result<()> {
    let store = LocalStore::open(std::slice::from_ref(&spot.root))?;
    let chunks = [bytes];
    let state = NewState::File { chunks: &chunks, executable: Some(true), mode: None, like: None, attributes: None };
    put_state(&store, spot, state, durability)
}

fn put_state(store: &LocalStore, spot: &ConfigLocation, new_state: NewState<'_>, durability: Durability) -> Result<()> {
    let place = store.resolve_path(&spot.path)?;
    let old = store.read(&place, u64::MAX - 1, Vec::new())?;
    let expect =
        old.as_ref().map_or(Precondition::Missing, |old| Precondition::Version { bytes: &old.bytes, meta: &old.meta });
    store.stage(&[FileWrite { path: &place, precondition: expect, new_state }], durability)?.commit()?;
    Ok(())
}
