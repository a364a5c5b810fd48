//! The table of clients.

use crate::hooks::{self, ClientSettings, HookScripts};
use std::path::{Path, PathBuf};

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON; comments and trailing commas are accepted and kept.
    Json,
    /// TOML.
    Toml,
}

/// Sessions that a file applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// All sessions of a user.
    User,
    /// Sessions in one project; the file is in its directory.
    Project,
}

/// Mechanism by which a server learns the directory it should work in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootDiscovery {
    /// The server is started in the directory.
    WorkingDirectory,
    /// The client replaces this variable in an argument with the directory.
    Variable(&'static str),
    /// The server does not learn it: the directory must be given.
    Named,
}

/// The form of a server's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryShape {
    /// `command`, `args` and `env`.
    Standard,
    /// `command` with the arguments in one list, and `environment`.
    OneList,
}

/// The part of its environment that a client passes to the servers that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedEnvironment {
    /// All of it.
    Whole,
    /// The variables that the protocol's libraries name: home, user, shell, terminal and search path.
    Named,
}

/// A file of ours that a client loads, and whose tools replace the client's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropIn {
    /// The file, with `{home}`, `{config}` or `{xdg}` at its start.
    pub user: &'static str,
    /// The text of the file, which starts the program `emend` of the search path, if any.
    pub text: &'static str,
    /// The tools of the client that the file replaces.
    pub replaces: &'static [&'static str],
    /// The purpose of the file, for people.
    pub meaning: &'static str,
}

impl DropIn {
    /// Returns the text of the file that starts this program.
    pub fn starting(&self, program: &str) -> String {
        self.text.replacen(DROP_IN_PROGRAM, &format!("= {};", serde_json::Value::from(program)), 1)
    }
}

/// The place in a drop-in that names the program.
const DROP_IN_PROGRAM: &str = "= \"emend\";";

/// An MCP client and its files.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Name on the command line.
    pub name: &'static str,
    /// Product name.
    pub title: &'static str,
    /// The user's file, with `{home}`, `{config}` or `{xdg}` at its start.
    pub user: &'static str,
    /// A variable that moves the user's file to another directory, and the file's name there.
    pub user_override: Option<(&'static str, &'static str)>,
    /// Path that exists if the client was started once.
    pub installed_marker: &'static str,
    /// The client's program on the search path, if it has one.
    pub program: Option<&'static str>,
    /// The project's file, relative to its directory.
    pub project: Option<&'static str>,
    /// Syntax of the files.
    pub format: ConfigFormat,
    /// The field or table that contains the servers.
    pub key: &'static str,
    /// Form of the entries.
    pub shape: EntryShape,
    /// Fields that every entry has with the same value; `true` is a boolean.
    pub fixed_fields: &'static [(&'static str, &'static str)],
    /// Mechanism by which the server learns its directory.
    pub roots: RootDiscovery,
    /// The settings with hooks and denied tools.
    pub settings: Option<ClientSettings>,
    /// Scripts of ours that it runs at its events.
    pub scripts: Option<HookScripts>,
    /// A file of ours that replaces its tools.
    pub drop_in: Option<DropIn>,
    /// The profile with the tool names that its models know.
    pub profile: Option<&'static str>,
    /// The part of its environment that its servers see.
    pub environment: PassedEnvironment,
    /// The steps of a person after the installation, in the client's own terms.
    pub steps: &'static [&'static str],
}

const STDIO: &[(&str, &str)] = &[("type", "stdio")];
const WORKSPACE: RootDiscovery = RootDiscovery::Variable("${workspaceFolder}");

/// Values that most clients have in common.
const USUAL: Client = Client {
    name: "",
    title: "",
    user: "",
    user_override: None,
    installed_marker: "",
    program: None,
    project: None,
    format: ConfigFormat::Json,
    key: "mcpServers",
    shape: EntryShape::Standard,
    fixed_fields: &[],
    roots: RootDiscovery::WorkingDirectory,
    settings: None,
    scripts: None,
    drop_in: None,
    profile: None,
    environment: PassedEnvironment::Whole,
    steps: &[],
};

/// All supported clients.
pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        user: "{home}/.claude.json",
        user_override: Some(("CLAUDE_CONFIG_DIR", ".claude.json")),
        installed_marker: "{home}/.claude",
        program: Some("claude"),
        project: Some(".mcp.json"),
        // Otherwise the model has to search for the tools before it sees them.
        fixed_fields: &[("type", "stdio"), ("alwaysLoad", "true")],
        settings: Some(hooks::CLAUDE_CODE),
        profile: Some("claude"),
        steps: &[
            "Restart Claude Code (/exit, then claude); /mcp lists emend as connected, and /hooks lists the hooks.",
            "In a directory that is new to Claude Code, accept its question whether you trust the files: hooks do not run before.",
            "Claude Code asks when a tool of emend is used for the first time; \"don't ask again\" settles it.",
        ],
        ..USUAL
    },
    Client {
        name: "codex",
        title: "Codex",
        user: "{home}/.codex/config.toml",
        user_override: Some(("CODEX_HOME", "config.toml")),
        installed_marker: "{home}/.codex",
        program: Some("codex"),
        project: Some(".codex/config.toml"),
        format: ConfigFormat::Toml,
        key: "mcp_servers",
        settings: Some(hooks::CODEX),
        profile: Some("codex"),
        environment: PassedEnvironment::Named,
        steps: &[
            "Start a new session of Codex; /mcp lists emend and its tools.",
            "Run /hooks and trust the hooks of emend: Codex runs none that you have not reviewed.",
        ],
        ..USUAL
    },
    Client {
        name: "cursor",
        title: "Cursor",
        user: "{home}/.cursor/mcp.json",
        installed_marker: "{home}/.cursor",
        program: Some("cursor"),
        project: Some(".cursor/mcp.json"),
        roots: WORKSPACE,
        settings: Some(hooks::CURSOR),
        steps: &[
            "In Cursor Settings, Tools & MCP, switch emend on; its dot turns green.",
            "In Customize, Hooks, the hooks of emend are listed; restart Cursor if they are not.",
        ],
        ..USUAL
    },
    Client {
        name: "vscode",
        title: "VS Code",
        user: "{config}/Code/User/mcp.json",
        installed_marker: "{config}/Code/User",
        program: Some("code"),
        project: Some(".vscode/mcp.json"),
        key: "servers",
        fixed_fields: STDIO,
        roots: WORKSPACE,
        settings: Some(hooks::VSCODE),
        steps: &[
            "Run the command \"MCP: List Servers\", choose emend and Start Server, and confirm that you trust it.",
            "In the chat's tool picker (Configure Tools), leave emend checked; unchecking editFiles leaves the edits to it.",
            "Run the command \"Chat: Configure Hooks\" to see the hooks (a preview in VS Code; an organization can switch them off).",
        ],
        ..USUAL
    },
    Client {
        name: "zed",
        title: "Zed",
        user: "{xdg}/zed/settings.json",
        installed_marker: "{xdg}/zed",
        program: Some("zed"),
        project: Some(".zed/settings.json"),
        key: "context_servers",
        fixed_fields: &[("source", "custom")],
        steps: &[
            "Zed reads its settings at once; in the Agent Panel's settings, the dot beside emend turns green.",
            "In a project that Zed opened in restricted mode, trust the worktree first: it starts no servers before.",
        ],
        ..USUAL
    },
    Client {
        name: "cline",
        title: "Cline",
        user: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        installed_marker: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev",
        roots: RootDiscovery::Named,
        profile: Some("cline"),
        environment: PassedEnvironment::Named,
        scripts: Some(hooks::CLINE),
        steps: &[
            "In Cline, open MCP Servers, Configure, and restart emend if its dot is not green.",
            "In Cline's settings, Features, check Enable Hooks; the Hooks tab lists those of emend.",
        ],
        ..USUAL
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        user: "{config}/Claude/claude_desktop_config.json",
        installed_marker: "{config}/Claude",
        roots: RootDiscovery::Named,
        environment: PassedEnvironment::Named,
        steps: &[
            "Quit Claude Desktop (closing its window does not end it) and start it again; Settings, Developer lists emend as running.",
        ],
        ..USUAL
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        user: "{home}/.gemini/settings.json",
        installed_marker: "{home}/.gemini",
        program: Some("gemini"),
        project: Some(".gemini/settings.json"),
        settings: Some(hooks::GEMINI_CLI),
        drop_in: Some(DropIn {
            user: "{home}/.gemini/policies/emend-tools.toml",
            text: include_str!("dropins/gemini.toml"),
            replaces: &["replace", "write_file"],
            meaning: "takes replace and write_file out of the tools that the model is offered",
        }),
        steps: &[
            "Start a new session of Gemini CLI; /mcp list shows emend, and /hooks panel the hooks.",
            "Trust the folder when it asks, or with /permissions: in an untrusted one it starts no servers.",
        ],
        ..USUAL
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        user: "{home}/.codeium/windsurf/mcp_config.json",
        installed_marker: "{home}/.codeium/windsurf",
        program: Some("windsurf"),
        roots: RootDiscovery::Named,
        environment: PassedEnvironment::Named,
        settings: Some(hooks::WINDSURF),
        steps: &[
            "In Windsurf Settings, Cascade, MCP Servers, press Refresh; emend is listed with its tools.",
            "If `emend history` does not list Windsurf's own edits, restart Windsurf: its hooks were not read yet.",
        ],
        ..USUAL
    },
    Client {
        name: "opencode",
        title: "opencode",
        user: "{xdg}/opencode/opencode.json",
        installed_marker: "{xdg}/opencode",
        program: Some("opencode"),
        project: Some("opencode.json"),
        key: "mcp",
        shape: EntryShape::OneList,
        fixed_fields: &[("type", "local")],
        drop_in: Some(DropIn {
            user: "{xdg}/opencode/plugins/emend.js",
            text: include_str!("dropins/opencode.js"),
            replaces: &["edit", "write"],
            meaning: "lets emend answer the tools edit and write, and reports what read and bash do",
        }),
        steps: &["Restart opencode; /status lists emend as connected."],
        ..USUAL
    },
    Client {
        name: "pi",
        title: "pi",
        user: "{home}/.pi/agent/mcp.json",
        user_override: Some(("PI_CODING_AGENT_DIR", "mcp.json")),
        installed_marker: "{home}/.pi/agent",
        program: Some("pi"),
        project: Some(".pi/mcp.json"),
        drop_in: Some(DropIn {
            user: "{home}/.pi/agent/extensions/emend.ts",
            text: include_str!("dropins/pi.ts"),
            replaces: &["edit", "write"],
            meaning: "lets emend answer the tools edit and write, and reports what read and bash do",
        }),
        steps: &["Run /reload in pi, or start a new session; `pi mcp list` shows emend as connected."],
        ..USUAL
    },
    Client {
        name: "junie",
        title: "Junie (JetBrains)",
        user: "{home}/.junie/mcp/mcp.json",
        installed_marker: "{home}/.junie",
        program: Some("junie"),
        project: Some(".junie/mcp/mcp.json"),
        roots: RootDiscovery::Named,
        environment: PassedEnvironment::Named,
        steps: &[
            "In the IDE, open Settings, Tools, Junie, MCP Settings: emend is listed as active. Restart the IDE if it is not.",
        ],
        ..USUAL
    },
];

/// Returns the client of that name.
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// The directories that contain clients' files.
#[derive(Clone, Debug)]
pub struct ConfigDirs {
    /// The user's home directory.
    pub home: PathBuf,
    /// Configuration directory of graphical programs: `~/.config`, on macOS `~/Library/Application Support`.
    pub config: PathBuf,
    /// Configuration directory of other programs: `~/.config`.
    pub xdg: PathBuf,
    /// The user's directory of documents: `~/Documents`, or as the desktop names it.
    pub documents: PathBuf,
}

impl ConfigDirs {
    /// Expands a path of the table.
    fn path(&self, spot: &str) -> PathBuf {
        let starts = [
            ("{home}/", &self.home),
            ("{config}/", &self.config),
            ("{xdg}/", &self.xdg),
            ("{documents}/", &self.documents),
        ];
        let found = starts.iter().find_map(|(start, folder)| Some(folder.join(spot.strip_prefix(start)?)));
        found.unwrap_or_else(|| PathBuf::from(spot))
    }
}

impl Client {
    /// Returns the client's file. `variable` reads the environment. `None` if it has no file of that scope.
    pub fn file(
        &self,
        scope: InstallScope,
        places: &ConfigDirs,
        project: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        match scope {
            InstallScope::Project => self.project.map(|file| project.join(file)),
            InstallScope::User => {
                let moved = self.user_override.and_then(|(name, file)| Some(variable(name)?.join(file)));
                Some(moved.unwrap_or_else(|| places.path(self.user)))
            }
        }
    }

    /// Returns the file of settings with hooks and denied tools.
    pub fn settings(
        &self,
        scope: InstallScope,
        places: &ConfigDirs,
        project: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let settings = self.settings?;
        Some(match scope {
            InstallScope::Project => project.join(settings.project),
            InstallScope::User => self.moved(settings.user, places, variable),
        })
    }

    /// Returns the scripts of ours: the file of each, and our name of its event.
    pub fn scripts(&self, places: &ConfigDirs) -> Vec<(PathBuf, &'static str)> {
        let scripts = self.scripts.into_iter();
        scripts
            .flat_map(|scripts| {
                let directory = places.path(scripts.user);
                scripts.hooks.iter().map(move |(event, moment)| (directory.join(event), *moment))
            })
            .collect()
    }

    /// Returns the file of ours that replaces tools.
    pub fn drop_in(&self, places: &ConfigDirs, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        Some(self.moved(self.drop_in?.user, places, variable))
    }

    /// Returns a file below the directory of the client, which a variable may have moved.
    fn moved(&self, file: &str, places: &ConfigDirs, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let moved = self.user_override.and_then(|(name, _)| variable(name));
        let below = file.strip_prefix(self.installed_marker).map(|below| below.trim_start_matches('/'));
        match (moved, below) {
            (Some(directory), Some(below)) => directory.join(below),
            _ => places.path(file),
        }
    }

    /// Returns the path that exists if the client is installed.
    pub fn installed_marker(&self, places: &ConfigDirs, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        self.user_override.and_then(|(name, _)| variable(name)).unwrap_or_else(|| places.path(self.installed_marker))
    }
}
