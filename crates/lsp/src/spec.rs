//! Configuration of a language server.

use crate::diagnostic::Severity;
use serde_json::Value;
use std::time::Duration;

/// A language server as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// Name in replies.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The `initializationOptions` of the server.
    pub options: Value,
    /// Settings that it may request: an object, with sections by name.
    pub settings: Value,
    /// For a server whose diagnostics name no version: those that it sends after it received the text again count if no
    /// newer ones arrive within this time. `None`: they never count.
    pub settle: Option<Duration>,
    /// Lowest severity that is reported.
    pub severity_min: Severity,
    /// The server reports when it has loaded the project (`experimental/serverStatus`); earlier answers are ignored.
    pub says_when_ready: bool,
}

/// A server with a built-in configuration.
#[derive(Debug)]
pub struct BuiltinServer {
    /// The name of the server.
    pub name: &'static str,
    /// Program and arguments.
    pub argv: &'static [&'static str],
    /// The files of the server as gitignore patterns, with the protocol's name of their language.
    pub files: &'static [(&'static str, &'static str)],
    /// Files that mark the directory of a project, the surest first.
    pub markers: &'static [&'static str],
    /// The `initializationOptions` of the server, as JSON.
    pub options: &'static str,
    /// See [`ServerSpec::says_when_ready`].
    pub says_when_ready: bool,
}

const fn builtin(
    name: &'static str,
    words: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    markers: &'static [&'static str],
) -> BuiltinServer {
    BuiltinServer { name, argv: words, files, markers, options: "null", says_when_ready: false }
}

const C: &[(&str, &str)] = &[
    ("*.c", "c"),
    ("*.h", "cpp"),
    ("*.cc", "cpp"),
    ("*.cpp", "cpp"),
    ("*.cxx", "cpp"),
    ("*.hh", "cpp"),
    ("*.hpp", "cpp"),
    ("*.m", "objective-c"),
];
const PYTHON: &[(&str, &str)] = &[("*.py", "python"), ("*.pyi", "python")];
const PYTHON_MARKERS: &[&str] = &["pyrightconfig.json", "pyproject.toml", "ruff.toml", "setup.py", "setup.cfg"];
const SCRIPTS: &[(&str, &str)] = &[
    ("*.ts", "typescript"),
    ("*.mts", "typescript"),
    ("*.cts", "typescript"),
    ("*.tsx", "typescriptreact"),
    ("*.js", "javascript"),
    ("*.mjs", "javascript"),
    ("*.cjs", "javascript"),
    ("*.jsx", "javascriptreact"),
];
const SCRIPT_MARKERS: &[&str] = &["tsconfig.json", "jsconfig.json", "package.json"];

/// All servers with a built-in configuration.
pub static BUILTIN_SERVERS: &[BuiltinServer] = &[
    builtin("basedpyright", &["basedpyright-langserver", "--stdio"], PYTHON, PYTHON_MARKERS),
    builtin("bash", &["bash-language-server", "start"], &[("*.sh", "shellscript"), ("*.bash", "shellscript")], &[]),
    builtin("clangd", &["clangd"], C, &["compile_commands.json", "compile_flags.txt", ".clangd"]),
    BuiltinServer {
        options: r#"{"pullDiagnostics": true}"#,
        ..builtin("gopls", &["gopls"], &[("*.go", "go"), ("go.mod", "go.mod")], &["go.work", "go.mod"])
    },
    builtin("lua", &["lua-language-server"], &[("*.lua", "lua")], &[".luarc.json"]),
    builtin("pyright", &["pyright-langserver", "--stdio"], PYTHON, PYTHON_MARKERS),
    builtin("ruff", &["ruff", "server"], PYTHON, PYTHON_MARKERS),
    BuiltinServer {
        says_when_ready: true,
        ..builtin(
            "rust-analyzer",
            &["rust-analyzer"],
            &[("*.rs", "rust")],
            &["Cargo.lock", "rust-project.json", "Cargo.toml"],
        )
    },
    builtin("typescript", &["typescript-language-server", "--stdio"], SCRIPTS, SCRIPT_MARKERS),
    builtin("zls", &["zls"], &[("*.zig", "zig")], &["build.zig"]),
];

/// Returns the built-in server of that name.
pub fn builtin_server(name: &str) -> Option<&'static BuiltinServer> {
    BUILTIN_SERVERS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::BUILTIN_SERVERS;

    #[test]
    fn builtin_servers_are_sorted_and_valid() {
        assert!(BUILTIN_SERVERS.is_sorted_by(|a, b| a.name < b.name));
        for known in BUILTIN_SERVERS {
            assert!(!known.argv.is_empty() && !known.files.is_empty(), "{}", known.name);
            serde_json::from_str::<serde_json::Value>(known.options).unwrap();
        }
    }
}
