//! Lookup of every component of a path, and of a set of names in each directory on the way.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use emendate_core::Result;

use crate::{FileMeta, NameInfo, Store};

/// Names to look up in many directories. A name may have several components: `.aws/credentials`.
#[derive(Clone, Debug)]
pub struct NameSet {
    names: Vec<OsString>,
    /// Hash of the first component of each name with its index in `names`, sorted.
    hashes: Vec<(u64, usize)>,
    plain: bool,
}

impl NameSet {
    /// Creates a set of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> NameSet {
        let names: Vec<OsString> = names.into_iter().map(OsString::from).collect();
        let plain = names.iter().all(|name| name.is_ascii());
        let mut hashes: Vec<(u64, usize)> =
            names.iter().enumerate().map(|(at, name)| (hash_of_first_component(name), at)).collect();
        hashes.sort_unstable();
        NameSet { names, hashes, plain }
    }

    /// The names, in the order in which they were given.
    pub fn names(&self) -> &[OsString] {
        &self.names
    }

    /// True if all names are ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.plain
    }

    /// Returns the indices of the names that may be in a directory, given the hashes of all names in it.
    pub(crate) fn candidates(&self, there: &[u64]) -> Vec<usize> {
        let mut found = Vec::new();
        for hash in there {
            let from = self.hashes.partition_point(|(wanted, _)| wanted < hash);
            found.extend(self.hashes[from..].iter().take_while(|(wanted, _)| wanted == hash).map(|(_, at)| *at));
        }
        found
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

/// Implements [`Store::walk_components`] with one lookup per name, for stores in which lookups are cheap.
pub(crate) fn one_by_one<S: Store + ?Sized>(
    store: &S,
    root: usize,
    path: &Path,
    wanted: &NameSet,
) -> Result<Vec<PathComponent>> {
    let (mut met, mut folder) = (Vec::new(), PathBuf::new());
    for part in path {
        let own = store.lookup_names(root, &folder, &[part])?.pop().flatten();
        let Some(own) = own else { break };
        met.push(PathComponent { meta: own.meta, siblings: names_in_dir(store, root, &folder, wanted)? });
        folder.push(part);
    }
    Ok(met)
}

/// Looks up the wanted names in one directory.
pub(crate) fn names_in_dir<S: Store + ?Sized>(
    store: &S,
    root: usize,
    folder: &Path,
    wanted: &NameSet,
) -> Result<Vec<(usize, NameInfo)>> {
    let names: Vec<&OsStr> = wanted.names.iter().map(|name| &**name).collect();
    let found = store.lookup_names(root, folder, &names)?.into_iter().enumerate();
    Ok(found.filter_map(|(at, named)| Some((at, named?))).collect())
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
