//! Reads the files of the repository once.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file that is tracked or would be.
#[derive(Debug)]
pub(crate) struct File {
    /// The path relative to the root, with `/`.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

/// The repository.
#[derive(Debug)]
pub(crate) struct Repo {
    /// The folder of the workspace.
    pub root: PathBuf,
    /// Every text file, sorted.
    pub files: Vec<File>,
}

impl Repo {
    /// Reads the files that git tracks or would track, except those that are not UTF-8.
    pub(crate) fn open() -> Result<Repo, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(2).unwrap_or(here).to_owned();
        let list = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("git: {error}"))?;
        if !list.status.success() {
            return Err(String::from_utf8_lossy(&list.stderr).into_owned());
        }
        let names = String::from_utf8_lossy(&list.stdout).into_owned();
        let read = |path: &str| {
            let text = std::fs::read_to_string(root.join(path)).ok()?;
            Some(File { path: path.to_owned(), text })
        };
        let mut files: Vec<File> = names.split('\0').filter(|path| !path.is_empty()).filter_map(read).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Repo { root, files })
    }

    /// Returns the text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| &*file.text)
    }

    /// Returns files with this ending below a folder.
    pub(crate) fn below<'r>(&'r self, folder: &'r str, ending: &'r str) -> impl Iterator<Item = &'r File> {
        self.files.iter().filter(move |file| file.path.starts_with(folder) && file.path.ends_with(ending))
    }

    /// Returns the scenes that the suite plays.
    pub(crate) fn scenes(&self) -> impl Iterator<Item = &File> {
        self.below("scenes/", ".scene")
    }
}
