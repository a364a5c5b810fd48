//! Registers: lines cut by one hunk can be pasted by another, in the same call or a later one, and into any file.

use super::place::unknown_words;
use super::{LineTarget, Register, VersionLines, of};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{Locator, Op};
use crate::note::Notes;
use crate::text::snapshot::Snapshot;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Contents of the registers. Named registers may outlive a call; the unnamed one never does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    named: BTreeMap<String, String>,
    anonymous: Option<String>,
    /// Number of unnamed cuts since the last unnamed paste.
    cuts: usize,
    /// The last use of each named register in the call.
    uses: BTreeMap<String, RegisterUse>,
}

/// The last use of a named register in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterUse {
    /// It was cut, and not pasted since.
    Cut,
    /// It was cut, and then pasted.
    Pasted,
    /// It was pasted without a cut before.
    PastedFirst,
}

impl Registers {
    /// Creates the registers of a call from the named ones of earlier calls.
    pub fn with(named: BTreeMap<String, String>) -> Registers {
        Registers { named, ..Registers::default() }
    }

    /// The named registers, for later calls.
    pub fn into_named(self) -> BTreeMap<String, String> {
        self.named
    }
}

/// True if any of these operations cuts to a register or pastes one.
pub fn use_registers(ops: &[Op]) -> bool {
    ops.iter().filter_map(of).any(|rows| rows.cut_to.is_some() || rows.paste.is_some())
}

/// True if any of these operations pastes a register.
pub fn paste_registers(ops: &[Op]) -> bool {
    ops.iter().filter_map(of).any(|rows| rows.paste.is_some())
}

/// Sets the text of operations that paste a register, and stores the lines that others cut, in the order of the
/// request. Each operation applies to the version that its numbers refer to. Appends its notes to `notes`.
///
/// Errors: an empty register for a paste that replaces lines; an ambiguous unnamed register; a cut whose
/// lines the call would lose.
pub fn fill_registers<'a>(
    base: &Snapshot,
    ops: &'a [Op],
    registers: &mut Registers,
    notes: &mut Notes,
) -> Result<Cow<'a, [Op]>> {
    if !use_registers(ops) {
        return Ok(Cow::Borrowed(ops));
    }
    let table = VersionLines::new(base);
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        let mut op = op.clone();
        let Locator::Lines(rows) = &mut op.at else {
            out.push(op);
            continue;
        };
        if !rows.anchors.is_empty() {
            return Err(unknown_words(rows));
        }
        if let Some(register) = rows.paste.take() {
            let pasted = registers.get(&register, &rows.describe())?;
            match pasted {
                Some(text) => op.text = text,
                None if rows.range().is_some() => return Err(empty_over_lines(&register, &rows.describe())),
                None => {
                    let name = register.0.unwrap_or_default();
                    notes.push(format!("{}`@{name}` was empty, so nothing was pasted.", rows.describe()));
                    continue;
                }
            }
        }
        if let (Some(register), LineTarget::Lines { from, to }) = (&rows.cut_to, rows.target) {
            let mut text = table.slice(from, to).to_owned();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            registers.put(register, text, &rows.describe())?;
        }
        out.push(op);
    }
    Ok(Cow::Owned(out))
}

impl Registers {
    /// Errors: a cut whose lines the call would not paste, because an earlier `PUT` or a later `CUT` has the same name.
    fn put(&mut self, register: &Register, text: String, prefix: &str) -> Result<()> {
        let Some(name) = &register.0 else {
            self.anonymous = Some(text);
            self.cuts += 1;
            return Ok(());
        };
        let (what, next) = match self.uses.insert(name.clone(), RegisterUse::Cut) {
            None | Some(RegisterUse::Pasted) => {
                self.named.insert(name.clone(), text);
                return Ok(());
            }
            Some(RegisterUse::Cut) => (
                "was cut before and not pasted since, so its lines would be lost.",
                "Give each `CUT` a name of its own, or use `CUT` without a name for lines that are only deleted.",
            ),
            Some(RegisterUse::PastedFirst) => (
                "is cut after the `PUT` that pastes it, which does not have these lines.",
                "Put the `CUT` above the `PUT`, or use another name if the `PUT` means lines that an earlier call cut.",
            ),
        };
        Err(Error::new(Code::EditUnparsable, format!("{prefix}`@{name}` {what}")).next(next))
    }

    fn get(&mut self, register: &Register, prefix: &str) -> Result<Option<String>> {
        let Some(name) = &register.0 else {
            if self.cuts > 1 {
                let what = format!(
                    "{prefix}{} unlabelled cuts precede this `PUT`, so it is not clear which one is meant.",
                    self.cuts
                );
                return Err(
                    Error::new(Code::EditUnparsable, what).next("Name them: `CUT … @name`, then `PUT … @name`.")
                );
            }
            self.cuts = 0;
            let Some(text) = &self.anonymous else {
                let what = format!(
                    "{prefix}Nothing to paste: no unlabeled `CUT` precedes this `PUT` in this call, and the anonymous register never carries across calls."
                );
                return Err(Error::new(Code::EditUnparsable, what).next("Put `CUT N.=M` above it, use named registers (`CUT … @name`, then `PUT … @name`) across calls, or write `:` and `+TEXT` rows if new text was meant."));
            };
            return Ok(Some(text.clone()));
        };
        let last = self.uses.entry(name.clone()).or_insert(RegisterUse::PastedFirst);
        if *last == RegisterUse::Cut {
            *last = RegisterUse::Pasted;
        }
        Ok(self.named.get(name).filter(|text| !text.is_empty()).cloned())
    }
}

fn empty_over_lines(register: &Register, prefix: &str) -> Error {
    let name = register.0.as_deref().unwrap_or_default();
    let what = format!("{prefix}`@{name}` is empty, so putting it over lines would only remove them.");
    Error::new(Code::EditUnparsable, what).next("Cut something into it first, or use `CUT` to remove the lines.")
}
