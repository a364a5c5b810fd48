//! Registers of sessions that are kept in this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// Texts by register name.
pub(crate) type RegisterMap = BTreeMap<String, String>;

/// The named registers of all sessions that must not be stored.
#[derive(Default)]
pub(crate) struct RegisterStore(pub(crate) Mutex<HashMap<String, RegisterMap>>);
