//! Builds the documentation site, a book of the Markdown pages, with mdBook and checks its links.

use crate::command::cargo;
use crate::markdown::lines;
use crate::npm_package::Npm;
use crate::portable::has_target;
use crate::program;
use crate::repo::{File, Repo};
use crate::wasm;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of mdBook. Its default features include a live preview server, which needs more crates.
const VERSION: &str = "0.4.52";

/// An entry of the table of contents: a page, and the directory whose pages are nested below it.
struct Entry {
    path: &'static str,
    below: Option<&'static str>,
}

/// A part of the book.
struct Part {
    title: &'static str,
    entries: &'static [Entry],
}

const fn page(path: &'static str) -> Entry {
    Entry { path, below: None }
}

const fn pages(path: &'static str, below: &'static str) -> Entry {
    Entry { path, below: Some(below) }
}

/// The table of contents.
// tidy: table
static PARTS: &[Part] = &[
    Part {
        title: "Use",
        entries: &[
            page("docs/getting-started.md"),
            page("docs/install.md"),
            page("docs/platforms.md"),
            pages("docs/clients.md", "docs/clients/"),
            page("docs/command-line.md"),
            page("docs/mcp.md"),
            page("docs/playground.md"),
            page("docs/review.md"),
            page("docs/embedding.md"),
            page("docs/python.md"),
            page("docs/node.md"),
            pages("docs/adapters.md", "docs/adapters/"),
            page("docs/bulk.md"),
            page("docs/bulk-engines.md"),
            page("docs/configuration.md"),
            page("docs/language-servers.md"),
            page("docs/schemas.md"),
            page("docs/events.md"),
            page("docs/troubleshooting.md"),
            page("docs/faq.md"),
        ],
    },
    Part { title: "Formats", entries: &[pages("docs/formats.md", "docs/formats/")] },
    Part {
        title: "Reference",
        entries: &[
            page("docs/commands.md"),
            page("docs/tools.md"),
            page("docs/replies.md"),
            page("docs/errors.md"),
            page("docs/limits.md"),
            page("CHANGELOG.md"),
        ],
    },
    Part {
        title: "Guarantees",
        entries: &[
            page("docs/security.md"),
            page("docs/durability.md"),
            page("docs/accuracy.md"),
            page("docs/benchmarks.md"),
            pages("docs/conformance.md", "docs/conformance/"),
        ],
    },
    Part {
        title: "The code",
        entries: &[
            page("ARCHITECTURE.md"),
            page("docs/engineering.md"),
            page("CONTRIBUTING.md"),
            page("scenes/README.md"),
            pages("docs/decisions/README.md", "docs/decisions/"),
        ],
    },
];

/// Returns true for files that the site contains.
pub(crate) fn is_staged(path: &str) -> bool {
    let root = !path.contains('/') && (is_page(path) || path.starts_with("LICENSE"));
    root || path.starts_with("docs/") || path.starts_with("scenes/")
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|it| it == "md")
}

/// Returns every page in the table of contents.
fn listed(repo: &Repo) -> BTreeSet<String> {
    let entries = PARTS.iter().flat_map(|part| part.entries);
    let own = entries.clone().map(|entry| entry.path.to_owned());
    let below = entries.filter_map(|entry| entry.below).flat_map(|folder| repo.below(folder, ".md"));
    own.chain(below.map(|file| file.path.clone())).chain(["README.md".to_owned()]).collect()
}

/// Returns the pages of the site that the table of contents lacks.
pub(crate) fn missing_pages(repo: &Repo) -> Vec<String> {
    let listed = listed(repo);
    let pages = repo.below("", ".md").filter(|file| is_staged(&file.path) && !listed.contains(&file.path));
    pages.map(|file| file.path.clone()).collect()
}

/// Returns the pages in the table of contents that do not exist.
pub(crate) fn unknown_pages(repo: &Repo) -> Vec<String> {
    listed(repo).into_iter().filter(|path| repo.text(path).is_none()).collect()
}

/// The folder of the playground's files.
const PLAYGROUND: &str = "docs/playground";
/// Files of the package `@emendate/core` that the playground loads.
const PLAYGROUND_CORE: &[&str] = &["index.js", "errors.js", "text.js", "module.js", "module_bg.wasm"];

/// Copies the pictures of the pages, which are not text.
fn pictures(from: &Path, to: &Path) -> Result<(), String> {
    let entries = fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if let (Some(name), Some("png")) = (path.file_name(), path.extension().and_then(|it| it.to_str())) {
            fs::copy(&path, to.join(name)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Builds the book in `target/book`; with `--browser` as argument, tries its playground.
///
/// Errors: if a generated page is out of date, a link is broken, mdBook cannot be installed, or the WebAssembly module
/// cannot be built.
pub(crate) fn site(arguments: &[String]) -> Result<String, String> {
    let repo = Repo::open()?;
    program::check(&repo)?;
    let source = repo.root.join("target/site");
    let _ = fs::remove_dir_all(&source);
    let staged: Vec<&File> = repo.files.iter().filter(|file| is_staged(&file.path)).collect();
    for file in &staged {
        write(&source.join(&file.path), &file.text)?;
    }
    pictures(&repo.root.join("docs"), &source.join("docs"))?;
    write(&source.join("SUMMARY.md"), &summary(&repo))?;
    let npm = Npm::new()?;
    let has_module = has_target(wasm::TARGET);
    if has_module {
        add_module(&npm, &source)?;
    }
    let status = Command::new(mdbook(&repo)?)
        .args(["build", "."])
        .current_dir(&repo.root)
        .status()
        .map_err(|error| format!("mdbook: {error}"))?;
    if !status.success() {
        return Err("mdbook failed".to_owned());
    }
    let pages = staged.iter().filter(|file| is_page(&file.path)).count();
    let broken = broken(&repo.root.join("target/book"))?;
    if !broken.is_empty() {
        return Err(format!("{}\nsite: {} broken links", broken.join("\n"), broken.len()));
    }
    let mut said = vec![format!("site: {pages} pages in target/book, all links lead somewhere")];
    if !has_module {
        said.push(format!("playground: NOT BUILT: `rustup target add {}` failed", wasm::TARGET));
    } else if arguments.iter().any(|argument| argument == "--browser") {
        said.push(match wasm::browser(&npm)? {
            Some(browser) => {
                let tests = repo.root.join("bindings/wasm/tests/playground.test.js");
                format!("playground: {}", browser.run(&npm, &tests, &repo.root.join("target/book"))?)
            }
            None => "playground: skipped, there is no browser".to_owned(),
        });
    }
    Ok(said.join("\n"))
}

/// Builds the WebAssembly module of the playground into the sources of the book.
fn add_module(npm: &Npm, source: &Path) -> Result<(), String> {
    let (package, _) = wasm::built(npm)?;
    let core = source.join(PLAYGROUND).join("core");
    fs::create_dir_all(&core).map_err(|error| error.to_string())?;
    for name in PLAYGROUND_CORE {
        fs::copy(package.join(name), core.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, text)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Renders the table of contents for mdBook.
fn summary(repo: &Repo) -> String {
    let mut out = "# Summary\n\n[Emendate](README.md)\n".to_owned();
    for part in PARTS {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n# {}\n\n", part.title);
        for entry in part.entries {
            let _ = writeln!(out, "- [{}]({})", title(repo, entry.path), entry.path);
            let below = entry.below.into_iter().flat_map(|folder| repo.below(folder, ".md"));
            for file in below.filter(|file| file.path != entry.path) {
                let _ = writeln!(out, "  - [{}]({})", title(repo, &file.path), file.path);
            }
        }
    }
    out
}

/// Returns the first heading of a page.
fn title(repo: &Repo, path: &str) -> String {
    let text = repo.text(path).unwrap_or_default();
    let heading = lines(text).into_iter().find_map(|line| line.text.strip_prefix("# ").filter(|_| line.is_text));
    heading.unwrap_or(path).replace('`', "")
}

/// Returns the mdBook program, installed on first use.
fn mdbook(repo: &Repo) -> Result<PathBuf, String> {
    let folder = repo.root.join("target/mdbook").join(VERSION);
    let program = folder.join("bin/mdbook");
    if program.exists() {
        return Ok(program);
    }
    let status = cargo()
        .args(["install", "mdbook", "--locked", "--debug", "--quiet", "--no-default-features", "--features", "search"])
        .args(["--version", VERSION, "--root"])
        .arg(&folder)
        .current_dir(&repo.root)
        .status()
        .map_err(|error| format!("cargo install: {error}"))?;
    if status.success() { Ok(program) } else { Err(format!("mdbook {VERSION} cannot be installed")) }
}

/// Returns the broken links of the built pages, in page order.
fn broken(book: &Path) -> Result<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "html") {
                let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                pages.insert(path, text);
            }
        }
    }
    // print.html repeats all pages with links that mdBook rewrites, and 404.html is served under any path.
    let own = |path: &Path| path.file_name().is_some_and(|name| name != "print.html" && name != "404.html");
    let mut out = Vec::new();
    for (path, text) in pages.iter().filter(|(path, _)| own(path)) {
        for target in attributes(text, "href").chain(attributes(text, "src")).filter(|target| !is_outer(target)) {
            if !leads_somewhere(path, target, &pages) {
                out.push(format!("{}: {target}", path.strip_prefix(book).unwrap_or(path).display()));
            }
        }
    }
    out.dedup();
    Ok(out)
}

fn is_outer(target: &str) -> bool {
    target.contains(':') || target.starts_with("//")
}

fn leads_somewhere(page: &Path, target: &str, pages: &BTreeMap<PathBuf, String>) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or_default();
    let mut path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap_or(page).join(file) };
    if path.is_dir() {
        path = path.join("index.html");
    }
    let Ok(path) = path.canonicalize() else { return false };
    let Some(text) = pages.get(&path) else { return anchor.is_empty() };
    anchor.is_empty() || attributes(text, "id").any(|id| id == anchor)
}

/// Returns the values of an attribute in a page.
fn attributes<'p>(page: &'p str, name: &'p str) -> impl Iterator<Item = &'p str> {
    let parts = page.split(' ').flat_map(|part| part.split('\n'));
    parts.filter_map(move |part| part.strip_prefix(name)?.strip_prefix("=\"")?.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::{attributes, broken, is_staged, missing_pages};
    use crate::repo::{File, Repo};
    use std::path::PathBuf;

    #[test]
    fn pages_outside_the_table_of_contents_are_found() {
        let file = |path: &str| File { path: path.to_owned(), text: String::new() };
        let paths = ["README.md", "docs/mcp.md", "docs/new.md", "docs/clients/zed.md", "dev/notes.md"];
        let repo = Repo { root: PathBuf::new(), files: paths.into_iter().map(file).collect() };
        assert_eq!(missing_pages(&repo), ["docs/new.md"]);
        assert!(is_staged("scenes/a/b.scene") && is_staged("LICENSE-MIT") && !is_staged("crates/x/README.md"));
    }

    #[test]
    fn links_of_the_built_book_are_followed() {
        let folder = std::env::temp_dir().join(format!("emend-site-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let page = "<a href=\"sub/b.html#two\"></a><a href=\"sub/b.html#gone\"></a>\n<img src=\"none.svg\"><a href=\"https://x\">";
        std::fs::write(folder.join("a.html"), page).unwrap();
        std::fs::write(folder.join("sub/b.html"), "<h1 id=\"two\"><a href=\"../a.html\">").unwrap();
        let found = broken(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["a.html: sub/b.html#gone", "a.html: none.svg"]);
        assert_eq!(attributes("<a id=\"x\" href=\"y\">", "id").collect::<Vec<_>>(), ["x"]);
    }
}
