//! The request that a page answers, and the changes that it is about.

use crate::html::query_text;
use crate::live::HistoryState;
use crate::request::Fields;
use crate::state::ReviewState;
use emendate::{ChangeScope, ScopeRemarks};
use emendate_os::paths::with_slashes;
use std::cell::OnceCell;
use std::path::Path;

/// The cookie with the settings of the page.
pub(crate) const PREFERENCES_COOKIE: &str = "emend_view";

/// The request that a page answers.
pub(crate) struct PageContext<'a> {
    pub(crate) state: &'a ReviewState,
    /// The text that forms send.
    pub(crate) csrf: &'a str,
    /// The fields of the address.
    pub(crate) fields: &'a Fields,
    pub(crate) preferences: Preferences,
    /// The state of the history when the request arrived.
    pub(crate) history: HistoryState,
    /// The remarks of the scope that the page shows, read once.
    remarks: OnceCell<ScopeRemarks>,
}

impl<'a> PageContext<'a> {
    pub(crate) fn new(
        state: &'a ReviewState,
        csrf: &'a str,
        fields: &'a Fields,
        preferences: Preferences,
    ) -> PageContext<'a> {
        let history = HistoryState::read(&state.engine);
        PageContext { state, csrf, fields, preferences, history, remarks: OnceCell::new() }
    }

    /// Returns a path for people, relative to its root.
    pub(crate) fn path_below_root(&self, path: &Path) -> String {
        shown_path(&self.state.engine.review().name_of_file(path))
    }

    /// Returns a text for people with the names of files relative to their roots.
    pub(crate) fn relative(&self, text: &str) -> String {
        self.state.relative(text)
    }

    /// The remarks on the operation of the scope that the page shows.
    pub(crate) fn remarks(&self, scope: &ChangeScope) -> &ScopeRemarks {
        self.remarks.get_or_init(|| {
            let found =
                self.state.changes(scope).and_then(|changes| self.state.engine.review().scope_remarks(&changes));
            found.unwrap_or_default()
        })
    }
}

/// The form in which differences are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preferences {
    /// Side by side.
    pub(crate) split: bool,
    /// Changes of white space are not marked.
    pub(crate) ignore_space: bool,
    /// The chosen theme; `None` for that of the system.
    pub(crate) theme: Option<Theme>,
}

/// A theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Preferences {
    /// Reads the value of the cookie.
    pub(crate) fn read(saved: &str) -> Preferences {
        let has = |word: &str| saved.split('-').any(|it| it == word);
        let theme = if has("dark") { Some(Theme::Dark) } else { has("light").then_some(Theme::Light) };
        Preferences { split: has("split"), ignore_space: has("nows"), theme }
    }

    /// The value of the cookie.
    pub(crate) fn saved(self) -> String {
        let words = [
            ("split", self.split),
            ("nows", self.ignore_space),
            ("dark", self.theme == Some(Theme::Dark)),
            ("light", self.theme == Some(Theme::Light)),
        ];
        words.into_iter().filter(|(_, on)| *on).map(|(word, _)| word).collect::<Vec<_>>().join("-")
    }

    /// Applies the fields of an address.
    pub(crate) fn changed_by(self, fields: &Fields) -> Preferences {
        Preferences {
            split: fields.text("layout").map_or(self.split, |layout| layout == "split"),
            ignore_space: fields.text("ws").map_or(self.ignore_space, |ws| ws == "hide"),
            theme: self.theme,
        }
    }
}

/// Returns the scope that fields name: `op`, `turn`, or `from` and `to`.
pub(crate) fn scope_of(fields: &Fields) -> Option<ChangeScope> {
    if let Some(id) = fields.text("op") {
        return Some(ChangeScope::Operation(id.to_owned()));
    }
    if let Some(id) = fields.text("turn") {
        return Some(ChangeScope::Turn(id.to_owned()));
    }
    let from = fields.text("from")?;
    Some(ChangeScope::Between(from.to_owned(), fields.text("to").unwrap_or("now").to_owned()))
}

/// Returns the fields that name a scope, for an address.
pub(crate) fn scope_query(scope: &ChangeScope) -> String {
    match scope {
        ChangeScope::Operation(id) => format!("op={}", query_text(id)),
        ChangeScope::Turn(id) => format!("turn={}", query_text(id)),
        ChangeScope::Between(from, to) => format!("from={}&to={}", query_text(from), query_text(to)),
    }
}

/// Returns the address of a scope.
pub(crate) fn scope_address(scope: &ChangeScope) -> String {
    match scope {
        ChangeScope::Operation(id) => format!("/op/{}", query_text(id)),
        ChangeScope::Turn(id) => format!("/turn/{}", query_text(id)),
        ChangeScope::Between(..) => format!("/between?{}", scope_query(scope)),
    }
}

/// Returns a path for people.
pub(crate) fn shown_path(path: &Path) -> String {
    emendate::fs::shown(path)
}

/// True if the shown path contains this lower-case text; on Windows, with either separator.
pub(crate) fn path_contains(path: &Path, text: &str) -> bool {
    let shown = shown_path(path).to_lowercase();
    with_slashes(&shown).contains(&*with_slashes(text))
}
