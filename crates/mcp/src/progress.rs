//! Progress of a call, reported to clients that sent a token for it.

use emendate::{Progress, Step, Watch};
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use std::time::Duration;
use tokio::sync::oneshot::Receiver;

/// Interval between reports, if there is progress.
const EVERY: Duration = Duration::from_millis(200);

/// Reports the progress of the call of `watch` until `end`, and then once more, so that the last report precedes the
/// answer. Calls without a count of files are not reported.
pub(crate) async fn tell(context: &RequestContext<RoleServer>, watch: &Watch, mut end: Receiver<()>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let mut told = 0;
    loop {
        let ended = tokio::select! {
            biased;
            _ = &mut end => true,
            () = tokio::time::sleep(EVERY) => false,
        };
        let progress = watch.progress();
        let all = progress.before + progress.done;
        // Reported values must increase; and nothing waits for a call that was cancelled.
        if all > told && !context.ct.is_cancelled() {
            told = all;
            let mut note = ProgressNotificationParam::new(token.clone(), number(all)).with_message(words(progress));
            if progress.of > 0 {
                note = note.with_total(number(progress.before + progress.of));
            }
            // A failed report does not affect the answer.
            let _ = context.peer.notify_progress(note).await;
        }
        if ended {
            return;
        }
    }
}

/// Converts to the protocol's number type. The number of files is far below the limit of exact doubles.
#[allow(clippy::cast_precision_loss)]
fn number(files: usize) -> f64 {
    files as f64
}

fn words(Progress { step, done, of, .. }: Progress) -> String {
    match (step, of) {
        (Step::Listing, _) => format!("listing: {done} files"),
        (Step::Reading, 0) => format!("reading: {done} files"),
        (Step::Reading, of) => format!("reading: {done} of {of} files"),
        (Step::Writing, of) => format!("writing {of} files"),
    }
}
