//! A read-only view of files as text in memory.

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

#[cfg(test)]
mod tests {
    use super::View;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c/d", "c/e", "f"]).prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn both_maps_are_the_same_view(files in prop::collection::btree_map(name(), Just("x\n".to_owned()), 0..4)) {
            let hashed: HashMap<String, String> = files.clone().into_iter().collect();
            for path in ["a", "b", "c", "c/d", "c/e", "f", ""] {
                prop_assert_eq!(files.has_file(path), hashed.has_file(path));
                prop_assert_eq!(files.has_below(path), hashed.has_below(path));
                prop_assert_eq!(files.has_below(path), path == "c" && files.keys().any(|name| name.starts_with("c/")));
            }
        }
    }
}
