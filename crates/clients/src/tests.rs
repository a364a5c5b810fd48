//! The entry of each client, with comments and odd layouts around it, and changes that must never happen.

use super::{
    CLIENTS, Client, ConfigFormat, EntryShape, REPLACES_VARIABLE, ServerEntry, client,
    hooks::{CLAUDE_CODE, CURSOR, VSCODE, WINDSURF},
};
use proptest::prelude::*;

fn entry() -> ServerEntry {
    ServerEntry {
        command: "/opt/emend".into(),
        args: vec!["mcp".into(), "--profile".into(), "claude".into()],
        env: vec![],
    }
}

fn of(name: &str) -> &'static Client {
    client(name).unwrap()
}

/// Installs an entry, reads it back, and removes it.
fn round(client: &Client, text: &str) -> (String, String) {
    let with = client.install(text, &entry(), "f").unwrap();
    assert_eq!(client.entry(&with, "f").unwrap(), Some(entry()), "{with}");
    assert_eq!(client.install(&with, &entry(), "f").unwrap(), with, "not idempotent");
    let without = client.uninstall(&with, "f").unwrap();
    assert_eq!(client.entry(&without, "f").unwrap(), None);
    assert_eq!(client.uninstall(&without, "f").unwrap(), without, "not idempotent");
    (with, without)
}

#[test]
fn every_client_has_its_entry_format() {
    let shapes = [
        (
            "claude-code",
            r#"{
  "mcpServers": {
    "emend": {
      "type": "stdio",
      "alwaysLoad": true,
      "command": "/opt/emend",
      "args": ["mcp", "--profile", "claude"]
    }
  }
}
"#,
        ),
        ("codex", "[mcp_servers.emend]\ncommand = \"/opt/emend\"\nargs = [\"mcp\", \"--profile\", \"claude\"]\n"),
        (
            "cursor",
            r#"{
  "mcpServers": {
    "emend": {
      "command": "/opt/emend",
      "args": ["mcp", "--profile", "claude"]
    }
  }
}
"#,
        ),
        (
            "vscode",
            r#"{
  "servers": {
    "emend": {
      "type": "stdio",
      "command": "/opt/emend",
      "args": ["mcp", "--profile", "claude"]
    }
  }
}
"#,
        ),
        (
            "zed",
            r#"{
  "context_servers": {
    "emend": {
      "source": "custom",
      "command": "/opt/emend",
      "args": ["mcp", "--profile", "claude"]
    }
  }
}
"#,
        ),
    ];
    for (name, wanted) in shapes {
        assert_eq!(round(of(name), "").0, wanted, "{name}");
    }
    for name in ["cline", "claude-desktop", "gemini-cli", "windsurf", "pi", "junie"] {
        assert_eq!(round(of(name), "").0, shapes[2].1, "{name}");
    }
    assert_eq!(CLIENTS.len(), 12);
}

#[test]
fn opencode_has_the_command_in_one_list() {
    let wanted = r#"{
  "mcp": {
    "emend": {
      "type": "local",
      "command": ["/opt/emend", "mcp", "--profile", "claude"]
    }
  }
}
"#;
    assert_eq!(round(of("opencode"), "").0, wanted);
    // An entry in the form of the other clients.
    let other = r#"{"mcp": {"emend": {"command": "/old", "args": ["x"], "enabled": true}, "b": {"args": [1]}}}"#;
    let (with, without) = round(of("opencode"), other);
    assert!(with.contains("\"enabled\": true") && !with.contains("\"x\"") && with.contains("\"args\": [1]"), "{with}");
    assert_eq!(without, r#"{"mcp": {"b": {"args": [1]}}}"#);
}

/// Files with a `KEY`, and the expected results.
const KEPT: &[(&str, &str)] = &[
    // Comments, a trailing comma, tabs.
    (
        "{\n\t// theme\n\t\"theme\": \"x\", /* why */\n\n\t\"KEY\": {\n\t\t\"a\": {\"command\": \"a\"}, // first\n\t\t// last\n\t},\n}\n",
        "{\n\t// theme\n\t\"theme\": \"x\", /* why */\n\n\t\"KEY\": {\n\t\t\"a\": {\"command\": \"a\"}, // first\n\t\t\"emend\": {\n\t\t\tFIELDS\n\t\t},\n\t\t// last\n\t},\n}\n",
    ),
    // No trailing comma, and a comment in place of the comma.
    (
        "{\n    \"KEY\": {\n        \"a\": {} // first\n    }\n}",
        "{\n    \"KEY\": {\n        \"a\": {}, // first\n        \"emend\": {\n            FIELDS\n        }\n    }\n}",
    ),
    // Blank lines at the edges stay.
    ("{\n\n  \"x\": 1\n\n}\n", "{\n\n  \"x\": 1,\n  \"KEY\": {\n    \"emend\": {\n      FIELDS\n    }\n  }\n\n}\n"),
    // A comma inside a comment does not count.
    (
        "{\n  \"x\": 1 /* , */\n}\n",
        "{\n  \"x\": 1, /* , */\n  \"KEY\": {\n    \"emend\": {\n      FIELDS\n    }\n  }\n}\n",
    ),
    // One line, with and without spaces.
    ("{\"x\": 1, \"KEY\": {\"a\": {}}}", "{\"x\": 1, \"KEY\": {\"a\": {}, \"emend\": {INLINE}}}"),
    ("{\"x\":1}", "{\"x\":1,\"KEY\":{\"emend\":{TIGHT}}}"),
    // Comments and nothing else.
    ("// mine\n", "// mine\n{\n  \"KEY\": {\n    \"emend\": {\n      FIELDS\n    }\n  }\n}\n"),
    ("{ /* none yet */ }\n", "{ /* none yet */\n  \"KEY\": {\n    \"emend\": {\n      FIELDS\n    }\n  }\n }\n"),
];

#[test]
fn surrounding_text_is_preserved() {
    let usual = |client: &&Client| client.format == ConfigFormat::Json && client.shape == EntryShape::Standard;
    for client in CLIENTS.iter().filter(usual) {
        for (text, wanted) in KEPT {
            let text = text.replace("KEY", client.key);
            let (with, without) = round(client, &text);
            let quoted = |value: &str| if value == "true" { value.to_owned() } else { format!("\"{value}\"") };
            let fixed = client.fixed_fields.iter().map(|(name, value)| format!("\"{name}\": {}", quoted(value)));
            let fields: Vec<String> = fixed
                .chain([
                    "\"command\": \"/opt/emend\"".to_owned(),
                    "\"args\": [\"mcp\", \"--profile\", \"claude\"]".to_owned(),
                ])
                .collect();
            let at = wanted.find("FIELDS").unwrap_or(0);
            let indent = &wanted[wanted[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
            let wanted = wanted
                .replace("KEY", client.key)
                .replace("FIELDS", &fields.join(&format!(",\n{indent}")))
                .replace("INLINE", &fields.join(", "))
                .replace("TIGHT", &fields.join(",").replace(": ", ":").replace(", ", ","));
            assert_eq!(with, wanted, "{} {text}", client.name);
            if !text.starts_with("//") {
                let same = without == text || without.replace([' ', '\n'], "") == text.replace([' ', '\n'], "");
                assert!(same, "{}\n{text}\n{without}", client.name);
            }
        }
    }
}

#[test]
fn uninstalling_leaves_other_servers() {
    for (text, wanted) in [
        (
            "{\"mcpServers\": {\"a\": {}, \"emend\": {\"command\": \"x\"}, \"b\": {}}}",
            "{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
        ),
        ("{\"mcpServers\": {\"emend\": {\"command\": \"x\"}, \"b\": {}}}", "{\"mcpServers\": {\"b\": {}}}"),
        ("{\"mcpServers\": {\"a\": {}, \"emend\": {\"command\": \"x\"}}}", "{\"mcpServers\": {\"a\": {}}}"),
        (
            "{\n  \"mcpServers\": {\n    // ours\n    \"emend\": {\n      \"command\": \"x\"\n    }, // gone\n    \"b\": {}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // ours\n    \"b\": {}\n  }\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    // note\n    \"emend\": {\"command\": \"x\"}\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // note\n  }\n}\n",
        ),
        ("{\n  \"mcpServers\": {\n    \"emend\": {\"command\": \"x\"}\n  },\n  \"b\": 1\n}\n", "{\n  \"b\": 1\n}\n"),
    ] {
        assert_eq!(of("cursor").uninstall(text, "f").unwrap(), wanted, "{text}");
    }
}

#[test]
fn entry_keeps_fields_of_its_owner() {
    let text = "{\n  \"mcpServers\": {\n    \"emend\": {\n      \"command\": \"/old/emend\", // old\n      \"args\": [\"mcp\"],\n      \"env\": {\"A\": \"1\"},\n      \"timeout\": 5\n    }\n  }\n}\n";
    let with = of("cursor").install(text, &entry(), "f").unwrap();
    assert_eq!(
        with,
        text.replace("/old/emend", "/opt/emend").replace("[\"mcp\"]", "[\"mcp\", \"--profile\", \"claude\"]")
    );
    let marked = ServerEntry { env: vec![(REPLACES_VARIABLE.into(), "Edit,Write".into())], ..entry() };
    let with = of("cursor").install(text, &marked, "f").unwrap();
    assert!(with.contains("\"env\": {\"A\": \"1\", \"EMEND_REPLACES\": \"Edit,Write\"}"), "{with}");
    assert_eq!(of("cursor").entry(&with, "f").unwrap().unwrap().replaced_tools().unwrap(), ["Edit", "Write"]);
    assert_eq!(of("cursor").install(&with, &entry(), "f").unwrap(), with, "installing again changes nothing");

    let text = "# mine\n[mcp_servers.emend]\ncommand = \"/old\" # old\nargs = []\nenv = { A = \"1\" }\nenabled = true\n\n# next\n[tui]\n";
    let with = of("codex").install(text, &entry(), "f").unwrap();
    assert_eq!(with, text.replace("/old", "/opt/emend").replace("[]", "[\"mcp\", \"--profile\", \"claude\"]"));
    let with = of("codex").install(text, &marked, "f").unwrap();
    assert!(with.contains("A = \"1\"") && with.contains("EMEND_REPLACES"), "{with}");
}

#[test]
fn toml_preserves_surrounding_text() {
    for (text, appended) in [
        ("# c\nmodel = \"x\"  # y\n", "\n"),
        ("model = 'x'", "\n\n"),
        ("[mcp_servers.a]\ncommand = \"a\"\n\n", ""),
        ("[mcp_servers]\n[mcp_servers.a]\ncommand = \"a\"\n", "\n"),
    ] {
        let (with, without) = round(of("codex"), text);
        assert!(with.starts_with(&format!("{text}{appended}[mcp_servers.emend]\n")), "{with}");
        assert_eq!(without.trim_end(), text.trim_end());
    }
    let inline = "mcp_servers = { a = { command = \"a\" } } # all\n";
    let (with, without) = round(of("codex"), inline);
    assert!(
        with.starts_with("mcp_servers = { a = { command = \"a\" } , emend = { command") && with.ends_with("} # all\n"),
        "{with}"
    );
    assert_eq!(without.replace(' ', ""), inline.replace(' ', ""));
    let between = "[a]\nx = \"\"\"\n[mcp_servers.emend]\n\"\"\"\n[mcp_servers.emend]\ncommand = \"x\"\n[mcp_servers.emend.env]\nA = \"1\"\n\n# of b\n[b]\n";
    assert_eq!(
        of("codex").uninstall(between, "f").unwrap().replace('\n', ""),
        "[a]x = \"\"\"[mcp_servers.emend]\"\"\"# of b[b]"
    );
}

#[test]
fn invalid_files_are_refused_with_the_position() {
    for (name, text, place) in [
        ("cursor", "{\n  \"a\": 1,,\n}", "f:2:10: "),
        ("cursor", "{\n  \"a\": [1\n", "f:"),
        ("cursor", "[1]", "f:1:1: the file is not a JSON object"),
        ("cursor", "{\n \"mcpServers\": 3 }", "f:2:16: `mcpServers` is not an object"),
        ("cursor", "{\"mcpServers\": {\"emend\": []}}", "f:1:26: `mcpServers.emend` is not an object"),
        ("cursor", "{\"mcpServers\": {},\n \"mcpServers\": {}}", "f:2:2: `mcpServers` occurs here for the second time"),
        ("cursor", "{'a': 1}", "f:1:2: "),
        ("cursor", "{} {}", "f:1:4: "),
        ("codex", "a = 1\nb = = 2\n", "f:2:5: "),
        ("codex", "mcp_servers = 3\n", "`mcp_servers` is not a table"),
        ("codex", "[a]\n[a]\n", "f:2:2: "),
    ] {
        let error = of(name).install(text, &entry(), "f").unwrap_err();
        assert!(error.message().contains(place), "{text}: {error}");
        if !place.contains('`') {
            assert!(of(name).uninstall(text, "f").is_err() && of(name).entry(text, "f").is_err(), "{text}");
        }
    }
    for (name, text) in [("cursor", "{\"mcpServers\": {\"emend\": \"x\"}}"), ("codex", "[mcp_servers]\nemend = 'x'\n")]
    {
        let error = of(name).entry(text, "f").unwrap_err();
        assert!(error.message().contains("emend` is not a"), "{text}: {error}");
    }
    let deep = format!("{{\"a\": {}", "[".repeat(200_000));
    assert!(of("cursor").entry(&deep, "f").is_err());
}

#[test]
fn denials_are_added_once_and_removed() {
    let text =
        "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(.env)\", // secret\n      \"Write\"\n    ]\n  }\n}\n";
    let (with, fresh) = CLAUDE_CODE.deny(text, "f").unwrap();
    assert_eq!(fresh, ["Edit", "NotebookEdit"], "Write was denied before");
    assert!(with.contains("      \"Write\",\n      \"Edit\",\n      \"NotebookEdit\"\n    ]"), "{with}");
    assert_eq!(CLAUDE_CODE.deny(&with, "f").unwrap(), (with.clone(), vec![]));
    assert_eq!(CLAUDE_CODE.allow(&with, &fresh, "f").unwrap(), text);
    let (with, fresh) = CLAUDE_CODE.deny("", "f").unwrap();
    assert_eq!(with, "{\n  \"permissions\": {\n    \"deny\": [\"Edit\", \"Write\", \"NotebookEdit\"]\n  }\n}\n");
    assert_eq!(CLAUDE_CODE.allow(&with, &fresh, "f").unwrap(), "{}\n");
    assert!(
        CLAUDE_CODE.deny("{\"permissions\": {\"deny\": \"x\"}}", "f").unwrap_err().message().contains("is not a list")
    );
}

#[test]
fn hooks_are_added_once_and_removed() {
    let own = "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      { \"matcher\": \"Read\", \"hooks\": [] } // mine\n    ]\n  }\n}\n";
    let earlier = own.replace("[] }", "[{ \"command\": \"/opt/emend hook post-tool-use --as default\" }] }");
    for text in ["{}\n", own] {
        let with = CLAUDE_CODE.hook(text, "/opt/emend", " --root /p", "f").unwrap();
        for words in ["session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use"] {
            assert!(with.contains(&format!("/opt/emend --quiet hook {words} --root /p")), "{with}");
        }
        assert_eq!(CLAUDE_CODE.hook(&with, "/opt/emend", " --root /p", "f").unwrap(), with);
        let again = CLAUDE_CODE.hook(&with, "/usr/emend", "", "f").unwrap();
        assert_eq!(again.matches("--quiet hook").count(), 4, "{again}");
        assert_eq!(CLAUDE_CODE.unhook(&again, None, "f").unwrap(), text);
    }
    assert_eq!(CLAUDE_CODE.unhook(own, None, "f").unwrap(), own);
    assert!(!CLAUDE_CODE.unhook(&earlier, None, "f").unwrap().contains("emend"));
}

#[test]
fn drop_ins_start_the_program_of_the_installation() {
    for client in CLIENTS {
        let Some(drop_in) = client.drop_in else { continue };
        let text = drop_in.starting("/opt/my \"emend\"");
        if drop_in.user.ends_with("toml") {
            assert_eq!(text, drop_in.text, "it starts nothing");
            continue;
        }
        assert!(text.contains("const EMEND = \"/opt/my \\\"emend\\\"\";"), "{}: {text}", client.name);
    }
}

#[test]
fn hooks_have_the_form_of_their_client() {
    for (hooks, wanted) in [
        (
            CURSOR,
            "{\"command\": \"/e --quiet hook pre-tool-use --client cursor\", \"matcher\": \"Write|Delete|Shell\"}",
        ),
        (VSCODE, "{\"type\": \"command\", \"command\": \"/e --quiet hook pre-tool-use --client vscode\"}"),
        (WINDSURF, "{\"command\": \"/e --quiet hook pre-tool-use --client windsurf\"}"),
    ] {
        let with = hooks.hook("{}", "/e", "", "f").unwrap();
        let wanted: serde_json::Value = serde_json::from_str(wanted).unwrap();
        let read: serde_json::Value = serde_json::from_str(&with).unwrap();
        let all = read["hooks"].as_object().unwrap().values().flat_map(|list| list.as_array().unwrap());
        assert!(all.into_iter().any(|entry| *entry == wanted), "{with}");
        assert_eq!(read["version"].as_u64(), hooks.version, "{with}");
        assert_eq!(hooks.hook(&with, "/e", "", "f").unwrap(), with);
        assert_eq!(hooks.installed(&with, "f").unwrap(), ["/e"]);
        assert_eq!(hooks.unhook(&with, None, "f").unwrap(), "{}");
    }
    let own = "{\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"./audit.sh\" }]\n  },\n  \"version\": 1\n}\n";
    let with = CURSOR.hook(own, "/e", "", "f").unwrap();
    assert_eq!(CURSOR.unhook(&with, None, "f").unwrap(), own);
    assert_eq!(CURSOR.unhook("{\"version\": 1}", None, "f").unwrap(), "{\"version\": 1}");
}

#[test]
fn file_of_a_newer_version_is_refused() {
    let gemini = of("gemini-cli");
    for text in ["{\"$version\": 2}", "{\"version\": 1}", "{\"version\": \"2.x\"}", "", "{}"] {
        gemini.check_version(text, "f", ConfigFormat::Json).unwrap();
    }
    for text in ["{\"$version\": 3}", "{\"version\": 2}"] {
        let error = gemini.check_version(text, "f", ConfigFormat::Json).unwrap_err();
        assert!(error.message().contains("newer than this emend knows"), "{error}");
    }
    assert!(of("codex").check_version("version = 9\n", "f", ConfigFormat::Toml).is_err());
}

/// Generates JSON with comments and any layout; `KEY` is the key of servers.
fn texts() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\n\t".to_owned()),
        Just("\n  ".to_owned()),
        Just(" // x, {\n".to_owned()),
        Just("/* y ] */".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("\"a // b\\\"\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned())
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let blank = blank.clone();
        let part = (blank.clone(), inner, blank.clone()).prop_map(|(a, b, c)| format!("{a}{b}{c}"));
        (prop::collection::vec(part, 0..4), any::<bool>(), any::<bool>(), blank).prop_map(
            |(parts, object, trails, end)| {
                let key = |(nth, part): (usize, &String)| {
                    let name = if nth == 1 { "mcpServers".to_owned() } else { format!("k{nth}") };
                    if object { format!("\"{name}\":{part}") } else { part.clone() }
                };
                let inner: Vec<String> = parts.iter().enumerate().map(key).collect();
                let comma = if trails && !inner.is_empty() { "," } else { "" };
                let (open, close) = if object { ('{', '}') } else { ('[', ']') };
                format!("{open}{}{comma}{end}{close}", inner.join(","))
            },
        )
    })
}

/// True if `part` is a subsequence of `whole`.
pub(crate) fn within(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|it| it == wanted))
}

proptest! {
    #[test]
    fn any_file_keeps_its_bytes(text in texts()) {
        let cursor = of("cursor");
        if let Ok(with) = cursor.install(&text, &entry(), "f") {
            prop_assert!(within(&text, &with), "{text}\n{with}");
            let without = cursor.uninstall(&with, "f").unwrap();
            prop_assert!(within(&without, &with), "{with}\n{without}");
            prop_assert_eq!(cursor.entry(&without, "f").unwrap(), None);
        }
    }

    #[test]
    fn lists_keep_their_bytes(text in texts()) {
        if let Ok((with, fresh)) = CLAUDE_CODE.deny(&text, "f") {
            prop_assert!(within(&text, &with), "{text}\n{with}");
            let without = CLAUDE_CODE.allow(&with, &fresh, "f").unwrap();
            prop_assert!(within(&without, &with));
        }
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}\",:/* \\n\\tae1#=.'mcpServers]{0,60}") {
        for client in [of("cursor"), of("codex")] {
            let _ = client.install(&text, &entry(), "f").and_then(|it| client.uninstall(&it, "f"));
        }
    }
}
