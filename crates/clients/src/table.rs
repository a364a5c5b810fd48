//! The table of clients.

use std::path::{Path, PathBuf};

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are accepted and kept.
    Json,
    /// TOML.
    Toml,
}

/// Sessions that a file applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All sessions of a user.
    User,
    /// Sessions in one project; the file is in its directory.
    Project,
}

/// Mechanism by which a server learns the directory it should work in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// It is started there.
    Here,
    /// The client replaces this variable in an argument with the directory.
    Variable(&'static str),
    /// Not at all: the directory must be given.
    Named,
}

/// An MCP client and its files.
#[derive(Debug)]
pub struct Client {
    /// Name on the command line.
    pub name: &'static str,
    /// Product name.
    pub title: &'static str,
    /// The user's file, with `{home}`, `{config}` or `{xdg}` at its start.
    pub user: &'static str,
    /// A variable that moves the user's file to another directory, and the file's name there.
    pub moved: Option<(&'static str, &'static str)>,
    /// Path that exists if the client is installed.
    pub sign: &'static str,
    /// The project's file, relative to its directory.
    pub project: Option<&'static str>,
    /// Syntax of the files.
    pub format: Format,
    /// The field or table that contains the servers.
    pub key: &'static str,
    /// Fields that every entry has with the same value.
    pub shape: &'static [(&'static str, &'static str)],
    /// Mechanism by which the server learns its directory.
    pub roots: Roots,
    /// The settings that can deny built-in tools: the user's and the project's.
    pub settings: Option<(&'static str, &'static str)>,
}

const STDIO: &[(&str, &str)] = &[("type", "stdio")];
const WORKSPACE: Roots = Roots::Variable("${workspaceFolder}");

/// All supported clients.
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

/// The built-in tools of Claude Code that ours replace. `MultiEdit` exists in older versions.
pub const BUILTINS: &[&str] = &["Edit", "MultiEdit", "Write", "NotebookEdit"];

/// Returns the client of that name.
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

/// The directories that contain clients' files.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home directory.
    pub home: PathBuf,
    /// Configuration directory of graphical programs: `~/.config`, on macOS `~/Library/Application Support`.
    pub config: PathBuf,
    /// Configuration directory of other programs: `~/.config`.
    pub xdg: PathBuf,
}

impl Places {
    /// Expands a path of the table.
    fn path(&self, spot: &str) -> PathBuf {
        let starts = [("{home}/", &self.home), ("{config}/", &self.config), ("{xdg}/", &self.xdg)];
        let found = starts.iter().find_map(|(start, folder)| Some(folder.join(spot.strip_prefix(start)?)));
        found.unwrap_or_else(|| PathBuf::from(spot))
    }
}

impl Client {
    /// Returns the client's file. `variable` reads the environment. `None` if it has no file of that scope.
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

    /// Returns the file of settings that can deny built-in tools.
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

    /// Returns the path that exists if the client is installed.
    pub fn sign(&self, places: &Places, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        self.moved.and_then(|(name, _)| variable(name)).unwrap_or_else(|| places.path(self.sign))
    }
}
