//! The files of the repository, read once.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file that is, or would be, tracked.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Its text.
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
    /// Reads what git tracks or would track. Files that are not UTF-8 are left out.
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

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| &*file.text)
    }

    /// Files with that ending below a folder.
    pub(crate) fn below<'r>(&'r self, folder: &'r str, ending: &'r str) -> impl Iterator<Item = &'r File> {
        self.files.iter().filter(move |file| file.path.starts_with(folder) && file.path.ends_with(ending))
    }

    /// Scenes that the suite plays.
    pub(crate) fn scenes(&self) -> impl Iterator<Item = &File> {
        self.below("scenes/", ".scene")
    }
}
