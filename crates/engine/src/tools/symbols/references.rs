//! References to a renamed symbol in other files, as a configured language server knows them.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::config::{LanguageServerConfig, ServerTrigger};
use crate::context::policy::Access;
use crate::pipeline::report::diagnose::{self, TEXT_BYTES_MAX, exact};
use crate::tools::symbols::edit::EditSymbolInput;
use crate::tools::symbols::foreign_uses::{ForeignUse, NAMED_FILES_MAX, advised};
use emendate_core::{Advice, Charset, Snapshot, Span};
use emendate_fs::SafePath;
use emendate_lsp::{FileText, Reference};
use emendate_syntax::SymbolAction;
use std::path::PathBuf;

/// The other files that refer to a symbol of one file.
pub(crate) struct References {
    server: String,
    root: PathBuf,
    uses: Vec<ForeignUse>,
    count: usize,
}

impl References {
    /// Returns a note on these files, with the call that renames the symbol there; `None` if there are none.
    pub(crate) fn note(&self, old: &str, new: &str) -> Option<String> {
        let finding = format!("Other files refer to `{old}`, says {}", self.server);
        advised(&finding, &self.uses, self.count, &self.root, old, new)
    }
}

/// Returns the other files that refer to a symbol; `None` if no language server answers in time.
pub(crate) fn references_elsewhere(call: Call<'_>, path: &SafePath, args: &EditSymbolInput) -> Option<References> {
    let servers: Vec<&LanguageServerConfig> =
        call.config().servers.iter().filter(|server| server.when != ServerTrigger::Off).collect();
    if servers.is_empty() {
        return None;
    }
    let opened = call.snapshot(path, None, "").ok()??;
    let snapshot = &opened.snapshot;
    let text = exact(snapshot);
    let new = args.new_text();
    let grammars = call.grammars();
    let splices = grammars
        .splices(path, snapshot.text(), args.symbol_ref(), SymbolAction::Rename, &new, |_| Advice::default())
        .ok()?;
    let at = offset(snapshot, splices.edits.first()?.0)?;
    let root = call.root_path(path.root())?.to_owned();
    servers.into_iter().filter(|_| text.len() <= TEXT_BYTES_MAX).find_map(|server| {
        let language = server.language(path.relative(), path.absolute())?;
        let project = diagnose::project(&call, server, path);
        let shown = FileText { path: path.absolute(), text: &text };
        let all = call.memory.servers.references(&server.spec, &project, shown, language, at, server.time).ok()?;
        let (uses, count) = beside(&call, path, all);
        Some(References { server: server.spec.name.clone(), root: root.clone(), uses, count })
    })
}

/// Returns the first reference in each other file that may be read, and the number of these files.
fn beside(context: &Context, home: &SafePath, all: Vec<Reference>) -> (Vec<ForeignUse>, usize) {
    let mut files: Vec<Reference> = all.into_iter().filter(|it| it.path != home.absolute()).collect();
    files.dedup_by(|next, first| next.path == first.path);
    files.retain(|it| context.resolve_path(&it.path, Access::Read).is_ok_and(|path| path.root() == home.root()));
    let count = files.len();
    (files.into_iter().take(NAMED_FILES_MAX).map(|it| ForeignUse { path: it.path, line: it.line }).collect(), count)
}

/// Returns the byte offset of a span of the decoded text in the text that a server gets.
fn offset(snapshot: &Snapshot, span: Span) -> Option<usize> {
    match snapshot.codec().charset {
        Charset::Utf8 => snapshot.raw_span(span).start().checked_sub(snapshot.codec().mark),
        _ => Some(span.start()),
    }
}
