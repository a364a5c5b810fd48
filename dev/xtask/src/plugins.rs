//! `cargo xtask plugins`: the plugins for every client, generated from one table into `plugin/`.

use crate::repo::Repo;
use emendate_clients::{ClientSettings, client};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const NAME: &str = "emendate";
const TITLE: &str = "Emendate";
const AUTHOR: &str = "The Emendate authors";
const LICENSE: &str = "MIT OR Apache-2.0";
const SUMMARY: &str = "Exact edits for coding agents: checked, merged, all or nothing, and undoable";
const KEYWORDS: [&str; 5] = ["edit", "patch", "diff", "undo", "files"];

/// The program, as a plugin starts it: plugins do not contain it.
const PROGRAM: &str = "emend";

const MOD: &str = include_str!("../plugins/mod.js");
const SKILL: &str = include_str!("../plugins/SKILL.md");

/// A generated file: its path below `plugin/`, and its text.
struct PluginFile {
    path: &'static str,
    text: fn(&str) -> String,
}

/// Every file; the argument is the version.
const FILES: &[PluginFile] = &[
    PluginFile { path: "README.md", text: |_| readme() },
    // Claude Code: a marketplace with one plugin.
    PluginFile { path: ".claude-plugin/marketplace.json", text: |version| printed(&claude_marketplace(version)) },
    PluginFile { path: "claude-code/.claude-plugin/plugin.json", text: |version| printed(&manifest(version)) },
    PluginFile { path: "claude-code/.mcp.json", text: |_| printed(&json!({ "mcpServers": server(&[]) })) },
    PluginFile { path: "claude-code/hooks/hooks.json", text: |_| printed(&claude_hooks()) },
    PluginFile { path: "claude-code/hooks/emend.js", text: |_| MOD.to_owned() },
    PluginFile { path: "claude-code/skills/emend/SKILL.md", text: |_| SKILL.to_owned() },
    PluginFile { path: "claude-code/README.md", text: |_| CLAUDE_README.to_owned() },
    // Codex: a marketplace with one plugin.
    PluginFile { path: ".agents/plugins/marketplace.json", text: |_| printed(&codex_marketplace()) },
    PluginFile { path: "codex/.codex-plugin/plugin.json", text: |version| printed(&codex_manifest(version)) },
    PluginFile {
        path: "codex/.mcp.json",
        text: |_| printed(&json!({ "mcpServers": server(&["--profile", "codex"]) })),
    },
    PluginFile { path: "codex/hooks/hooks.json", text: |_| printed(&json!({ "hooks": hooks("codex") })) },
    PluginFile { path: "codex/skills/emend/SKILL.md", text: |_| SKILL.to_owned() },
    // Agent Plugins 1.0.
    PluginFile { path: "agent-plugin/plugin.json", text: |version| printed(&agent_manifest(version)) },
    PluginFile { path: "agent-plugin/mcp.json", text: |_| printed(&agent_servers()) },
    PluginFile { path: "agent-plugin/skills/emend/SKILL.md", text: |_| SKILL.to_owned() },
    PluginFile { path: "gemini-cli/gemini-extension.json", text: |version| printed(&gemini_extension(version)) },
    PluginFile { path: "gemini-cli/policies/emend-tools.toml", text: |_| drop_in("gemini-cli") },
    PluginFile { path: "gemini-cli/hooks/hooks.json", text: |_| printed(&json!({ "hooks": hooks("gemini-cli") })) },
    PluginFile { path: "gemini-cli/skills/emend/SKILL.md", text: |_| SKILL.to_owned() },
    PluginFile { path: "opencode/emend.js", text: |_| drop_in("opencode") },
    PluginFile { path: "opencode/package.json", text: |version| printed(&opencode_package(version)) },
    PluginFile { path: "pi/emend.ts", text: |_| drop_in("pi") },
    PluginFile { path: "pi/package.json", text: |version| printed(&pi_package(version)) },
    PluginFile { path: "server.json", text: |version| printed(&registry_entry(version)) },
    PluginFile { path: "mcpb/manifest.json", text: |version| printed(&bundle(version)) },
];

/// Name of the server in the MCP registry.
pub(crate) const REGISTRY_NAME: &str = "io.github.emendate/emendate";

/// Published files in which the registry looks for the name, as its page on package types says.
const OWNERSHIP: [(&str, &str); 3] = [
    ("README.md", "mcp-name: "),
    ("bindings/python/README.md", "mcp-name: "),
    ("bindings/node/cli/package.json", "\"mcpName\": \""),
];

/// Writes the files, or with `--check` compares them.
///
/// Errors: files that differ, or that are not in the table.
pub(crate) fn plugins(arguments: &[String]) -> Result<String, String> {
    let repo = Repo::open()?;
    let files = generated(&repo)?;
    if arguments.iter().any(|argument| argument == "--check") {
        let known = repo.below("plugin/", "").map(|file| &file.path).filter(|path| !files.contains_key(*path));
        check_ownership(&repo)?;
        let stale = files.iter().filter(|(path, text)| repo.text(path) != Some(text)).map(|(path, _)| path);
        let wrong: Vec<&String> = stale.chain(known).collect();
        return match wrong.len() {
            0 => Ok(format!("plugins: {} files are as the table says", files.len())),
            _ => Err(format!("run `cargo xtask plugins`; out of date: {wrong:?}")),
        };
    }
    let folder = repo.root.join("plugin");
    // Files that are no longer in the table.
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in &files {
        let path = repo.root.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(format!("wrote {} files below plugin/", files.len()))
}

/// Checks that every package of the registry's entry names the server, which proves to the registry that both have the
/// same owner.
///
/// Errors: the file that lacks the name.
fn check_ownership(repo: &Repo) -> Result<(), String> {
    for (path, field) in OWNERSHIP {
        let text = repo.text(path).unwrap_or_default();
        if !text.contains(&format!("{field}{REGISTRY_NAME}")) {
            return Err(format!("{path} must contain `{field}{REGISTRY_NAME}` for the MCP registry"));
        }
    }
    Ok(())
}

/// Returns every file with its path in the repository.
fn generated(repo: &Repo) -> Result<BTreeMap<String, String>, String> {
    let version = version(repo)?;
    Ok(FILES.iter().map(|file| (format!("plugin/{}", file.path), (file.text)(&version))).collect())
}

/// Returns the version of the workspace.
fn version(repo: &Repo) -> Result<String, String> {
    let manifest = repo.text("Cargo.toml").unwrap_or_default();
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    line.map(|line| line.trim_end_matches('"').to_owned()).ok_or_else(|| "Cargo.toml has no version".to_owned())
}

fn printed(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
}

/// The server, under its name.
fn server(options: &[&str]) -> Value {
    let args: Vec<&str> = ["mcp"].iter().chain(options).copied().collect();
    json!({ emendate_clients::SERVER_NAME: { "command": PROGRAM, "args": args } })
}

fn settings(name: &str) -> Option<ClientSettings> {
    client(name)?.settings
}

/// The hooks that `emend setup` writes for a client.
fn hooks(name: &str) -> Value {
    let text = settings(name).and_then(|settings| settings.hook("{}", PROGRAM, "", name).ok()).unwrap_or_default();
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    value["hooks"].take()
}

fn claude_hooks() -> Value {
    json!({
        "description": "Reads count for emend, shell commands are enclosed by snapshots, a prompt begins a turn, and emend answers Edit, Write and NotebookEdit in place",
        "hooks": hooks("claude-code"),
        "modules": ["./emend.js"],
    })
}

fn drop_in(name: &str) -> String {
    client(name).and_then(|client| client.drop_in).map_or(String::new(), |drop_in| drop_in.text.to_owned())
}

/// The fields that most manifests have.
fn manifest(version: &str) -> Value {
    json!({
        "name": NAME,
        "version": version,
        "description": SUMMARY,
        "author": { "name": AUTHOR },
        "license": LICENSE,
        "keywords": KEYWORDS,
    })
}

fn claude_marketplace(version: &str) -> Value {
    json!({
        "name": NAME,
        "owner": { "name": AUTHOR },
        "metadata": { "description": SUMMARY, "version": version },
        "plugins": [{ "name": NAME, "source": "./claude-code", "description": SUMMARY }],
    })
}

fn codex_marketplace() -> Value {
    json!({
        "name": NAME,
        "interface": { "displayName": TITLE },
        "plugins": [{
            "name": NAME,
            "source": { "source": "local", "path": "./codex" },
            "policy": { "installation": "AVAILABLE", "authentication": "ON_INSTALL" },
            "category": "Coding",
        }],
    })
}

fn codex_manifest(version: &str) -> Value {
    let mut out = manifest(version);
    out["mcpServers"] = "./.mcp.json".into();
    out["skills"] = "./skills/".into();
    out["hooks"] = "./hooks/hooks.json".into();
    out["interface"] = json!({ "displayName": TITLE, "shortDescription": SUMMARY, "category": "Coding" });
    out
}

fn agent_manifest(version: &str) -> Value {
    let mut out = json!({ "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json" });
    for (name, value) in manifest(version).as_object().into_iter().flatten() {
        out[name] = value.clone();
    }
    out
}

fn agent_servers() -> Value {
    let mut servers = server(&[]);
    servers[emendate_clients::SERVER_NAME]["type"] = "stdio".into();
    json!({ "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": servers })
}

fn gemini_extension(version: &str) -> Value {
    json!({
        "name": NAME,
        "version": version,
        "description": SUMMARY,
        "mcpServers": server(&[]),
    })
}

fn opencode_package(version: &str) -> Value {
    json!({
        "name": "@emendate/opencode",
        "version": version,
        "description": format!("{SUMMARY}; its tools edit and write are answered by emend"),
        "license": LICENSE,
        "type": "module",
        "main": "./emend.js",
        "files": ["emend.js"],
        "peerDependencies": { "@opencode-ai/plugin": "*" },
    })
}

fn pi_package(version: &str) -> Value {
    json!({
        "name": "@emendate/pi",
        "version": version,
        "description": format!("{SUMMARY}; its tools edit and write are answered by emend"),
        "license": LICENSE,
        "keywords": ["pi-package"],
        "files": ["emend.ts"],
        "pi": { "extensions": ["./emend.ts"] },
    })
}

fn registry_entry(version: &str) -> Value {
    let argument = json!([{ "type": "positional", "value": "mcp" }]);
    let package = |kind: &str, identifier: &str| {
        json!({
            "registryType": kind,
            "identifier": identifier,
            "version": version,
            "transport": { "type": "stdio" },
            "packageArguments": argument,
        })
    };
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "title": TITLE,
        "description": SUMMARY,
        "version": version,
        "packages": [package("npm", "@emendate/cli"), package("pypi", NAME), package("cargo", "emendate-cli")],
    })
}

fn bundle(version: &str) -> Value {
    let program = "${__dirname}/bin/emend";
    let root = "${user_config.root}";
    json!({
        "manifest_version": "0.3",
        "name": NAME,
        "display_name": TITLE,
        "version": version,
        "description": SUMMARY,
        "author": { "name": AUTHOR },
        "license": LICENSE,
        "keywords": KEYWORDS,
        "server": {
            "type": "binary",
            "entry_point": "bin/emend",
            "mcp_config": { "command": program, "args": ["mcp", "--root", root], "env": {} },
        },
        "tools_generated": true,
        "user_config": {
            "root": {
                "type": "directory",
                "title": "Directory",
                "description": "The directory whose files may be read and edited",
                "required": true,
            },
        },
        "compatibility": { "platforms": ["linux"] },
    })
}

const CLAUDE_README: &str = "\
# Emendate for Claude Code

This plugin lets `emend` answer Claude Code's own tools Edit, Write and NotebookEdit, in place and under their own
names. Claude Code asks for permission and runs its hooks as always; then `emend` makes the edit instead of Claude Code.
It tolerates different spacing, keeps every other byte, merges with changes by others, and every call can be undone.

The plugin also adds the MCP server `emend` (search, apply patches, undo), hooks and a skill. With the hooks, what
Claude Code reads counts as read, shell commands are enclosed by snapshots, and each prompt begins a turn.

The program `emend` must be on the search path; without it, Claude Code uses its own tools. `emend setup` does the same
without a plugin, for every client on the machine.

```sh
claude plugin marketplace add ./plugin
claude plugin install emendate@emendate
```
";

fn readme() -> String {
    let rows = [
        (
            "claude-code/",
            "Claude Code",
            "claude plugin marketplace add ./plugin && claude plugin install emendate@emendate",
        ),
        ("codex/", "Codex", "codex plugin marketplace add ./plugin && codex plugin add emendate@emendate"),
        ("agent-plugin/", "clients that support Agent Plugins 1.0", "add the folder as the client describes"),
        ("gemini-cli/", "Gemini CLI", "gemini extensions install ./plugin/gemini-cli"),
        ("opencode/", "opencode", "copy emend.js to ~/.config/opencode/plugins/"),
        ("pi/", "pi", "pi install ./plugin/pi"),
        ("server.json", "the MCP registry", "–"),
        ("mcpb/", "Claude Desktop", "cargo xtask clients mcpb packs the manifest with the program"),
    ];
    let rows: String = rows.iter().map(|(path, what, how)| format!("| `{path}` | {what} | {how} |\n")).collect();
    format!(
        "# Plugins\n\nThese files are generated by `cargo xtask plugins`. They start the `emend` that is found on the search \
         path.\n`emend setup` does the same without plugins. `cargo xtask clients` installs each plugin with the \
         client's own command\nline, and makes an edit with it.\n\n| folder | client | installation |\n|---|---|---|\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::{FILES, agent_manifest, agent_servers, bundle, gemini_extension, hooks, registry_entry, server};
    use serde_json::Value;
    use std::path::Path;

    #[test]
    fn files_are_valid_and_name_the_version() {
        for file in FILES {
            let text = (file.text)("1.2.3");
            assert!(!text.trim().is_empty(), "{}", file.path);
            if Path::new(file.path).extension().is_some_and(|it| it == "json") {
                serde_json::from_str::<Value>(&text).unwrap();
            }
            let is_manifest = ["plugin.json", "server.json", "manifest.json", "package.json", "extension.json"]
                .iter()
                .any(|end| file.path.ends_with(end));
            assert!(!is_manifest || text.contains("1.2.3"), "{}", file.path);
        }
    }

    /// Asserts that an object has these fields, and no others than these and the optional ones.
    #[track_caller]
    fn has_fields(value: &Value, required: &[&str], optional: &[&str]) {
        let fields = value.as_object().unwrap();
        for name in required {
            assert!(fields.get(*name).is_some_and(|field| *field != ""), "{name} is missing in {value:#}");
        }
        for name in fields.keys() {
            assert!(required.contains(&&**name) || optional.contains(&&**name), "the format does not know {name}");
        }
    }

    /// Asserts that a text has characters of this kind only, at most this number, and letters or digits at its ends.
    #[track_caller]
    fn is_name(value: &Value, chars_max: usize, others: &str) {
        let name = value.as_str().unwrap();
        let is_inner = |char: char| char.is_ascii_alphanumeric() || others.contains(char);
        assert!(name.len() <= chars_max && name.chars().all(is_inner), "{name}");
        assert!(name.starts_with(|char: char| char.is_ascii_alphanumeric()), "{name}");
        assert!(name.ends_with(|char: char| char.is_ascii_alphanumeric()), "{name}");
    }

    /// The rules of `server.schema.json` of 2025-12-11, and those of the registry's page on requirements.
    #[test]
    fn entry_of_the_registry_follows_its_schema() {
        let entry = registry_entry("1.2.3");
        has_fields(&entry, &["$schema", "name", "description", "version"], &["title", "packages", "repository"]);
        assert!(entry["$schema"].as_str().unwrap().ends_with("/2025-12-11/server.schema.json"));
        let (namespace, name) = entry["name"].as_str().unwrap().split_once('/').unwrap();
        is_name(&namespace.into(), 100, ".-");
        is_name(&name.into(), 100, "._-");
        for field in ["title", "description"] {
            assert!((1..=100).contains(&entry[field].as_str().unwrap().chars().count()), "{field}");
        }
        // A version, and no range of versions.
        assert!(
            entry["version"].as_str().unwrap().chars().all(|char| char.is_ascii_alphanumeric() || ".-+".contains(char))
        );
        for package in entry["packages"].as_array().unwrap() {
            has_fields(package, &["registryType", "identifier", "version", "transport"], &["packageArguments"]);
            let kinds = ["npm", "pypi", "nuget", "cargo", "oci", "mcpb", "go"];
            assert!(kinds.contains(&package["registryType"].as_str().unwrap()), "{package}");
            assert!(package["version"] == entry["version"] && package["transport"]["type"] == "stdio", "{package}");
            for argument in package["packageArguments"].as_array().unwrap() {
                has_fields(argument, &["type", "value"], &[]);
                assert_eq!(argument["type"], "positional");
            }
        }
    }

    /// The rules of Agent Plugins 1.0.0, whose objects are closed.
    #[test]
    fn agent_plugin_follows_its_specification() {
        let manifest = agent_manifest("1.2.3");
        let optional =
            ["version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"];
        has_fields(&manifest, &["$schema", "name"], &optional);
        is_name(&manifest["name"], 64, ".-");
        assert_eq!(manifest["name"].as_str().unwrap().to_lowercase(), manifest["name"].as_str().unwrap());
        has_fields(&manifest["author"], &["name"], &["email", "url"]);
        assert!(manifest["keywords"].as_array().unwrap().iter().all(Value::is_string));
        let servers = agent_servers();
        has_fields(&servers, &["$schema", "mcpServers"], &[]);
        for (name, server) in servers["mcpServers"].as_object().unwrap() {
            is_name(&name.clone().into(), 64, ".-");
            has_fields(server, &["type", "command"], &["args", "env", "cwd"]);
            // A program of the search path, or a file of the plugin.
            let command = server["command"].as_str().unwrap();
            assert!(server["type"] == "stdio" && (!command.contains('/') || command.starts_with("./")), "{server}");
            assert!(!command.contains("${"), "variables are for arguments: {server}");
        }
    }

    /// The rules of MCPB's manifest 0.3; `cargo xtask clients mcpb` asks its own program.
    #[test]
    fn bundle_follows_its_specification() {
        let manifest = bundle("1.2.3");
        let required = ["manifest_version", "name", "version", "description", "author", "server"];
        let optional = ["display_name", "license", "keywords", "tools_generated", "user_config", "compatibility"];
        has_fields(&manifest, &required, &optional);
        assert_eq!(manifest["manifest_version"], "0.3");
        has_fields(&manifest["author"], &["name"], &["email", "url"]);
        has_fields(&manifest["server"], &["type", "entry_point", "mcp_config"], &[]);
        assert_eq!(manifest["server"]["type"], "binary");
        let config = &manifest["server"]["mcp_config"];
        has_fields(config, &["command", "args", "env"], &["platform_overrides"]);
        assert_eq!(
            config["command"],
            format!("${{__dirname}}/{}", manifest["server"]["entry_point"].as_str().unwrap())
        );
        // Every variable has its question to the user.
        for argument in config["args"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let asked = argument.strip_prefix("${user_config.").map(|rest| rest.trim_end_matches('}'));
            assert!(asked.is_none_or(|name| manifest["user_config"].get(name).is_some()), "{argument}");
        }
        for question in manifest["user_config"].as_object().unwrap().values() {
            has_fields(question, &["type", "title", "description"], &["required", "multiple", "default"]);
        }
        let platforms = manifest["compatibility"]["platforms"].as_array().unwrap();
        assert!(platforms.iter().all(|it| ["linux", "darwin", "win32"].contains(&it.as_str().unwrap())));
    }

    /// The rules of Gemini CLI's extensions; `cargo xtask clients gemini-cli` asks its own program.
    #[test]
    fn extension_of_gemini_cli_follows_its_rules() {
        let extension = gemini_extension("1.2.3");
        has_fields(&extension, &["name", "version"], &["description", "mcpServers", "contextFileName", "excludeTools"]);
        is_name(&extension["name"], 64, "-");
        // `trust` is not allowed in extensions.
        has_fields(&extension["mcpServers"]["emend"], &["command", "args"], &["env", "cwd", "timeout"]);
        assert_eq!(extension["mcpServers"], server(&[]));
    }

    #[test]
    fn hooks_are_those_of_the_table_of_clients() {
        let all = hooks("claude-code");
        let command = &all["UserPromptSubmit"][0]["hooks"][0]["command"];
        assert_eq!(command, "emend --quiet hook user-prompt-submit");
        assert_eq!(hooks("gemini-cli")["AfterTool"][0]["matcher"], "read_file|replace|write_file|run_shell_command");
    }
}
