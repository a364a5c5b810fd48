//! Other files that use the name of a renamed symbol: an edit of a symbol changes one file, so the others are listed.

use crate::context::call::Call;
use crate::context::policy::Access;
use crate::context::syntax::language;
use crate::context::walk::WalkFilter;
use crate::context::{Context, walk};
use emendate_fs::SafePath;
use emendate_os::paths::with_slashes;
use emendate_syntax::Language;
use memchr::memmem::Finder;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Files that are searched, and bytes of one of them and of all.
const SEARCHED_FILES_MAX: usize = 5_000;
const SEARCHED_FILE_BYTES_MAX: usize = 1 << 20;
const SEARCHED_BYTES_MAX: usize = 64 << 20;
/// Files that a note lists.
pub(crate) const NAMED_FILES_MAX: usize = 10;
/// Languages in which the files of a directory share their names without an import.
const SHARED_DIRECTORY_LANGUAGES: [&str; 5] = ["go", "java", "kotlin", "c-sharp", "swift"];
/// Keywords of lines that import names from other files.
const IMPORT_WORDS: [&str; 13] = [
    "import", "from", "use", "using", "require", "include", "export", "extern", "import_module", "__import__",
    "require_relative", "require_once", "include_once",
];
/// Names of files that are also known by their directory.
const DIRECTORY_FILES: [&str; 5] = ["mod", "index", "__init__", "lib", "main"];

/// A file that uses a name of another one.
pub(crate) struct ForeignUse {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
}

/// A search for a name.
struct ForeignUseSearch<'a> {
    name: &'a str,
    finder: Finder<'a>,
    /// The names by which others know the defining file: its own without the extension, and that of its directory.
    modules: Vec<String>,
    language: Language,
    home: &'a SafePath,
    uses: Vec<ForeignUse>,
    count: usize,
    /// Some files use the name without importing it.
    unimported: bool,
    files: usize,
    bytes: usize,
}

/// Returns a note about files near `home` that import the renamed name; `None` if there are none, or they cannot be
/// searched.
pub(crate) fn used_elsewhere(call: Call<'_>, home: &SafePath, text: &str, old: &str, new: &str) -> Option<String> {
    let root = call.root_path(home.root())?.to_owned();
    let folder = call.store().resolve_path(&root).ok()?;
    let scope = WalkFilter::new(call.caller, &folder, &[], false, false).ok()?;
    let module = home.absolute().file_stem()?.to_string_lossy().into_owned();
    let by_folder = DIRECTORY_FILES.contains(&&*module);
    let modules = parent_name(home).filter(|_| by_folder).into_iter().chain([module]).collect();
    let language = language(home, text)?;
    let finder = Finder::new(old);
    let mut look = ForeignUseSearch {
        name: old,
        finder,
        modules,
        language,
        home,
        uses: Vec::new(),
        count: 0,
        unimported: false,
        files: 0,
        bytes: 0,
    };
    walk::walk(&call, &folder, &scope, &mut |path| Ok(look_for(&call, path, &mut look))).ok()?;
    look.note(&root, new)
}

fn look_for(context: &Context, path: &SafePath, look: &mut ForeignUseSearch<'_>) -> ControlFlow<()> {
    if path.absolute() == look.home.absolute() || Language::of(path.absolute(), "") != Some(look.language) {
        return ControlFlow::Continue(());
    }
    look.files += 1;
    let size = context.store().metadata(path).ok().flatten().map_or(0, |meta| meta.size);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if look.files > SEARCHED_FILES_MAX
        || look.bytes.saturating_add(size.min(SEARCHED_FILE_BYTES_MAX)) > SEARCHED_BYTES_MAX
    {
        return ControlFlow::Break(());
    }
    if size > SEARCHED_FILE_BYTES_MAX || context.check_access(path, Access::Read).is_err() {
        return ControlFlow::Continue(());
    }
    look.bytes += size;
    if let Ok(Some(opened)) = context.snapshot(path, None, "") {
        look.file(path.absolute(), opened.snapshot.text());
    }
    ControlFlow::Continue(())
}

/// Returns the name of the directory of a file.
fn parent_name(home: &SafePath) -> Option<String> {
    home.absolute().parent()?.file_name().map(|name| name.to_string_lossy().into_owned())
}

impl ForeignUseSearch<'_> {
    fn file(&mut self, path: &Path, text: &str) {
        if self.finder.find(text.as_bytes()).is_none() {
            return;
        }
        let Some(first) = text.lines().position(|line| has_word(line, self.name)) else { return };
        let imported = text.lines().any(|line| self.imports(line));
        let qualified =
            || text.lines().position(|line| self.modules.iter().any(|module| is_member(line, module, self.name)));
        let line = match imported {
            true => first,
            false if self.shares_names(path) => first,
            false => match qualified() {
                Some(line) => line,
                None => return,
            },
        };
        self.count += 1;
        self.unimported |= !imported;
        if self.uses.len() < NAMED_FILES_MAX {
            self.uses.push(ForeignUse { path: path.to_owned(), line: line + 1 });
        }
    }

    /// True for a line that imports the name or its file.
    fn imports(&self, line: &str) -> bool {
        let words = || line.split(|ch: char| !is_word(ch));
        words().any(|word| IMPORT_WORDS.contains(&word))
            && words().any(|word| word == self.name || self.modules.iter().any(|module| module == word))
    }

    /// True for a file that has the names of the defining file without an import.
    fn shares_names(&self, path: &Path) -> bool {
        SHARED_DIRECTORY_LANGUAGES.contains(&self.language.name()) && path.parent() == self.home.absolute().parent()
    }

    fn note(self, root: &Path, new: &str) -> Option<String> {
        let finding = format!("Other files {} `{}`", if self.unimported { "use" } else { "import" }, self.name);
        advised(&finding, &self.uses, self.count, root, self.name, new)
    }
}

/// Returns a note on files that use a name, with the call that renames it there; `None` if there are none.
pub(crate) fn advised(
    finding: &str,
    uses: &[ForeignUse],
    count: usize,
    root: &Path,
    old: &str,
    new: &str,
) -> Option<String> {
    let files: Vec<String> = uses.iter().map(|it| format!("{} (line {})", it.path.display(), it.line)).collect();
    let more = count - uses.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut call = json!({
        "path": root.to_string_lossy(),
        "pattern": format!("\\b{old}\\b"),
        "regex": true,
        "new_string": new,
        "dry_run": true,
    });
    let names = uses.iter().map(|it| Some(with_slashes(it.path.strip_prefix(root).ok()?.to_str()?).into_owned()));
    // In other files the name may be that of something else. Without their names, all are searched.
    if let Some(names) = names
        .collect::<Option<Vec<String>>>()
        .filter(|_| count == uses.len())
        .filter(|names| names.iter().all(|name| !name.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '#'])))
    {
        call["glob"] = names.into();
    }
    (!files.is_empty()).then(|| {
            format!(
                "Only this file was changed. {finding}: {}{more}. To rename it there, call replace_in_files with {call}, look at \
                 what it would change, and send it without dry_run.",
                files.join(", "),
            )
        })
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_' || ch == '$'
}

/// True for a line with the name as a member of the module: `module.name`, `module::name`, `module->name`.
fn is_member(line: &str, module: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + name.len()..]);
        let owner = ["::", ".", "->"].iter().find_map(|sign| before.strip_suffix(sign)?.strip_suffix(module));
        owner.is_some_and(|rest| !rest.ends_with(is_word)) && !behind.starts_with(is_word)
    })
}

fn has_word(line: &str, name: &str) -> bool {
    line.split(|ch: char| !is_word(ch)).any(|word| word == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{ForeignUse, advised};
    use std::path::{Path, PathBuf};

    #[test]
    fn call_is_limited_to_the_files_only_if_all_are_named() {
        let uses = [ForeignUse { path: PathBuf::from("/r/a.go"), line: 3 }];
        let note = |count| advised("Other files use `f`", &uses, count, Path::new("/r"), "f", "g").unwrap();
        assert!(note(1).contains("\"glob\":[\"a.go\"]"), "{}", note(1));
        assert!(!note(2).contains("glob"), "{}", note(2));
        assert!(note(2).contains("/r/a.go (line 3) and 1 more."), "{}", note(2));
    }
}
