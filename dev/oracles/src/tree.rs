//! A tree of files in memory and on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Contents by path, relative to the tree's folder.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// Formats a tree for messages.
pub fn shown(tree: &Tree) -> String {
    let files = tree.iter().map(|(path, bytes)| format!("  {path}: {:?}\n", String::from_utf8_lossy(bytes)));
    files.collect()
}

/// Replaces the contents of a folder by a tree.
///
/// Errors: from the disk.
pub fn put(folder: &Path, tree: &Tree) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (path, bytes) in tree {
        let file = folder.join(path);
        if let Some(above) = file.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(file, bytes)?;
    }
    Ok(())
}

/// Reads the files below a folder.
///
/// Errors: from the disk.
pub fn take(folder: &Path) -> io::Result<Tree> {
    let mut out = Tree::new();
    collect(folder, "", &mut out)?;
    Ok(out)
}

fn collect(folder: &Path, prefix: &str, out: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), out)?;
        } else {
            out.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}
