//! This repository's own sources, as material for the tour.

use crate::io_error;
use emendate::core::{Code, Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The checkout: the one around the current directory, else the one this program was built from.
///
/// Errors: there is none.
pub(crate) fn checkout() -> Result<PathBuf> {
    let is_ours = |folder: &&Path| folder.join("Cargo.toml").is_file() && folder.join("crates/core").is_dir();
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors()
        .find(is_ours)
        .or_else(|| Some(&*built).filter(is_ours))
        .map(|found| found.canonicalize().unwrap_or_else(|_| found.to_owned()))
        .ok_or_else(|| {
            Error::new(Code::FileMissing, "The tour needs the sources of this repository, and they are not here.")
                .next("Run `emend tour` in a checkout of Emendate.")
        })
}

/// A new folder below the one for temporary files.
///
/// Errors: it cannot be made.
pub(crate) fn scratch() -> Result<PathBuf> {
    let base = std::env::temp_dir();
    for number in 0..1000 {
        let folder = base.join(format!("emendate-tour-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return folder.canonicalize().map_err(|error| io_error(&folder.display().to_string(), &error)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error(&folder.display().to_string(), &error)),
        }
    }
    Err(Error::new(Code::IoFailed, format!("{} is full of old tours.", base.display())).next("Remove them."))
}

/// Copies `*.rs` and `*.md` below `crates/`; the copies' paths, sorted.
///
/// Errors: what cannot be read or written.
pub(crate) fn copy(checkout: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    let mut folders = vec![PathBuf::from("crates")];
    while let Some(folder) = folders.pop() {
        let source = checkout.join(&folder);
        let listed = fs::read_dir(&source).map_err(|error| io_error(&source.display().to_string(), &error))?;
        for entry in listed.flatten() {
            let (name, kind) = (folder.join(entry.file_name()), entry.file_type());
            let wanted = name.extension().is_some_and(|it| it == "rs" || it == "md");
            match kind {
                Ok(kind) if kind.is_dir() && entry.file_name() != "target" => folders.push(name),
                Ok(kind) if kind.is_file() && wanted => copies.push(name),
                _ => {}
            }
        }
    }
    copies.sort();
    for name in &copies {
        let target = to.join(name);
        let made = target.parent().map_or(Ok(()), fs::create_dir_all);
        let copied = made.and_then(|()| fs::copy(checkout.join(name), &target));
        copied.map_err(|error| io_error(&target.display().to_string(), &error))?;
    }
    Ok(copies.into_iter().map(|name| to.join(name)).collect())
}

/// A file and the lines of it that the tour works with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Where.
    pub(crate) path: PathBuf,
    /// Five lines, each of which occurs once, far from one another and in order.
    pub(crate) unique: [String; 5],
    /// A line that occurs several times.
    pub(crate) repeated: String,
}

/// The first file that has what the tour needs. Chosen when it runs, so that the sources may change.
///
/// Errors: no file has.
pub(crate) fn subject(files: &[PathBuf]) -> Result<Subject> {
    // The heart of the engine makes a better example than its fringes.
    let (core, rest): (Vec<&PathBuf>, Vec<&PathBuf>) =
        files.iter().partition(|path| path.components().any(|part| part.as_os_str() == "core"));
    let code = core
        .into_iter()
        .chain(rest)
        .filter(|path| path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs"));
    let found = code.into_iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        fit(&text).map(|(unique, repeated)| Subject { path: path.clone(), unique, repeated })
    });
    found.ok_or_else(|| Error::new(Code::InternalBug, "No source file has the lines that the tour needs."))
}

/// The lines of a text that suit the tour.
fn fit(text: &str) -> Option<([String; 5], String)> {
    let lines: Vec<&str> = text.lines().collect();
    if !(60..=300).contains(&lines.len()) {
        return None;
    }
    let times = |line: &str| text.matches(line).count();
    let plain = |line: &str| (12..=90).contains(&line.len()) && line.is_ascii();
    // Lines of code, whose meaning a remark at their end does not change.
    let whole = |line: &str| plain(line) && line.ends_with(';') && !line.starts_with("use ") && times(line) == 1;
    let apart = lines.len() / 12;
    let mut unique: Vec<String> = Vec::new();
    let mut from = 0;
    for (at, line) in lines.iter().map(|line| line.trim()).enumerate() {
        if at >= from && whole(line) {
            unique.push(line.to_owned());
            from = at + apart;
        }
    }
    unique.truncate(5);
    let repeated = lines.iter().map(|line| line.trim()).find(|line| plain(line) && (2..=4).contains(&times(line)))?;
    Some((unique.try_into().ok()?, repeated.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn lines_are_chosen_apart_and_by_their_number() {
        let text: String =
            (0..100).flat_map(|n| [format!("    let value_{n:03} = {n};\n"), "    // a remark\n".to_owned()]).collect();
        assert_eq!(fit(&text), None, "no line occurs two to four times");
        let text = text.replacen("    // a remark\n", "    // said again\n", 3);
        let (unique, repeated) = fit(&text).unwrap();
        assert_eq!((&*unique[0], &*repeated), ("let value_000 = 0;", "// said again"));
        assert_eq!(fit("short\n"), None);
    }
}
