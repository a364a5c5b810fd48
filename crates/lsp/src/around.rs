//! What an edit brings to texts that it does not change: the other texts that the server was shown are asked about before and
//! after, where it answers questions and says that files matter to each other. What servers publish by themselves about a
//! text that has not changed may be from before, and is not taken.

use crate::live::Live;
use crate::problem::Problem;
use crate::servers::{Basis, Job, Unknown, Why};
use crate::sorted::parted;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Other texts that are asked about: the last that were shown.
const OTHERS: usize = 8;
/// The part of the time that may go by before the edit itself is asked about.
const SHARE: u32 = 4;

/// What an edit brought to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The file.
    pub path: PathBuf,
    /// Problems that were not there before, the worst first; or why that is not known.
    pub new: Result<Vec<Problem>, Unknown>,
}

/// Says whether the text that the server was shown of a file is still the one that stands there.
pub type StandsStill<'a> = dyn Fn(&Path, &str) -> bool + Sync + 'a;

/// Another text, the version it was shown as, and what was wrong with it.
pub(crate) struct Other {
    path: PathBuf,
    version: i64,
    before: Result<Vec<Problem>, Unknown>,
}

/// Asks about the other texts, before the edit is shown.
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

/// Asks about them again, when it has been shown; what is new in each.
pub(crate) fn after(live: &Live, others: Vec<Other>, until: Instant) -> Vec<Elsewhere> {
    let said = asked(live, others.iter().map(|other| (&*other.path, other.version)), until);
    let new = |(other, after): (Other, Result<Vec<Problem>, Unknown>)| {
        let new =
            after.and_then(|after| if after.is_empty() { Ok(after) } else { Ok(parted(&other.before?, after, &[]).0) });
        Elsewhere { path: other.path, new }
    };
    others.into_iter().zip(said).map(new).collect()
}

/// All questions first, so that the server can work at them together.
fn asked<'a>(
    live: &Live,
    texts: impl Iterator<Item = (&'a Path, i64)>,
    until: Instant,
) -> Vec<Result<Vec<Problem>, Unknown>> {
    let questions: Vec<_> = texts.map(|(path, version)| (path, version, live.question(path))).collect();
    let one = |(path, version, question)| match live.problems((path, version), question, until)? {
        (problems, Basis::Asked) => Ok(problems),
        // It refused to be asked; what it published may be from before.
        _ => Err(Unknown::of(Why::Version)),
    };
    questions.into_iter().map(one).collect()
}
