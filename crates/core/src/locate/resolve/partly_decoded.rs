//! Edits of one call of which some were found only after decoding escapes, while others would be written with them.

use super::OpOutcome;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find::{ProvenEscape, ProvenEscapes, Tier};
use crate::locate::line_format::clip;
use crate::locate::op::{Locator, Op};
use std::borrow::Cow;

/// Refuses a new text with escapes that another edit of the call was shown to have by mistake, unless the edit itself
/// shows that they are meant.
///
/// Errors: `call.invalid`.
pub(super) fn check(ops: &[Op], outcomes: &[OpOutcome]) -> Result<()> {
    let mut proven = ProvenEscapes::default();
    if outcomes.iter().all(|it| it.tier != Tier::Escapes) {
        return Ok(());
    }
    for it in outcomes.iter().filter(|it| it.tier == Tier::Escapes) {
        proven.add(&texts(&ops[it.op]).0, &it.old);
    }
    for it in outcomes.iter().filter(|it| it.tier != Tier::Escapes) {
        let op = &ops[it.op];
        let (old, new) = texts(op);
        let Some(ProvenEscape { sent, plain }) = proven.within(&old, &new) else { continue };
        let line = new.lines().find(|line| line.contains(&sent)).unwrap_or_default();
        let name = op.name(it.op);
        let plain = match plain {
            "\n" => "a line break".to_owned(),
            "\t" => "a tab".to_owned(),
            other => format!("`{other}`"),
        };
        let what = format!(
            "{name}: the new text has `{sent}`. The old text of another edit has it by mistake in place of {plain}."
        );
        let next =
            format!("Write {plain} in all edits; if `{sent}` is meant here, send this edit in a call of its own.");
        return Err(Error::new(Code::CallInvalid, what).evidence(clip(line)).next(next).op(super::number(it.op)));
    }
    Ok(())
}

/// Returns the old and the new text of an operation.
fn texts(op: &Op) -> (Cow<'_, str>, Cow<'_, str>) {
    match &op.at {
        Locator::Find(find) => (Cow::Borrowed(&find.old), Cow::Borrowed(&op.text)),
        Locator::Hunk(hunk) => (Cow::Owned(hunk.old_text()), Cow::Owned(hunk.new_text())),
        _ => (Cow::Borrowed(""), Cow::Borrowed(&op.text)),
    }
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::locate::op::{ExpectedMatches, Locator, Op, OpOrder, ResolveSettings, TextQuery};
    use crate::locate::resolve::resolve;
    use crate::text::snapshot::Snapshot;

    fn run(file: &str, edits: &[(&str, &str)], order: OpOrder) -> Result<String, crate::Error> {
        let base = Snapshot::from_text(file);
        let op = |(old, new): &(&str, &str)| Op {
            at: Locator::Find(TextQuery::new(old, ExpectedMatches::Unique)),
            text: (*new).to_owned(),
        };
        let ops: Vec<Op> = edits.iter().map(op).collect();
        let done = resolve(&base, &ops, order, ResolveSettings::default())?;
        Ok(String::from_utf8(done.changes.apply(&base)).unwrap())
    }

    #[test]
    fn call_is_not_decoded_in_part() {
        let file = "x = \"<one>\"\nreturn x\ny = \"<two>\"\nreturn y\n";
        let entity = ("x = \"&lt;one&gt;\"", "x = \"&lt;ONE&gt;\"");
        let quotes = ("x = \\\"<one>\\\"", "x = \\\"<ONE>\\\"");
        for order in [OpOrder::Together, OpOrder::InTurn, OpOrder::AsNeeded] {
            for edits in [
                [entity, ("return y", "if y &lt; 3:\nreturn y")],
                [quotes, ("return y", "y += \\\"q\\\"\nreturn y")],
                [("return x", "return &gt;x"), (entity.0, "z")],
            ] {
                let error = run(file, &edits, order).unwrap_err();
                assert_eq!(error.code(), Code::CallInvalid, "{error}");
            }
            // Another escape, and an edit that has the character itself.
            for new in ["return y &amp; 1", "if y < 3 &lt; 4\nreturn y"] {
                assert!(run(file, &[entity, ("return y", new)], order).unwrap().contains(new), "{new}");
            }
        }
        // The file has the escape where the other edit is made.
        let file = "x = \"<one>\"\nreturn &lt;y\n";
        assert!(run(file, &[entity, ("return &lt;y", "return &lt;z")], OpOrder::Together).is_ok());
    }
}
