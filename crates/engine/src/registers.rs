//! Named registers of sessions: stored with the session, for any process. Text from a file that may contain secrets
//! stays in this process.

use crate::caller::Caller;
use crate::engine::Engine;
use crate::policy;
use crate::target::Target;
use emendate_core::rows::{Registers, use_registers};
use emendate_core::{Ask, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// Sessions whose secret registers are kept, and bytes of one session's registers.
const SESSIONS: usize = 64;
const BYTES: usize = 8 << 20;

/// Texts by register name.
type Named = BTreeMap<String, String>;

/// The named registers of all sessions that must not be stored.
#[derive(Default)]
pub(crate) struct Drawers(Mutex<HashMap<String, Named>>);

/// The registers of one call.
pub(crate) struct Drawer {
    /// Their contents at the beginning; `None` if the call does not use registers.
    found: Option<Named>,
    /// A file of the call may contain secrets.
    secret: bool,
}

impl Drawer {
    /// The registers that the call may paste.
    pub(crate) fn registers(&self) -> Registers {
        Registers::with(self.found.clone().unwrap_or_default())
    }
}

impl Engine {
    /// Loads the registers for a call about these files.
    ///
    /// Errors: those of the session store.
    pub(crate) fn open_drawer(&self, caller: &Caller, targets: &[Target]) -> Result<Drawer> {
        let uses = |target: &Target| match &target.ask {
            Ask::Edit { ops, .. } | Ask::Move { ops, .. } | Ask::Copy { ops, .. } => use_registers(ops),
            _ => false,
        };
        if !targets.iter().any(uses) {
            return Ok(Drawer { found: None, secret: false });
        }
        let stored = self.history(0).registers(&caller.session)?;
        // Unreadable registers count as empty.
        let mut found: Named = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        found.extend(self.secrets(caller));
        Ok(Drawer { found: Some(found), secret: targets.iter().any(|target| policy::is_secret(&target.place)) })
    }

    /// Stores the registers after a successful call; beyond the limit nothing is kept.
    ///
    /// Errors: those of the session store.
    pub(crate) fn close_drawer(&self, caller: &Caller, drawer: &Drawer, registers: Registers) -> Result<()> {
        let Some(found) = &drawer.found else { return Ok(()) };
        let named = registers.into_named();
        let bytes: usize = named.values().map(String::len).sum();
        let named = if bytes > BYTES { Named::new() } else { named };
        if named == *found {
            return Ok(());
        }
        let before = self.secrets(caller);
        let (secret, open): (Named, Named) = named.into_iter().partition(|(name, text)| {
            if found.get(name) == Some(text) { before.contains_key(name) } else { drawer.secret }
        });
        let mut drawers = self.drawers().0.lock().unwrap_or_else(PoisonError::into_inner);
        if drawers.len() >= SESSIONS && !drawers.contains_key(&caller.session) {
            drawers.clear();
        }
        drawers.insert(caller.session.clone(), secret);
        drop(drawers);
        let stored = if open.is_empty() { Vec::new() } else { serde_json::to_vec(&open).unwrap_or_default() };
        self.history(0).keep_registers(&caller.session, &stored)
    }

    fn secrets(&self, caller: &Caller) -> Named {
        let drawers = self.drawers().0.lock().unwrap_or_else(PoisonError::into_inner);
        drawers.get(&caller.session).cloned().unwrap_or_default()
    }
}
