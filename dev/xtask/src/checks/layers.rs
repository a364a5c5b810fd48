//! Checks the directories inside of crates: they are layers, and modules import only from their own layer and from
//! those below. Cycles of modules stay within a layer, and are small.

use crate::repo::{File, Repo};
use std::collections::{BTreeMap, BTreeSet};

/// The layers of a crate, the highest first. A directory with layers of its own is not listed itself.
struct CrateLayers {
    src: &'static str,
    layers: &'static [&'static str],
}

const CRATE_LAYERS: &[CrateLayers] = &[
    CrateLayers { src: "crates/core/src/", layers: &["in_memory", "formats", "locate", "text"] },
    CrateLayers {
        src: "crates/engine/src/",
        layers: &[
            "api", "tools", "pipeline/run", "pipeline/commit", "pipeline/checks", "pipeline/report", "pipeline/plan",
            "session", "context", "model",
        ],
    },
];

/// Modules of a cycle.
const CYCLE_MODULES_MAX: usize = 4;

pub(super) fn layers(repo: &Repo) -> Vec<String> {
    CRATE_LAYERS.iter().flat_map(|layers| layers.faults(repo)).collect()
}

impl CrateLayers {
    fn faults(&self, repo: &Repo) -> Vec<String> {
        let mut out = Vec::new();
        for file in repo.below(self.src, ".rs").filter(|file| !is_test(&file.path)) {
            let Some(own) = self.layer(&module_path(file, self.src)) else { continue };
            for import in imports(&file.text) {
                let Some(path) = import.strip_prefix("crate::") else { continue };
                let path: Vec<&str> = path.split("::").collect();
                if let Some(other) = self.layer(&path).filter(|other| *other < own) {
                    let (above, below) = (self.layers[other], self.layers[own]);
                    out.push(format!("{} imports {import}: {above} is above {below}", file.path));
                }
            }
        }
        out
    }

    /// Returns the index of the layer that a module belongs to.
    fn layer(&self, module: &[impl AsRef<str>]) -> Option<usize> {
        let matches = |layer: &str| {
            let mut parts = layer.split('/');
            let mut module = module.iter().map(AsRef::as_ref);
            parts.all(|part| module.next() == Some(part))
        };
        self.layers.iter().position(|layer| matches(layer))
    }
}

pub(super) fn cycles(repo: &Repo) -> Vec<String> {
    let crates: BTreeSet<&str> =
        repo.below("crates/", ".rs").filter_map(|file| file.path.strip_prefix("crates/")?.split('/').next()).collect();
    let mut out = Vec::new();
    for name in crates {
        for cycle in cycles_of(repo, &format!("crates/{name}/src/")) {
            if cycle.len() > CYCLE_MODULES_MAX {
                let list = cycle.join(", ");
                out.push(format!(
                    "crates/{name} has a cycle of {} modules, more than {CYCLE_MODULES_MAX}: {list}",
                    cycle.len()
                ));
            }
        }
    }
    out
}

/// Returns the cycles of modules below a directory: groups in which each module reaches every other one.
fn cycles_of(repo: &Repo, src: &str) -> Vec<Vec<String>> {
    let files: Vec<&File> = repo.below(src, ".rs").filter(|file| !is_test(&file.path)).collect();
    let names: Vec<String> = files.iter().map(|file| module_path(file, src).join("::")).collect();
    let by_name: BTreeMap<&str, usize> = names.iter().enumerate().map(|(nth, name)| (&**name, nth)).collect();
    let edges: Vec<BTreeSet<usize>> = files
        .iter()
        .enumerate()
        .map(|(nth, file)| {
            let targets = imports(&file.text).into_iter().filter_map(|import| target(&import, &names[nth], &by_name));
            targets.filter(|other| *other != nth).collect()
        })
        .collect();
    let reached: Vec<BTreeSet<usize>> = (0..names.len()).map(|start| reachable(start, &edges)).collect();
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for start in 0..names.len() {
        let group: BTreeSet<usize> =
            reached[start].iter().copied().filter(|it| reached[*it].contains(&start)).collect();
        if group.len() > 1 && seen.insert(group.clone()) {
            out.push(group.into_iter().map(|nth| names[nth].clone()).collect());
        }
    }
    out
}

/// Returns the module that an import is from: the longest known path.
fn target(import: &str, module: &str, by_name: &BTreeMap<&str, usize>) -> Option<usize> {
    let mut path: Vec<&str> = import.split("::").collect();
    let mut from: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    if path.first() == Some(&"crate") {
        from.clear();
        path.remove(0);
    }
    while path.first() == Some(&"super") {
        from.pop();
        path.remove(0);
    }
    from.extend(path);
    (1..=from.len()).rev().find_map(|len| by_name.get(&*from[..len].join("::")).copied())
}

/// Returns the modules that one reaches, itself if it is in a cycle.
fn reachable(start: usize, edges: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    let mut open: Vec<usize> = edges[start].iter().copied().collect();
    while let Some(next) = open.pop() {
        if out.insert(next) {
            open.extend(&edges[next]);
        }
    }
    out
}

/// Returns the path of a file's module.
fn module_path(file: &File, src: &str) -> Vec<String> {
    let path = file.path.strip_prefix(src).and_then(|path| path.strip_suffix(".rs")).unwrap_or_default();
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').filter(|part| !matches!(*part, "lib" | "main")).map(str::to_owned).collect()
}

/// True for modules that only tests have.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "testing.rs"))
}

/// Returns every path that begins with `crate` or `super`, outside of comments and of the tests at the end.
fn imports(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    let mut out = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | ':' | '$')) {
                continue;
            }
            expand(String::new(), &code[at..], &mut out);
        }
    }
    out
}

/// Adds the paths at the beginning of `code`, with groups in braces expanded. Returns the rest.
fn expand<'c>(mut path: String, code: &'c str, out: &mut Vec<String>) -> &'c str {
    let mut rest = code.trim_start();
    loop {
        let end = rest.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(rest.len());
        path.push_str(&rest[..end]);
        rest = &rest[end..];
        let Some(after) = rest.strip_prefix("::") else { break };
        let Some(mut inner) = after.strip_prefix('{') else {
            path.push_str("::");
            rest = after;
            continue;
        };
        loop {
            inner = expand(format!("{path}::"), inner, out).trim_start();
            inner = inner.trim_start_matches(|it| it != ',' && it != '}');
            match inner.strip_prefix(',') {
                Some(next) if !next.trim_start().starts_with('}') => inner = next,
                Some(next) => return next.trim_start().trim_start_matches('}'),
                None => return inner.strip_prefix('}').unwrap_or(inner),
            }
        }
    }
    let path = path.trim_end_matches("::self").trim_end_matches("::");
    out.push(path.to_owned());
    rest
}

#[cfg(test)]
mod tests {
    use super::{CRATE_LAYERS, File, Repo, cycles_of, imports};
    use std::path::PathBuf;

    fn repo(files: &[(&str, &str)]) -> Repo {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Repo { root: PathBuf::new(), files: files.iter().map(file).collect() }
    }

    #[test]
    fn groups_of_imports_are_expanded() {
        let text = "use crate::a::{self, b::{C, d}, e as f};\n// crate::no\nfn x() { crate::g::h(super::i) }\n#[cfg(test)]\nmod tests { use crate::z; }\n";
        let expected = ["crate::a", "crate::a::b::C", "crate::a::b::d", "crate::a::e", "crate::g::h", "super::i"];
        assert_eq!(imports(text), expected);
    }

    #[test]
    fn imports_from_above_are_found() {
        let engine = &CRATE_LAYERS[1];
        let repo = repo(&[
            ("crates/engine/src/model/a.rs", "use crate::{api::b, model::c};\n"),
            ("crates/engine/src/pipeline/plan/d.rs", "use crate::pipeline::report::E;\nuse crate::session::F;\n"),
            ("crates/engine/src/pipeline/plan/tests.rs", "use crate::api::G;\n"),
        ]);
        let expected = [
            "crates/engine/src/model/a.rs imports crate::api::b: api is above model",
            "crates/engine/src/pipeline/plan/d.rs imports crate::pipeline::report::E: pipeline/report is above pipeline/plan",
        ];
        let found = engine.faults(&repo);
        assert_eq!(found[1..], expected[1..]);
        assert_eq!(found[0], expected[0]);
    }

    #[test]
    fn cycles_are_found() {
        let repo = repo(&[
            ("crates/x/src/a.rs", "use crate::b::c::D;\n"),
            ("crates/x/src/b/c.rs", "use super::e;\n"),
            ("crates/x/src/b/e.rs", "use crate::a::f;\n"),
            ("crates/x/src/g.rs", "use crate::a::f;\n"),
        ]);
        assert_eq!(cycles_of(&repo, "crates/x/src/"), [["a", "b::c", "b::e"]]);
    }
}
