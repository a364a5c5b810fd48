//! The overlay: what the steps of a call make of the files that they touch. The files themselves are not changed.

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{Index, IndexMut};

/// The state that an overlay keeps of a path: at least what is there after the steps so far.
pub trait OverlayEntry<P: ?Sized> {
    /// True if there is something at the path after the steps so far.
    fn exists(&self) -> bool;

    /// The path that the content was moved from. It may be the path itself again.
    fn moved_from(&self) -> Option<&P>;
}

/// Entries by path, in the order in which steps first touched the paths. An entry has the state before the call as well as
/// the state after the steps so far, so that it is the difference that the call makes at its path.
#[derive(Debug)]
pub struct Overlay<P: ToOwned<Owned: Debug> + ?Sized, E> {
    entries: IndexMap<P::Owned, E, RandomState>,
}

/// The state of an overlay before a step that may fail.
#[derive(Debug)]
pub struct OverlayCheckpoint<E> {
    entries: Vec<(usize, E)>,
    len: usize,
}

impl<P, E> Default for Overlay<P, E>
where
    P: ToOwned<Owned: Debug> + ?Sized,
{
    fn default() -> Overlay<P, E> {
        Overlay { entries: IndexMap::default() }
    }
}

impl<P, E> Overlay<P, E>
where
    P: ToOwned<Owned: Hash + Eq + Debug> + Hash + Eq + ?Sized,
{
    /// Returns the position of a path that a step touched. It never changes, except if a roll-back removes the entry.
    pub fn position(&self, path: &P) -> Option<usize> {
        self.entries.get_index_of(path)
    }

    /// Returns the entry of a path that a step touched.
    pub fn get(&self, path: &P) -> Option<&E> {
        self.entries.get(path)
    }

    /// Returns the entry of a path that a step touched, to change it.
    pub fn get_mut(&mut self, path: &P) -> Option<&mut E> {
        self.entries.get_mut(path)
    }

    /// Sets the entry of a path, and returns its position.
    pub fn put(&mut self, path: &P, entry: E) -> usize {
        self.entries.insert_full(path.to_owned(), entry).0
    }

    /// Returns the position of a path; one that no step touched gets the entry that `base` creates.
    ///
    /// Errors: those of `base`.
    pub fn touch<F>(&mut self, path: &P, base: impl FnOnce() -> Result<E, F>) -> Result<usize, F> {
        match self.position(path) {
            Some(at) => Ok(at),
            None => Ok(self.put(path, base()?)),
        }
    }

    /// Returns all paths with their entries, in the order in which the paths were first touched.
    pub fn entries(&self) -> impl Iterator<Item = (&P, &E)> {
        self.entries.iter().map(|(path, entry)| (path.borrow(), entry))
    }

    /// Returns all paths with their entries, in the same order.
    pub fn into_entries(self) -> impl Iterator<Item = (P::Owned, E)> {
        self.entries.into_iter()
    }

    /// The number of touched paths.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no path was touched.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the paths whose content is at another path now.
    pub fn moved_sources(&self) -> HashSet<P::Owned>
    where
        E: OverlayEntry<P>,
    {
        let existing = self.entries.iter().filter(|(_, entry)| entry.exists());
        let moved = existing.filter_map(|(path, entry)| entry.moved_from().filter(|from| *from != path.borrow()));
        moved.map(ToOwned::to_owned).collect()
    }

    /// Returns the state before a step that changes only these paths, and paths that no step touched.
    pub fn checkpoint(&self, paths: &[&P]) -> OverlayCheckpoint<E>
    where
        E: Clone,
    {
        let touched = paths.iter().filter_map(|path| self.position(path));
        OverlayCheckpoint { entries: touched.map(|at| (at, self[at].clone())).collect(), len: self.len() }
    }

    /// Restores the state before a step that failed.
    pub fn roll_back(&mut self, checkpoint: OverlayCheckpoint<E>) {
        self.entries.truncate(checkpoint.len);
        for (at, entry) in checkpoint.entries {
            self[at] = entry;
        }
    }
}

impl<P: ToOwned<Owned: Debug + Hash + Eq> + ?Sized, E> Index<usize> for Overlay<P, E> {
    type Output = E;

    fn index(&self, position: usize) -> &E {
        &self.entries[position]
    }
}

impl<P: ToOwned<Owned: Debug + Hash + Eq> + ?Sized, E> IndexMut<usize> for Overlay<P, E> {
    fn index_mut(&mut self, position: usize) -> &mut E {
        &mut self.entries[position]
    }
}

#[cfg(test)]
mod tests {
    use super::{Overlay, OverlayEntry};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    type Files = BTreeMap<String, String>;

    /// A step on a tree of files.
    #[derive(Clone, Debug)]
    enum Step {
        Write(String, String),
        Remove(String),
        Rename(String, String),
        Append(String, String),
    }

    /// The text of a file before and after the steps, and where it comes from.
    #[derive(Clone, Debug, PartialEq)]
    struct Change {
        before: Option<String>,
        after: Option<String>,
        from: Option<String>,
    }

    impl OverlayEntry<str> for Change {
        fn exists(&self) -> bool {
            self.after.is_some()
        }

        fn moved_from(&self) -> Option<&str> {
            self.from.as_deref()
        }
    }

    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c/d", "c/e", "f"]).prop_map(str::to_owned)
    }

    fn text() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", "x", "x\n", "y\r\nz\r\n"]).prop_map(str::to_owned)
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

    /// Returns the entry of a path; one that no step touched has the file of the map.
    fn touched<'o>(overlay: &'o mut Overlay<str, Change>, files: &Files, path: &str) -> &'o mut Change {
        let before = files.get(path).cloned();
        let from = before.is_some().then(|| path.to_owned());
        let at = overlay.touch(path, || Ok::<_, Infallible>(Change { after: before.clone(), before, from }));
        &mut overlay[at.unwrap()]
    }

    /// Performs the step on an overlay over a map of files.
    fn in_overlay(overlay: &mut Overlay<str, Change>, files: &Files, step: &Step) {
        match step {
            Step::Write(path, text) => {
                let change = touched(overlay, files, path);
                (change.after, change.from) = (Some(text.clone()), None);
            }
            Step::Remove(path) => touched(overlay, files, path).after = None,
            Step::Rename(from, to) => {
                let left = touched(overlay, files, from);
                let (after, source) = (left.after.take(), left.from.take());
                if after.is_some() {
                    let moved = touched(overlay, files, to);
                    (moved.after, moved.from) = (after, source);
                }
            }
            Step::Append(path, more) => {
                let change = touched(overlay, files, path);
                change.after = Some(change.after.take().unwrap_or_default() + more);
            }
        }
    }

    /// Returns the paths that a step touches.
    fn paths(step: &Step) -> Vec<&str> {
        match step {
            Step::Write(path, _) | Step::Remove(path) | Step::Append(path, _) => vec![path],
            Step::Rename(from, to) => vec![from, to],
        }
    }

    proptest! {
        #[test]
        fn difference_of_the_overlay_is_the_steps_one_by_one(
            files in prop::collection::btree_map(name(), text(), 0..4),
            steps in prop::collection::vec(step(), 0..10),
        ) {
            let (mut made, mut overlay) = (files.clone(), Overlay::default());
            for step in &steps {
                in_map(&mut made, step);
                in_overlay(&mut overlay, &files, step);
            }
            let mut patched = files.clone();
            let sources = overlay.moved_sources();
            for (path, change) in overlay.into_entries() {
                prop_assert_eq!(&change.before, &files.get(&path).cloned());
                match change.after {
                    Some(after) => patched.insert(path, after),
                    None => patched.remove(&path),
                };
            }
            prop_assert_eq!(patched, made);
            prop_assert!(sources.iter().all(|path| files.contains_key(path)));
        }

        #[test]
        fn failed_step_leaves_no_trace(
            files in prop::collection::btree_map(name(), text(), 0..4),
            steps in prop::collection::vec(step(), 0..10),
            failed in step(),
        ) {
            let mut overlay = Overlay::default();
            for step in &steps {
                in_overlay(&mut overlay, &files, step);
            }
            let names = ["a", "b", "c/d", "c/e", "f"];
            let state = |overlay: &Overlay<str, Change>| {
                let entries = overlay.entries().map(|(path, change)| (path.to_owned(), change.clone()));
                (entries.collect::<Vec<_>>(), names.map(|name| overlay.position(name)))
            };
            let before = state(&overlay);
            let checkpoint = overlay.checkpoint(&paths(&failed));
            in_overlay(&mut overlay, &files, &failed);
            overlay.roll_back(checkpoint);
            prop_assert_eq!(state(&overlay), before);
        }
    }

    #[test]
    fn content_that_returns_has_not_moved() {
        let files = Files::from([("a".to_owned(), "x".to_owned())]);
        let mut overlay = Overlay::default();
        in_overlay(&mut overlay, &files, &Step::Rename("a".to_owned(), "b".to_owned()));
        assert_eq!(overlay.moved_sources().into_iter().collect::<Vec<_>>(), ["a"]);
        in_overlay(&mut overlay, &files, &Step::Rename("b".to_owned(), "a".to_owned()));
        assert!(overlay.moved_sources().is_empty());
        assert_eq!(overlay.position("b"), Some(1));
    }
}
