//! Suggestions of what to delete on a full disk, with human-readable sizes.

use crate::context::Context;
use crate::context::walk::ignore_files;
use crate::pipeline::plan::file_plan::FilePlan;
use emendate_core::{Error, ErrorContext};
use emendate_fs::{EntryKind, SafePath, readable_size, shown};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Names of directories that tools regenerate.
const REGENERATED_DIRECTORIES: [&str; 12] = [
    "target", "node_modules", "dist", "build", "out", "__pycache__", ".venv", ".cache", ".gradle", ".tox",
    ".mypy_cache", "coverage",
];
/// Entries that are examined, bytes from which one is always listed, and entries that are listed.
const ENTRIES_MAX: usize = 20_000;
const LARGE_BYTES: u64 = 1 << 20;
/// Smaller entries are listed if they hold this part of the missing space.
const MISSING_PART: u64 = 10;
const NAMED_MAX: usize = 5;

/// The name of a file by which tools mark directories that they can fill again; see <https://bford.info/cachedir/>.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// A directory that could be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SpaceConsumer {
    path: PathBuf,
    bytes: u64,
}

/// Adds what could be deleted to an error about a full disk.
pub(crate) fn with_space_advice(context: &Context, error: Error, plans: &[FilePlan]) -> Error {
    let full = error.contexts().iter().find(|it| matches!(it, ErrorContext::FullDisk { .. }));
    let Some(&ErrorContext::FullDisk { device, needed, free, has_quota }) = full else { return error };
    let missing = if has_quota { needed } else { needed.saturating_sub(free) };
    if missing == 0 {
        // There is space: the disk has no free inodes, perhaps.
        return error;
    }
    let held = plans.first().and_then(|plan| context.history(plan.path.root()).disk_usage());
    let error = match held.filter(|held| held.device == device && held.bytes > 0) {
        Some(held) => error
            .evidence(format!(
                "The history on that disk has {}: `emend gc --size 0` frees nearly all of it, but past changes can \
                 then not be undone.",
                readable_size(held.bytes)
            ))
            .fact("history", held.bytes),
        None => error,
    };
    let holders = plans.first().map(|plan| largest_consumers(context, &plan.path, missing)).unwrap_or_default();
    with_space_consumers(error, &holders)
}

/// Adds suggestions to the error of a full disk.
fn with_space_consumers(error: Error, holders: &[SpaceConsumer]) -> Error {
    if holders.is_empty() {
        return error;
    }
    let rows: Vec<String> =
        holders.iter().map(|it| format!("{} ({})", shown(&it.path), readable_size(it.bytes))).collect();
    let facts = holders.iter().map(|it| {
        let size = readable_size(it.bytes);
        json!({ "path": shown(&it.path), "bytes": it.bytes, "size": size, "type": "folder" })
    });
    error
        .evidence(format!("Directories that tools can recreate, nearby:\n{}", rows.join("\n")))
        .fact("could_be_freed", facts.collect::<Vec<Value>>())
}

/// Returns the largest directories next to a file and above it that tools can recreate: they have the name of such a
/// directory, and git ignores them or a tool has marked them. Files are never among them: nobody but their owner knows
/// what they are for. `missing` is the number of bytes that the disk lacks.
fn largest_consumers(context: &Context, file: &SafePath, missing: u64) -> Vec<SpaceConsumer> {
    let least = LARGE_BYTES.min(missing / MISSING_PART).max(1);
    let root = context.root_path(file.root()).unwrap_or(Path::new("/"));
    let mut left = ENTRIES_MAX;
    let mut found = Vec::new();
    for folder in file.absolute().ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
        for (path, kind) in entries_within(context, folder, &mut left) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if kind == EntryKind::Directory
                && REGENERATED_DIRECTORIES.contains(&&*name)
                && (is_ignored(context, root, &path) || is_tagged(context, &path))
            {
                let bytes = bytes_below(context, &path, &mut left);
                found.extend((bytes >= least).then_some(SpaceConsumer { path, bytes }));
            }
        }
    }
    found.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    found.truncate(NAMED_MAX);
    found
}

/// True if ignore files exclude a directory.
fn is_ignored(context: &Context, root: &Path, directory: &Path) -> bool {
    let above = directory.ancestors().skip(1).take_while(|above| above.starts_with(root));
    let mut rules = above.filter_map(|above| ignore_files(context, above).ok());
    rules.find_map(|rules| {
        let rule = rules.matched(directory, true);
        (!rule.is_none()).then(|| rule.is_ignore())
    }) == Some(true)
}

/// True if a tool has marked a directory as a cache.
fn is_tagged(context: &Context, directory: &Path) -> bool {
    let tag = context.store().resolve_path(&directory.join(CACHE_TAG));
    tag.and_then(|tag| context.store().metadata(&tag)).is_ok_and(|meta| meta.is_some())
}

fn entries_within(context: &Context, folder: &Path, left: &mut usize) -> Vec<(PathBuf, EntryKind)> {
    let listed = context.store().resolve_path(folder).and_then(|path| context.store().list(&path)).ok().flatten();
    let entries: Vec<(PathBuf, EntryKind)> =
        listed.into_iter().flatten().take(*left).map(|entry| (folder.join(entry.name), entry.kind)).collect();
    *left -= entries.len();
    entries
}

fn bytes_of(context: &Context, path: &Path) -> u64 {
    let meta =
        context.store().resolve_path(path).and_then(|safe_path| context.store().metadata(&safe_path)).ok().flatten();
    meta.map_or(0, |meta| meta.size)
}

/// Sums up the bytes of the files below a directory, within the limit on entries.
fn bytes_below(context: &Context, folder: &Path, left: &mut usize) -> u64 {
    let (mut open, mut bytes) = (vec![folder.to_owned()], 0);
    while let Some(folder) = open.pop() {
        for (path, kind) in entries_within(context, &folder, left) {
            match kind {
                EntryKind::Directory => open.push(path),
                EntryKind::File => bytes += bytes_of(context, &path),
                _ => {}
            }
        }
    }
    bytes
}
