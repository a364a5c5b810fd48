//! The setting for changes that others make.

use crate::model::call_context::OptionValue;

/// The changes by others that become operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutsideChanges {
    /// Changes that the engine meets when it reads or writes a file, and those that requested snapshots find.
    #[default]
    Seen,
    /// Like [`OutsideChanges::Seen`], and every change of a client's shell commands: its hooks take a snapshot before
    /// and after each.
    Snapshots,
    /// None.
    Off,
}

impl OptionValue for OutsideChanges {
    const NAMED_VALUES: &'static [(&'static str, OutsideChanges)] =
        &[("seen", OutsideChanges::Seen), ("snapshots", OutsideChanges::Snapshots), ("off", OutsideChanges::Off)];
}
