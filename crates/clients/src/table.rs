//! The clients, one row each.

use std::path::{Path, PathBuf};

/// A file's syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are taken and kept.
    Json,
    /// TOML.
    Toml,
}

/// Whose sessions a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of a user's.
    User,
    /// Those in one project; the file is in its folder.
    Project,
}

/// How a server that a client started gets to know the folder it works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// It is started there.
    Here,
    /// The client puts the folder in place of this in an argument.
    Variable(&'static str),
    /// Not at all: the folder must be named.
    Named,
}

/// An MCP client and its files.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub name: &'static str,
    /// Its own name.
    pub title: &'static str,
    /// The user's file, with `{home}`, `{config}` or `{xdg}` at its start.
    pub user: &'static str,
    /// A variable that moves the user's file, and the file's name in the folder that it names.
    pub moved: Option<(&'static str, &'static str)>,
    /// What is there where the client is installed.
    pub sign: &'static str,
    /// The project's file, below its folder.
    pub project: Option<&'static str>,
    /// What the files are written in.
    pub format: Format,
    /// The field or table that holds the servers.
    pub key: &'static str,
    /// Fields of an entry that always say the same.
    pub shape: &'static [(&'static str, &'static str)],
    /// How the server learns its folder.
    pub roots: Roots,
    /// The settings that can deny built-in tools: the user's and the project's.
    pub settings: Option<(&'static str, &'static str)>,
}

const STDIO: &[(&str, &str)] = &[("type", "stdio")];
const WORKSPACE: Roots = Roots::Variable("${workspaceFolder}");

/// Every client that is known.
pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        user: "{home}/.claude.json",
        moved: Some(("CLAUDE_CONFIG_DIR", ".claude.json")),
        sign: "{home}/.claude",
        project: Some(".mcp.json"),
        format: Format::Json,
        key: "mcpServers",
        shape: STDIO,
        roots: Roots::Here,
        settings: Some(("{home}/.claude/settings.json", ".claude/settings.json")),
    },
    Client {
        name: "codex",
        title: "Codex",
        user: "{home}/.codex/config.toml",
        moved: Some(("CODEX_HOME", "config.toml")),
        sign: "{home}/.codex",
        project: Some(".codex/config.toml"),
        format: Format::Toml,
        key: "mcp_servers",
        shape: &[],
        roots: Roots::Here,
        settings: None,
    },
    Client {
        name: "cursor",
        title: "Cursor",
        user: "{home}/.cursor/mcp.json",
        moved: None,
        sign: "{home}/.cursor",
        project: Some(".cursor/mcp.json"),
        format: Format::Json,
        key: "mcpServers",
        shape: &[],
        roots: WORKSPACE,
        settings: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        user: "{config}/Code/User/mcp.json",
        moved: None,
        sign: "{config}/Code/User",
        project: Some(".vscode/mcp.json"),
        format: Format::Json,
        key: "servers",
        shape: STDIO,
        roots: WORKSPACE,
        settings: None,
    },
    Client {
        name: "zed",
        title: "Zed",
        user: "{xdg}/zed/settings.json",
        moved: None,
        sign: "{xdg}/zed",
        project: Some(".zed/settings.json"),
        format: Format::Json,
        key: "context_servers",
        shape: &[("source", "custom")],
        roots: Roots::Here,
        settings: None,
    },
    Client {
        name: "cline",
        title: "Cline",
        user: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        moved: None,
        sign: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev",
        project: None,
        format: Format::Json,
        key: "mcpServers",
        shape: &[],
        roots: Roots::Named,
        settings: None,
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        user: "{config}/Claude/claude_desktop_config.json",
        moved: None,
        sign: "{config}/Claude",
        project: None,
        format: Format::Json,
        key: "mcpServers",
        shape: &[],
        roots: Roots::Named,
        settings: None,
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        user: "{home}/.gemini/settings.json",
        moved: None,
        sign: "{home}/.gemini",
        project: Some(".gemini/settings.json"),
        format: Format::Json,
        key: "mcpServers",
        shape: &[],
        roots: Roots::Here,
        settings: None,
    },
];

/// The tools of Claude Code that ours stand in for. `MultiEdit` is one of older versions.
pub const BUILTINS: &[&str] = &["Edit", "MultiEdit", "Write", "NotebookEdit"];

/// The client of that name.
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// The folders that files of clients are in.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// Where programs with windows keep their settings: `~/.config`, on macOS `~/Library/Application Support`.
    pub config: PathBuf,
    /// Where the others do: `~/.config`.
    pub xdg: PathBuf,
}

impl Places {
    /// A path of the table.
    fn path(&self, spot: &str) -> PathBuf {
        let starts = [("{home}/", &self.home), ("{config}/", &self.config), ("{xdg}/", &self.xdg)];
        let found = starts.iter().find_map(|(start, folder)| Some(folder.join(spot.strip_prefix(start)?)));
        found.unwrap_or_else(|| PathBuf::from(spot))
    }
}

impl Client {
    /// Its file. `variable` gives the environment's values. `None` where it has no file of that scope.
    pub fn file(
        &self,
        scope: Scope,
        places: &Places,
        project: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        match scope {
            Scope::Project => self.project.map(|file| project.join(file)),
            Scope::User => {
                let moved = self.moved.and_then(|(name, file)| Some(variable(name)?.join(file)));
                Some(moved.unwrap_or_else(|| places.path(self.user)))
            }
        }
    }

    /// Its file of settings that can deny built-in tools.
    pub fn settings(
        &self,
        scope: Scope,
        places: &Places,
        project: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let (user, below) = self.settings?;
        Some(match scope {
            Scope::Project => project.join(below),
            Scope::User => {
                let moved = self.moved.and_then(|(name, _)| variable(name));
                moved.map_or_else(|| places.path(user), |folder| folder.join("settings.json"))
            }
        })
    }

    /// What is there where it is installed.
    pub fn sign(&self, places: &Places, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        self.moved.and_then(|(name, _)| variable(name)).unwrap_or_else(|| places.path(self.sign))
    }
}
