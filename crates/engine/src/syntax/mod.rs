//! What the grammar of a file's language adds: outlines, reading and editing by symbol, blocks for edits by line, and the
//! warning that a file does not parse any more.

mod blocks;
mod edit;
mod mend;
mod outline;
mod trees;

pub(crate) use blocks::with_blocks;
pub(crate) use edit::Args as EditArgs;
pub(crate) use outline::Args as OutlineArgs;
pub(crate) use trees::Trees;

use crate::engine::Engine;
use crate::plan::{Becomes, Now, Plan};
use crate::raw_path;
use emendate_core::{Code, Error, Result, Snapshot};
use emendate_fs::Place;
use emendate_lsp::{Basis, Found, Problem, Severity, Unknown};
use emendate_syntax::{Definition, FirstError, Language, Limits, Parsed, Symbol, parse};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Files of one call that are checked: each may take some milliseconds.
const CHECKED: usize = 50;
/// Threads that check them, and how many one takes at once.
const THREADS: usize = 4;
const FEW: usize = 8;

/// Symbols that an error lists.
const LISTED: usize = 20;

/// The language of a file, where its grammar is built in.
fn language(place: &Place, text: &str) -> Option<Language> {
    Language::of(place.absolute(), text.lines().next().unwrap_or_default())
}

/// The syntax tree of a file.
///
/// Errors: `syntax.unknown`.
fn parsed<'t>(place: &Place, text: &'t str) -> Result<Parsed<'t>> {
    let unknown = |why: String| {
        Error::new(Code::SyntaxUnknown, why)
            .evidence(place.shown())
            .next("Use read with offset and limit, and edit with old_string.")
    };
    let Some(language) = language(place, text) else {
        let names: Vec<&str> = Language::all().map(Language::name).collect();
        return Err(unknown("The language of this file is not known.".to_owned())
            .evidence(format!("Known here: {}.", names.join(", "))));
    };
    parse(text, language, Limits::ASKED)
        .ok_or_else(|| unknown(format!("The file is too large or too deep to be parsed as {}.", language.name())))
}

/// The symbol that a path leads to. `next` says what to do when there are several.
///
/// Errors: `symbol.not_found`, `symbol.ambiguous`.
fn symbol(
    place: &Place,
    parsed: &Parsed<'_>,
    (path, line): (&str, Option<usize>),
    next: impl FnOnce(&Symbol) -> String,
) -> Result<Symbol> {
    let list = |symbols: &[Symbol]| -> String {
        let rows = symbols.iter().take(LISTED).map(|it| format!("{}-{}\t{} {}", it.first, it.last, it.kind, it.path));
        rows.collect::<Vec<String>>().join("\n")
    };
    match parsed.definition(path, line) {
        Definition::One(symbol) => Ok(*symbol),
        Definition::Several(found) => Err(Error::new(
            Code::SymbolAmbiguous,
            format!("{} symbols of {} are called `{path}`.", found.len(), place.shown()),
        )
        .evidence(list(&found))
        .next(found.first().map_or_else(String::new, next))
        .fact("symbols", found.iter().take(LISTED).map(told).collect::<Vec<Value>>())),
        Definition::None(near) => {
            let near = if near.is_empty() { alike(parsed, path) } else { near };
            let error = Error::new(Code::SymbolMissing, format!("No symbol of {} is called `{path}`.", place.shown()));
            let error = if near.is_empty() { error } else { error.evidence(format!("Alike:\n{}", list(&near))) };
            Err(error.next(format!(
                "Call outline with {} to see its symbols.",
                raw_path::call(place.absolute(), Value::Null)
            )))
        }
    }
}

/// Bytes of names that are compared by likeness, which takes time by the product of their lengths.
const ALIKE: usize = 200;

/// Symbols whose name may have been meant, the likeliest first.
fn alike(parsed: &Parsed<'_>, path: &str) -> Vec<Symbol> {
    // `fn name()` is meant for `name`.
    let path = path.split('(').next().unwrap_or_default().trim();
    let last = path.rsplit(['.', ':', ' ']).next().unwrap_or_default();
    if last.len() > ALIKE {
        return Vec::new();
    }
    let score =
        |it: &Symbol| if it.name.len() > ALIKE { 0.0 } else { strsim::normalized_damerau_levenshtein(last, &it.name) };
    let mut near: Vec<(f64, Symbol)> = parsed.outline().symbols.into_iter().map(|it| (score(&it), it)).collect();
    near.retain(|(score, _)| *score > 0.6);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(5).map(|(_, symbol)| symbol).collect()
}

/// A symbol for programs.
fn told(symbol: &Symbol) -> Value {
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

/// The lines of a symbol, for reading: the first one and how many.
pub(crate) fn lines_of(place: &Place, text: &str, path: &str) -> Result<(usize, usize)> {
    let parsed = parsed(place, text)?;
    let next = |it: &Symbol| {
        let call = raw_path::call(place.absolute(), json!({ "offset": it.above, "limit": it.last - it.above + 1 }));
        format!("Give the whole path, or read one of them by its lines: {call}.")
    };
    let symbol = symbol(place, &parsed, (path, None), next)?;
    Ok((symbol.above, symbol.last - symbol.above + 1))
}

/// What the grammar of its language says of a file; `None` where there is none, or the file is too much for it.
pub(crate) fn said(place: &Place, snapshot: &Snapshot) -> Option<std::result::Result<Found, Unknown>> {
    let parsed = parsed(place, snapshot.text()).ok()?;
    let problem = |error: FirstError| {
        let span = snapshot.lines().span_of(snapshot.text(), error.line, error.line);
        let missing = error.missing.map_or(String::new(), |it| format!(": `{it}` is missing"));
        Problem {
            severity: Severity::Error,
            span,
            start: (error.line, 1),
            end: (error.last, 1),
            message: format!("it does not parse as {}{missing}", parsed.language().name()),
            code: None,
            source: None,
        }
    };
    let new = parsed.first_error().map(problem).into_iter().collect();
    Some(Ok(Found { new, existing: 0, basis: Basis::Asked }))
}

impl Engine {
    /// Adds a note to plans whose file parses as it is and would not afterwards.
    pub(crate) fn warn_of_syntax(&self, plans: &mut [Plan]) {
        if !self.config().syntax_check {
            return;
        }
        let most = plans.len().min(CHECKED);
        if let [only] = &mut plans[..most] {
            self.warn_of_one(only);
            return;
        }
        let parts = Mutex::new(plans[..most].chunks_mut(FEW));
        let work = || {
            loop {
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(part) = part else { return };
                for plan in part {
                    self.warn_of_one(plan);
                }
            }
        };
        // How many processors there are costs as much to ask as many an edit.
        let threads = if most <= FEW { 1 } else { thread::available_parallelism().map_or(1, usize::from).min(THREADS) };
        thread::scope(|scope| {
            // Where no thread is to be had, this one does it all.
            for _ in 1..threads {
                drop(thread::Builder::new().spawn_scoped(scope, work));
            }
            work();
        });
    }

    fn warn_of_one(&self, plan: &mut Plan) {
        let edited = matches!((&plan.now, &plan.becomes), (Now::File(_), Becomes::File));
        let unfit = plan.before.is_opaque() || plan.source.is_some() || self.validates(plan);
        if !edited || plan.changes.is_empty() || unfit {
            return;
        }
        let Some(language) = language(&plan.place, plan.before.text()) else { return };
        let Some(proof) = self.trees().proof(plan.before.id(), plan.before.text(), language) else { return };
        // What cannot be decoded any more is told elsewhere.
        let Ok(after) = plan.after() else { return };
        let Some(parsed) = proof.after(after.text()) else { return };
        let Some(error) = parsed.first_error() else {
            self.trees().keep(after.id(), parsed);
            return;
        };
        let line = after.lines().span_of(after.text(), error.line, error.line);
        let shown: String = after.text()[line.range()].trim().chars().take(80).collect();
        let missing = error.missing.map_or(String::new(), |it| format!(" (`{it}` is missing)"));
        let to = if error.last > error.line { format!(" to {}", error.last) } else { String::new() };
        plan.notes.push(format!(
            "The file parsed as {} before this edit and does not any more, first at line {}{to}{missing}: {shown}",
            language.name(),
            error.line,
        ));
        let rest = mend::inside_a_block(&proof, plan, &after);
        plan.notes.extend(rest);
    }
}
