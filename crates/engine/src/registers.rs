//! What sessions cut and have not forgotten: named registers live as long as this process.

use crate::caller::Caller;
use emendate_core::rows::Registers;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// Sessions whose registers are kept, and bytes of one session's.
const SESSIONS: usize = 64;
const BYTES: usize = 8 << 20;

/// The named registers of all sessions.
#[derive(Default)]
pub(crate) struct Drawers(Mutex<HashMap<String, BTreeMap<String, String>>>);

impl Drawers {
    /// What a call may put.
    pub(crate) fn open(&self, caller: &Caller) -> Registers {
        let drawers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Registers::with(drawers.get(&caller.session).cloned().unwrap_or_default())
    }

    /// Keeps what a call that was carried out leaves; too much is not kept.
    pub(crate) fn close(&self, caller: &Caller, registers: Registers) {
        let named = registers.into_named();
        let bytes: usize = named.values().map(String::len).sum();
        let mut drawers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if named.is_empty() || bytes > BYTES {
            drawers.remove(&caller.session);
            return;
        }
        if drawers.len() >= SESSIONS && !drawers.contains_key(&caller.session) {
            drawers.clear();
        }
        drawers.insert(caller.session.clone(), named);
    }
}
