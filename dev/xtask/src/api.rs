//! `cargo xtask api`: the public items of every publishable library, compared with the lists in dev/xtask/api. A change of
//! an API is then seen in review, and never happens by accident.

use crate::command::cargo;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Differing lines that a failure shows for each crate.
const SHOWN_LINES_MAX: usize = 40;

/// A library, by the name of its package.
struct Library {
    package: String,
    /// The list of its items.
    list: PathBuf,
}

/// Compares the public items of every library with its list or, with `--bless`, writes the lists.
///
/// Errors: the items that were added or removed, and how to accept that.
pub(crate) fn api(arguments: &[String]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let libraries = libraries(root)?;
    document(root, &libraries)?;
    let bless = arguments.iter().any(|it| it == "--bless");
    let mut changed = String::new();
    for library in &libraries {
        let items = items(root, library)?;
        if bless {
            std::fs::write(&library.list, items).map_err(|error| error.to_string())?;
            continue;
        }
        let known = std::fs::read_to_string(&library.list).unwrap_or_default();
        changed.push_str(&difference(&library.package, &known, &items));
    }
    match (bless, changed.is_empty()) {
        (true, _) => Ok(format!("wrote {} lists into dev/xtask/api", libraries.len())),
        (false, true) => Ok(format!("api: {} libraries have the public items of their lists", libraries.len())),
        (false, false) => Err(format!(
            "{changed}api: the public items are not those of dev/xtask/api. If that is intended, run `cargo xtask api --bless` \
             and commit the lists; else make the items private or restore them."
        )),
    }
}

/// Returns the libraries below crates/, sorted.
fn libraries(root: &Path) -> Result<Vec<Library>, String> {
    let mut out = Vec::new();
    let folders = std::fs::read_dir(root.join("crates")).map_err(|error| error.to_string())?;
    for folder in folders.filter_map(Result::ok).map(|entry| entry.path()) {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        if let (Some(package), true) = (name, folder.join("src/lib.rs").is_file()) {
            let list = root.join("dev/xtask/api").join(format!("{package}.txt"));
            out.push(Library { package: package.to_owned(), list });
        }
    }
    out.sort_by(|a, b| a.package.cmp(&b.package));
    Ok(out)
}

/// Writes the documentation of the libraries as JSON.
fn document(root: &Path, libraries: &[Library]) -> Result<(), String> {
    let mut cargo = cargo();
    cargo.args(["doc", "--quiet", "--locked", "--lib", "--no-deps"]);
    cargo.args(libraries.iter().flat_map(|library| ["-p", &library.package]));
    // JSON is an unstable output of a stable rustdoc; the toolchain is pinned, and so is the crate that reads it.
    // Only rustdoc may use unstable options: other compilations are those of the usual build, and are not repeated.
    cargo.env("RUSTDOC", root.join("dev/xtask/api/rustdoc.sh"));
    cargo.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
    let status = cargo.current_dir(root).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err("the documentation cannot be built".to_owned()) }
}

/// Returns the public items of a library, a line each.
fn items(root: &Path, library: &Library) -> Result<String, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let json = target.join("doc").join(format!("{}.json", library.package.replace('-', "_")));
    let mut builder = public_api::Builder::from_rustdoc_json(json);
    builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true).omit_auto_derived_impls(true);
    let api = builder.build().map_err(|error| format!("{}: {error}", library.package))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// Formats the lines that only one side has.
fn difference(package: &str, known: &str, items: &str) -> String {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (known.lines().collect(), items.lines().collect());
    let removed = old.difference(&new).map(|line| format!("- {line}"));
    let lines: Vec<String> = removed.chain(new.difference(&old).map(|line| format!("+ {line}"))).collect();
    let mut out = String::new();
    for line in lines.iter().take(SHOWN_LINES_MAX) {
        let _ = writeln!(out, "{package}: {line}");
    }
    if lines.len() > SHOWN_LINES_MAX {
        let _ = writeln!(out, "{package}: … and {} more", lines.len() - SHOWN_LINES_MAX);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_LINES_MAX, difference};

    #[test]
    fn added_and_removed_items_are_shown() {
        assert_eq!(difference("p", "a\nb\n", "a\nb\n"), "");
        assert_eq!(difference("p", "a\nb\n", "a\nc\n"), "p: - b\np: + c\n");
        let many: String = (0..50).map(|nth| format!("item {nth}\n")).collect();
        let said = difference("p", "", &many);
        assert!(said.lines().count() == SHOWN_LINES_MAX + 1 && said.contains("and 10 more"), "{said}");
    }
}
