//! Tests the matching cascade from outside: the shared cases, and the laws of section 3.2 of the format page.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "tests")]

use emendate_core::formats::replace::Replacement;
use emendate_core::{Code, Error, OpOrder, ResolveSettings, ResolvedEdit, Snapshot, resolve};
use proptest::prelude::*;
use serde::Deserialize;
use std::ops::Range;

#[derive(Deserialize)]
struct Case {
    name: String,
    content: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
    expected: String,
    why: String,
}

fn resolved(base: &Snapshot, old: &str, new: &str, all: bool) -> Result<ResolvedEdit, Error> {
    let edit = Replacement {
        old_string: old.to_owned(),
        new_string: new.to_owned(),
        replace_all: Some(all),
        ..Replacement::default()
    };
    resolve(base, &[edit.to_op()?], OpOrder::Together, ResolveSettings::default())
}

fn edit(file: &str, old: &str, new: &str, all: bool) -> Result<String, Error> {
    let base = Snapshot::open(file.as_bytes().to_vec(), None)?;
    let resolved = resolved(&base, old, new, all)?;
    Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap())
}

#[test]
fn shared_cases_pass() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("cases/search_replace.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let got = edit(&case.content, &case.old, &case.new, case.replace_all);
        let fine = match &got {
            Ok(text) => *text == case.expected,
            Err(_) => case.expected == "reject",
        };
        if !fine {
            wrong.push(format!("{} ({}):\n{got:?}\nexpected {:?}", case.name, case.why, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// A generated program: distinctive lines at various depths, blank lines in between, and a block that the edit changes.
#[derive(Clone, Debug)]
struct Program {
    lines: Vec<String>,
    block: Range<usize>,
    target: usize,
}

fn program() -> impl Strategy<Value = Program> {
    let line = (0usize..4, 0usize..4, any::<u16>(), 0u8..10);
    (prop::collection::vec(line, 12..40), any::<prop::sample::Index>(), 5usize..9, any::<prop::sample::Index>())
        .prop_map(|(lines, at, height, target)| {
            let forms = [
                "call_{}(“quoted”, 'x')",
                "let value_{} = other.field  -  1;",
                "if check_{} {",
                "// note_{} — it’s one",
            ];
            let lines: Vec<String> = lines
                .into_iter()
                .enumerate()
                .map(|(nth, (depth, form, number, blank))| match blank {
                    0 => String::new(),
                    _ => "    ".repeat(depth) + &forms[form].replace("{}", &format!("{nth}_{number}")),
                })
                .collect();
            let start = at.index(lines.len() - height);
            let block = start..start + height;
            let filled: Vec<usize> = block.clone().filter(|&at| !lines[at].is_empty()).collect();
            let target = if filled.is_empty() { start } else { filled[target.index(filled.len())] };
            Program { lines, block, target }
        })
}

impl Program {
    fn file(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    fn old(&self) -> Vec<String> {
        self.lines[self.block.clone()].to_vec()
    }

    /// Returns the block with another word on the target line, and with `more` another line after it.
    fn changed(&self, more: bool) -> Vec<String> {
        let mut new = self.old();
        let at = self.target - self.block.start;
        let depth = new[at].len() - new[at].trim_start().len();
        new[at] = new[at].replacen('_', "_new_", 1);
        if more {
            new.insert(at + 1, " ".repeat(depth) + "added(line);");
        }
        new
    }

    fn is_usable(&self) -> bool {
        let old = self.old();
        let fine = |line: Option<&String>| line.is_some_and(|line| !line.is_empty());
        fine(old.first())
            && fine(old.last())
            && fine(self.lines.get(self.target))
            && old.iter().filter(|it| !it.is_empty()).count() > 3
    }

    fn wanted(&self, new: &[String]) -> String {
        let (head, tail) = (&self.lines[..self.block.start], &self.lines[self.block.end..]);
        [head, new, tail].concat().join("\n") + "\n"
    }
}

/// Small deviations that a text may have from the file.
const SLIPS: [fn(&str) -> String; 7] = [
    str::to_owned,
    |text| text.replace(['“', '”'], "\"").replace('’', "'").replace('—', "-"),
    |text| text.lines().map(|line| format!("{}{line}\n", if line.is_empty() { "" } else { "  " })).collect(),
    |text| text.lines().map(|line| line.replace("    ", "\t") + "\n").collect(),
    |text| format!("\n{text}\n\n"),
    |text| (1..).zip(text.lines()).map(|(nth, line)| format!("{nth}\t{line}\n")).collect(),
    |text| text.replace("  -  ", " - "),
];

proptest! {
    /// A tolerant edit has the same result as the exact edit with the file's own text: no byte outside of the change
    /// differs.
    #[test]
    fn tolerant_edit_equals_exact_edit(it in program().prop_filter("usable", Program::is_usable), slip in 0..SLIPS.len(), more: bool) {
        let (old, new) = (it.old().join("\n"), it.changed(more));
        let got = edit(&it.file(), &SLIPS[slip](&old), &SLIPS[slip](&new.join("\n")), false);
        match got {
            Ok(text) => prop_assert_eq!(text, it.wanted(&new)),
            // Tabs instead of spaces is the only deviation that may be refused here: a single depth does not determine
            // the step.
            Err(error) => prop_assert!(slip == 3, "{slip}: {error}"),
        }
    }

    /// A second copy of the block makes the old text ambiguous; another word on the target line makes it absent.
    #[test]
    fn evidence_decides(it in program().prop_filter("usable", Program::is_usable), slip in 0..SLIPS.len()) {
        let (old, new) = (it.old().join("\n"), it.changed(true).join("\n"));
        let (old, new) = (SLIPS[slip](&old), SLIPS[slip](&new));
        if edit(&it.file(), &old, &new, false).is_err() {
            return Ok(());
        }
        let twice = it.file() + &it.old().join("\n") + "\n";
        // A copied line number is additional evidence, and blank edges may distinguish the copies, so these are not
        // tested.
        if ![4, 5].contains(&slip) {
            let code = edit(&twice, &old, &new, false).unwrap_err().code();
            prop_assert_eq!(code, Code::MatchAmbiguous);
        }
        let mut other = it.clone();
        other.lines[it.target] = other.lines[it.target].replacen('_', "_x_", 1);
        prop_assert!(edit(&other.file(), &old, &new, false).is_err());
    }

    /// Converting the line ends of file and arguments before the edit has the same result as converting them after it.
    #[test]
    fn line_ends_commute(it in program().prop_filter("usable", Program::is_usable), slip in 0..SLIPS.len(), more: bool) {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let (old, new) = (SLIPS[slip](&it.old().join("\n")), SLIPS[slip](&it.changed(more).join("\n")));
        let plain = edit(&it.file(), &old, &new, false).map_err(|error| error.code());
        for (old, new) in [(old.clone(), new.clone()), (crlf(&old), crlf(&new)), (crlf(&old), new.clone())] {
            let got = edit(&crlf(&it.file()), &old, &new, false).map_err(|error| error.code());
            prop_assert_eq!(got, plain.clone().map(|text| crlf(&text)));
        }
    }

    /// The same call again finds nothing, and reports that the edit was already made.
    #[test]
    fn repeat_is_noop(it in program().prop_filter("usable", Program::is_usable), slip in 0..SLIPS.len(), more: bool) {
        let (old, new) = (SLIPS[slip](&it.old().join("\n")), SLIPS[slip](&it.changed(more).join("\n")));
        let Ok(once) = edit(&it.file(), &old, &new, false) else { return Ok(()) };
        let again = edit(&once, &old, &new, false).unwrap_err();
        if slip == 0 {
            prop_assert_eq!(again.data().get("already_applied"), Some(&serde_json::Value::Bool(true)));
        }
    }

    /// Replacing all matches terminates: the new length follows from their number, so the output is not searched again.
    #[test]
    fn replacing_all_matches_terminates(text in "[ab\n]{0,60}", old in "[ab]{1,3}", new in "[ab\n]{0,5}") {
        prop_assume!(old != new && !new.is_empty());
        if let Ok(out) = edit(&text, &old, &new, true) {
            let count = text.matches(&old).count();
            prop_assert_eq!(out.len(), text.len() + count * new.len() - count * old.len());
            prop_assert_eq!(out, text.replace(&old, &new));
        }
    }

    /// No input causes a panic, and the new text is at the places that the report names.
    #[test]
    fn any_text_gets_an_answer(
        text in "([ab“\"—…\\\\n.1|\t é\u{301}]{0,8}\n){0,12}",
        old in "([ab“\"—…\\\\n.1|\t é\u{301}]{0,8}\n?){0,5}",
        new in "([ab“\"—…\\\\n.1|\t é\u{301}]{0,8}\n?){0,5}",
        all: bool,
    ) {
        let base = Snapshot::from_text(&text);
        if let Ok(done) = resolved(&base, &old, &new, all) {
            let out = String::from_utf8(done.changes.apply(&base)).unwrap();
            for splice in done.changes.splices() {
                prop_assert!(splice.read_span.covers(splice.span));
            }
            prop_assert_ne!(out, text);
        }
    }
}
