//! Lookup of every component of a path, and of a set of names in each directory on the way.

use emendate_os::ffi::OsStrExt as _;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

use emendate_core::Result;

use crate::{FileMeta, NameInfo, Store};

/// Names to look up in many directories. A name may have several components: `.aws/credentials`.
#[derive(Clone, Debug)]
pub struct NameSet {
    names: Vec<OsString>,
}

impl NameSet {
    /// Creates a set of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> NameSet {
        NameSet { names: names.into_iter().map(OsString::from).collect() }
    }

    /// The names, in the order in which they were given.
    pub fn names(&self) -> &[OsString] {
        &self.names
    }
}

/// One component of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathComponent {
    /// Metadata of the component itself.
    pub meta: FileMeta,
    /// Wanted names that exist in the same directory, by index into [`NameSet::names`], with their metadata.
    pub siblings: Vec<(usize, NameInfo)>,
}

/// Implements [`Store::walk_components`]: one lookup in each directory on the way.
pub(crate) fn walk<S: Store + ?Sized>(
    store: &S,
    root: usize,
    path: &Path,
    wanted: &NameSet,
) -> Result<Vec<PathComponent>> {
    let (mut met, mut folder) = (Vec::new(), PathBuf::new());
    let mut names: Vec<&OsStr> = wanted.names.iter().map(|name| &**name).collect();
    for part in path {
        names.push(part);
        let mut found = store.lookup_names(root, &folder, &names)?;
        names.pop();
        let Some(own) = found.pop().flatten() else { break };
        let siblings = found.into_iter().enumerate().filter_map(|(at, named)| Some((at, named?))).collect();
        met.push(PathComponent { meta: own.meta, siblings });
        folder.push(part);
    }
    Ok(met)
}

/// Returns the hash of the first component of a name: if that component is missing, so is the whole name.
pub(crate) fn hash_of_first_component(name: &OsStr) -> u64 {
    hash_ignoring_case(name.as_bytes().split(|byte| *byte == b'/').next().unwrap_or_default())
}

/// Returns a hash of a name that ignores ASCII case.
pub(crate) fn hash_ignoring_case(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut small = [0; 64];
    for part in name.chunks(small.len()) {
        let small = &mut small[..part.len()];
        small.copy_from_slice(part);
        small.make_ascii_lowercase();
        hasher.write(small);
    }
    hasher.finish()
}
