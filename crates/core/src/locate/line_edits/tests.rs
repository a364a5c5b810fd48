use super::{
    AROUND, LineEdit, LineMap, LineShift, LineTarget, Register, Registers, carry, excerpt, fill_registers,
    first_changed, line_shifts, preview, replaced_lines,
};
use crate::code::Code;
use crate::error::Error;
use crate::locate::line_format;
use crate::locate::op::{Locator, Op, OpOrder, ResolveSettings};
use crate::locate::resolve::resolve;
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::content::HeaderStyle;
use crate::text::explain;
use crate::text::snapshot::Snapshot;
use proptest::prelude::*;

mod several;

fn op(place: LineTarget, text: &str) -> Op {
    let words = super::AnchorRange::default();
    let rows = LineEdit {
        target: place,
        anchors: words,
        check: None,
        old: Vec::new(),
        context: Vec::new(),
        cut_to: None,
        paste: None,
        source_text: "it".to_owned(),
        source_line: 1,
    };
    Op { at: Locator::Lines(Box::new(rows)), text: text.to_owned() }
}

fn lines(from: usize, to: usize, text: &str) -> Op {
    op(LineTarget::Lines { from, to }, text)
}

fn with(mut op: Op, change: impl FnOnce(&mut LineEdit)) -> Op {
    let Locator::Lines(rows) = &mut op.at else { panic!() };
    change(rows);
    op
}

fn text(text: &str) -> Snapshot {
    Snapshot::open(text.as_bytes().to_vec(), None).unwrap()
}

fn edited(base: &str, ops: &[Op]) -> Result<String, Error> {
    let base = text(base);
    let resolved = resolve(&base, ops, OpOrder::Together, ResolveSettings::default())?;
    Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap())
}

fn notes(base: &str, ops: &[Op]) -> String {
    let resolved = resolve(&text(base), ops, OpOrder::Together, ResolveSettings::default()).unwrap();
    resolved.ops.into_iter().flat_map(|op| op.notes).collect::<Notes>().texts().join("\n")
}

#[test]
fn insertions_keep_their_order_around_a_range() {
    let all = [
        op(LineTarget::After(3), "after3\n"),
        lines(2, 4, "new\n"),
        op(LineTarget::Before(2), "before2\n"),
        op(LineTarget::Before(3), "before3\n"),
        op(LineTarget::After(4), "after4\n"),
        op(LineTarget::Before(5), "before5\n"),
        op(LineTarget::Tail, "tail\n"),
        op(LineTarget::Head, "head\n"),
        op(LineTarget::Before(1), "before1\n"),
    ];
    let wanted = "head\nbefore1\na\nbefore2\nnew\nbefore3\nafter3\nafter4\nbefore5\ne\ntail\n";
    assert_eq!(edited("a\nb\nc\nd\ne\n", &all).unwrap(), wanted);
    let mut reversed = all.to_vec();
    reversed.reverse();
    assert_eq!(edited("a\nb\nc\nd\ne\n", &reversed).unwrap(), wanted);
    assert_eq!(edited("a\nb\nc\nd\ne", &all).unwrap(), wanted.trim_end());
}

#[test]
fn missing_final_line_end_is_kept() {
    for (base, op, wanted) in [
        ("a\nb", lines(2, 2, ""), "a"),
        ("a\nb", lines(1, 2, ""), ""),
        ("a\nb", lines(2, 2, "x\ny\n"), "a\nx\ny"),
        ("a\nb", op(LineTarget::After(2), "x\n"), "a\nb\nx"),
        ("a\nb", op(LineTarget::Before(2), "x\n"), "a\nx\nb"),
        ("", op(LineTarget::Tail, "x\n"), "x"),
        ("\n", op(LineTarget::Tail, "x\n"), "\nx\n"),
        ("a\n", op(LineTarget::After(2), "x\n"), "a\nx\n"),
        ("a\n", lines(1, 2, "x\n"), "x\n"),
    ] {
        assert_eq!(edited(base, &[op]).unwrap(), wanted, "{base:?}");
    }
    assert_eq!(edited("a\nb\nc", &[lines(2, 2, "x\n"), lines(3, 3, "")]).unwrap(), "a\nx");
    assert_eq!(edited("a\nb\nc", &[lines(2, 2, ""), lines(3, 3, "")]).unwrap(), "a");
    assert_eq!(edited("a\nb\nc", &[op(LineTarget::After(2), "x\n"), lines(3, 3, "")]).unwrap(), "a\nb\nx");
}

#[test]
fn every_line_keeps_its_own_end() {
    assert_eq!(edited("\u{FEFF}a\r\nb\nc\r\n", &[lines(2, 2, "x\n")]).unwrap(), "\u{FEFF}a\r\nx\nc\r\n");
    assert_eq!(edited("a\r\nb\nc\r\n", &[lines(1, 1, "x\ny\n")]).unwrap(), "x\r\ny\r\nb\nc\r\n");
    assert_eq!(edited("a\r\nb\rc\r\n", &[op(LineTarget::After(1), "x\n")]).unwrap(), "a\r\nx\r\nb\rc\r\n");
}

#[test]
fn lines_beyond_the_end_are_refused() {
    for (base, op) in [
        ("a\nb\n", lines(2, 4, "x\n")),
        ("a\nb\n", lines(4, 4, "x\n")),
        ("a\nb", lines(3, 3, "x\n")),
        ("a\nb", op(LineTarget::After(3), "x\n")),
        ("a\nb\n", op(LineTarget::Before(usize::MAX), "x\n")),
        ("a\nb\n", lines(1, usize::MAX, "x\n")),
        ("", lines(2, 2, "x\n")),
    ] {
        let error = edited(base, &[op]).unwrap_err();
        assert_eq!(error.code(), Code::ReadRange, "{base:?}: {error}");
    }
}

#[test]
fn two_hunks_may_not_replace_one_line() {
    let at = |op: Op, line| with(op, |rows| rows.source_line = line);
    for other in [lines(3, 5, "y\n"), lines(2, 2, ""), lines(1, 9, "y\n"), lines(4, 4, "y\n")] {
        let error = edited("a\nb\nc\nd\ne\nf\ng\nh\ni\n", &[at(lines(2, 4, "x\n"), 2), at(other, 5)]).unwrap_err();
        assert_eq!(error.code(), Code::EditOverlap);
        assert!(error.message().starts_with("line 5: anchor line "), "{error}");
        assert!(error.message().contains("another hunk on line 2."), "{error}");
    }
    // An old/new pair, and the same edit twice.
    assert_eq!(edited("a\nb\n", &[lines(2, 2, "b\n"), lines(2, 2, "x\n")]).unwrap(), "a\nx\n");
    assert_eq!(edited("a\nb\n", &[lines(2, 2, "x\n"), lines(2, 2, "x\n")]).unwrap(), "a\nx\n");
    assert!(edited("a\nb\n", &[lines(2, 2, "x\n"), lines(2, 2, "y\n")]).is_err());
    assert!(edited("a\nb\n", &[lines(2, 2, ""), lines(2, 2, "")]).is_err());
}

#[test]
fn expected_lines_are_checked() {
    let base = "fn a() {\n  one();\n}\nfn b() {\n}\n";
    let check = |text: &str| [with(lines(2, 2, "x\n"), |rows| rows.check = Some(text.to_owned()))];
    assert!(edited(base, &check(" one(")).is_ok());
    let error = edited(base, &check("fn b")).unwrap_err();
    assert!(error.code() == Code::MatchNotFound && error.next_step().contains("line 4"), "{error}");
    let old =
        |old: &[&str]| [with(lines(1, 3, "x\n"), |rows| rows.old = old.iter().map(|it| (*it).to_owned()).collect())];
    assert!(edited(base, &old(&["fn a() { ", "}"])).is_ok());
    assert!(edited(base, &old(&["}", "fn a() {"])).is_err());
    assert!(edited(base, &old(&["fn b() {"])).is_err());
}

#[test]
fn likely_miscounts_are_reported() {
    let base = "head();\nb\nc\ntail();\n";
    let notes_of = notes(base, &[op(LineTarget::Head, "x\ny\n"), lines(2, 3, "head();\nB\nC\ntail();\n")]);
    assert!(notes_of.contains("just above the range 2..3") && notes_of.contains("delete line 4 of"), "{notes_of}");
    assert!(notes_of.contains("just below the range 2..3") && notes_of.contains("delete line 7 of"), "{notes_of}");
    assert_eq!(notes(base, &[lines(2, 3, "B\nC\n")]), "");
    let error = edited("a\nb\nc\nd\ne\n", &[lines(2, 4, "B\ne\n")]).unwrap_err();
    assert!(error.message().contains("too short"), "{error}");
    assert!(edited("a\nb\nc\nd\n}\n", &[lines(2, 4, "B\n}\n")]).is_ok());
    let notes_of = notes("f {\n  a\n  }\n}\n", &[op(LineTarget::After(2), "x\n")]);
    assert!(notes_of.contains("line 4 of the file closes"), "{notes_of}");
}

#[test]
fn placeholder_does_not_replace_lines() {
    let base = "fn a() {\n  one();\n  two();\n}\n";
    let omission = lines(1, 4, "fn a() {\n  // ... existing code ...\n  three();\n  four();\n}\n");
    let error = edited(base, &[omission]).unwrap_err();
    assert_eq!(error.code(), Code::EditOmission, "{error}");
    assert!(edited(base, &[lines(2, 2, "  f(...xs);\n")]).is_ok());
}

#[test]
fn blocks_are_refused_with_their_lines() {
    let base = "fn a() {\n  b();\n\n  c();\n}\nd\n";
    let error = edited(base, &[op(LineTarget::Block(1), "x\n")]).unwrap_err();
    assert!(error.evidence_text().contains("lines 1..5") && error.next_step().contains("1..5"), "{error}");
    assert_eq!(edited("a {\n}\nb\n", &[op(LineTarget::AfterBlock(2), "x\n")]).unwrap(), "a {\n}\nx\nb\n");
}

#[test]
fn registers_are_filled_and_pasted() {
    let named = |name: &str| Some(Register(Some(name.to_owned())));
    let cut = |from, to, name| with(lines(from, to, ""), |rows| rows.cut_to = name);
    let put = |place, name| with(op(place, ""), |rows| rows.paste = name);
    let base = text("a\nb\nc\nd");
    let run = |ops: &[Op], registers: &mut Registers| {
        let mut notes = Notes::new();
        let ops = fill_registers(&base, ops, registers, &mut notes)?.into_owned();
        edited("a\nb\nc\nd", &ops)
    };
    let mut kept = Registers::default();
    let moved = [
        cut(1, 2, named("r")),
        cut(4, 4, Some(Register(None))),
        put(LineTarget::After(3), named("r")),
        put(LineTarget::Head, Some(Register(None))),
    ];
    assert_eq!(run(&moved, &mut kept).unwrap(), "d\nc\na\nb");
    let mut later = Registers::with(kept.into_named());
    assert_eq!(run(&[put(LineTarget::Tail, named("r"))], &mut later).unwrap(), "a\nb\nc\nd\na\nb");
    assert!(run(&[put(LineTarget::Tail, Some(Register(None)))], &mut later).is_err());
    let twice =
        [cut(1, 1, Some(Register(None))), cut(2, 2, Some(Register(None))), put(LineTarget::Tail, Some(Register(None)))];
    assert!(run(&twice, &mut Registers::default()).unwrap_err().message().contains("not clear"));
    assert!(run(&[put(LineTarget::Lines { from: 1, to: 1 }, named("none"))], &mut later).is_err());
    let mut notes = Notes::new();
    let filled =
        fill_registers(&base, &[put(LineTarget::Tail, named("none"))], &mut later, &mut notes).unwrap().into_owned();
    assert!(filled.is_empty() && notes[0].to_string().contains("was empty"));
}

/// Returns the position of the first operation in the later version.
fn carried(seen: &str, now: &str, op: Op) -> Result<LineTarget, usize> {
    let (seen, now) = (text(seen), text(now));
    let theirs = ChangeSet::diff(&seen, &now);
    let carried =
        carry(LineMap::new(&seen, &now, &theirs), &[op], ResolveSettings::default()).map_err(|blocked| blocked.line)?;
    Ok(super::of(&carried.ops[0]).unwrap().target)
}

#[test]
fn rows_that_another_change_wrote_are_not_written_again() {
    let seen = "a\nb\nc\nd\n";
    let after = |line| op(LineTarget::After(line), "x\n");
    // The same insertion, also above or below more rows, and by replacing a line.
    assert_eq!(carried(seen, "a\nb\nx\nc\nd\n", after(2)), Err(2));
    assert_eq!(carried(seen, "a\nb\nx\nc\nd\n", op(LineTarget::Before(3), "x\n")), Err(3));
    assert_eq!(carried(seen, "a\nb\nx\ny\nc\nd\n", after(2)), Err(2));
    assert_eq!(carried(seen, "a\nb\nx\nc\nd\n", op(LineTarget::After(2), "x\ny\n")), Err(2));
    assert_eq!(carried(seen, "a\nb\nx\nc\nd\n", lines(2, 2, "B\nx\n")), Err(2));
    assert_eq!(carried(seen, "x\na\nb\nc\nd\n", op(LineTarget::Head, "x\n")), Err(1));
    assert_eq!(carried(seen, "a\nb\nc\nd\nx\n", op(LineTarget::Tail, "x\n")), Err(4));
    // A diff may show the same rows one line higher.
    let closed = "a {\n}\nc\nd\n";
    assert_eq!(carried(closed, "a {\n}\nx {\n}\nc\nd\n", op(LineTarget::Before(3), "x {\n}\n")), Err(3));
    // Other rows at that place, and the same rows elsewhere.
    assert_eq!(carried(seen, "a\nb\ny\nc\nd\n", after(2)), Ok(LineTarget::After(2)));
    assert_eq!(carried(seen, "x\na\nb\nc\nd\n", after(3)), Ok(LineTarget::After(4)));
    // The row was there before.
    assert_eq!(carried("a\nx\nc\nd\n", "new\na\nx\nc\nd\n", after(1)), Ok(LineTarget::After(2)));
}

#[test]
fn lines_between_recorded_changes_are_certain() {
    let (seen, now) = (text("a\n}\nc\n}\ne\nf\n"), text("a\n}\nC\n}\nE\nf\n"));
    let made = ChangeSet::diff(&seen, &now);
    let moved = |map: LineMap<'_>, line: usize| {
        let carried = carry(map, &[lines(line, line, "x\n")], ResolveSettings::default());
        carried.map(|it| super::of(&it.ops[0]).unwrap().range()).map_err(|blocked| blocked.line)
    };
    assert_eq!(moved(LineMap::new(&seen, &now, &made), 4), Err(3));
    assert_eq!(moved(LineMap::recorded(&seen, &now, &made), 4), Ok(Some((4, 4))));
    assert_eq!(moved(LineMap::recorded(&seen, &now, &made), 3), Err(3));
}

#[test]
fn ends_of_a_file_that_stay_are_context() {
    let place = |line| LineTarget::Lines { from: line, to: line };
    assert_eq!(carried("a\nb\nc\nd\n", "a\nB\nc\nd\n", lines(1, 1, "x\n")), Ok(place(1)));
    assert_eq!(carried("a\nb\nc\nd\n", "a\nb\nC\nC\nd\n", lines(4, 4, "x\n")), Ok(place(5)));
    assert_eq!(carried("a\nb\nc\nd\n", "new\na\nB\nc\nd\n", lines(1, 1, "x\n")), Err(2));
    assert_eq!(carried("}\nb\n}\nd\n", "}\nB\n}\nd\n", lines(1, 1, "x\n")), Err(2));
}

#[test]
fn a_range_past_the_end_is_reported_when_it_is_carried() {
    let (seen, now) = (text("a\nb\nc\n"), text("new\na\nb\nc\n"));
    let theirs = ChangeSet::diff(&seen, &now);
    let notes = carry(LineMap::new(&seen, &now, &theirs), &[lines(3, 4, "x\n")], ResolveSettings::default())
        .unwrap()
        .notes
        .texts()
        .join("\n");
    assert!(notes.contains("The file has 3 lines; the range was taken to end there."), "{notes}");
}

#[test]
fn edits_of_an_older_version_are_rebased() {
    let seen = "a\nb\nc\nd\ne\nf\ng\n";
    let at = |from, to| lines(from, to, "x\n");
    let place = |from, to| LineTarget::Lines { from, to };
    assert_eq!(carried(seen, "new\na\nb\nc\nd\ne\nf\ng\n", at(3, 4)), Ok(place(4, 5)));
    assert_eq!(carried(seen, "b\nc\nd\ne\nf\nG\n", at(3, 4)), Ok(place(2, 3)));
    assert_eq!(carried(seen, "a\nb\nX\nd\ne\nf\ng\n", at(2, 3)), Err(3));
    assert_eq!(carried(seen, "a\nb\nc\nnew\nd\ne\nf\ng\n", at(3, 4)), Err(4));
    // Both neighbours of a single line changed.
    assert_eq!(carried(seen, "a\nB\nc\nD\ne\nf\ng\n", at(3, 3)), Err(2));
    assert_eq!(carried(seen, "a\nB\nc\nd\ne\nf\ng\n", op(LineTarget::Before(3), "x\n")), Ok(LineTarget::Before(3)));
    assert_eq!(carried(seen, "x\n", op(LineTarget::Tail, "y\n")), Ok(LineTarget::Tail));
    assert_eq!(carried(seen, "a\n", at(9, 9)), Err(9));
    // A line that occurs more than once needs both neighbours.
    let twins = "top\n}\na\n}\nb\n}\nend\n";
    assert_eq!(carried(twins, "new\ntop\n}\na\n}\nb\n}\nend\n", at(4, 4)), Ok(place(5, 5)));
    assert_eq!(carried(twins, "top\n}\na\n}\nB\n}\nend\n", at(4, 4)), Err(5));
}

#[test]
fn rebased_edit_never_applies_to_a_duplicate() {
    let region = "x\ny\nz\n";
    let seen = format!("{region}mid\n{region}");
    // The first region was deleted with the text after it; the remaining one may be either.
    assert!(carried(&seen, region, lines(2, 2, "Y\n")).is_err());
    assert!(carried(&seen, region, lines(6, 6, "Y\n")).is_err());
    // The target changed, its duplicate did not.
    assert!(carried(&seen, &format!("x\nY\nz\nmid\n{region}"), lines(2, 2, "!\n")).is_err());
    assert!(carried(&seen, &format!("x\nY\nz\nmid\n{region}"), lines(6, 6, "!\n")).is_ok());
}

#[test]
fn parts_of_lines_are_not_duplicates() {
    let decoys = "ba\na\nab\n".repeat(40);
    let (seen, now) = (format!("{decoys}x\na\na\na\ny\n"), format!("{decoys}X\na\na\na\nY\n"));
    assert_eq!(carried(&seen, &now, lines(123, 123, "!\n")), Ok(LineTarget::Lines { from: 123, to: 123 }));
    let twice = format!("{now}a\na\na\n");
    assert_eq!(carried(&seen, &twice, lines(123, 123, "!\n")), Err(123));
}

#[test]
fn changes_are_shown_as_rows() {
    let base: String = (1..=12).map(|n| format!("l{n}\n")).collect();
    let base = text(&base);
    let edits = [lines(3, 3, "X3\nX3b\n"), lines(11, 11, "")];
    let resolved = resolve(&base, &edits, OpOrder::Together, ResolveSettings::default()).unwrap();
    let hunks = |context| explain::hunks(&base, &resolved.changes, context);
    let seed = " 1:l1\n 2:l2\n-3:l3\n+3:X3\n+4:X3b\n 5:l4\n 6:l5\n 7:...\n 10:l9\n 11:l10\n-11:l11\n 12:l12\n";
    assert_eq!(preview(HeaderStyle::Pilcrow, &hunks(AROUND), 8000).text, seed);
    let current = "1:l1\n2:l2\n3:X3\n4:X3b\n5:l4\n6:l5\n7:...\n10:l9\n11:l10\n12:l12\n";
    assert_eq!(preview(HeaderStyle::Brackets, &hunks(AROUND), 8000).text, current);
    let moved: Vec<_> = line_shifts(&hunks(0)).into_iter().map(|it| (it.from, it.delta)).collect();
    assert_eq!(moved, [(4, 1), (12, 0)]);
    let echo = &replaced_lines(&base, &edits)[..];
    assert!(matches!(echo, [only] if (only.from, &*only.first) == (3, "l3")));
}

proptest! {
    #[test]
    fn renumbering_does_not_depend_on_the_context(
        before in prop::collection::vec("[a-d]", 0..20),
        after in prop::collection::vec("[a-d]", 0..20),
        end in "\n?",
    ) {
        let (before, after) = (text(&(before.join("\n") + &end)), text(&after.join("\n")));
        let changes = ChangeSet::diff(&before, &after);
        let hunks = |context| explain::hunks(&before, &changes, context);
        // Without context, a hunk is one change.
        let mut delta = 0;
        let mut want = Vec::new();
        for hunk in hunks(0) {
            let grown = hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed();
            delta += grown;
            if grown != 0 {
                want.push(LineShift { from: hunk.old_start + hunk.old_lines.max(1), delta });
            }
        }
        let first = hunks(0).first().map(|hunk| hunk.new_start + usize::from(hunk.new_lines == 0));
        for context in [0, 1, AROUND, 4] {
            prop_assert_eq!(line_shifts(&hunks(context)), &*want);
            prop_assert_eq!(first_changed(&hunks(context)), first);
        }
    }
}

#[test]
fn excerpts_mark_the_requested_lines() {
    let base: String = (1..=100).map(|n| format!("l{n}\n")).collect();
    let base = text(&base);
    let some = excerpt(&base, &[(20, 20), (5, 6), (8, 8), (500, 600)]);
    assert_eq!(
        some.text,
        " 3:l3\n 4:l4\n*5:l5\n*6:l6\n 7:l7\n*8:l8\n 9:l9\n 10:l10\n...\n 18:l18\n 19:l19\n*20:l20\n 21:l21\n 22:l22\n"
    );
    assert!(!some.cut && some.whole.len() == 13);
    let most = excerpt(&base, &[(1, 90)]);
    assert!(most.cut && most.whole == (1..=40).collect::<Vec<_>>());
    // Requested lines may be long, those around them not.
    let wide = text(&format!("{}\nb\n", "é".repeat(600)));
    let (asked, around) = (excerpt(&wide, &[(1, 1)]), excerpt(&wide, &[(2, 2)]));
    assert!(!asked.cut && asked.whole == [1, 2]);
    assert!(!around.cut && around.whole == [2] && around.text.len() < 1100);
    let wide = text(&format!("{0}\n{0}\n", "é".repeat(12_000)));
    let wide = excerpt(&wide, &[(1, 2)]);
    assert!(wide.cut && wide.whole == [1]);
}

#[test]
fn many_hunks_take_linear_work() {
    // Ten thousand hunks on a hundred thousand lines: anything quadratic would not finish.
    let base: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
    let ops: Vec<Op> = (0..10_000).map(|n| lines(n * 10 + 1, n * 10 + 1, "new\n")).collect();
    let after = edited(&base, &ops).unwrap();
    assert_eq!(after.lines().filter(|line| *line == "new").count(), 10_000);
    let (seen, now) = (text(&base), text(&format!("top\n{base}")));
    let moved =
        carry(LineMap::new(&seen, &now, &ChangeSet::diff(&seen, &now)), &ops, ResolveSettings::default()).unwrap();
    assert_eq!(super::of(&moved.ops[9999]).unwrap().range(), Some((99_992, 99_992)));
}

/// Applies edits line by line, according to the documentation of the format.
fn plainly(base: &[&str], ops: &[(usize, usize, u8, Vec<&str>)]) -> Option<String> {
    let mut taken = vec![false; base.len()];
    for (from, to, kind, _) in ops.iter().filter(|op| op.2 == 0) {
        let _ = kind;
        for line in *from..=*to {
            if std::mem::replace(taken.get_mut(line - 1)?, true) {
                return None;
            }
        }
    }
    let rows =
        |line: usize, kind: u8| ops.iter().filter(move |op| op.0 == line && op.2 == kind).flat_map(|op| op.3.clone());
    let mut out = Vec::new();
    for (at, text) in base.iter().enumerate() {
        out.extend(rows(at + 1, 1));
        out.extend(rows(at + 1, 0));
        out.extend((!taken[at]).then_some(*text));
        out.extend(rows(at + 1, 2));
    }
    Some(out.concat())
}

proptest! {
    #[test]
    fn every_printed_mark_resolves_to_its_line(text in "([ab:|é\t]{0,3}(\n|\r\n)){0,8}[ab]{0,2}") {
        let base = super::tests::text(&text);
        let marks = line_format::LineFormat::by_name("hashline").unwrap();
        let mut shown = String::new();
        for (number, line) in (1..).zip(base.text().lines()) {
            (marks.push_line)(&mut shown, crate::locate::line_format::LineMark::for_line(number, &[]), line);
        }
        for row in shown.lines() {
            let (number, line) = row.split_once(':').unwrap();
            let number: usize = number.parse().unwrap();
            let taken = with(lines(number, number, "new\n"), |rows| rows.old = vec![line.to_owned()]);
            let resolved = resolve(&base, &[taken], OpOrder::Together, ResolveSettings::default()).unwrap();
            let after = base.reopen(resolved.changes.apply(&base)).unwrap();
            let wanted = (1..).zip(base.text().lines()).map(|(at, old)| if at == number { "new" } else { old });
            prop_assert_eq!(after.text().lines().collect::<Vec<_>>(), wanted.collect::<Vec<&str>>());
        }
    }

    #[test]
    fn edits_match_the_documented_rules(
        base in prop::collection::vec("[a-c]{0,2}\n", 1..12),
        ops in prop::collection::vec((1usize..12, 0usize..4, 0u8..3, prop::collection::vec("[x-z]{1,2}\n", 0..3)), 1..6),
        open in any::<bool>(),
    ) {
        let count = base.len();
        let ops: Vec<(usize, usize, u8, Vec<&str>)> = ops.iter().map(|(from, len, kind, rows)| {
            let from = (*from).min(count);
            (from, (from + len).min(count), *kind, rows.iter().map(String::as_str).collect())
        }).collect();
        let whole = base.concat();
        let mut whole = &*whole;
        // An empty last line needs its line end.
        let open = open && base.last().is_some_and(|last| last != "\n");
        if open {
            whole = whole.strip_suffix('\n').unwrap();
        }
        let wanted = plainly(&base.iter().map(String::as_str).collect::<Vec<_>>(), &ops);
        let wanted = wanted.map(|text| if open { text.strip_suffix('\n').unwrap_or(&text).to_owned() } else { text });
        let given: Vec<Op> = ops.iter().map(|(from, to, kind, rows)| {
            let place = match kind { 0 => LineTarget::Lines { from: *from, to: *to }, 1 => LineTarget::Before(*from), _ => LineTarget::After(*from) };
            op(place, &rows.concat())
        }).collect();
        match edited(whole, &given) {
            Ok(after) => prop_assert!(wanted.is_none() || wanted == Some(after.clone()), "{after:?} not {wanted:?}"),
            Err(error) if error.code() == Code::EditNoChange => prop_assert!(wanted.is_none() || wanted.as_deref() == Some(whole)),
            Err(error) => prop_assert!(wanted.is_none() || error.message().contains("too short"), "{error}"),
        }
    }

    #[test]
    fn rebased_edits_agree_with_a_merge(
        base in prop::collection::vec("[a-d]\n", 1..12), spans in prop::collection::vec((0usize..12, 0usize..2, "[a-e]{0,1}"), 1..3), at in 1usize..12, len in 0usize..2,
    ) {
        // Another program changes lines; if our edits can be rebased, they name the same text.
        let seen = base.concat();
        let mut now = base.clone();
        for (line, len, text) in spans {
            let from = line.min(now.len());
            let to = (from + len).min(now.len());
            now.splice(from..to, (!text.is_empty()).then(|| format!("{text}\n")));
        }
        let (from, to) = (at.min(base.len()), (at + len).min(base.len()));
        if let Ok(LineTarget::Lines { from: start, to: end }) = carried(&seen, &now.concat(), lines(from, to, "!\n")) {
            prop_assert_eq!(&base[from - 1..to], &now[start - 1..end]);
        }
    }
}

#[test]
fn unbalanced_brackets_suggest_a_repair() {
    let base = "fn a() {\n    if b {\n        c();\n    }\n}\nfn d() {}\n";
    for (from, to, body, place, left) in [
        // The body does not repeat the closing line that is removed.
        (1, 5, "fn a() {\n    e();\n", LineTarget::Lines { from: 1, to: 4 }, "fn a() {\n    e();\n"),
        (4, 5, "    e();\n", LineTarget::Before(4), "    e();\n"),
        (5, 5, "    e();\n", LineTarget::Before(5), "    e();\n"),
        // The body repeats a line next to the range.
        (3, 3, "        e();\n    }\n", LineTarget::Lines { from: 3, to: 3 }, "        e();\n"),
        (3, 3, "    if b {\n        e();\n", LineTarget::Lines { from: 3, to: 3 }, "        e();\n"),
    ] {
        let found = super::repair_guesses(&text(base), &[lines(from, to, body)]);
        let got = found.first().map(|it| (super::of(&it.op).unwrap().target, it.op.text.as_str()));
        assert_eq!(got, Some((place, left)), "{from}..{to} {body:?}");
    }
    // Balanced brackets, and an imbalance that no line next to the range explains.
    for (from, to, body) in [(2, 4, "fn a() {\n    e();\n}\n"), (3, 3, "        e((;\n"), (6, 6, "")] {
        assert!(super::repair_guesses(&text(base), &[lines(from, to, body)]).is_empty(), "{from}..{to} {body:?}");
    }
}
