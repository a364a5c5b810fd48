//! New files: declared line ends.

use crate::context::policy::Access;
use crate::context::{Context, encoding};
use crate::pipeline::plan::file_plan::{FilePlan, TargetState, replace_all_bytes};
use emendate_core::{LineEnd, LineEnds, Result, Snapshot};
use emendate_fs::{SafePath, Store};
use ignore::gitignore::GitignoreBuilder;
use std::collections::HashMap;
use std::path::Path;

/// New files of one call whose neighbours are examined.
const EXAMINED_NEW_FILES_MAX: usize = 8;
/// Neighbours of a file that are examined, and bytes of each.
const NEIGHBOURS_MAX: usize = 8;
const NEIGHBOUR_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a `.gitattributes` file that is read, and lines of it that count.
const GITATTRIBUTES_BYTES_MAX: u64 = 256 << 10;
const GITATTRIBUTES_LINES_MAX: usize = 500;

/// Macros of git that are read, and attributes of each.
const MACROS_MAX: usize = 64;
const MACRO_ATTRIBUTES_MAX: usize = 32;

/// The declared line end of a file.
struct DeclaredLineEnd {
    end: LineEnd,
    by: &'static str,
}

/// Gives new files their declared line ends. Without a declaration, a note reports mixed line ends, and line ends
/// that differ from those of all neighbouring files.
///
/// Errors: as [`FilePlan::after`].
pub(crate) fn end_lines_of_new_files(context: &Context, plans: &mut [FilePlan]) -> Result<()> {
    for (nth, plan) in plans
        .iter_mut()
        .filter(|plan| {
            plan.creates() && plan.target == TargetState::File && plan.source_file.is_none() && !plan.before.is_binary()
        })
        .enumerate()
    {
        let after = plan.after()?;
        let ends = after.line_ends();
        if ends == LineEnds::default() {
            continue;
        }
        match find_declared_line_end(context.store(), &plan.path) {
            Some(declared) => end_with(plan, &after, &declared)?,
            None => plan.outcome.notes.extend(line_ends_note(context, &plan.path, ends, nth)),
        }
    }
    Ok(())
}

fn line_ends_note(context: &Context, path: &SafePath, ends: LineEnds, nth: usize) -> Option<String> {
    if ends.lf > 0 && ends.crlf > 0 {
        return Some(format!(
            "The new file mixes line ends, as they were given: {} with CRLF, {} with LF.",
            ends.crlf, ends.lf
        ));
    }
    let (given, others) = match ends.majority() {
        LineEnd::Lf => (LineEnd::Lf, LineEnd::CrLf),
        LineEnd::CrLf => (LineEnd::CrLf, LineEnd::Lf),
    };
    if nth >= EXAMINED_NEW_FILES_MAX || !all_neighbours_end_with(context, path, others) {
        return None;
    }
    Some(format!(
        "The lines of this file end with {}; those of every file of its kind beside it end with {}. To \
             have that for new files, declare end_of_line in .editorconfig or eol in .gitattributes.",
        given.name(),
        others.name()
    ))
}

/// True when there are neighbouring files of the same kind, and all of their lines end in this way.
fn all_neighbours_end_with(context: &Context, safe_path: &SafePath, end: LineEnd) -> bool {
    let extension = safe_path.absolute().extension();
    let names = context.store().siblings(safe_path).unwrap_or_default();
    let beside = names.iter().map(|name| safe_path.absolute().with_file_name(name));
    let of_its_kind = beside.filter(|path| path.extension() == extension && path != safe_path.absolute());
    let mut found = 0;
    for path in of_its_kind.take(2 * NEIGHBOURS_MAX) {
        let Some(ends) = line_ends_of(context, &path) else { continue };
        let (same, other) = if end == LineEnd::Lf { (ends.lf, ends.crlf) } else { (ends.crlf, ends.lf) };
        if other > 0 {
            return false;
        }
        found += usize::from(same > 0);
        if found == NEIGHBOURS_MAX {
            break;
        }
    }
    found > 0
}

/// Returns the line ends of a small text that may be read.
fn line_ends_of(context: &Context, path: &Path) -> Option<LineEnds> {
    let safe_path =
        context.store().resolve_path(path).ok().filter(|safe_path| context.may_access_name(safe_path, Access::Read))?;
    let version = context.store().read(&safe_path, NEIGHBOUR_BYTES_MAX, Vec::new()).ok()??;
    Some(Snapshot::open(version.bytes, None).ok()?.line_ends())
}

/// Gives every line of a new file this line end.
fn end_with(plan: &mut FilePlan, after: &Snapshot, declared: &DeclaredLineEnd) -> Result<()> {
    let ends = after.line_ends();
    let wrong = if declared.end == LineEnd::Lf { ends.crlf } else { ends.lf };
    if wrong == 0 {
        return Ok(());
    }
    let text = match declared.end {
        LineEnd::Lf => after.text().to_owned(),
        LineEnd::CrLf => after.text().replace('\n', "\r\n"),
    };
    let step = replace_all_bytes(after, after.codec().encode(&text)?);
    plan.changes = plan.changes.then(&plan.before, &step);
    plan.outcome.notes.push(format!(
        "The lines of the new file end with {}, as {} declares.",
        declared.end.name(),
        declared.by
    ));
    Ok(())
}

/// Returns the declared line end of a file: `.editorconfig` takes precedence over `.gitattributes`.
fn find_declared_line_end(store: &dyn Store, path: &SafePath) -> Option<DeclaredLineEnd> {
    let word = encoding::editorconfig(store, path, "end_of_line");
    let end = word.as_deref().and_then(|word| match word {
        "lf" => Some(LineEnd::Lf),
        "crlf" => Some(LineEnd::CrLf),
        _ => None,
    });
    match end {
        Some(end) => Some(DeclaredLineEnd { end, by: ".editorconfig (end_of_line)" }),
        None => by_attributes(store, path).map(|end| DeclaredLineEnd { end, by: ".gitattributes (eol)" }),
    }
}

/// Line end attributes of git read so far.
#[derive(Default)]
struct GitAttributes {
    end: Option<LineEnd>,
    /// The file is declared as binary.
    binary: bool,
    /// The attributes of macros, with nested macros expanded.
    macros: HashMap<String, Vec<String>>,
}

/// Returns the line end that the `.gitattributes` files from the root down to the file declare; the nearest one takes
/// precedence, and the repository's own `info/attributes` before all of them.
fn by_attributes(store: &dyn Store, path: &SafePath) -> Option<LineEnd> {
    let mut found: Vec<(&Path, Vec<u8>)> = Vec::new();
    for folder in encoding::folders(path) {
        let file = store.resolve_path(&folder.join(".gitattributes"));
        let version = file.and_then(|file| store.read(&file, GITATTRIBUTES_BYTES_MAX, Vec::new()));
        found.extend(version.ok().flatten().map(|version| (folder, version.bytes)));
    }
    let root = encoding::folders(path).last()?;
    let own = store.resolve_path(&root.join(".git/info/attributes"));
    let own = own.and_then(|file| store.read(&file, GITATTRIBUTES_BYTES_MAX, Vec::new())).ok().flatten();
    let own = own.map(|version| (root, version.bytes));
    let mut attributes = GitAttributes::default();
    // Git reads macros at the top only.
    for (_, bytes) in found.iter().chain(&own).filter(|(folder, _)| *folder == root) {
        attributes.define_macros(&String::from_utf8_lossy(bytes));
    }
    for (folder, bytes) in found.iter().rev().chain(&own) {
        let Ok(below) = path.absolute().strip_prefix(folder) else { continue };
        attributes.read(&String::from_utf8_lossy(bytes), below);
    }
    attributes.end.filter(|_| !attributes.binary)
}

impl GitAttributes {
    /// Applies the lines of one file to the path below its directory.
    fn read(&mut self, text: &str, path: &Path) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '[', '!']));
        let split = lines.filter_map(pattern).filter(|(_, rest)| {
            rest.split_ascii_whitespace().any(|attribute| {
                let name = attribute.trim_start_matches(['-', '!']).split('=').next().unwrap_or_default();
                ["eol", "text", "binary"].contains(&name) || self.macros.contains_key(name)
            })
        });
        let covering = split.take(GITATTRIBUTES_LINES_MAX).filter(|(pattern, _)| covers(pattern, path));
        let declared: Vec<&str> = covering.flat_map(|(_, rest)| rest.split_ascii_whitespace()).collect();
        for attribute in declared {
            self.set(attribute);
            for attribute in self.macros.get(attribute).cloned().unwrap_or_default() {
                self.set(&attribute);
            }
        }
    }

    /// Reads the definitions of macros: `[attr]NAME ATTRIBUTES`.
    fn define_macros(&mut self, text: &str) {
        let definitions = text.lines().filter_map(|line| line.trim().strip_prefix("[attr]")).take(MACROS_MAX);
        for definition in definitions {
            let mut words = definition.split_ascii_whitespace().take(MACRO_ATTRIBUTES_MAX);
            let Some(name) = words.next() else { continue };
            let expanded = words.flat_map(|word| {
                let inner = self.macros.get(word).cloned().unwrap_or_default();
                core::iter::once(word.to_owned()).chain(inner)
            });
            let expanded = expanded.take(MACRO_ATTRIBUTES_MAX).collect();
            self.macros.insert(name.to_owned(), expanded);
        }
    }

    fn set(&mut self, attribute: &str) {
        match attribute {
            "eol=lf" => self.end = Some(LineEnd::Lf),
            "eol=crlf" => self.end = Some(LineEnd::CrLf),
            "-eol" | "!eol" => self.end = None,
            "-text" | "binary" => self.binary = true,
            "text" | "text=auto" | "!text" | "-binary" => self.binary = false,
            _ => {}
        }
    }
}

/// Splits a line into its pattern and attributes.
fn pattern(line: &str) -> Option<(&str, &str)> {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"'),
        None => line.split_once([' ', '\t']),
    }
}

fn covers(pattern: &str, path: &Path) -> bool {
    let mut builder = GitignoreBuilder::new("");
    let built = builder.add_line(None, pattern).and_then(|builder| builder.build());
    built.is_ok_and(|built| built.matched(path, false).is_ignore())
}

#[cfg(test)]
mod tests {
    use super::{GitAttributes, LineEnd};
    use std::path::Path;

    #[test]
    fn gitattributes_are_applied() {
        let end = |text: &str, path: &str| {
            let mut attributes = GitAttributes::default();
            attributes.define_macros(text);
            attributes.read(text, Path::new(path));
            attributes.end.filter(|_| !attributes.binary)
        };
        let crlf = Some(LineEnd::CrLf);
        assert_eq!(end("* text=auto\n*.bat text eol=crlf\n", "a/b.bat"), crlf);
        assert_eq!(end("*.bat text eol=crlf\n", "b.txt"), None);
        assert_eq!(end("*.bat eol=crlf\nb.bat eol=lf\n", "b.bat"), Some(LineEnd::Lf));
        assert_eq!(end("* eol=crlf\n*.png binary\n", "b.png"), None);
        assert_eq!(end("* eol=crlf\n*.x -text\n", "b.x"), None);
        assert_eq!(end("win/** eol=crlf\n", "win/a/b.txt"), crlf);
        assert_eq!(end("win/** eol=crlf\n", "a/win/b.txt"), None);
        assert_eq!(end("\"a b.txt\" eol=crlf\n", "a b.txt"), crlf);
        assert_eq!(end("[attr]dos text eol=crlf\n[attr]win dos -diff\n*.txt dos\n*.bat win\n", "a/b.bat"), crlf);
        assert_eq!(end("[attr]dos text eol=crlf\n*.txt dos\nb.txt -text\n", "b.txt"), None);
        assert_eq!(end("[attr]a a\n[attr]b a b\n* b eol=crlf\n", "b.txt"), crlf);
        assert_eq!(end("# *.txt eol=crlf\n[attr]win eol=crlf\nwin/ eol=crlf\n", "win"), None);
    }
}
