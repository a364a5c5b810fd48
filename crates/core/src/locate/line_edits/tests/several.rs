//! Several edits of one call, which depend on each other.

use super::super::{LineEdit, LineTarget, Register, Registers, fill_registers};
use super::{edited, lines, notes, op, text, with};
use crate::code::Code;
use crate::error::Error;
use crate::locate::op::Op;
use crate::note::Notes;

#[test]
fn lines_that_another_edit_removes_are_not_restated() {
    let swap = [lines(2, 2, "c\n"), lines(3, 3, "b\n")];
    assert_eq!(edited("a\nb\nc\nd\n", &swap).unwrap(), "a\nc\nb\nd\n");
    assert_eq!(notes("a\nb\nc\nd\n", &swap), "");
    let moved = [lines(2, 3, "d\n"), lines(4, 4, "z\n")];
    assert_eq!(edited("a\nb\nc\nd\n", &moved).unwrap(), "a\nd\nz\n");
    let above = [lines(2, 2, ""), lines(3, 4, "b\n")];
    assert_eq!(edited("a\nb\nc\nd\n", &above).unwrap(), "a\nb\n");
    // The line below remains.
    let error = edited("a\nb\nc\nd\n", &[lines(2, 3, "d\n"), lines(1, 1, "z\n")]).unwrap_err();
    assert_eq!(error.code(), Code::EditUnparsable);
    assert!(notes("a\nb\nc\nd\n", &[lines(2, 2, "c\n"), lines(4, 4, "z\n")]).contains("occur twice"));
}

#[test]
fn edits_that_make_up_for_each_other_are_refused() {
    for ops in [
        [lines(2, 2, ""), op(LineTarget::Before(2), "b\n")],
        [lines(2, 2, ""), op(LineTarget::After(1), "b\n")],
        [op(LineTarget::After(2), "c\n"), lines(3, 3, "")],
    ] {
        assert_eq!(edited("a\nb\nc\nd\n", &ops).unwrap_err().code(), Code::EditNoChange, "{ops:?}");
    }
}

fn register(name: &str) -> Register {
    Register(Some(name.to_owned()))
}

fn cut(line: usize, name: &str) -> Op {
    with(lines(line, line, ""), |rows: &mut LineEdit| rows.cut_to = Some(register(name)))
}

fn put(line: usize, name: &str) -> Op {
    with(op(LineTarget::After(line), ""), |rows: &mut LineEdit| rows.paste = Some(register(name)))
}

fn fill(ops: &[Op], registers: &mut Registers) -> Result<(), Error> {
    fill_registers(&text("a\nb\nc\nd\n"), ops, registers, &mut Notes::new()).map(|_| ())
}

#[test]
fn cut_lines_are_never_lost() {
    let error = fill(&[put(4, "r"), cut(2, "r")], &mut Registers::default()).unwrap_err();
    assert!(error.message().contains("is cut after the `PUT`"), "{}", error.message());
    let error = fill(&[cut(2, "r"), cut(4, "r"), put(1, "r")], &mut Registers::default()).unwrap_err();
    assert!(error.message().contains("not pasted since"), "{}", error.message());
    // The order matters across files of a call, too, but not across calls.
    let mut shared = Registers::default();
    fill(&[put(4, "r")], &mut shared).unwrap();
    assert!(fill(&[cut(2, "r")], &mut shared).is_err());
    let mut first = Registers::default();
    fill(&[cut(1, "r")], &mut first).unwrap();
    let mut second = Registers::with(first.into_named());
    fill(&[cut(2, "r"), put(4, "r"), cut(3, "r"), put(1, "r")], &mut second).unwrap();
}
