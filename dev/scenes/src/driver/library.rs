//! The engine in this process.

use super::{Driver, Reply};
use emendate::{Caller, Config, Engine, State};
use std::path::Path;

pub(super) struct Library {
    engine: Engine,
    caller: Caller,
}

impl Library {
    pub(super) fn open(root: &Path) -> Result<Library, String> {
        let engine = Engine::open(&[root.to_owned()], State::Memory, Config::default()).map_err(|it| it.to_string())?;
        let caller = Caller { cwd: Some(root.to_owned()), ..Caller::default() };
        Ok(Library { engine, caller })
    }
}

impl Driver for Library {
    fn call(&mut self, tool: &str, input: &str) -> Result<Reply, String> {
        let reply = self.engine.call_json(&self.caller, tool, input);
        let shown = Reply::of(&reply.to_json())?;
        if shown.text != reply.text() {
            return Err(format!("text and parts differ:\n{}\n{}", reply.text(), shown.text));
        }
        if i32::from(reply.exit()) != shown.exit() {
            return Err(format!("exit status {}", reply.exit()));
        }
        Ok(shown)
    }
}
