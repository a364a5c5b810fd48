//! The table of clients.

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
    /// It is started there.
    WorkingDirectory,
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
    pub user_override: Option<(&'static str, &'static str)>,
    /// Path that exists if the client was started once.
    pub installed_marker: &'static str,
    /// Its program on the search path, if it has one.
    pub program: Option<&'static str>,
    /// The project's file, relative to its directory.
    pub project: Option<&'static str>,
    /// Syntax of the files.
    pub format: ConfigFormat,
    /// The field or table that contains the servers.
    pub key: &'static str,
    /// Fields that every entry has with the same value.
    pub fixed_fields: &'static [(&'static str, &'static str)],
    /// Mechanism by which the server learns its directory.
    pub roots: RootDiscovery,
    /// The settings that can deny built-in tools: the user's and the project's.
    pub settings: Option<(&'static str, &'static str)>,
}

const STDIO: &[(&str, &str)] = &[("type", "stdio")];
const WORKSPACE: RootDiscovery = RootDiscovery::Variable("${workspaceFolder}");

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
        format: ConfigFormat::Json,
        key: "mcpServers",
        fixed_fields: STDIO,
        roots: RootDiscovery::WorkingDirectory,
        settings: Some(("{home}/.claude/settings.json", ".claude/settings.json")),
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
        fixed_fields: &[],
        roots: RootDiscovery::WorkingDirectory,
        settings: None,
    },
    Client {
        name: "cursor",
        title: "Cursor",
        user: "{home}/.cursor/mcp.json",
        user_override: None,
        installed_marker: "{home}/.cursor",
        program: Some("cursor"),
        project: Some(".cursor/mcp.json"),
        format: ConfigFormat::Json,
        key: "mcpServers",
        fixed_fields: &[],
        roots: WORKSPACE,
        settings: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        user: "{config}/Code/User/mcp.json",
        user_override: None,
        installed_marker: "{config}/Code/User",
        program: Some("code"),
        project: Some(".vscode/mcp.json"),
        format: ConfigFormat::Json,
        key: "servers",
        fixed_fields: STDIO,
        roots: WORKSPACE,
        settings: None,
    },
    Client {
        name: "zed",
        title: "Zed",
        user: "{xdg}/zed/settings.json",
        user_override: None,
        installed_marker: "{xdg}/zed",
        program: Some("zed"),
        project: Some(".zed/settings.json"),
        format: ConfigFormat::Json,
        key: "context_servers",
        fixed_fields: &[("source", "custom")],
        roots: RootDiscovery::WorkingDirectory,
        settings: None,
    },
    Client {
        name: "cline",
        title: "Cline",
        user: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        user_override: None,
        installed_marker: "{config}/Code/User/globalStorage/saoudrizwan.claude-dev",
        program: None,
        project: None,
        format: ConfigFormat::Json,
        key: "mcpServers",
        fixed_fields: &[],
        roots: RootDiscovery::Named,
        settings: None,
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        user: "{config}/Claude/claude_desktop_config.json",
        user_override: None,
        installed_marker: "{config}/Claude",
        program: None,
        project: None,
        format: ConfigFormat::Json,
        key: "mcpServers",
        fixed_fields: &[],
        roots: RootDiscovery::Named,
        settings: None,
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        user: "{home}/.gemini/settings.json",
        user_override: None,
        installed_marker: "{home}/.gemini",
        program: Some("gemini"),
        project: Some(".gemini/settings.json"),
        format: ConfigFormat::Json,
        key: "mcpServers",
        fixed_fields: &[],
        roots: RootDiscovery::WorkingDirectory,
        settings: None,
    },
];

/// The built-in tools of Claude Code that ours replace. Its Read stays, because a denial of reads covers its searches,
/// too; a hook reports what it read.
pub const BUILTINS: &[&str] = &["Edit", "Write", "NotebookEdit"];

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
}

impl ConfigDirs {
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

    /// Returns the file of settings that can deny built-in tools.
    pub fn settings(
        &self,
        scope: InstallScope,
        places: &ConfigDirs,
        project: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let (user, below) = self.settings?;
        Some(match scope {
            InstallScope::Project => project.join(below),
            InstallScope::User => {
                let moved = self.user_override.and_then(|(name, _)| variable(name));
                moved.map_or_else(|| places.path(user), |folder| folder.join("settings.json"))
            }
        })
    }

    /// Returns the path that exists if the client is installed.
    pub fn installed_marker(&self, places: &ConfigDirs, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        self.user_override.and_then(|(name, _)| variable(name)).unwrap_or_else(|| places.path(self.installed_marker))
    }
}
