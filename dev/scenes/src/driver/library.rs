//! The engine in this process.

use super::{Driver, Reply, Stage};
use emendate::{Caller, Config, Engine, State};

pub(super) struct Library {
    engine: Engine,
    caller: Caller,
}

impl Library {
    pub(super) fn open(stage: &Stage) -> Result<Library, String> {
        let mut config = Config::default().at_home(Some(stage.home.clone()));
        let own = stage.home.join(".config/emendate/config.toml");
        if let Ok(text) = std::fs::read_to_string(&own) {
            config = config.with_file(&text, &own.display().to_string(), true).map_err(|it| it.to_string())?;
        }
        let root = &stage.root;
        let engine = Engine::open(std::slice::from_ref(root), State::Memory, config).map_err(|it| it.to_string())?;
        let caller = Caller { cwd: Some(root.clone()), ..Caller::default() };
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
