//! `cargo xtask order`: what a start and small calls execute, written into crates/cli/order.txt, which the build script of
//! the command gives to the linker. Names stand without their hashes where that says what is meant, so that most of the list
//! outlives a compiler, a dependency and a way to build; what is not there any more is passed over by the linker.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HEAD: &str = "\
# Functions that lie side by side in the program, in this order: those that small calls execute.
# Written by `cargo xtask order` from runs under valgrind; read by build.rs. An old list is slower, never wrong.
";

/// A name that brings so much more than what was executed has many instances: those are named with their hashes.
const SPARE: u64 = 256;

/// How the command is shipped (README.md): the hashes are those of a build like that.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";

/// What is run, the most frequent first: each adds what those before did not execute. `$` is the file.
const RUNS: &[(&[&str], &str)] = &[
    (&["--state", "none", "edit", "$", "--old", "line_50 ", "--new", "line_5x "], ""),
    (&["--state", "state", "edit", "$", "--old", "line_5x ", "--new", "line_50 "], ""),
    (&["--state", "state", "edit", "$", "--old", "line_50 ", "--new", "line_5x "], ""),
    (&["--state", "state", "mcp"], MCP),
    (&["--state", "state", "read", "$"], ""),
    (&["--state", "none", "apply"], PATCH),
    (&["--state", "none", "edit", "$", "--old", "lime_7 = compute(7, \"value\");", "--new", "x"], ""),
    (&["--state", "none", "search", "line_9"], ""),
    (&["--version"], ""),
];

const MCP: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"order","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{"file_path":"small.txt"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"edit","arguments":{"file_path":"small.txt","old_string":"line_20 ","new_string":"line_2x "}}}
"#;

const PATCH: &str = "\
*** Begin Patch
*** Update File: small.txt
@@
-let line_30 = compute(30, \"value\");
+let line_30 = compute(31, \"value\");
*** End Patch
";

/// Builds the command with its names, runs it, writes the list.
///
/// Errors: no valgrind or nm; what is measured does not build or fails.
pub(crate) fn order() -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let program = build(root)?;
    let bed = root.join("target/order");
    let _ = std::fs::remove_dir_all(&bed);
    std::fs::create_dir_all(&bed).map_err(|error| error.to_string())?;
    let text: String = (0..100).map(|line| format!("let line_{line} = compute({line}, \"value\");\n")).collect();
    std::fs::write(bed.join("small.txt"), text).map_err(|error| error.to_string())?;
    let sizes = sizes(&program)?;
    let mut list = List::default();
    for (arguments, input) in RUNS {
        list.add(&executed(&run(&program, &bed, arguments, input)?, &program), &sizes);
    }
    let names = list.names.len();
    std::fs::write(root.join("crates/cli/order.txt"), format!("{HEAD}{}\n", list.names.join("\n")))
        .map_err(|error| error.to_string())?;
    Ok(format!("order: {names} names, {} KB of code", list.bytes / 1024))
}

/// The static command, with the names of its functions.
fn build(root: &Path) -> Result<PathBuf, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let version = Command::new("rustc").arg("-vV").current_dir(root).output().map_err(|error| error.to_string())?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not say its host")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["rustc", "--quiet", "--locked", "--release", "--target", host, "-p", "emendate-cli", "--bin", "emend"]);
    // The flag after cargo's own is the one that counts.
    cargo.args(["--", "-Cstrip=none"]).env("RUSTFLAGS", FLAGS).current_dir(root);
    let status = cargo.status().map_err(|error| error.to_string())?;
    let program = target.join(host).join("release/emend");
    if status.success() { Ok(program) } else { Err("the command does not build".to_owned()) }
}

/// What callgrind wrote of one run. A run may refuse: that is an answer like others.
fn run(program: &Path, bed: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let out = bed.join("callgrind.out");
    let _ = std::fs::remove_file(&out);
    let mut valgrind = Command::new("strace");
    // A library asks the kernel for what valgrind hides from the program (PR_GET_AUXV), and falls over it.
    valgrind.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:error=EINVAL", "valgrind"]);
    valgrind.args(["--tool=callgrind", "--quiet", "--demangle=no", "--compress-strings=no", "--dump-line=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program).args(["--root", "."]);
    valgrind.args(arguments.iter().map(|it| if *it == "$" { "small.txt" } else { it })).current_dir(bed);
    let path = std::env::var_os("PATH").unwrap_or_default();
    valgrind.env_clear().env("PATH", path).env("HOME", bed).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = valgrind.stderr(Stdio::null()).spawn().map_err(|error| format!("strace: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who takes no input may be gone already.
        let _ = stdin.write_all(input.as_bytes());
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    // 128 and more: a signal, which the two in between pass on.
    if status.code().is_none_or(|code| code >= 128) {
        return Err(format!("{arguments:?} died under valgrind: {status}"));
    }
    std::fs::read_to_string(&out).map_err(|error| format!("{arguments:?}: {error}"))
}

/// The functions of the program in a profile, by their whole names.
fn executed(profile: &str, program: &Path) -> BTreeSet<String> {
    let (program, mut ours, mut out) = (program.display().to_string(), false, BTreeSet::new());
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            ours = object == program;
        } else if let Some(name) = line.strip_prefix("fn=").filter(|_| ours) {
            // A recursion has a number; what is no symbol has an address or says so in words.
            let name = name.split('\'').next().unwrap_or(name);
            let symbol = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
            if name.bytes().all(symbol) && !name.starts_with("0x") {
                out.insert(name.to_owned());
            }
        }
    }
    out
}

/// Where the hash of a name is that Rust puts at its end; what follows it differs from build to build.
fn hash(name: &str) -> Option<usize> {
    let (path, rest) = name.rsplit_once("17h").filter(|_| name.starts_with("_ZN"))?;
    let hex = |byte: u8| byte.is_ascii_hexdigit();
    (rest.len() > 16 && rest.bytes().take(16).all(hex) && rest.as_bytes().get(16) == Some(&b'E')).then_some(path.len())
}

/// A name without its hash.
fn plain(name: &str) -> Option<&str> {
    name.get(..hash(name)?)
}

/// A name with its hash, and without the number that the optimiser put after that.
fn hashed(name: &str) -> &str {
    let end = hash(name).map_or(name.find(".llvm."), |at| Some(at + 20));
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// The functions of a program, and how long each is.
fn sizes(program: &Path) -> Result<BTreeMap<String, u64>, String> {
    let nm = Command::new("nm").args(["--print-size", "--defined-only"]).arg(program).output();
    let output = nm.map_err(|error| format!("nm: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sizes: BTreeMap<String, u64> = text.lines().filter_map(sized).collect();
    if sizes.is_empty() { Err("the command has no symbols".to_owned()) } else { Ok(sizes) }
}

/// A line of `nm`: address, size, kind and name; functions alone.
fn sized(line: &str) -> Option<(String, u64)> {
    let mut words = line.split(' ').skip(1);
    let (size, kind, name) = (words.next()?, words.next()?, words.next()?);
    let size = u64::from_str_radix(size, 16).ok()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (name.to_owned(), size))
}

#[derive(Debug, Default)]
struct List {
    names: Vec<String>,
    known: BTreeSet<String>,
    /// How much code the names stand for.
    bytes: u64,
}

impl List {
    /// Adds what a run executed.
    fn add(&mut self, executed: &BTreeSet<String>, sizes: &BTreeMap<String, u64>) {
        let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for name in executed.iter().filter(|name| sizes.contains_key(*name)) {
            used.entry(plain(name).unwrap_or_else(|| hashed(name))).or_default().push(name);
        }
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, size) in sizes {
            *all.entry(plain(name).unwrap_or_else(|| hashed(name))).or_default() += size;
        }
        for (name, instances) in used {
            let size = |name: &str| sizes.get(name).copied().unwrap_or(0);
            let (all, executed) =
                (all.get(name).copied().unwrap_or(0), instances.iter().map(|it| size(it)).sum::<u64>());
            if all <= executed + SPARE {
                self.name(name, all);
            } else {
                for instance in instances {
                    self.name(hashed(instance), size(instance));
                }
            }
        }
    }

    fn name(&mut self, name: &str, bytes: u64) {
        if self.known.insert(name.to_owned()) {
            self.names.push(name.to_owned());
            self.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{List, executed, hashed, plain, sized};
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn names_are_kept_without_what_differs_from_build_to_build() {
        let path = "_ZN4core3fmt5write";
        for rest in ["17h0123456789abcdefE", "17h0123456789abcdefE.llvm.1234", "17h0123456789abcdefE.cold"] {
            let name = format!("{path}{rest}");
            assert_eq!(plain(&name), Some(path));
            assert_eq!(hashed(&name), "_ZN4core3fmt5write17h0123456789abcdefE");
        }
        for name in ["sqlite3_open_v2", "_ZN3std17hello5worldE", "_ZN3std17h0123456789abcdef"] {
            assert_eq!((plain(name), hashed(name)), (None, name));
            assert_eq!(hashed(&format!("{name}.llvm.12")), name);
        }
    }

    #[test]
    fn only_functions_of_the_program_count() {
        let profile = "ob=/lib/libc.so\nfl=???\nfn=malloc\n0 5\nob=/bin/emend\nfn=walk'2\n0 7\nfn=(below main)\n0 1\nfn=0x0000000000001234\n0 1\ncob=/lib/libc.so\ncfn=malloc\n";
        let names = executed(profile, Path::new("/bin/emend"));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["walk"]);
        assert_eq!(sized("0000000000001000 0000000000000020 t walk"), Some(("walk".to_owned(), 32)));
        assert_eq!(sized("0000000000001000 0000000000000020 D table"), None);
        assert_eq!(sized("0000000000001000 t walk"), None);
    }

    #[test]
    fn what_has_many_instances_is_named_whole_and_the_first_run_comes_first() {
        let hash = |name: &str, hash: u64| format!("_ZN{name}17h{hash:016x}E");
        let mut sizes: BTreeMap<String, u64> = (0..100).map(|it| (hash("4many", it), 100)).collect();
        sizes.extend([(hash("4late", 1), 50), (hash("4once", 1), 70), (hash("4once", 2), 10)]);
        let mut list = List::default();
        list.add(&[hash("4once", 1), hash("4many", 3), "gone".to_owned()].into(), &sizes);
        list.add(&[hash("4late", 1), hash("4once", 1)].into(), &sizes);
        assert_eq!(list.names, ["_ZN4many17h0000000000000003E", "_ZN4once", "_ZN4late"]);
        assert_eq!(list.bytes, 230);
    }
}
