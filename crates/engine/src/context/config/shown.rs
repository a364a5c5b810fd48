//! The settings in force, for `emend config show`.

use crate::context::config::{Config, claude};
use crate::model::call_context::OptionValue;
use serde_json::{Value, json};

impl Config {
    /// Lists every setting in force with its origin: `[{"key", "value", "origin"}]`, rules one by one, in the order in
    /// which they are applied.
    pub fn shown(&self) -> Value {
        let mut out = Vec::new();
        let lists = [("policy.deny", &self.deny), ("policy.ask", &self.ask), ("policy.allow", &self.allow)];
        for (key, rules) in lists {
            out.extend(rules.iter().map(|rule| json!({ "key": key, "value": rule.text, "origin": rule.origin })));
        }
        let settings: [(&str, Value); 29] = [
            ("policy.default", self.default.name().into()),
            ("policy.documentation", self.documentation.name().into()),
            ("policy.import", if self.imports_claude { json!([claude::IMPORT_NAME]) } else { json!([]) }),
            ("policy.irreversible", self.irreversible.name().into()),
            ("policy.max_file", self.max_file.into()),
            ("policy.max_whole", self.max_whole.into()),
            ("policy.max_work", self.max_work.into()),
            ("policy.stream_from", self.stream_from.into()),
            ("edit.match", self.matching.name().into()),
            ("edit.on_stale", self.on_stale.name().into()),
            ("reply.shows", self.shows.name().into()),
            ("reply.text", self.reply.text.into()),
            ("reply.data", self.reply.data.into()),
            ("reply.read", self.reply.read.into()),
            ("reply.original", (self.reply.original > 0).into()),
            ("write.durability", self.durability.as_str().into()),
            ("notebook.clear_outputs", self.clear_outputs.into()),
            ("syntax.check", self.syntax_check.into()),
            ("validate.syntax", self.strictness.name().into()),
            ("history.days", self.history.history_days.into()),
            ("history.megabytes", (self.history.total >> 20).into()),
            ("history.outside", self.outside.name().into()),
            ("ask.wait_seconds", self.ask_settings.wait.as_secs().into()),
            ("ask.notify", self.ask_settings.notify.clone().into()),
            ("terminal.pager", self.pager.clone().into()),
            ("events.file", self.events.file.clone().into()),
            ("events.megabytes", self.events.megabytes.into()),
            ("events.paths", self.events.paths.into()),
            ("events.counts", self.events.counts.into()),
        ];
        out.extend(settings.into_iter().map(|(key, value)| {
            let origin = self.origins.of(key);
            json!({ "key": key, "value": value, "origin": origin })
        }));
        out.extend(
            self.unchecked.iter().map(|it| json!({ "key": "validate.skip", "value": it.text, "origin": it.origin })),
        );
        out.extend(self.schemas.iter().map(|it| {
            let value = json!({ "files": it.files.text, "schema": it.path.to_string_lossy() });
            json!({ "key": "schemas", "value": value, "origin": it.files.origin })
        }));
        out.extend(self.formatters.iter().map(|it| {
            let value = json!({ "files": it.files.text, "command": it.command, "when": it.when.name(), "seconds": it.time.as_secs() });
            json!({ "key": "formatters", "value": value, "origin": it.files.origin })
        }));
        out.extend(self.hooks.iter().map(|it| {
            let value =
                json!({ "on": it.on.name(), "files": it.files.text, "command": it.command, "required": it.required });
            json!({ "key": "hooks", "value": value, "origin": it.files.origin })
        }));
        out.extend(self.servers.iter().map(|it| json!({ "key": "lsp", "value": it.to_json(), "origin": it.origin })));
        out.extend(self.encodings.iter().map(|(rule, charset)| {
            json!({ "key": format!("encoding.{}", rule.text), "value": charset.name(), "origin": rule.origin })
        }));
        Value::Array(out)
    }
}
