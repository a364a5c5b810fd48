//! Effects of an edit on texts that it does not change: the other texts that the server was shown are checked before
//! and after the edit, if the server answers requests and reports that files depend on each other. Diagnostics that it
//! publishes unasked for an unchanged text may predate the edit, so they are ignored.

use crate::diagnostic::Diagnostic;
use crate::new_diagnostics::partition_new;
use crate::running::RunningServer;
use crate::servers::{AnswerBasis, CheckRequest, DiagnosticsFailure, UnknownReason};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of other texts to check: those shown most recently.
const OTHER_TEXTS_MAX: usize = 8;
/// Share of the time that may pass before the edit itself is checked.
const TIME_SHARE: u32 = 4;

/// Effect of an edit on another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFileReport {
    /// The file.
    pub path: PathBuf,
    /// New problems, the worst first; or the reason why they are unknown.
    pub new: Result<Vec<Diagnostic>, DiagnosticsFailure>,
}

/// Returns whether the text of a file that the server was shown is still current.
pub type UnchangedCheck<'a> = dyn Fn(&Path, &str) -> bool + Sync + 'a;

/// Another text, the version it was shown as, and its problems before the edit.
pub(crate) struct OtherText {
    path: PathBuf,
    version: i64,
    before: Result<Vec<Diagnostic>, DiagnosticsFailure>,
}

/// Checks the other texts, before the edit is shown.
pub(crate) fn before(
    live: &RunningServer,
    jobs: &[CheckRequest<'_>],
    stands: &UnchangedCheck<'_>,
    until: Instant,
) -> Vec<OtherText> {
    let shown: Vec<(PathBuf, i64, Arc<str>)> = {
        let state = live.state();
        if !state.abilities.can_relate_files() {
            return Vec::new();
        }
        state.documents.latest(OTHER_TEXTS_MAX, |path| {
            jobs.iter().any(|job| job.path == path || job.before.is_some_and(|it| it.path == path))
        })
    };
    let now = Instant::now();
    let until = now + until.saturating_duration_since(now) / TIME_SHARE;
    let others = shown.into_iter().filter(|(path, _, text)| stands(path, text));
    let others: Vec<(PathBuf, i64)> = others.map(|(path, version, _)| (path, version)).collect();
    let said = query_all(live, others.iter().map(|(path, version)| (&**path, *version)), until);
    others.into_iter().zip(said).map(|((path, version), before)| OtherText { path, version, before }).collect()
}

/// Checks them again after the edit was shown, and returns the new problems of each.
pub(crate) fn after(live: &RunningServer, others: Vec<OtherText>, until: Instant) -> Vec<OtherFileReport> {
    let said = query_all(live, others.iter().map(|other| (&*other.path, other.version)), until);
    let reports =
        others.into_iter().zip(said).map(|(other, after)| OtherFileReport {
            path: other.path,
            new: after.and_then(|after| {
                if after.is_empty() { Ok(after) } else { Ok(partition_new(&other.before?, after, &[]).0) }
            }),
        });
    reports.collect()
}

/// Sends all requests first, so that the server can process them together.
fn query_all<'a>(
    live: &RunningServer,
    texts: impl Iterator<Item = (&'a Path, i64)>,
    until: Instant,
) -> Vec<Result<Vec<Diagnostic>, DiagnosticsFailure>> {
    let questions: Vec<_> = texts.map(|(path, version)| (path, version, live.question(path))).collect();
    questions
        .into_iter()
        .map(|(path, version, question)| match live.problems(path, version, question, until)? {
            (problems, AnswerBasis::Asked) => Ok(problems),
            // The server does not support the request, and the diagnostics that it published may predate the edit.
            _ => Err(DiagnosticsFailure::of(UnknownReason::Version)),
        })
        .collect()
}
