//! Sections made of structured pieces in both dialects, against one version and carried over to another: nothing panics
//! or hangs, and hunks that are carried over name the same lines.
#![no_main]
use arbitrary::Arbitrary;
use emendate_core::formats::hashline::Hashline;
use emendate_core::formats::{Format, FormatInput};
use emendate_core::line_edits::{self, Registers};
use emendate_core::{ChangeSet, FileAction, Notes, ResolveSettings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;
use std::fmt::Write as _;

#[derive(Arbitrary, Debug)]
enum Piece {
    Lines(u8, u8),
    Take(u8, u8),
    Gap(u8, bool),
    Head,
    Tail,
    Block(u8),
    Cut(u8, u8),
    Put(u8),
    Named(bool, u8),
    Row(String),
    Raw(String),
}

fn text(pieces: &[Piece], current: bool) -> String {
    let mut out = String::from(if current { "[f#1A2B]\n" } else { "¶f#1A2B\n" });
    for piece in pieces {
        let _ = match (piece, current) {
            (Piece::Lines(a, b), true) => writeln!(out, "PUT {a}.={b}:"),
            (Piece::Lines(a, b), false) => writeln!(out, "replace {a}..{b}:"),
            (Piece::Take(a, b), true) => writeln!(out, "CUT {a}.={b}"),
            (Piece::Take(a, b), false) => writeln!(out, "delete {a}..{b}"),
            (Piece::Gap(a, after), true) => writeln!(out, "PUT {}{a}:", if *after { '>' } else { '<' }),
            (Piece::Gap(a, after), false) => writeln!(out, "insert {} {a}:", if *after { "after" } else { "before" }),
            (Piece::Head, true) => writeln!(out, "PUT <1:"),
            (Piece::Head, false) => writeln!(out, "insert head:"),
            (Piece::Tail, true) => writeln!(out, "PUT >$:"),
            (Piece::Tail, false) => writeln!(out, "insert tail:"),
            (Piece::Block(a), true) => writeln!(out, "PUT {a}*:"),
            (Piece::Block(a), false) => writeln!(out, "replace block {a}:"),
            (Piece::Cut(a, b), _) => writeln!(out, "CUT {a}.={b} @r"),
            (Piece::Put(a), _) => writeln!(out, "PUT >{a} @r"),
            (Piece::Named(true, b), true) => writeln!(out, "PUT Table.={b}:"),
            (Piece::Named(true, b), false) => writeln!(out, "replace Table..{b}:"),
            (Piece::Named(false, _), true) => writeln!(out, "PUT >Table:"),
            (Piece::Named(false, _), false) => writeln!(out, "insert after Table:"),
            (Piece::Row(row), _) => writeln!(out, "+{row}"),
            (Piece::Raw(row), _) => writeln!(out, "{row}"),
        };
    }
    out
}

fuzz_target!(|input: (Vec<Piece>, bool, String, String)| {
    let (pieces, current, seen, now) = input;
    let (seen, now) = (Snapshot::from_text(&seen), Snapshot::from_text(&now));
    let Ok(request) = Hashline::SEED.parse(FormatInput::Text(text(&pieces, current))) else { return };
    let mut registers = Registers::default();
    for file in request.files {
        let FileAction::Edit { ops, order } = file.action else { continue };
        let mut notes = Notes::new();
        let word = |_| Ok(seen.text().len() % 7 + 1);
        assert!(!line_edits::names_anchor(&ops) || resolve(&seen, &ops, order, ResolveSettings::default()).is_err());
        let Ok(ops) = line_edits::by_number(&ops, word) else { continue };
        line_edits::repair_guesses(&seen, &ops);
        let Ok(ops) = line_edits::fill_registers(&seen, &ops, &mut registers, &mut notes) else { continue };
        if let Ok(resolved) = resolve(&seen, &ops, order, ResolveSettings::default()) {
            resolved.changes.apply(&seen);
        }
        let theirs = ChangeSet::diff(&seen, &now);
        let map = line_edits::LineMap::new(&seen, &now, &theirs);
        let Ok(carried) = line_edits::carry(map, &ops, ResolveSettings::default()) else { continue };
        let lines = |of: &Snapshot, (from, to): (usize, usize)| {
            let span = of.lines().span_of(of.text(), from, to);
            of.text()[span.range()].trim_end_matches('\n').to_owned()
        };
        for (before, after) in ops.iter().zip(&carried.ops) {
            let range = |op| line_edits::of(op).and_then(|rows| rows.range());
            if let (Some(before), Some(after)) = (range(before), range(after)) {
                assert_eq!(lines(&seen, before), lines(&now, after));
            }
        }
    }
});
