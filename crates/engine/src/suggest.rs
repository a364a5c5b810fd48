//! Names that may be meant when a file is missing: the same stem with another extension, another case, a near spelling.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The best candidate among the names beside `path`.
pub(crate) fn near(path: &Path, names: &[OsString]) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let stem = path.file_stem()?.to_str()?;
    let lower = wanted.to_lowercase();
    let score = |name: &str| {
        let same_stem = Path::new(name).file_stem().and_then(|it| it.to_str()) == Some(stem);
        let most = (wanted.chars().count() / 4).clamp(1, 3);
        match () {
            () if name == wanted => None,
            () if name.to_lowercase() == lower => Some(0),
            () if same_stem => Some(1),
            // Long names are not worth the quadratic comparison.
            () if name.len() > 255 || wanted.len() > 255 => None,
            () => {
                Some(strsim::osa_distance(&lower, &name.to_lowercase())).filter(|&far| far <= most).map(|far| far + 1)
            }
        }
    };
    // A name that is no UTF-8 is taken for what it looks like.
    let scored = |name: &OsString| Some((score(&name.to_string_lossy())?, name.clone()));
    let best = names.iter().filter_map(scored).min()?;
    Some(path.with_file_name(best.1))
}

#[cfg(test)]
mod tests {
    use super::near;
    use std::path::Path;

    #[test]
    fn other_case_other_extension_near_spelling() {
        let names: Vec<_> = ["file.ts", "README.md", "main.rs", "mainframe.rs"].iter().map(Into::into).collect();
        let meant = |path: &str| near(Path::new(path), &names).map(|it| it.display().to_string());
        assert_eq!(meant("/a/file.js").as_deref(), Some("/a/file.ts"));
        assert_eq!(meant("/a/README.MD").as_deref(), Some("/a/README.md"));
        assert_eq!(meant("/a/mian.rs").as_deref(), Some("/a/main.rs"));
        assert_eq!(meant("/a/other.py"), None);
    }
}
