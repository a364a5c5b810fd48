//! Features based on the grammar of a file's language: outlines, reading and editing by symbol, and blocks for line
//! edits.

pub(crate) mod parsers;

pub(crate) use crate::context::syntax::parsers::{PARSE_MEMORY_BYTES_MAX, Parsers};
pub use crate::context::syntax::parsers::{ParserIsolation, answer_questions};

use crate::context::syntax::parsers::{NoAnswerReason, target};
use crate::model::call_handle::cancelled;
use crate::model::raw_path;
use emendate_core::{Advice, Code, Error, Phrase, Result, Snapshot, advice};
use emendate_fs::SafePath;
use emendate_lsp::{AnswerBasis, Diagnostic, DiagnosticReport, DiagnosticsFailure, Severity};
use emendate_syntax::{
    Definition, FirstError, Language, ParseLimits, QuerySubject, Splices, Symbol, SymbolAction, SyntaxAnswer,
    SyntaxQuery, WireError,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;

/// Symbols that an error lists.
const LISTED_SYMBOLS_MAX: usize = 20;

/// Returns the language of a file, if its grammar is built in.
pub(crate) fn language(path: &SafePath, text: &str) -> Option<Language> {
    Language::of(path.absolute(), text.lines().next().unwrap_or_default())
}

/// Access of one call to the grammars.
#[derive(Clone, Copy)]
pub(crate) struct Grammars<'a> {
    pub(super) parsers: &'a Parsers,
    pub(super) stop: &'a AtomicBool,
}

/// A caller's reference to a symbol.
#[derive(Clone, Copy)]
pub(crate) struct SymbolRef<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: Option<usize>,
}

impl Grammars<'_> {
    /// Asks a question about a file.
    ///
    /// Errors: `syntax.unknown`, `call.cancelled`.
    pub(crate) fn ask(&self, path: &SafePath, text: &str, about: QuerySubject<'_>) -> Result<(SyntaxAnswer, Language)> {
        let Some(language) = language(path, text) else {
            if let Some(name) = Language::not_built(path.absolute()) {
                let what = format!("This build has no grammar of {name}; the build `full` has it.");
                return Err(Error::new(Code::SyntaxNotBuilt, what).evidence(path.shown()).next(without_symbols()));
            }
            let names: Vec<&str> = Language::all().map(Language::name).collect();
            return Err(unknown_syntax(path, "The language of this file is not known.".to_owned())
                .evidence(format!("Known here: {}.", names.join(", "))));
        };
        let question = SyntaxQuery { language, limits: ParseLimits::ASKED, text: Cow::Borrowed(text), about };
        let name = language.name();
        let asked = self.parsers.ask(&question, self.stop);
        match asked.and_then(|answered| answered.answer.ok_or(NoAnswerReason::Beyond)) {
            Ok(answer) => Ok((answer, language)),
            Err(NoAnswerReason::Beyond) => {
                Err(unknown_syntax(path, format!("The file is too large or too deep to be parsed as {name}.")))
            }
            Err(NoAnswerReason::Failed) => Err(unknown_syntax(
                path,
                format!(
                    "The grammar of {name} fails on this file: it crashes, or takes too much time or memory. The file is not parsed again until it changes."
                ),
            )),
            Err(NoAnswerReason::Stopped) => Err(cancelled()),
        }
    }

    /// Returns the symbols of a text in the language of a file; `None` without a grammar.
    pub(crate) fn symbols(&self, path: &SafePath, text: &str) -> Option<Vec<Symbol>> {
        match self.ask(path, text, QuerySubject::Outline) {
            Ok((SyntaxAnswer::Outline(outline, _), _)) if !outline.cut => Some(outline.symbols),
            _ => None,
        }
    }

    /// Returns the 0-based lines of a text in the language of a file that begin inside of a string whose value contains
    /// the indentation; none without a grammar.
    pub(crate) fn rows_in_strings(&self, path: &SafePath, text: &str) -> Vec<usize> {
        match self.ask(path, text, QuerySubject::RowsInStrings) {
            Ok((SyntaxAnswer::RowsInStrings(rows), _)) => rows,
            _ => Vec::new(),
        }
    }

    /// Returns the lines of a symbol, for reading: the first one and their number.
    pub(crate) fn lines_of(&self, safe_path: &SafePath, text: &str, path: &str) -> Result<(usize, usize)> {
        let (answer, _) = self.ask(safe_path, text, QuerySubject::Definition(target(path, None)))?;
        let SyntaxAnswer::Definition(definition) = answer else { return Err(unfit()) };
        let symbol = only_symbol(safe_path, path, definition, |found| {
            let Some(it) = found.first() else { return Advice::default() };
            let call =
                raw_path::call(safe_path.absolute(), json!({ "offset": it.above, "limit": it.last - it.above + 1 }));
            advice!["Give the whole path, or one of them by its lines: ", Phrase::Call("read", call), "."]
                .or("Give the whole path.")
        })?;
        Ok((symbol.above, symbol.last - symbol.above + 1))
    }

    /// Returns the splices of an action on a symbol. `next` is the advice for symbols of which each may be meant.
    ///
    /// Errors: those of [`Grammars::ask`] and [`only_symbol`], and those of the action.
    pub(crate) fn splices(
        &self,
        path: &SafePath,
        text: &str,
        named: SymbolRef<'_>,
        action: SymbolAction,
        new: &str,
        next: impl FnOnce(&[Symbol]) -> Advice,
    ) -> Result<Splices> {
        let about = QuerySubject::Edit { target: target(named.path, named.line), action, new: Cow::Borrowed(new) };
        match self.ask(path, text, about)?.0 {
            SyntaxAnswer::Edit(splices) => splices.map_err(WireError::into_error),
            SyntaxAnswer::Definition(definition) => {
                only_symbol(path, named.path, definition, next).and_then(|_| Err(unfit()))
            }
            _ => Err(unfit()),
        }
    }

    /// Returns the problem that the grammar finds in a file; `None` without a grammar, or if the file is too large for
    /// it.
    pub(crate) fn syntax_problem(
        &self,
        path: &SafePath,
        snapshot: &Snapshot,
    ) -> Option<std::result::Result<DiagnosticReport, DiagnosticsFailure>> {
        let (answer, language) = self.ask(path, snapshot.text(), QuerySubject::FirstError).ok()?;
        let SyntaxAnswer::FirstError(error) = answer else { return None };
        let new = error.map(|error| parse_problem(snapshot, language, error)).into_iter().collect();
        Some(Ok(DiagnosticReport { new, existing: 0, basis: AnswerBasis::Asked }))
    }
}

/// Returns the first error of a text as a problem.
fn parse_problem(snapshot: &Snapshot, language: Language, error: FirstError) -> Diagnostic {
    let span = snapshot.lines().span_of(snapshot.text(), error.line, error.line);
    let missing = error.missing.map_or(String::new(), |it| format!(": `{it}` is missing"));
    Diagnostic {
        severity: Severity::Error,
        span,
        start: (error.line, 1),
        end: (error.last, 1),
        message: format!("it does not parse as {}{missing}", language.name()),
        code: None,
        source: None,
    }
}

/// Refuses a file whose syntax is not known.
fn unknown_syntax(path: &SafePath, why: String) -> Error {
    Error::new(Code::SyntaxUnknown, why).evidence(path.shown()).next(without_symbols())
}

/// Returns the advice for a file without symbols.
fn without_symbols() -> Advice {
    Advice::named("Use {read()} with {read.offset} and {read.limit}, and {edit()} with {edit.old_string}.")
        .or("Read and edit it by its lines and its text.")
}

/// Creates the error for an answer of another kind than the question: an internal fault.
pub(crate) fn unfit() -> Error {
    Error::new(Code::InternalBug, "The parser answered another question.")
}

/// Returns the only symbol of that name. `next` is the advice for several.
///
/// Errors: `symbol.not_found`, `symbol.ambiguous`.
fn only_symbol(
    safe_path: &SafePath,
    path: &str,
    definition: Definition,
    next: impl FnOnce(&[Symbol]) -> Advice,
) -> Result<Symbol> {
    match definition {
        Definition::One(symbol) => Ok(*symbol),
        Definition::Several(found) => Err(Error::new(
            Code::SymbolAmbiguous,
            format!("{} symbols of {} are called `{path}`.", found.len(), safe_path.shown()),
        )
        .evidence(listed(&found))
        .next(next(&found))
        .fact("symbols", found.iter().take(LISTED_SYMBOLS_MAX).map(symbol_json).collect::<Vec<Value>>())),
        Definition::None(near) => {
            let error =
                Error::new(Code::SymbolMissing, format!("No symbol of {} is called `{path}`.", safe_path.shown()));
            let error = if near.is_empty() { error } else { error.evidence(format!("Alike:\n{}", listed(&near))) };
            let outline = Phrase::Call("outline", raw_path::call(safe_path.absolute(), Value::Null));
            Err(error.next(advice!["Call ", outline, " to see its symbols."].or("Read the file to see its symbols.")))
        }
    }
}

/// Lists symbols for an error.
fn listed(symbols: &[Symbol]) -> String {
    let rows =
        symbols.iter().take(LISTED_SYMBOLS_MAX).map(|it| format!("{}-{}\t{} {}", it.first, it.last, it.kind, it.path));
    rows.collect::<Vec<String>>().join("\n")
}

/// Converts a symbol to JSON.
pub(crate) fn symbol_json(symbol: &Symbol) -> Value {
    json!({
        "name": symbol.name,
        "kind": symbol.kind,
        "path": symbol.path,
        "first": symbol.first,
        "last": symbol.last,
        "above": symbol.above,
        "depth": symbol.depth,
    })
}
