//! Shorthands for the tests of the tiers.

use crate::error::Error;
use crate::formats::replace::Replacement;
use crate::locate::op::{OpOrder, ResolveSettings};
use crate::locate::resolve::{ResolvedEdit, resolve};
use crate::text::snapshot::Snapshot;

pub(in crate::locate) fn attempt(file: &str, old: &str, new: &str, all: bool) -> Result<(String, ResolvedEdit), Error> {
    let base = Snapshot::from_text(file);
    let edit = Replacement {
        old_string: old.to_owned(),
        new_string: new.to_owned(),
        replace_all: Some(all),
        ..Replacement::default()
    };
    let resolved = resolve(&base, &[edit.to_op()?], OpOrder::Together, ResolveSettings::default())?;
    Ok((String::from_utf8(resolved.changes.apply(&base)).unwrap(), resolved))
}

pub(in crate::locate) fn edit(file: &str, old: &str, new: &str) -> String {
    attempt(file, old, new, false).unwrap_or_else(|error| panic!("{error}")).0
}

pub(in crate::locate) fn edit_all(file: &str, old: &str, new: &str) -> String {
    attempt(file, old, new, true).unwrap_or_else(|error| panic!("{error}")).0
}

#[track_caller]
pub(in crate::locate) fn refuse(file: &str, old: &str, new: &str) -> Error {
    match attempt(file, old, new, false) {
        Ok((text, resolved)) => panic!("edited at {:?}: {text}", resolved.ops[0].tier),
        Err(error) => error,
    }
}
