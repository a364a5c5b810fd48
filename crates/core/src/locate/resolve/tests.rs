use super::in_turn::{at_once, one_by_one};
use super::{EXPLAINED_FAILURES_MAX, ResolvedEdit, resolve};
use crate::code::Code;
use crate::error::Result;
use crate::locate::op::{
    ExpectedMatches, Hunk, HunkLine, HunkLineKind, Locator, Op, OpOrder, ResolveSettings, TextQuery,
};
use crate::text::snapshot::Snapshot;
use crate::work::Meter;
use proptest::prelude::*;
use std::sync::Arc;

fn op((old, new): (&str, &str)) -> Op {
    Op { at: Locator::Find(TextQuery::new(old, ExpectedMatches::Unique)), text: new.to_owned() }
}

/// Everything that a reply reports, except for the base of the change of each edit, which only one of the two methods
/// knows.
fn described(base: &Snapshot, resolved: Result<ResolvedEdit>) -> String {
    let Ok(resolved) = resolved else { return "an error".to_owned() };
    let ResolvedEdit { changes, ops, failed, notes } = resolved;
    let op = |it: super::OpOutcome| (it.op, it.tier, it.places, it.old, it.new, it.notes);
    let ops: Vec<_> = ops.into_iter().map(op).collect();
    let splices: Vec<_> = changes.splices().iter().map(|it| (it.span, it.text.clone(), it.op)).collect();
    format!("{:?}", (String::from_utf8_lossy(&changes.apply(base)).into_owned(), splices, ops, failed, notes))
}

fn same(text: &str, edits: &[(&str, &str)]) -> bool {
    let base = Snapshot::from_text(text);
    let ops: Vec<Op> = edits.iter().copied().map(op).collect();
    let Some(resolved) = at_once(&base, &ops, ResolveSettings::default()) else { return false };
    let want = described(&base, one_by_one(&base, &ops, ResolveSettings::default(), EXPLAINED_FAILURES_MAX));
    assert_eq!(described(&base, Ok(resolved)), want, "{edits:?} in {text:?}");
    true
}

/// Generates lines far apart from each other, each with a number of its own.
fn far(lines: usize) -> String {
    (0..lines).map(|nth| format!("  {{ let value = measure({nth:02}); }}\n{}", "\n".repeat(80))).collect()
}

#[test]
fn distant_edits_are_made_at_once() {
    let text = far(6);
    assert!(same(&text, &[("measure(01)", "weigh(1)"), ("measure(04)", "measure(14)"), ("(03)", "(33)")]));
    assert!(same(&text, &[("  { let value = measure(02); }\n", ""), ("(05)", "(5)")]));
}

#[test]
fn equal_edits_are_made_once_for_each_place() {
    let resolved = |text: &str, edits: &[(&str, &str)]| {
        let base = Snapshot::from_text(text);
        let ops: Vec<Op> = edits.iter().copied().map(op).collect();
        let resolved = resolve(&base, &ops, OpOrder::AsNeeded, ResolveSettings::default())?;
        Ok::<_, crate::error::Error>(String::from_utf8_lossy(&resolved.changes.apply(&base)).into_owned())
    };
    let load = ("load()", "fetch()");
    assert_eq!(resolved("load()\nload()\n", &[load, load]).unwrap(), "fetch()\nfetch()\n");
    assert_eq!(resolved("load()\nx\n", &[load, load]).unwrap(), "fetch()\nx\n");
    assert_eq!(resolved("load()\nx\nload()\n", &[load, ("x", "y"), load]).unwrap(), "fetch()\ny\nfetch()\n");
    assert!(resolved("load()\nload()\nload()\n", &[load, load]).is_err());
    assert!(resolved("load()\nload()\n", &[load, ("load()", "store()")]).is_err());
}

#[test]
fn an_edit_whose_text_was_changed_is_not_moved_to_a_similar_place() {
    let text = "begin()\nalpha(1)\nbeta(2)\ngamma(3)\nend()\n\nbegin2()\nalpha(1)\nbeta(2) \ngamma(3)\nend2()\n";
    let base = Snapshot::from_text(text);
    let ops = [
        op(("begin()\nalpha(1)\n", "begin()\nalpha(9)\n")),
        op(("alpha(1)\nbeta(2)\ngamma(3)\n", "alpha(1)\nbeta(2)\ngamma(4)\n")),
    ];
    for order in [OpOrder::AsNeeded, OpOrder::InTurn] {
        let error = resolve(&base, &ops, order, ResolveSettings::default()).unwrap_err();
        assert_eq!(error.code(), Code::EditOverlap, "{error:?}");
    }
    let [first, second] = ops;
    let resolved = resolve(&base, &[second, first], OpOrder::AsNeeded, ResolveSettings::default()).unwrap();
    assert!(
        String::from_utf8_lossy(&resolved.changes.apply(&base)).starts_with("begin()\nalpha(9)\nbeta(2)\ngamma(4)\n")
    );
}

#[test]
fn a_repeated_edit_is_applied_once_though_its_new_text_contains_the_old_one() {
    let base = Snapshot::from_text("fn one() {}\nfn two() {}\n");
    let wrap = op(("fn two() {}\n", "if x {\n    fn two() {}\n}\n"));
    let resolved = resolve(&base, &[wrap.clone(), wrap], OpOrder::AsNeeded, ResolveSettings::default()).unwrap();
    let text = String::from_utf8_lossy(&resolved.changes.apply(&base)).into_owned();
    assert_eq!(text, "fn one() {}\nif x {\n    fn two() {}\n}\n");
}

#[test]
fn an_edit_that_was_typed_twice_is_not_made_in_its_own_result() {
    let base = Snapshot::from_text("def f():\n    run(a)\n    done()\n");
    let hunk = |text: &str| {
        let line = |line: &str| {
            let (mark, text) = line.split_at(1);
            let kind = if mark == "+" { HunkLineKind::Added } else { HunkLineKind::Removed };
            HunkLine { kind, text: text.to_owned() }
        };
        Hunk { lines: text.lines().map(line).collect(), source_line: 1, ..Hunk::default() }.into_op()
    };
    let wrapping = |indent: &str| {
        (format!("{indent}run(a)\n"), format!("{indent}if x:\n{indent}    run(a)\n").replace("    ", "\u{A0}\u{A0}  "))
    };
    let forms = [wrapping("    "), wrapping("\u{A0}\u{A0}\u{A0}\u{A0}"), wrapping("")];
    for (first, second) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
        let texts = [first, second].map(|form| op((&*forms[form].0, &*forms[form].1)));
        let hunks = [first, second].map(|form| {
            let (old, new) = &forms[form];
            hunk(&(format!("-{old}") + &new.lines().map(|line| format!("+{line}\n")).collect::<String>()))
        });
        for ops in [texts, hunks] {
            let resolved = resolve(&base, &ops, OpOrder::AsNeeded, ResolveSettings::default());
            assert!(resolved.is_err(), "{first} {second}: {:?}", resolved.map(|it| it.notes));
        }
    }
    // Edits that look alike may have places of their own.
    let ops = [
        hunk("-    run(x)\n+    run(y)\n"),
        hunk("-        run(x)\n+        run(y)\n"),
        op(("last = 1", "last = 2")),
        op(("last = 2", "last = 3")),
    ];
    let other = Snapshot::from_text("a:\n    run(x)\nb:\n        run(x)\nlast = 1\n");
    let resolved = resolve(&other, &ops, OpOrder::AsNeeded, ResolveSettings::default()).unwrap();
    assert_eq!(resolved.changes.apply(&other), b"a:\n    run(y)\nb:\n        run(y)\nlast = 3\n");
    // A third edit needs the result.
    let (wrap, next) = (op(("    run(a)\n", "    if x:\n        run(a)\n")), op(("    if x:\n", "    if y:\n")));
    let resolve = |ops: &[Op]| resolve(&base, ops, OpOrder::AsNeeded, ResolveSettings::default());
    assert!(resolve(&[wrap.clone(), wrap.clone(), next.clone()]).is_err());
    let resolved = resolve(&[wrap, next]).unwrap();
    assert_eq!(resolved.changes.apply(&base), b"def f():\n    if y:\n        run(a)\n    done()\n");
}

#[test]
fn effects_of_one_edit_on_another_are_noticed() {
    let text = far(4);
    let cases: [&[(&str, &str)]; 8] = [
        // The second target occurs twice after the first edit.
        &[("(01)", "(02)"), ("(02)", "(07)")],
        // The target exists only after the first edit.
        &[("(01)", "(09)"), ("(09)", "(07)")],
        // The target no longer exists.
        &[("measure(01)", "weigh(01)"), ("measure(01)", "x")],
        &[("measure(01)", "weigh(01)"), ("= measure(01); }", "x")],
        // Two edits together create the target of a third one.
        &[("let value = measure(01)", "let a"), ("; }\n\n\n", "b"), ("(03)", "ab")],
        // A deletion removes its whole line or not, depending on the text next to it.
        &[("{ let value = ", ""), ("measure(01); }", "")],
        &[("(01)", "(01)"), ("(02)", "(03)")],
        &[("(01)", "(11)")],
    ];
    for edits in cases {
        assert!(!same(&text, edits), "{edits:?}");
    }
    assert!(!same(&text.replace('\n', "\r\n"), &[("(01)", "(11)"), ("(02)", "(12)")]));
}

proptest! {
    #[test]
    fn edits_made_at_once_equal_edits_one_by_one(
        lines in prop::collection::vec("[a-d]{0,3}( [ab]{1,3})?", 1..40),
        gap in 1usize..40,
        edits in prop::collection::vec((0usize..200, 1usize..9, "[ab\n ]{0,5}"), 2..5),
    ) {
        let text: String = lines.iter().map(|line| format!("{line}{}", "\n".repeat(gap))).collect();
        let old = |&(at, len, _): &(usize, usize, String)| {
            let from = at.min(text.len() - 1);
            &text[from..(from + len).min(text.len())]
        };
        let edits: Vec<(&str, &str)> = edits.iter().map(|edit| (old(edit), &*edit.2)).collect();
        same(&text, &edits);
    }
}

/// Returns the steps of work of a call with `count` texts that are absent from many equal lines.
fn steps_of_absent_texts(count: usize) -> u64 {
    let base = Snapshot::from_text(&"a\nb\n".repeat(20_000));
    let edits: Vec<(String, &str)> = (0..count).map(|nth| ("a\nb\n".repeat(50) + &format!("c{nth}"), "q")).collect();
    let ops: Vec<Op> = edits.iter().map(|(old, new)| op((old, new))).collect();
    let meter = Meter::new(u64::MAX, Arc::default());
    let entered = meter.enter();
    assert!(resolve(&base, &ops, OpOrder::AsNeeded, ResolveSettings::default()).is_err());
    drop(entered);
    meter.spent()
}

#[test]
fn absent_texts_share_what_is_known_about_the_lines() {
    let (two, many) = (steps_of_absent_texts(2), steps_of_absent_texts(EXPLAINED_FAILURES_MAX));
    assert!(many < 5 * two, "{two} and {many} steps");
}

#[test]
fn fewer_failures_are_explained_in_a_large_file() {
    let base = Snapshot::from_text(&"a\nb\n".repeat(1 << 20));
    let edits: Vec<(String, &str)> = (0..9).map(|nth| (format!("lime {nth}\n"), "q")).collect();
    let ops: Vec<Op> = edits.iter().map(|(old, new)| op((old, new))).collect();
    let refused = resolve(&base, &ops, OpOrder::Together, ResolveSettings::default()).unwrap_err().to_string();
    assert!(refused.contains("edits[3]") && !refused.contains("edits[4]"), "{refused}");
    assert!(refused.contains("not tried"), "{refused}");
}

#[test]
fn partial_call_applies_what_occurs_literally_after_many_failures() {
    let text: String = (0..200).map(|nth| format!("line {nth} of it\n")).collect();
    let base = Snapshot::from_text(&text);
    let hunk = |nth: usize, old: String| {
        let line = |kind, text: String| HunkLine { kind, text };
        let lines = vec![
            line(HunkLineKind::Context, format!("line {} of it", nth - 1)),
            line(HunkLineKind::Removed, old),
            line(HunkLineKind::Added, format!("changed {nth}")),
        ];
        Op { at: Locator::Hunk(Box::new(Hunk { lines, ..Hunk::default() })), text: String::new() }
    };
    let find = |nth: usize, old: String| op((&old, &format!("changed {nth}")));
    let kinds: [&dyn Fn(usize, String) -> Op; 2] = [&hunk, &find];
    for kind in kinds {
        for order in [OpOrder::Together, OpOrder::AsNeeded, OpOrder::InTurn] {
            let absent = (10..10 + 2 * EXPLAINED_FAILURES_MAX).map(|nth| kind(nth, format!("nothing like {nth} that")));
            let ops: Vec<Op> = [kind(1, "line 1 of it".to_owned())]
                .into_iter()
                .chain(absent)
                .chain([kind(150, "line 150 of it".to_owned())])
                .collect();
            let settings = ResolveSettings { partial: true, ..ResolveSettings::default() };
            let resolved = resolve(&base, &ops, order, settings).unwrap();
            let want = text.replace("line 1 of it", "changed 1").replace("line 150 of it", "changed 150");
            assert_eq!(String::from_utf8_lossy(&resolved.changes.apply(&base)), want, "{order:?}");
            assert_eq!(resolved.failed.len(), 2 * EXPLAINED_FAILURES_MAX, "{order:?}");
            assert!(resolve(&base, &ops, order, ResolveSettings::default()).is_err());
        }
    }
}
