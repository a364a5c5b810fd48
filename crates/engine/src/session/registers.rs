//! Named registers of sessions: stored with the session, for any process. Text from a file that may contain secrets
//! stays in this process.

use crate::context::call::Call;
use crate::context::memory::RegisterMap;
use crate::context::policy;
use emendate_core::line_edits::{Registers, use_registers};
use emendate_core::{FileAction, Result};
use emendate_fs::SafePath;

/// Bytes of a session's registers.
const SESSION_REGISTER_BYTES_MAX: usize = 8 << 20;

/// The registers of one call.
pub(crate) struct CallRegisters {
    /// The contents of the registers at the beginning; `None` if the call does not use registers.
    initial: Option<RegisterMap>,
    /// A file of the call may contain secrets.
    secret: bool,
}

impl CallRegisters {
    /// The registers that the call may paste.
    pub(crate) fn registers(&self) -> Registers {
        Registers::with(self.initial.clone().unwrap_or_default())
    }
}

/// Loads the registers for a call about these files.
///
/// Errors: those of the session store.
pub(crate) fn load_registers(call: Call<'_>, actions: &[(&SafePath, &FileAction)]) -> Result<CallRegisters> {
    if !actions.iter().any(|(_, action)| use_registers(action.ops())) {
        return Ok(CallRegisters { initial: None, secret: false });
    }
    let stored = call.history(0).registers(&call.caller.session)?;
    // Unreadable registers count as empty.
    let mut found: RegisterMap = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    found.extend(secrets(call));
    Ok(CallRegisters { initial: Some(found), secret: actions.iter().any(|(path, _)| policy::is_secret(path)) })
}

/// Stores the registers after a successful call; beyond the limit nothing is kept.
///
/// Errors: those of the session store.
pub(crate) fn store_registers(call: Call<'_>, call_registers: &CallRegisters, registers: Registers) -> Result<()> {
    let Some(found) = &call_registers.initial else { return Ok(()) };
    let named = registers.into_named();
    let bytes: usize = named.values().map(String::len).sum();
    let named = if bytes > SESSION_REGISTER_BYTES_MAX { RegisterMap::new() } else { named };
    if named == *found {
        return Ok(());
    }
    let before = secrets(call);
    let (secret, open): (RegisterMap, RegisterMap) = named.into_iter().partition(|(name, text)| {
        if found.get(name) == Some(text) { before.contains_key(name) } else { call_registers.secret }
    });
    call.memory.secret_registers.put(call.caller.session.clone(), secret);
    let stored = if open.is_empty() { Vec::new() } else { serde_json::to_vec(&open).unwrap_or_default() };
    call.history(0).keep_registers(&call.caller.session, &stored)
}

fn secrets(call: Call<'_>) -> RegisterMap {
    call.memory.secret_registers.get(&call.caller.session).unwrap_or_default()
}
