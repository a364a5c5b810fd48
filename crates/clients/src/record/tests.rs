//! Sequences of installations, changes by others and removals end with the file as its owner has it, byte for byte.

use super::{InstallRecord, Withdrawal};
use crate::{Client, ConfigFormat, ServerEntry, client, hooks::CLAUDE_CODE};
use proptest::prelude::*;

/// A file, what is recorded of it, and the same file as it would be without us.
struct Place {
    client: &'static Client,
    file: Option<String>,
    record: Option<InstallRecord>,
    shadow: Option<String>,
}

#[derive(Clone, Debug)]
enum Step {
    Install(u8),
    Uninstall,
    /// The owner changes a value of theirs.
    Value(u8),
    /// The owner adds a comment at the top.
    Top(u8),
    /// The owner adds a comment at the end.
    End(u8),
}

impl Place {
    /// The text without anything of ours, with the layout that its removal leaves.
    fn removed(&self, text: &str) -> String {
        let text = self.client.uninstall(text, "f").unwrap();
        if self.client.format == ConfigFormat::Toml {
            return text;
        }
        let tools: Vec<String> = CLAUDE_CODE.builtins.iter().map(|tool| (*tool).to_owned()).collect();
        CLAUDE_CODE.unhook(&CLAUDE_CODE.allow(&text, &tools, "f").unwrap(), None, "f").unwrap()
    }

    fn without_ours(&self) -> Option<String> {
        let now = self.file.clone()?;
        let removed = self.removed(&now);
        let Some(record) = &self.record else { return Some(now) };
        match record.withdraw(&now, &removed, self.client.format) {
            Withdrawal::Nothing => None,
            Withdrawal::Text(text) => Some(text),
            Withdrawal::Overlapping => Some(removed),
        }
    }

    fn install(&mut self, nth: u8) {
        let entry = ServerEntry { command: format!("/opt/{nth}/emend"), args: vec!["mcp".into()], env: vec![] };
        let original = self.without_ours();
        let text = self.file.clone().unwrap_or_default();
        let mut written = self.client.install(&text, &entry, "f").unwrap();
        if self.client.format == ConfigFormat::Json && nth.is_multiple_of(2) {
            written = CLAUDE_CODE.deny(&written, "f").unwrap().0;
            written = CLAUDE_CODE.hook(&written, &entry.command, "", "f").unwrap();
        }
        self.record = Some(InstallRecord { original, written: written.clone() });
        self.file = Some(written);
    }

    fn step(&mut self, step: &Step) {
        let comment = if self.client.format == ConfigFormat::Json { "//" } else { "#" };
        let both = |place: &mut Place, edit: &dyn Fn(&str) -> String| {
            // A file that its owner does not have cannot be changed by them; ours is not theirs.
            if place.shadow.is_some() {
                place.file = place.file.as_deref().map(edit);
                place.shadow = place.shadow.as_deref().map(edit);
            }
        };
        match step {
            Step::Install(nth) => self.install(*nth),
            Step::Uninstall => {
                self.file = self.without_ours();
                self.record = None;
            }
            Step::Value(nth) => {
                let (from, to) = ([format!("\"mine{}\"", 1 - nth % 2)], format!("\"mine{}\"", nth % 2));
                both(self, &|text| text.replacen(&*from[0], &to, 1));
            }
            Step::Top(nth) => both(self, &|text| format!("{comment} top {nth}\n{text}")),
            Step::End(nth) => both(self, &|text| format!("{text}\n{comment} end {nth}\n")),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        any::<u8>().prop_map(Step::Install),
        Just(Step::Uninstall),
        any::<u8>().prop_map(Step::Value),
        (0_u8..9).prop_map(Step::Top),
        (0_u8..9).prop_map(Step::End),
    ];
    prop::collection::vec(step, 0..10)
}

/// Files of owners, with odd layouts.
const JSON: &[&str] = &[
    "{}",
    "{ }\n",
    "{\n}\n",
    "{\"a\":\"mine0\"}",
    "{\r\n\t\"a\": \"mine0\",\r\n\t\"mcpServers\": {}\r\n}\r\n",
    "// top\n{\n    \"a\": \"mine0\", // why\n    \"mcpServers\": {\n        \"x\": {\"command\": \"x\"}, // first\n        // last\n    },\n}\n",
    "{\"permissions\": {\"deny\": []}, \"hooks\": {\"PreToolUse\": [{\"hooks\": []}]}, \"a\": \"mine0\"}\n\n\n",
    "\u{feff}{\n  \"a\": \"mine0\",\n\n  \"permissions\": {\n    \"deny\": [\n      \"Read(.env)\" /* secret */\n    ]\n  }\n}",
    "{\"permissions\": {\"deny\": [\"Edit(x)\"]}, \"mcpServers\": {\"a\": {}}}",
    "",
    "\n\n",
    // An entry of the same name that the owner wrote.
    "{\n  \"a\": \"mine0\",\n  \"mcpServers\": {\n    \"emend\": {\"command\": \"/old/emend\", \"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}}\n  }\n}\n",
];

const TOML: &[&str] = &[
    "",
    "a = \"mine0\"",
    "a = \"mine0\"  # why\n\n",
    "# top\n[mcp_servers.x]\ncommand = \"mine0\"\n\n\n",
    "mcp_servers = { a = { command = \"mine0\" } } # all\n",
    "[mcp_servers]\n\n[mcp_servers.a]\ncommand = \"mine0\"\n\n# end\n[tui]\n",
    "a = \"mine0\"\n\n[mcp_servers.emend]\ncommand = \"/old/emend\"\nenv = { A = \"b\" }\n",
];

proptest! {
    #[test]
    fn any_sequence_ends_with_the_bytes_of_the_owner(
        format in any::<bool>(),
        nth in 0_usize..13,
        steps in steps(),
    ) {
        let (name, texts) = if format { ("claude-code", JSON) } else { ("codex", TOML) };
        // One more than there are texts: a file that does not exist.
        let text = texts.get(nth % (texts.len() + 1)).map(|text| (*text).to_owned());
        let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
        let mut place = Place { client: client(name).unwrap(), file: text.clone(), record: None, shadow: text };
        for step in &steps {
            place.step(step);
        }
        place.step(&Step::Uninstall);
        prop_assert_eq!(place.file, place.shadow, "{:?}", steps);
    }
}

#[test]
fn change_at_the_same_place_is_left_to_the_structure() {
    let record = InstallRecord { original: Some("{}".into()), written: "{\"mcpServers\": {\"emend\": {}}}".into() };
    let now = "{\"mcpServers\": {\"emend\": {\"timeout\": 5}, \"b\": {}}}";
    let removed = "{\"mcpServers\": {\"b\": {}}}";
    assert_eq!(record.withdraw(now, removed, ConfigFormat::Json), Withdrawal::Overlapping);
    let gone = InstallRecord { original: None, written: "{}\n".into() };
    assert_eq!(gone.withdraw("{}\n", "", ConfigFormat::Json), Withdrawal::Nothing);
    assert_eq!(gone.withdraw("{\"b\": 1}", "", ConfigFormat::Json), Withdrawal::Overlapping);
}
