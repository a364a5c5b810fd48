//! Places where an engine can run.

use std::fmt;
use std::process::Command;
use std::str::FromStr;

/// The variable with another program than `ssh`, and options for it, separated by spaces.
const SSH_VARIABLE: &str = "EMEND_SSH";

/// A container or another machine, and the directory to work in there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemotePlace {
    kind: Kind,
    /// The host, the container, or the local directory of a dev container.
    name: String,
    /// The directory there; otherwise the one in which commands start.
    pub(super) directory: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ssh,
    Docker,
    DevContainer,
}

impl RemotePlace {
    /// Returns the local command that runs a line of shell in the place.
    pub(super) fn shell(&self, line: &str) -> Command {
        match self.kind {
            Kind::Ssh => {
                let words = std::env::var(SSH_VARIABLE).unwrap_or_else(|_| "ssh".to_owned());
                let mut words = words.split_whitespace();
                let mut command = Command::new(words.next().unwrap_or("ssh"));
                // Without a terminal nobody can answer a question. A dead connection is noticed within a minute.
                command.args(words).args(["-T", "-o", "BatchMode=yes"]);
                command.args(["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3", "--", &self.name, line]);
                command
            }
            Kind::Docker => {
                let mut command = Command::new("docker");
                command.args(["exec", "-i", &self.name, "sh", "-c", line]);
                command
            }
            Kind::DevContainer => {
                let mut command = Command::new("devcontainer");
                command.args(["exec", "--workspace-folder", &self.name, "sh", "-c", line]);
                command
            }
        }
    }
}

impl fmt::Display for RemotePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Ssh => write!(out, "ssh:{}", self.name),
            Kind::Docker => write!(out, "docker:{}", self.name),
            Kind::DevContainer => write!(out, "devcontainer:{}", self.name),
        }
    }
}

impl FromStr for RemotePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<RemotePlace, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let kind = match kind {
            "ssh" => Kind::Ssh,
            "docker" => Kind::Docker,
            "devcontainer" => Kind::DevContainer,
            _ => return Err(format!("`{kind}` is no place; write ssh:HOST, docker:NAME or devcontainer")),
        };
        if kind == Kind::DevContainer {
            let name = if rest.is_empty() { "." } else { rest };
            return Ok(RemotePlace { kind, name: name.to_owned(), directory: None });
        }
        let (name, directory) = match rest.split_once(':') {
            Some((name, directory)) if !directory.is_empty() => (name, Some(directory.to_owned())),
            Some((name, _)) => (name, None),
            None => (rest, None),
        };
        // A name that begins like an option would be one.
        let is_name = |char: char| char.is_ascii_alphanumeric() || "._-@[]%".contains(char);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_name) {
            return Err(format!("`{name}` is no name of a host or a container"));
        }
        Ok(RemotePlace { kind, name: name.to_owned(), directory })
    }
}

#[cfg(test)]
mod tests {
    use super::RemotePlace;
    use crate::flags::quoted;

    #[test]
    fn places_are_parsed_and_shown() {
        for text in ["ssh:me@host", "docker:box_1", "devcontainer:."] {
            assert_eq!(text.parse::<RemotePlace>().unwrap().to_string(), text);
        }
        assert_eq!("devcontainer".parse::<RemotePlace>().unwrap().to_string(), "devcontainer:.");
        let with_directory: RemotePlace = "ssh:host:/srv/a b".parse().unwrap();
        assert_eq!(with_directory.directory.as_deref(), Some("/srv/a b"));
        for wrong in
            ["", "ssh", "ssh:", "ssh:-oProxyCommand=x", "docker:--privileged", "ssh:a b", "ftp:host", "ssh:a;b"]
        {
            assert!(wrong.parse::<RemotePlace>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_survive_the_shell() {
        for word in ["", "a b", "it's", "$HOME `x` \"y\" \\ \n*"] {
            let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), word);
        }
    }
}
