//! Lazy edits: new text with placeholders for unchanged code.

use crate::context::call::Call;
use crate::pipeline::plan::edit::plan_against;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::placement::EditedFile;
use emendate_core::elided::{self, Extent};
use emendate_core::{Error, Notes, OpOrder, Result};
use emendate_fs::SafePath;
use emendate_syntax::Symbol;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Plans the edit that a text with placeholders expresses. `refusal` is the error for ambiguous placeholders.
pub(crate) fn plan_elided(file: EditedFile<'_>, content: &str, refusal: Error) -> Result<FilePlan> {
    let text = emendate_core::normalize_text(content);
    let mut refusal = Some(refusal);
    let (mut notes, call, target) = (Notes::new(), file.call, file.path.clone());
    let mut plan = plan_against(
        file,
        &mut |seen| {
            let extents = elided_extents(call, &target, seen.text(), &text);
            let expanded = elided::expand_or_refuse(seen.text(), &text, &extents, &mut refusal)?;
            notes = expanded.notes();
            Ok(Cow::Owned(expanded.ops))
        },
        OpOrder::Together,
    )?;
    plan.outcome.notes.extend(notes);
    Ok(plan)
}

/// Bytes of a file, and of a text, whose symbols are compared. Of larger ones, only lines and indentation are compared.
const COMPARED_BYTES_MAX: usize = 1 << 20;

/// Returns the symbols common to a file and a text with placeholders, by their lines. Empty without a grammar.
fn elided_extents(call: Call<'_>, path: &SafePath, old: &str, new: &str) -> Vec<Extent> {
    if old.len().max(new.len()) > COMPARED_BYTES_MAX {
        return Vec::new();
    }
    let grammars = call.grammars();
    let (old, new) = (symbols_of(grammars, path, old), symbols_of(grammars, path, &elided::without_gaps(old, new)));
    let (by_path, by_name) = (only(&old, |it| &it.path), only(&old, |it| &it.name));
    let (paths, names) = (only(&new, |it| &it.path), only(&new, |it| &it.name));
    new.iter()
        .filter_map(|it| {
            // A method shown without its class has another path there.
            let old = common_symbol(&by_path, &paths, &it.path)
                .or_else(|| if it.depth == 0 { common_symbol(&by_name, &names, &it.name) } else { None })?;
            // The lines of a symbol of the file with a syntax error are a guess.
            (!old.is_broken).then(|| Extent { old: symbol_lines(old), new: symbol_lines(it) })
        })
        .filter(|it| !it.old.is_empty() && !it.new.is_empty())
        .collect()
}

/// Returns the symbol of the file that both sides have under a key.
fn common_symbol<'s>(
    known: &'s HashMap<String, Symbol>,
    mine: &HashMap<String, Symbol>,
    key: &str,
) -> Option<&'s Symbol> {
    mine.get(key).and_then(|_| known.get(key))
}

/// Returns the lines of a symbol.
fn symbol_lines(it: &Symbol) -> Range<usize> {
    it.first.saturating_sub(1)..it.last
}

/// Returns the symbols of a text, none if it does not parse.
fn symbols_of(grammars: crate::context::syntax::Grammars<'_>, path: &SafePath, text: &str) -> Vec<Symbol> {
    grammars.symbols(path, text).unwrap_or_default()
}

/// Maps symbols by a key that is unique to one of them.
fn only(symbols: &[Symbol], key: impl Fn(&Symbol) -> &String) -> HashMap<String, Symbol> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for symbol in symbols {
        *counts.entry(key(symbol)).or_default() += 1;
    }
    let once = symbols.iter().filter(|it| counts.get(&**key(it)) == Some(&1));
    once.map(|it| (key(it).clone(), it.clone())).collect()
}
