//! Waiting until a file of some directories changes, by any process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use emendate_os::Notifications;

use crate::database::identity;

/// Longest wait between two checks of the directories: notifications miss changes by other machines, and a directory
/// that was replaced has to be watched again.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Wait between two checks of the directories if the system gives no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Directories whose changes wake a waiting thread. Only a hint: a wait may end without a change, and after a second it
/// does. What changed has to be found by other means.
#[derive(Debug)]
pub struct DirectoryWatch {
    /// `None` if the system gives no notifications.
    notifications: Option<Notifications>,
    directories: Vec<WatchedDirectory>,
}

#[derive(Debug)]
struct WatchedDirectory {
    path: PathBuf,
    /// Device and inode of the directory that is watched; `None` if there is none.
    watched: Option<(u64, u64)>,
}

impl DirectoryWatch {
    /// Watches these directories, which need not exist yet.
    pub fn new<'a>(directories: impl IntoIterator<Item = &'a Path>) -> DirectoryWatch {
        let directories =
            directories.into_iter().map(|path| WatchedDirectory { path: path.to_owned(), watched: None }).collect();
        let mut watch = DirectoryWatch { notifications: Notifications::open(), directories };
        watch.renew();
        watch
    }

    /// Waits until a file in one of the directories changes, but at most this long, and at most a second.
    pub fn wait(&mut self, timeout: Duration) {
        self.renew();
        match &self.notifications {
            Some(notifications) => notifications.wait(timeout.min(LOOK_INTERVAL)),
            None => std::thread::sleep(timeout.min(POLL_INTERVAL)),
        }
    }

    /// Watches the directories that are now at the paths.
    fn renew(&mut self) {
        let Some(notifications) = &self.notifications else { return };
        for directory in &mut self.directories {
            let now = identity(&directory.path);
            if now.is_some() && now == directory.watched {
                continue;
            }
            directory.watched = now.filter(|_| notifications.add(&directory.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DirectoryWatch;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Waits until `done`; a wait that is not woken ends after a second, so ten of them are enough.
    fn woken(watch: &mut DirectoryWatch, mut done: impl FnMut() -> bool) -> bool {
        (0..10).any(|_| {
            watch.wait(Duration::from_secs(60));
            done()
        })
    }

    #[test]
    fn wait_ends_when_a_file_changes_also_in_a_directory_that_was_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let directory = temp.path().join("state");
        let mut watch = DirectoryWatch::new([&*directory]);
        for text in ["one", "two"] {
            let (send, receive) = mpsc::channel();
            let file = directory.join("file");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let _ = std::fs::remove_dir_all(&directory);
                    std::fs::create_dir(&directory).unwrap();
                    std::fs::write(&file, text).unwrap();
                    send.send(()).unwrap();
                });
                assert!(woken(&mut watch, || receive.try_recv().is_ok()));
            });
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}
