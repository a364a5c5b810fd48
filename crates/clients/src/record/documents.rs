//! Installations in documents of any layout: every other byte and value stays, a second installation changes nothing, and
//! the removal restores the bytes, or leaves what the owner changed since.

use super::{InstallRecord, Withdrawal, meaning, without_mark};
use crate::{Client, ConfigFormat, ServerEntry, client, hooks::CLAUDE_CODE, tests::within};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Blanks and comments between two tokens.
const GAPS: &[&str] = &[
    "", "", "", " ", "\n  ", "\n    ", "\n\t", "\n", " // x, { ]\n", " // x, { ]\n  ", "/* y } */", " /* z\n */ ",
    "\n  // \"w\"\n  ",
];
const LEAVES: &[&str] = &["1", "\"a // b\\\"\"", "[]", "{ }", "[1, 2]", "{\"q\": true}", "{\n  \"q\": \"\"\n}"];

fn leaf() -> BoxedStrategy<String> {
    prop::sample::select(LEAVES).prop_map(str::to_owned).boxed()
}

/// Puts parts between brackets.
fn bracketed(parts: BoxedStrategy<Vec<String>>, brackets: [char; 2]) -> BoxedStrategy<String> {
    let gaps = prop_oneof![
        // Usual layouts, and any.
        Just(vec![""; 16]),
        Just(vec!["", "\n  ", "", "\n  ", "", "\n  ", "", "\n  ", "", "\n  ", "", "\n  ", "", "\n  ", "", "\n"]),
        prop::collection::vec(prop::sample::select(GAPS), 16),
    ];
    (parts, gaps, any::<bool>())
        .prop_map(move |(parts, gaps, trails)| {
            let mut out = String::from(brackets[0]);
            for (nth, part) in parts.iter().enumerate() {
                let comma = if nth > 0 { "," } else { "" };
                out += &[gaps[nth % 7 * 2], comma, gaps[nth % 7 * 2 + 1], part].concat();
            }
            let comma = if trails && !parts.is_empty() { "," } else { "" };
            out + &[gaps[14], comma, gaps[15]].concat() + &String::from(brackets[1])
        })
        .boxed()
}

/// A member of an object, or none.
fn member(name: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<Option<String>> {
    let colon = prop::sample::select(&[": ", ": ", ":", " /* c */ :\n"][..]);
    prop::option::of((colon, value).prop_map(move |(colon, value)| format!("\"{name}\"{colon}{value}"))).boxed()
}

fn object(members: Vec<BoxedStrategy<Option<String>>>) -> BoxedStrategy<String> {
    let parts = members.prop_map(|members| members.into_iter().flatten().collect::<Vec<_>>()).prop_shuffle();
    bracketed(parts.boxed(), ['{', '}'])
}

fn list(items: &'static [&'static str]) -> BoxedStrategy<String> {
    let parts = prop::sample::subsequence(items, 0..=items.len());
    let parts = parts.prop_map(|parts| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
    bracketed(parts.boxed(), ['[', ']'])
}

fn json_documents() -> impl Strategy<Value = String> {
    let groups = list(&["{\"matcher\": \"Read\", \"hooks\": [{\"command\": \"r\"}]}", "{\"hooks\": []}"]);
    let root = object(vec![
        member("a", Just("\"mine0\"".to_owned()).boxed()),
        member("b", leaf()),
        member("mcpServers", object(vec![member("x", leaf()), member("y", leaf())])),
        member(
            "permissions",
            object(vec![member("deny", list(&["\"Write\"", "\"Read(.env)\"", "\"WebFetch\""])), member("p", leaf())]),
        ),
        member("hooks", object(vec![member("PostToolUse", groups), member("Stop", leaf())])),
    ]);
    let (top, end) =
        (prop::sample::select(&["", "// top\n"][..]), prop::sample::select(&["", "\n", "\n\n// end\n"][..]));
    (top, root, end, any::<bool>()).prop_map(|(top, root, end, crlf)| {
        let text = format!("{top}{root}{end}");
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// The comments of a text, in their order.
fn comments(text: &str, format: ConfigFormat) -> Vec<&str> {
    if format == ConfigFormat::Toml {
        return text.lines().filter_map(|line| Some(&line[line.find('#')?..])).collect();
    }
    let (mut out, mut at, mut quoted) = (Vec::new(), 0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = match (quoted, rest.get(..2).unwrap_or_default()) {
            (true, pair) if pair.starts_with('\\') => 2,
            (false, "//") => rest.find('\n').unwrap_or(rest.len()),
            (false, "/*") => rest.find("*/").unwrap() + 2,
            _ => 1,
        };
        if !quoted && end > 1 {
            out.push(rest[..end].trim_end());
        }
        quoted ^= rest.starts_with('"');
        at += end;
    }
    out
}

/// A change by the owner after the installation.
#[derive(Clone, Copy, Debug)]
enum OwnersChange {
    Nothing,
    Value,
    Top,
    End,
    /// A first member, or a last table.
    Addition,
    /// A command next to ours, before or after it.
    Command(bool),
    /// A setting of our entry.
    Setting,
}

fn changes() -> impl Strategy<Value = OwnersChange> {
    use OwnersChange::{Addition, Command, End, Nothing, Setting, Top, Value};
    prop::sample::select(&[Nothing, Value, Top, End, Addition, Command(false), Command(true), Setting][..])
}

const OUR_COMMAND: &str = "{\"type\": \"command\", \"command\": \"/opt/emend --quiet hook post-tool-use\"}";

impl OwnersChange {
    fn json(self, text: &str) -> String {
        match self {
            OwnersChange::Nothing => text.to_owned(),
            OwnersChange::Value => text.replacen("mine0", "mine1", 1),
            OwnersChange::Top => format!("// new\n{text}"),
            OwnersChange::End => format!("{text}\n// new\n"),
            OwnersChange::Addition => text.replacen('{', "{\n  \"new\": 1,", 1),
            OwnersChange::Command(after) => {
                let ours = [OUR_COMMAND.to_owned(), OUR_COMMAND.replace(": ", ":").replace(", ", ",")];
                let both = |ours: &str| {
                    let mine = "{\"command\": \"/me\"}";
                    if after { format!("{ours}, {mine}") } else { format!("{mine}, {ours}") }
                };
                ours.iter().fold(text.to_owned(), |text, ours| text.replace(ours, &both(ours)))
            }
            OwnersChange::Setting => text.replacen("\"alwaysLoad\"", "\"disabled\": true, \"alwaysLoad\"", 1),
        }
    }

    /// Makes the same change to the data without ours.
    fn data(self, mut data: Value) -> Value {
        match self {
            OwnersChange::Value if data["a"] == "mine0" => data["a"] = "mine1".into(),
            OwnersChange::Addition => data["new"] = "1".into(),
            OwnersChange::Command(_) => {
                let group = json!({ "matcher": "Read|Edit|Write|NotebookEdit|Bash", "hooks": [{ "command": "/me" }] });
                match data["hooks"]["PostToolUse"].as_array_mut() {
                    Some(groups) => groups.push(group),
                    None => data["hooks"]["PostToolUse"] = json!([group]),
                }
            }
            _ => {}
        }
        data
    }

    fn toml(self, text: &str) -> String {
        match self {
            OwnersChange::Value => text.replacen("mine0", "mine1", 1),
            OwnersChange::Top => format!("# new\n{text}"),
            OwnersChange::End => format!("{text}\n# new\n"),
            OwnersChange::Addition => format!("{}\n\n[late]\nz = 1\n", text.trim_end_matches('\n')),
            OwnersChange::Setting => text.replacen("\nargs = [\"mcp\"]", "\nargs = [\"mcp\"]\nenabled = false", 1),
            OwnersChange::Nothing | OwnersChange::Command(_) => text.to_owned(),
        }
    }
}

/// Installs the server, the denials and the hooks; returns the tools that were not denied before, too.
fn install(client: &Client, text: &str) -> (String, Vec<String>) {
    let entry = ServerEntry { command: "/opt/emend".into(), args: vec!["mcp".into()], env: vec![] };
    let with = client.install(text, &entry, "f").unwrap();
    if client.format == ConfigFormat::Toml {
        return (with, Vec::new());
    }
    let (with, fresh) = CLAUDE_CODE.deny(&with, "f").unwrap();
    (CLAUDE_CODE.hook(&with, "/opt/emend", "", "f").unwrap(), fresh)
}

/// Removes all of it by its names.
fn remove(client: &Client, text: &str, fresh: &[String]) -> String {
    let text = client.uninstall(text, "f").unwrap();
    if client.format == ConfigFormat::Toml {
        return text;
    }
    CLAUDE_CODE.unhook(&CLAUDE_CODE.allow(&text, fresh, "f").unwrap(), None, "f").unwrap()
}

/// Removes what an installation recorded.
fn withdraw(client: &Client, record: &InstallRecord, now: &str, fresh: &[String]) -> String {
    let removed = remove(client, now, fresh);
    match record.withdraw(now, &removed, client.format) {
        Withdrawal::Text(text) => text,
        Withdrawal::Nothing => unreachable!("the file existed"),
        Withdrawal::Overlapping => removed,
    }
}

/// True for JSON without comments and trailing commas, which is all that many clients read.
fn is_strict(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

fn root(text: &str) -> Value {
    meaning(without_mark(text), ConfigFormat::Json).unwrap()
}

proptest! {
    #[test]
    fn any_json_keeps_what_is_not_ours(text in json_documents(), change in changes()) {
        let client = client("claude-code").unwrap();
        let (with, fresh) = install(client, &text);
        prop_assert!(within(&text, &with), "bytes are lost\n{text}\n{with}");
        prop_assert_eq!(comments(&with, ConfigFormat::Json), comments(&text, ConfigFormat::Json), "{}", with);
        prop_assert!(!is_strict(&text) || is_strict(&with), "{}", with);
        let denied = root(&with)["permissions"]["deny"].to_string();
        prop_assert!(["Edit", "Write", "NotebookEdit"].iter().all(|tool| denied.contains(tool)), "{}", with);
        prop_assert_eq!(with.matches("--quiet hook").count(), 4);

        let now = change.json(&with);
        prop_assert_eq!(&install(client, &now), &(now.clone(), vec![]), "installed again");
        let owned = change.json(&text);
        let record = InstallRecord { original: Some(text.clone()), written: with.clone() };
        for without in [remove(client, &now, &fresh), withdraw(client, &record, &now, &fresh)] {
            let wanted = change.data(root(&text));
            prop_assert_eq!(root(&without), wanted, "{}\n{}", now, without);
            prop_assert_eq!(comments(&without, ConfigFormat::Json), comments(&owned, ConfigFormat::Json), "{}", without);
            prop_assert!(!is_strict(&owned) || is_strict(&without), "{}", without);
        }
        prop_assert_eq!(withdraw(client, &record, &with, &fresh), text);
    }

    #[test]
    fn any_toml_keeps_what_is_not_ours(text in toml_documents(), change in changes()) {
        let client = client("codex").unwrap();
        let (with, _) = install(client, &text);
        let now = change.toml(&with);
        prop_assert_eq!(&install(client, &now).0, &now, "installed again");
        let owned = change.toml(&text);
        let record = InstallRecord { original: Some(text.clone()), written: with.clone() };
        for without in [remove(client, &now, &[]), withdraw(client, &record, &now, &[])] {
            prop_assert_eq!(crate::toml::whole(&without), crate::toml::whole(&owned), "{}\n{}", now, without);
            prop_assert_eq!(comments(&without, ConfigFormat::Toml), comments(&owned, ConfigFormat::Toml), "{}", without);
        }
        prop_assert_eq!(withdraw(client, &record, &with, &[]), text);
    }
}

fn toml_documents() -> impl Strategy<Value = String> {
    const HEAD: &[&str] = &["# top", "a = \"mine0\" # why", "l = [\n  1, # one\n  2,\n]", ""];
    const TABLES: &[&str] = &[
        "[t]\nb = 1",
        "# of servers\n[mcp_servers]",
        "[mcp_servers.x] # x\ncommand = 'x'",
        "# of u\n\n[t.u]\nc = \"\"\"\n[mcp_servers.emend]\n\"\"\"",
        "[[many]]\nd = { e = 2 }\n",
    ];
    let inline = "mcp_servers = { x = { command = 'x' } } # all";
    let head = prop::sample::subsequence(HEAD, 0..=HEAD.len());
    let tables = prop::sample::subsequence(TABLES, 0..=TABLES.len()).prop_shuffle();
    let end = prop::sample::select(&["", "\n", "\n# end", "\n\n\n"][..]);
    (head, prop::bool::weighted(0.2), tables, end).prop_map(move |(mut lines, is_inline, tables, end)| {
        if is_inline {
            lines.push(inline);
        }
        lines.extend(
            tables.into_iter().filter(|table| !is_inline || !table.contains("[mcp_servers") || table.contains("[t.u]")),
        );
        lines.join("\n") + end
    })
}
