//! Files as text in memory: a read-only view of them, and an overlay of changes that later steps see.

use crate::error::Result;
use crate::text::snapshot::Snapshot;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

/// The read-only state of text files at one moment. Paths are names relative to one directory, with `/`.
pub trait View {
    /// Returns the file at a path; `None` if there is none.
    ///
    /// Errors: [`ContentBinary`](crate::Code::ContentBinary) for content that is not text.
    fn file(&self, path: &str) -> Result<Option<Snapshot>>;

    /// True if there is a file at a path.
    fn has_file(&self, path: &str) -> bool;

    /// True if there are files below a directory.
    fn has_below(&self, path: &str) -> bool;
}

/// True for a path below a directory.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

impl View for BTreeMap<String, String> {
    fn file(&self, path: &str) -> Result<Option<Snapshot>> {
        self.get(path).map(|text| Snapshot::open_text(text.as_str())).transpose()
    }

    fn has_file(&self, path: &str) -> bool {
        self.contains_key(path)
    }

    fn has_below(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        self.range(directory.clone()..).next().is_some_and(|(name, _)| name.starts_with(&directory))
    }
}

impl<S: BuildHasher> View for HashMap<String, String, S> {
    fn file(&self, path: &str) -> Result<Option<Snapshot>> {
        self.get(path).map(|text| Snapshot::open_text(text.as_str())).transpose()
    }

    fn has_file(&self, path: &str) -> bool {
        self.contains_key(path)
    }

    fn has_below(&self, path: &str) -> bool {
        self.keys().any(|name| is_below(name, path))
    }
}

/// Changes over a view. The view itself is never changed; dropping the overlay drops the changes.
#[derive(Debug)]
pub struct MapOverlay<'v, V: View + ?Sized> {
    base: &'v V,
    /// The files that were written, and `None` for those that were removed.
    entries: BTreeMap<String, Option<Snapshot>>,
}

/// The difference that an overlay makes at one path.
#[derive(Clone, Debug)]
pub struct PathChange {
    /// The path.
    pub path: String,
    /// The file in the view; `None` if there was none.
    pub before: Option<Snapshot>,
    /// The file in the overlay; `None` if it was removed.
    pub after: Option<Snapshot>,
}

impl<'v, V: View + ?Sized> MapOverlay<'v, V> {
    /// Creates an overlay without changes.
    pub fn new(base: &'v V) -> MapOverlay<'v, V> {
        MapOverlay { base, entries: BTreeMap::new() }
    }

    /// The view below the overlay.
    pub fn base(&self) -> &'v V {
        self.base
    }

    /// True if an earlier step wrote or removed the file at a path.
    pub fn is_touched(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// Makes `file` the file at a path.
    pub fn write(&mut self, path: impl Into<String>, file: Snapshot) {
        self.entries.insert(path.into(), Some(file));
    }

    /// Removes the file at a path and returns it.
    ///
    /// Errors: as [`View::file`].
    pub fn remove(&mut self, path: &str) -> Result<Option<Snapshot>> {
        let file = self.file(path)?;
        self.entries.insert(path.to_owned(), None);
        Ok(file)
    }

    /// Returns the file that was written at a path, and leaves an empty file there.
    pub(crate) fn take(&mut self, path: &str) -> Option<Snapshot> {
        self.entries.get_mut(path)?.replace(Snapshot::from_text(""))
    }

    /// Returns the paths at which the overlay and the view differ, sorted.
    ///
    /// Errors: as [`View::file`].
    pub fn diff(&self) -> Result<Vec<PathChange>> {
        let mut out = Vec::new();
        for (path, after) in &self.entries {
            let before = self.base.file(path)?;
            let same = match (&before, after) {
                (Some(before), Some(after)) => before.raw() == after.raw(),
                (None, None) => true,
                _ => false,
            };
            if !same {
                out.push(PathChange { path: path.clone(), before, after: after.clone() });
            }
        }
        Ok(out)
    }
}

impl<V: View + ?Sized> View for MapOverlay<'_, V> {
    fn file(&self, path: &str) -> Result<Option<Snapshot>> {
        match self.entries.get(path) {
            Some(file) => Ok(file.clone()),
            None => self.base.file(path),
        }
    }

    fn has_file(&self, path: &str) -> bool {
        self.entries.get(path).map_or_else(|| self.base.has_file(path), Option::is_some)
    }

    /// True as well for a directory whose files were all removed: it exists until the changes are made on disk.
    fn has_below(&self, path: &str) -> bool {
        self.base.has_below(path) || self.entries.iter().any(|(name, file)| file.is_some() && is_below(name, path))
    }
}

#[cfg(test)]
mod tests {
    use super::{MapOverlay, View};
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashMap};

    type Files = BTreeMap<String, String>;

    /// A step on a tree of files.
    #[derive(Clone, Debug)]
    enum Step {
        Write(String, String),
        Remove(String),
        Rename(String, String),
        Append(String, String),
    }

    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c/d", "c/e", "f"]).prop_map(str::to_owned)
    }

    fn text() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", "x", "x\n", "y\r\nz\r\n", "\u{FEFF}bom\n"]).prop_map(str::to_owned)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (name(), text()).prop_map(|(path, text)| Step::Write(path, text)),
            name().prop_map(Step::Remove),
            (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
            (name(), text()).prop_map(|(path, text)| Step::Append(path, text)),
        ]
    }

    /// Performs the step on a map of files.
    fn in_map(files: &mut Files, step: &Step) {
        match step {
            Step::Write(path, text) => {
                files.insert(path.clone(), text.clone());
            }
            Step::Remove(path) => {
                files.remove(path);
            }
            Step::Rename(from, to) => {
                if let Some(text) = files.remove(from) {
                    files.insert(to.clone(), text);
                }
            }
            Step::Append(path, more) => {
                files.entry(path.clone()).or_default().push_str(more);
            }
        }
    }

    fn string(file: &Snapshot) -> String {
        String::from_utf8(file.raw().to_vec()).unwrap()
    }

    /// Performs the step on an overlay.
    fn in_overlay(overlay: &mut MapOverlay<'_, Files>, step: &Step) {
        match step {
            Step::Write(path, text) => overlay.write(path, Snapshot::open_text(text.as_str()).unwrap()),
            Step::Remove(path) => {
                overlay.remove(path).unwrap();
            }
            Step::Rename(from, to) => {
                if let Some(file) = overlay.remove(from).unwrap() {
                    overlay.write(to, file);
                }
            }
            Step::Append(path, more) => {
                let text = overlay.file(path).unwrap().map_or(String::new(), |file| string(&file));
                overlay.write(path, Snapshot::open_text(text + more).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn diff_of_the_overlay_is_the_steps_one_by_one(
            files in prop::collection::btree_map(name(), text(), 0..4),
            steps in prop::collection::vec(step(), 0..10),
        ) {
            let (mut made, mut overlay) = (files.clone(), MapOverlay::new(&files));
            for step in &steps {
                in_map(&mut made, step);
                in_overlay(&mut overlay, step);
                for path in ["a", "b", "c/d", "c/e", "f"] {
                    prop_assert_eq!(overlay.file(path).unwrap().map(|file| string(&file)), made.get(path).cloned());
                    prop_assert_eq!(overlay.has_file(path), made.contains_key(path));
                }
            }
            let mut patched = files.clone();
            for change in overlay.diff().unwrap() {
                prop_assert_eq!(change.before.as_ref().map(string), files.get(&change.path).cloned());
                match &change.after {
                    Some(after) => patched.insert(change.path, string(after)),
                    None => patched.remove(&change.path),
                };
            }
            prop_assert_eq!(patched, made);
        }

        #[test]
        fn both_maps_are_the_same_view(files in prop::collection::btree_map(name(), text(), 0..4)) {
            let hashed: HashMap<String, String> = files.clone().into_iter().collect();
            for path in ["a", "b", "c", "c/d", "c/e", "f", ""] {
                prop_assert_eq!(files.has_file(path), hashed.has_file(path));
                prop_assert_eq!(files.has_below(path), hashed.has_below(path));
                prop_assert_eq!(files.has_below(path), path == "c" && files.keys().any(|name| name.starts_with("c/")));
            }
        }
    }
}
