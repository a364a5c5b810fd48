//! `emend mcp --in`: the engine behind a real SSH server on this machine, and behind a program in the place of `docker`.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A server of MCP in a place, and its client.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start(mut command: Command) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Client { child, input, output };
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        );
        let greeting = client.answer();
        assert!(greeting["result"]["serverInfo"].is_object(), "{greeting}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn call(&mut self, id: u32, tool: &str, input: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": input });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the input; returns the exit status and what was printed for people.
    fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Reads and edits `a.txt` in the place.
fn edit(workspace: &TestWorkspace, client: &mut Client) {
    let path = workspace.path("a.txt");
    let read = client.call(1, "read", &json!({ "path": path }));
    assert_eq!(read["result"]["isError"], false, "{read}");
    let edited = client.call(2, "edit", &json!({ "path": path, "old_string": "two", "new_string": "three" }));
    assert_eq!(edited["result"]["isError"], false, "{edited}");
    assert_eq!(workspace.get("a.txt"), "one\nthree\n");
}

/// A program in the place of `docker` that runs the shell on this machine, with a home of its own.
fn docker(workspace: &TestWorkspace) -> Command {
    let bin = workspace.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = "#!/bin/sh\n[ \"$1 $2 $3 $4 $5\" = 'exec -i box sh -c' ] || { echo \"No such container: $3\" >&2; exit 1; }\n\
                  exec sh -c \"$6\"\n";
    fs::write(bin.join("docker"), script).unwrap();
    fs::set_permissions(bin.join("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = workspace.command(&[]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

#[test]
fn program_is_copied_once_and_its_checksum_is_verified() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let place = format!("docker:box:{}", workspace.work().display());
    let start = || {
        let mut command = docker(&workspace);
        command.args(["mcp", "--in", &place]);
        Client::start(command)
    };
    let mut client = start();
    edit(&workspace, &mut client);
    let (code, said) = client.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("copying emend"), "{said}");
    let (code, said) = start().end();
    assert_eq!((code, said.contains("copying")), (0, false), "{said}");
    // A damaged copy is replaced.
    let copies: Vec<_> =
        fs::read_dir(workspace.beside("home/.cache/emend")).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    fs::write(&copies[0], "#!/bin/sh\necho damaged\n").unwrap();
    let (code, said) = start().end();
    assert_eq!((code, said.contains("copying")), (0, true), "{said}");
}

#[test]
fn place_that_cannot_be_entered_is_an_error() {
    let workspace = TestWorkspace::new();
    let output = docker(&workspace).args(["mcp", "--in", "docker:other"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("No such container: other"), "{said}");
    let output = docker(&workspace).args(["mcp", "--in", "ssh:-oProxyCommand=touch x"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("is no name of a host"), "{said}");
    let program = workspace.path("program");
    fs::write(&program, "no program").unwrap();
    let output = docker(&workspace).args(["mcp", "--in", "docker:box", "--program", &program]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--program FILE"), "{said}");
}

/// An SSH server on this machine for one test.
struct SshServer {
    child: Child,
    port: u16,
}

impl SshServer {
    /// Starts it, with keys of its own; `None` if there is none to start.
    fn start(workspace: &TestWorkspace) -> Option<SshServer> {
        if !std::path::Path::new("/usr/sbin/sshd").exists() {
            external::has(&["sshd"]);
            return None;
        }
        let folder = workspace.beside("ssh");
        fs::create_dir_all(&folder).unwrap();
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key)).status();
            assert!(made.unwrap().success());
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized_keys")).unwrap();
        // The port is free until the server takes it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let shown = folder.display();
        let home = workspace.beside("home");
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/authorized_keys\n\
             PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSetEnv XDG_CACHE_HOME={0}/.cache \
             XDG_STATE_HOME={0}/.state XDG_CONFIG_HOME={0}/.config\n",
            home.display()
        );
        fs::write(folder.join("sshd_config"), server).unwrap();
        let client = format!(
            "Host far\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {shown}/user\n  IdentitiesOnly yes\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile {shown}/known\n  LogLevel ERROR\n"
        );
        fs::write(folder.join("config"), client).unwrap();
        // The server requires this directory for processes without privileges.
        let _ = fs::create_dir_all("/run/sshd");
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f"]).arg(folder.join("sshd_config"));
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut server = SshServer { child, port };
        server.wait_until_ready();
        Some(server)
    }

    fn wait_until_ready(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until && self.child.try_wait().unwrap().is_none(), "sshd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn engine_behind_ssh_edits_and_a_lost_connection_is_reported() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    let Some(server) = SshServer::start(&workspace) else { return };
    let start = || {
        let mut command = workspace.command(&["mcp", "--in", &format!("ssh:far:{}", workspace.work().display())]);
        command.env("EMEND_SSH", format!("ssh -F {}", workspace.beside("ssh/config").display()));
        Client::start(command)
    };
    let mut client = start();
    edit(&workspace, &mut client);
    let (code, said) = client.end();
    assert_eq!(code, 0, "{said}");
    // The connection dies between a request and its answer: the far side does not read the request at all.
    let mut client = start();
    let relay = client.child.id();
    let children = fs::read_to_string(format!("/proc/{relay}/task/{relay}/children")).unwrap();
    let ssh = children.trim().to_owned();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &ssh]).status().unwrap().success());
    signal("-STOP");
    client.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }));
    std::thread::sleep(Duration::from_millis(100));
    signal("-KILL");
    let answer = client.answer();
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(answer["id"], 7, "{answer}");
    assert!(message.contains("The connection to ssh:far ended") && message.contains("is unknown"), "{message}");
    let (code, said) = client.end();
    assert_ne!(code, 0);
    assert!(said.contains("The connection to ssh:far ended"), "{said}");
    drop(server);
    assert_eq!(workspace.get("a.txt"), "one\nthree\n");
}
