//! The driver that calls the engine in this process.

use super::{Driver, Reply, SESSION, Stage};
use emendate::{CallContext, Config, Engine, StateLocation, Tool};
use serde_json::{Map, Value};

pub(super) struct Library {
    engine: Engine,
    caller: CallContext,
}

impl Library {
    pub(super) fn open(stage: &Stage) -> Result<Library, String> {
        let mut config = Config::default().with_home(Some(stage.home.clone()));
        let own = stage.home.join(".config/emendate/config.toml");
        if let Ok(text) = std::fs::read_to_string(&own) {
            config = config.with_file(&text, &own.display().to_string(), true).map_err(|it| it.to_string())?;
        }
        let root = &stage.root;
        let engine =
            Engine::open(std::slice::from_ref(root), StateLocation::Memory, config).map_err(|it| it.to_string())?;
        let caller = CallContext { session: SESSION.to_owned(), cwd: Some(root.clone()), ..CallContext::default() };
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
        if let (Ok(answer), Some(row)) = (&reply.result, emendate::tool(tool)) {
            documented(row, &answer.data)?;
        }
        if i32::from(reply.exit()) != shown.exit() {
            return Err(format!("exit status {}", reply.exit()));
        }
        Ok(shown)
    }
}

/// Checks the data of a reply against the table of outputs.
fn documented(tool: &Tool, data: &Map<String, Value>) -> Result<(), String> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    for (name, value) in data {
        let field = tool.output_fields().find(|field| field.name == name);
        match field.map(|field| field.kind.name()) {
            None => return Err(format!("crates/engine/src/api/outputs.rs has no field {name} for {}", tool.name)),
            Some(Some(wanted)) if wanted != kind(value) => {
                return Err(format!("the field {name} of {} is {} in place of {wanted}", tool.name, kind(value)));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
