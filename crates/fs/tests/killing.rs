//! Real deaths: a separate process edits, and is killed at a random moment or at an exact system call. After recovery,
//! everything must be old or new.
//!
//! Without arguments this is the short form of the suite. `--rounds N` sets the number of random kills of each
//! operation; `--exact` kills at every system call of every operation and of a recovery (needs strace); `--folder PATH`
//! chooses the directory, e.g. on another file system. `--cuts ext4` (or xfs) cuts the power instead: a file system in
//! a file is shut down without writing out its log, and mounted again (needs root, python3 for one ioctl, and mkfs).
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files, and wait")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that tells what it does")]

use emendate_fs::{Durability, FileVersion, FileWrite, LocalStore, NewState, Precondition, SafePath, Store};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LARGE: usize = 8 << 20;

/// Operations of the child process, including `recover`.
const OPERATIONS: [&str; 5] = ["edit", "large", "batch", "linked", "create"];

/// System calls that change something, or come between those that do.
const CALLS: [&str; 17] = [
    "openat", "openat2", "mkdirat", "unlinkat", "renameat2", "renameat", "linkat", "symlinkat", "pwritev", "pwrite64",
    "ftruncate", "fchmod", "fdatasync", "fsync", "flock", "newfstatat", "fallocate",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, operation, fixture] = &arguments[..]
        && child == "child"
    {
        return act(operation, &JournaledRoot { outer: PathBuf::from(fixture) });
    }
    if arguments.iter().any(|it| it == "--list") {
        return;
    }
    let value = |name: &str| {
        let at = arguments.iter().position(|it| it == name)?;
        arguments.get(at + 1).cloned()
    };
    // A kill loses nothing that the kernel has, synced or not, so memory is sufficient, and fast.
    let memory = || Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    let folder = value("--folder").map(PathBuf::from).or_else(memory).unwrap_or_else(std::env::temp_dir);
    let rounds = value("--rounds").map_or(100, |rounds| rounds.parse().unwrap());
    if let Some(kind) = value("--cuts") {
        cuts(&kind, rounds);
    } else if arguments.iter().any(|it| it == "--exact") {
        exact(&folder);
    } else {
        random(&folder, rounds);
    }
}

/// A root with a journal next to it.
struct JournaledRoot {
    outer: PathBuf,
}

type Tree = BTreeMap<PathBuf, Vec<u8>>;

impl JournaledRoot {
    fn root(&self) -> PathBuf {
        self.outer.join("root")
    }

    fn fill(&self) {
        let _ = std::fs::remove_dir_all(&self.outer);
        std::fs::create_dir_all(self.root().join("d")).unwrap();
        std::fs::create_dir_all(self.outer.join("journal")).unwrap();
        std::fs::write(self.root().join("large"), vec![b'o'; LARGE]).unwrap();
        for number in 0..12 {
            std::fs::write(self.root().join(format!("d/{number}")), format!("old {number}")).unwrap();
        }
        std::fs::write(self.root().join("linked"), "old text of two names").unwrap();
        std::fs::hard_link(self.root().join("linked"), self.root().join("twin")).unwrap();
    }

    fn open(&self) -> LocalStore {
        LocalStore::open(&[self.root()]).unwrap().with_journal(&self.outer.join("journal")).unwrap()
    }

    /// Returns all files; a long one as its first and last byte, its length, and whether all its bytes are equal.
    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mut bytes = std::fs::read(&path).unwrap();
                if bytes.len() > 100 {
                    let even = bytes == vec![bytes[0]; bytes.len()];
                    bytes = format!("{} × {} {even}", bytes.len(), bytes[0]).into_bytes();
                }
                tree.insert(path.strip_prefix(self.root()).unwrap().to_owned(), bytes);
            }
        }
        tree
    }

    /// Recovers twice, writes where the operation wrote, and checks the result.
    #[track_caller]
    fn check(&self, course: &Course, why: &str) -> bool {
        let local = self.open();
        let done = local.recover().unwrap();
        assert!(done.conflicts.is_empty() && done.notes.is_empty(), "{why}: {done:?}");
        assert!(self.open().recover().unwrap().is_empty(), "{why}: a second recovery found something to do");
        for folder in ["probe", "d/probe", "n/m/probe"] {
            let place = local.resolve_path(&self.root().join(folder)).unwrap();
            if self.root().join(folder).parent().is_some_and(Path::is_dir) {
                drop(local.stage(&[file_write(&place, None, &[b"x"])], Durability::None).unwrap());
            }
        }
        let now = self.tree();
        let shown: BTreeMap<_, _> = now.iter().map(|(k, v)| (k, String::from_utf8_lossy(v))).collect();
        assert!(now == course.before || now == course.after, "{why}: neither old nor new, or litter: {shown:#?}");
        assert_eq!(std::fs::read_dir(self.outer.join("journal")).unwrap().count(), 0, "{why}");
        now == course.after
    }
}

impl Drop for JournaledRoot {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.outer);
    }
}

/// An operation that nothing interrupts.
struct Course {
    before: Tree,
    after: Tree,
    took: Duration,
}

fn file_write<'a>(place: &'a SafePath, old: Option<&'a FileVersion>, pieces: &'a [&'a [u8]]) -> FileWrite<'a> {
    let expect = old.map_or(Precondition::Missing, |old| Precondition::Version { bytes: &old.bytes, meta: &old.meta });
    FileWrite { path: place, precondition: expect, new_state: NewState::content(pieces) }
}

/// The child process: performs one operation and exits.
fn act(operation: &str, fixture: &JournaledRoot) {
    let local = fixture.open();
    if operation == "recover" {
        local.recover().unwrap();
    } else {
        let names: Vec<(String, Vec<u8>)> = match operation {
            "edit" => vec![("d/0".to_owned(), b"new".to_vec())],
            "large" => vec![("large".to_owned(), vec![b'n'; LARGE + 1])],
            "linked" => vec![("linked".to_owned(), b"new text of both names, which is longer".to_vec())],
            "create" => vec![("n/m/new".to_owned(), b"new".to_vec())],
            _ => (0..12)
                .map(|number| (format!("d/{number}"), format!("new {number}").into_bytes()))
                .chain([("linked".to_owned(), b"new".to_vec()), ("n/m/new".to_owned(), b"new".to_vec())])
                .collect(),
        };
        let read = |name: &String| {
            let place = local.resolve_path(&fixture.root().join(name)).unwrap();
            let old = local.read(&place, 1 << 30, Vec::new()).unwrap();
            (place, old)
        };
        let found: Vec<(SafePath, Option<FileVersion>)> = names.iter().map(|(name, _)| read(name)).collect();
        let pieces: Vec<[&[u8]; 1]> = names.iter().map(|(_, new)| [&new[..]]).collect();
        let mut writes: Vec<FileWrite<'_>> =
            found.iter().zip(&pieces).map(|((place, old), pieces)| file_write(place, old.as_ref(), pieces)).collect();
        if operation == "batch" {
            writes[3].new_state = NewState::Absent;
        }
        local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
    }
    // The parent owns the directory.
    std::process::exit(0);
}

fn child(operation: &str, fixture: &JournaledRoot) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", operation]).arg(&fixture.outer).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn course(operation: &str, fixture: &JournaledRoot) -> Course {
    let run = || {
        fixture.fill();
        let before = fixture.tree();
        let started = Instant::now();
        assert!(child(operation, fixture).output().unwrap().status.success());
        let took = started.elapsed();
        let after = fixture.tree();
        assert_ne!(before, after);
        Course { before, after, took }
    };
    // The fastest of several runs: on a busy machine a single one may be slow, and most kills would come too late.
    (0..5).map(|_| run()).min_by_key(|course| course.took).unwrap()
}

fn fresh(folder: &Path) -> JournaledRoot {
    let fixture = tempfile::Builder::new().prefix("emendate-kill").tempdir_in(folder).unwrap();
    JournaledRoot { outer: fixture.keep().canonicalize().unwrap() }
}

/// Kills at moments spread over slightly more than the duration of the operation.
fn random(folder: &Path, rounds: u32) {
    let fixture = fresh(folder);
    for operation in ["large", "batch"] {
        let course = course(operation, &fixture);
        let (mut news, mut killed) = (0, 0);
        for round in 0..rounds {
            fixture.fill();
            let mut running = child(operation, &fixture).spawn().unwrap();
            // A sleep would overshoot an operation that takes milliseconds.
            let moment = Instant::now() + course.took * 11 * round / (10 * rounds);
            while Instant::now() < moment {
                std::hint::spin_loop();
            }
            running.kill().unwrap();
            killed += u32::from(running.wait().unwrap().signal().is_some());
            news += u32::from(fixture.check(&course, &format!("{operation}, kill {round} of {rounds}")));
        }
        println!("{operation}: {killed} of {rounds} killed in time, {news} new, {} old, 0 wrong", rounds - news);
        assert!(killed > 0);
    }
}

/// Runs a program that must succeed.
#[track_caller]
fn must(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(status.success(), "{program} {arguments:?}");
}

/// A mounted file system in a file.
struct Image {
    folder: tempfile::TempDir,
}

impl Image {
    fn new(kind: &str) -> Image {
        let image = Image { folder: tempfile::tempdir().unwrap() };
        std::fs::File::create(image.file()).unwrap().set_len(400 << 20).unwrap();
        must(&format!("mkfs.{kind}"), &["-q", &image.file()]);
        std::fs::create_dir(image.mount_point()).unwrap();
        image.mount();
        image
    }

    fn file(&self) -> String {
        self.folder.path().join("image").to_str().unwrap().to_owned()
    }

    fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn mount(&self) {
        must("mount", &["-o", "loop", &self.file(), self.mount_point().to_str().unwrap()]);
    }

    fn unmount(&self) {
        // The writer's last `sync` may still be running.
        for _ in 0..200 {
            let done = Command::new("umount").arg(self.mount_point()).stderr(Stdio::null()).status().unwrap();
            if done.success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} stays busy", self.mount_point().display());
    }

    /// Starts a process that cuts the power as soon as its input ends: from then on nothing reaches the disk, not even
    /// the content of the log.
    fn cutter(&self) -> Child {
        let shut_down = "import fcntl, os, struct, sys\n\
                         mount = os.open(sys.argv[1], os.O_RDONLY)\n\
                         print(flush=True)\n\
                         sys.stdin.read()\n\
                         fcntl.ioctl(mount, 0x8004587d, struct.pack('I', 2))";
        let mut cutter = Command::new("python3");
        cutter.args(["-c", shut_down, self.mount_point().to_str().unwrap()]);
        let mut cutter = cutter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Its output shows that it is ready.
        std::io::Read::read_exact(cutter.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        cutter
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.mount_point()).status();
    }
}

/// Cuts the power at moments spread over more than the duration of an operation, while another writer keeps the log
/// busy.
fn cuts(kind: &str, rounds: u32) {
    let image = Image::new(kind);
    let fixture = JournaledRoot { outer: image.mount_point().join("bed") };
    for operation in ["edit", "linked", "batch", "create"] {
        let course = course(operation, &fixture);
        let mut news = 0;
        for round in 0..rounds {
            fixture.fill();
            must("sync", &["-f", image.mount_point().to_str().unwrap()]);
            let noise = image.mount_point().join("noise");
            let mut busy = Command::new("sh")
                .args(["-c", "while :; do echo x > \"$0\"; sync \"$0\"; done", noise.to_str().unwrap()])
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut cutter = image.cutter();
            let mut running = child(operation, &fixture).spawn().unwrap();
            std::thread::sleep(course.took * 13 * round / (10 * rounds));
            let answered = running.try_wait().unwrap().is_some_and(|status| status.success());
            drop(cutter.stdin.take());
            assert!(cutter.wait().unwrap().success());
            for process in [&mut running, &mut busy] {
                let _ = process.kill();
                process.wait().unwrap();
            }
            image.unmount();
            image.mount();
            let new = fixture.check(&course, &format!("{operation} on {kind}, cut {round} of {rounds}"));
            assert!(new || !answered, "{operation} on {kind}, cut {round}: the edit was reported as done but is lost");
            news += u32::from(new);
        }
        println!("{operation} on {kind}: {rounds} power cuts, {news} new, {} old, 0 wrong", rounds - news);
    }
}

/// Kills at the entry of every relevant system call.
fn exact(folder: &Path) {
    let fixture = fresh(folder);
    for operation in OPERATIONS {
        let course = course(operation, &fixture);
        let (mut kills, mut news) = (0, 0);
        for (call, count) in calls(operation, &fixture, || fixture.fill()) {
            for when in 1..=count {
                let why = format!("{operation}, {call} {when} of {count}");
                fixture.fill();
                if !killed(operation, &fixture, call, when) {
                    continue;
                }
                kills += 1;
                news += u32::from(fixture.check(&course, &why));
            }
        }
        println!("{operation}: {kills} kills at exact calls, {news} new, {} old, 0 wrong", kills - news);
        assert!(kills > 5);
    }
    let course = course("batch", &fixture);
    let broken = || {
        // In the middle of the exchanges.
        fixture.fill();
        assert!(killed("batch", &fixture, "renameat2", 6));
    };
    let mut kills = 0;
    for (call, count) in calls("recover", &fixture, broken) {
        for when in 1..=count {
            broken();
            kills += u32::from(killed("recover", &fixture, call, when));
            fixture.check(&course, &format!("recovery, {call} {when} of {count}"));
        }
    }
    println!("recovery: {kills} kills at exact calls, 0 wrong");
    assert!(kills > 5);
}

/// Counts how often the child makes each call.
fn calls(operation: &str, fixture: &JournaledRoot, prepare: impl Fn()) -> Vec<(&'static str, usize)> {
    prepare();
    let log = fixture.outer.join("log");
    let output = strace(operation, fixture, &["-o", log.to_str().unwrap()]);
    assert!(output.status.success(), "strace: {output:?}");
    let log = std::fs::read_to_string(log).unwrap();
    let count = |call: &&'static str| {
        let begins = format!("{call}(");
        (
            *call,
            log.lines()
                .filter(|line| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with(&begins))
                .count(),
        )
    };
    CALLS.iter().map(count).filter(|(_, count)| *count > 0).collect()
}

/// True if the child was killed there.
fn killed(operation: &str, fixture: &JournaledRoot, call: &str, when: usize) -> bool {
    let inject = format!("inject={call}:signal=SIGKILL:when={when}");
    let status = strace(operation, fixture, &["-o", "/dev/null", "-e", &inject]).status;
    status.signal().is_some() || status.code() == Some(137)
}

fn strace(operation: &str, fixture: &JournaledRoot, options: &[&str]) -> std::process::Output {
    let trace = format!("trace={}", CALLS.join(","));
    let inner = child(operation, fixture);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &trace]).args(options).arg(inner.get_program()).args(inner.get_args());
    command.output().expect("strace runs; `apt-get install strace`")
}
