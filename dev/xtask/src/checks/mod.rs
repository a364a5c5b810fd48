//! The checks of tidy. Each check is a function from the repository to findings, which name their file.

mod advice;
mod arrows;
mod english;
mod layers;
mod locks;
mod names;
mod packages;
mod pages;
mod sizes;
mod tables;
mod words;

pub(crate) use names::declared_type;
pub(crate) use sizes::{is_test, without_tests};
pub(crate) use tables::NOT_SHOWN;

use crate::conformance;
use crate::decisions;
use crate::figures::{self, Figure};
use crate::repo::Repo;

/// A check.
pub(crate) struct Check {
    /// The name printed before its findings.
    pub name: &'static str,
    /// Returns the findings, each with its file.
    pub run: fn(&Repo) -> Vec<String>,
}

/// Every check.
pub(crate) static CHECKS: &[Check] = &[
    Check { name: "file size", run: sizes::files },
    Check { name: "function size", run: sizes::functions },
    Check { name: "name", run: names::names },
    Check { name: "unique name", run: names::unique },
    Check { name: "english", run: english::comments },
    Check { name: "messages", run: english::messages },
    Check { name: "advice", run: advice::fields },
    Check { name: "figure", run: exceeded },
    Check { name: "word", run: words::words },
    Check { name: "machine", run: words::machines },
    Check { name: "architecture", run: arrows::architecture },
    Check { name: "package", run: packages::manifests },
    Check { name: "lock", run: locks::locks },
    Check { name: "arrow", run: arrows::arrows },
    Check { name: "layer", run: layers::layers },
    Check { name: "cycle", run: layers::cycles },
    Check { name: "format", run: tables::formats },
    Check { name: "error code", run: tables::codes },
    Check { name: "conformance", run: conformance::faults },
    Check { name: "decision", run: decisions::faults },
    Check { name: "documentation", run: tables::documentation },
    Check { name: "line width", run: pages::widths },
    Check { name: "link", run: pages::targets },
    Check { name: "book", run: pages::book },
    Check { name: "terms", run: pages::architecture },
];

/// Returns the counts of names and phrases that exceed their limits.
fn exceeded(repo: &Repo) -> Vec<String> {
    figures::counted(repo).iter().filter(|figure| figure.exceeds_limit()).map(Figure::line).collect()
}
