//! Effects of an edit on texts that it does not change: the other texts that the server was shown are checked before
//! and after the edit, if the server answers requests and reports that files depend on each other. Diagnostics that it
//! publishes unasked for an unchanged text may predate the edit, so they are ignored.

use crate::live::Live;
use crate::problem::Problem;
use crate::servers::{Basis, Job, Unknown, Why};
use crate::sorted::parted;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of other texts to check: those shown most recently.
const OTHERS: usize = 8;
/// Share of the time that may pass before the edit itself is checked.
const SHARE: u32 = 4;

/// Effect of an edit on another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The file.
    pub path: PathBuf,
    /// New problems, the worst first; or the reason why they are unknown.
    pub new: Result<Vec<Problem>, Unknown>,
}

/// Returns whether the text of a file that the server was shown is still current.
pub type StandsStill<'a> = dyn Fn(&Path, &str) -> bool + Sync + 'a;

/// Another text, the version it was shown as, and its problems before the edit.
pub(crate) struct Other {
    path: PathBuf,
    version: i64,
    before: Result<Vec<Problem>, Unknown>,
}

/// Checks the other texts, before the edit is shown.
pub(crate) fn before(live: &Live, jobs: &[Job<'_>], stands: &StandsStill<'_>, until: Instant) -> Vec<Other> {
    let shown: Vec<(PathBuf, i64, Arc<str>)> = {
        let state = live.state();
        if !state.abilities.relates() {
            return Vec::new();
        }
        let touched =
            |path: &Path| jobs.iter().any(|job| job.path == path || job.before.is_some_and(|it| it.path == path));
        state.documents.latest(OTHERS, touched)
    };
    let now = Instant::now();
    let until = now + until.saturating_duration_since(now) / SHARE;
    let others = shown.into_iter().filter(|(path, _, text)| stands(path, text));
    let others: Vec<(PathBuf, i64)> = others.map(|(path, version, _)| (path, version)).collect();
    let said = asked(live, others.iter().map(|(path, version)| (&**path, *version)), until);
    others.into_iter().zip(said).map(|((path, version), before)| Other { path, version, before }).collect()
}

/// Checks them again after the edit was shown, and returns the new problems of each.
pub(crate) fn after(live: &Live, others: Vec<Other>, until: Instant) -> Vec<Elsewhere> {
    let said = asked(live, others.iter().map(|other| (&*other.path, other.version)), until);
    let new = |(other, after): (Other, Result<Vec<Problem>, Unknown>)| {
        let new =
            after.and_then(|after| if after.is_empty() { Ok(after) } else { Ok(parted(&other.before?, after, &[]).0) });
        Elsewhere { path: other.path, new }
    };
    others.into_iter().zip(said).map(new).collect()
}

/// Sends all requests first, so that the server can process them together.
fn asked<'a>(
    live: &Live,
    texts: impl Iterator<Item = (&'a Path, i64)>,
    until: Instant,
) -> Vec<Result<Vec<Problem>, Unknown>> {
    let questions: Vec<_> = texts.map(|(path, version)| (path, version, live.question(path))).collect();
    let one = |(path, version, question)| match live.problems((path, version), question, until)? {
        (problems, Basis::Asked) => Ok(problems),
        // It does not support the request; what it published may predate the edit.
        _ => Err(Unknown::of(Why::Version)),
    };
    questions.into_iter().map(one).collect()
}
