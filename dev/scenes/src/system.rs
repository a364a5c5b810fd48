//! What a scene needs from the operating system.

/// Variable that is set when the programs for Windows run under Wine.
pub const UNDER_WINE: &str = "EMEND_UNDER_WINE";

#[cfg(unix)]
mod platform {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::process::Command;

    /// True if files have modes and links, and the programs of POSIX can be called.
    pub const IS_UNIX: bool = true;
    /// Time limit of a process in seconds; it is killed afterwards.
    const PATIENCE: &str = "120";

    /// Sets the mode of a file.
    ///
    /// # Errors
    /// Those of the system, which need not have modes.
    pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// Those of the system, which need not have links.
    pub fn link(target: &Path, path: &Path) -> io::Result<()> {
        symlink(target, path)
    }

    /// Returns a command that runs a program with a time limit and an empty environment, for a user with this home.
    pub fn command(program: &Path, home: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", PATIENCE]).arg(program).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
        command
    }
}

#[cfg(windows)]
mod platform {
    use std::io;
    use std::path::Path;
    use std::process::Command;

    /// True if files have modes and links, and the programs of POSIX can be called.
    pub const IS_UNIX: bool = false;
    /// Variables without which programs do not start.
    const SYSTEM: [&str; 6] = ["PATH", "SystemDrive", "SystemRoot", "TEMP", "TMP", "WINDIR"];

    /// Sets the mode of a file.
    ///
    /// # Errors
    /// Those of the system, which need not have modes.
    pub fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// Those of the system, which need not have links.
    pub fn link(_target: &Path, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns a command that runs a program for a user with this home, whose settings are where scenes put them.
    pub fn command(program: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(SYSTEM.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env("USERPROFILE", home).env("APPDATA", home.join(".config"));
        command.env("LOCALAPPDATA", home.join(".local"));
        command
    }
}

pub use platform::*;
