//! The ticks of a person: files and hunks that were reviewed, each in one version. They are kept on the server, so that
//! every browser shows them.
//!
//! The file has one line for each tick that was set (`+`) or removed (`-`), in order. Lines are appended in one write,
//! so several servers of one project can use the file at the same time.

use emendate_os::files::{self, OpenOptionsExt as _};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum bytes of the file; if it is larger, the older half of its lines is dropped.
const FILE_BYTES_MAX: u64 = 2 << 20;
/// Maximum number of ticks that a server without a file keeps.
const TICKS_MAX: usize = 50_000;
/// Maximum characters of the name of a tick.
const NAME_CHARS_MAX: usize = 120;

/// The ticks.
pub(crate) struct Ticks {
    file: Option<PathBuf>,
    known: Mutex<KnownTicks>,
}

/// The ticks, up to the position to which the file was read.
#[derive(Default)]
struct KnownTicks {
    names: HashSet<String>,
    /// The inode of the file.
    inode: u64,
    /// The number of bytes of it that were read.
    read: u64,
}

impl Ticks {
    /// Creates the ticks of a file; without a file they last as long as the server.
    pub(crate) fn open(file: Option<PathBuf>) -> Ticks {
        Ticks { file, known: Mutex::default() }
    }

    /// True if this was ticked.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.known().names.contains(name)
    }

    /// Reads what other servers have added. It is called once for each page.
    pub(crate) fn refresh(&self) {
        if let Some(file) = &self.file {
            // Without the file, the page shows what it knows.
            let _ = self.known().read(file);
        }
    }

    /// Sets or removes a tick; returns false for an invalid name.
    ///
    /// Errors: those of the file.
    pub(crate) fn set(&self, name: &str, is_set: bool) -> std::io::Result<bool> {
        self.set_all(&[name.to_owned()], is_set)
    }

    /// Sets or removes several ticks; if a name is invalid, changes nothing and returns false.
    ///
    /// Errors: those of the file.
    pub(crate) fn set_all(&self, names: &[String], is_set: bool) -> std::io::Result<bool> {
        if !names.iter().all(|name| is_name(name)) {
            return Ok(false);
        }
        let mut known = self.known();
        let Some(file) = &self.file else {
            for name in names {
                if is_set && known.names.len() < TICKS_MAX {
                    known.names.insert(name.clone());
                } else {
                    known.names.remove(name);
                }
            }
            return Ok(true);
        };
        let mut out = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
        let sign = if is_set { '+' } else { '-' };
        out.write_all(names.iter().map(|name| format!("{sign}{name}\n")).collect::<String>().as_bytes())?;
        // Windows does not let a file be replaced while it is open in this way.
        drop(out);
        known.read(file)?;
        if known.read > FILE_BYTES_MAX {
            let text = fs::read_to_string(file)?;
            let half = text[text.len() / 2..].find('\n').map_or(text.len(), |at| text.len() / 2 + at + 1);
            let fresh = file.with_extension("new");
            fs::write(&fresh, &text[half..])?;
            fs::rename(&fresh, file)?;
        }
        Ok(true)
    }

    fn known(&self) -> MutexGuard<'_, KnownTicks> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for the name of a tick, as the page makes them.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_CHARS_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
}

impl KnownTicks {
    /// Reads the lines that were added since the last time, or all of a file that was replaced.
    fn read(&mut self, path: &PathBuf) -> std::io::Result<()> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let (inode, size) = (files::id_of(&file).map_or(0, |(_, inode)| inode), file.metadata()?.len());
        if inode != self.inode || size < self.read {
            *self = KnownTicks { inode, ..KnownTicks::default() };
        }
        if size == self.read {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX * 2).read_to_end(&mut bytes)?;
        // A line that is being written is read the next time.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in String::from_utf8_lossy(&bytes[..whole]).lines() {
            match line.split_at_checked(1) {
                Some(("+", name)) => {
                    self.names.insert(name.to_owned());
                }
                Some(("-", name)) => {
                    self.names.remove(name);
                }
                _ => {}
            }
        }
        self.read += whole as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE_BYTES_MAX, Ticks};

    #[test]
    fn ticks_are_shared_by_servers_and_outlive_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ticks");
        let (one, two) = (Ticks::open(Some(file.clone())), Ticks::open(Some(file.clone())));
        assert!(one.set("f-1:a", true).unwrap() && one.set("f-2:b", true).unwrap());
        assert!(one.has("f-1:a") && !two.has("f-1:a"));
        two.refresh();
        assert!(two.has("f-1:a") && two.has("f-2:b"));
        two.set("f-1:a", false).unwrap();
        one.refresh();
        assert!(!one.has("f-1:a") && one.has("f-2:b"));
        let both = ["f-1:a".to_owned(), "f-2:b".to_owned()];
        assert!(two.set_all(&both, false).unwrap() && !two.has("f-2:b") && two.set_all(&both[1..], true).unwrap());
        assert!(!one.set("two words", true).unwrap() && !one.set("", true).unwrap() && !one.set("a\nb", true).unwrap());
        assert!(Ticks::open(Some(file)).set("x", true).unwrap());
    }

    #[test]
    fn file_keeps_the_newest_ticks() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ticks");
        let line = format!("+{}\n", "x".repeat(99));
        std::fs::write(&file, line.repeat(usize::try_from(FILE_BYTES_MAX).unwrap() / line.len() + 1)).unwrap();
        let ticks = Ticks::open(Some(file.clone()));
        ticks.set("newest", true).unwrap();
        assert!(std::fs::metadata(&file).unwrap().len() < FILE_BYTES_MAX * 3 / 4);
        ticks.refresh();
        assert!(ticks.has("newest"));
    }

    #[test]
    fn ticks_without_a_file_last_as_long_as_the_server() {
        let ticks = Ticks::open(None);
        ticks.set("a", true).unwrap();
        assert!(ticks.has("a"));
        ticks.set("a", false).unwrap();
        assert!(!ticks.has("a"));
    }
}
