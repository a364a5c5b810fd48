//! Names of files for pages that show several roots.

use std::path::{Path, PathBuf};

/// Returns a name for each root: as many of its last components as make it different from the others.
pub(crate) fn workspace_names(roots: &[&Path]) -> Vec<PathBuf> {
    roots.iter().map(|root| shortest_name(root, roots)).collect()
}

fn shortest_name(root: &Path, roots: &[&Path]) -> PathBuf {
    let depth = root.components().count();
    let names = (1..depth).map(|length| last_components(root, length));
    let is_unique = |name: &PathBuf| roots.iter().filter(|other| other.ends_with(name)).count() == 1;
    names.into_iter().find(is_unique).unwrap_or_else(|| root.to_owned())
}

fn last_components(path: &Path, length: usize) -> PathBuf {
    let count = path.components().count();
    path.components().skip(count.saturating_sub(length)).collect()
}

/// Returns a path below its root; with several roots, the name of the root comes first. A path outside of all stays.
pub(crate) fn below_root(roots: &[&Path], path: &Path) -> PathBuf {
    let found = roots.iter().enumerate().find_map(|(index, root)| Some((index, path.strip_prefix(root).ok()?)));
    let Some((index, below)) = found.filter(|(_, below)| !below.as_os_str().is_empty()) else { return path.to_owned() };
    if roots.len() < 2 {
        return below.to_owned();
    }
    workspace_names(roots).get(index).map_or_else(|| path.to_owned(), |name| name.join(below))
}

#[cfg(test)]
mod tests {
    use super::{below_root, workspace_names};
    use std::path::{Path, PathBuf};

    #[test]
    fn names_of_workspaces_differ() {
        let roots = [Path::new("/home/a/app"), Path::new("/home/b/app"), Path::new("/srv/web")];
        assert_eq!(workspace_names(&roots), ["a/app", "b/app", "web"].map(PathBuf::from));
        assert_eq!(workspace_names(&[Path::new("/x/app"), Path::new("/app")]), ["x/app", "/app"].map(PathBuf::from));
    }

    #[test]
    fn names_of_files_are_short_and_different() {
        let (app, web) = (Path::new("/srv/app"), Path::new("/srv/web"));
        assert_eq!(below_root(&[app], Path::new("/srv/app/src/a")), Path::new("src/a"));
        assert_eq!(below_root(&[app, web], Path::new("/srv/web/src/a")), Path::new("web/src/a"));
        assert_eq!(below_root(&[app, web], Path::new("/etc/a")), Path::new("/etc/a"));
        assert_eq!(below_root(&[Path::new("/")], Path::new("/etc/a")), Path::new("etc/a"));
    }
}
