//! Searching through a session.

use crate::api::workspace::session::Session;
use crate::tools::search::outcome::SearchOutcome;
use crate::tools::search::{SearchInput, search_files};
use emendate_core::Result;
use std::path::{Path, PathBuf};

impl Session {
    /// Searches a directory or a file for a regular expression, or for plain text.
    pub fn search(&self, pattern: impl Into<String>) -> SearchCall<'_> {
        let path = self.absolute(Path::new(""));
        SearchCall { session: self, path, input: SearchInput::of(pattern.into()) }
    }
}

/// A search; see [`Session::search`].
///
/// ```
/// use emendate::Workspace;
///
/// let workspace = Workspace::in_memory([("a.rs", "let a = 1;\n"), ("b.rs", "let b = 2;\n")])?;
/// let found = workspace.session("agent-1").search("b = ").literal().run()?;
/// assert_eq!((found.hits, found.files[0].hits[0]), (1, 1));
/// assert_eq!(found.files[0].lines[0].text, "let b = 2;");
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct SearchCall<'a> {
    session: &'a Session,
    path: PathBuf,
    input: SearchInput,
}

emendate_core::setters! {
    impl SearchCall<'a> {
        /// Searches for the pattern as plain text.
        literal() { input.literal = true }
        /// Ignores case.
        ignore_case() { input.ignore_case = true }
        /// Lets the pattern match across lines.
        multiline() { input.multiline = true }
        /// Also searches files and directories whose names begin with a dot.
        hidden() { input.hidden = true }
        /// Also searches files that .gitignore and .ignore exclude.
        no_ignore() { input.no_ignore = true }
        /// Sets the number of lines before and after each hit (default: 0).
        context(lines: usize) { input.context = lines }
        /// Sets the maximum number of hits (default: 100).
        limit(hits: usize) { input.limit = Some(hits) }
    }
}

impl<'a> SearchCall<'a> {
    /// Sets the directory or file to search (default: the first root).
    pub fn path(mut self, path: impl AsRef<Path>) -> SearchCall<'a> {
        self.path = self.session.absolute(path.as_ref());
        self
    }

    /// Searches only these files, as `*.rs` or `src/**`; with `!` before a pattern, all but these.
    pub fn glob(mut self, glob: impl Into<String>) -> SearchCall<'a> {
        self.input.glob.push(glob.into());
        self
    }

    /// Searches; the returned lines count as read by the session.
    ///
    /// Errors: `call.invalid` for a pattern that is not a valid expression; `path.*`, `access.denied`,
    /// `file.not_found`.
    pub fn run(self) -> Result<SearchOutcome> {
        let SearchCall { session, path, input } = self;
        session.run("search", |call| search_files(call, &input, &path))
    }
}
