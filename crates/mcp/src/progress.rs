//! Progress of a call, reported to clients that sent a token for it.

use emendate::{CallHandle, CallPhase, Progress};
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot::Receiver;

/// Age of a call from which it is reported: shorter ones need no progress.
const FIRST_REPORT_AFTER: Duration = Duration::from_secs(1);
/// Interval between reports, if there is progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// Reports the progress of the call of `handle` until `end`. Nothing is reported when it has ended: a client that gets
/// a report together with the answer has already forgotten the call, and may take the report for a fault of the server.
/// Calls without a count of files are not reported.
/// `reported` is the number that earlier parts of the request reached, because reported values must increase.
pub(crate) async fn report_progress(
    context: &RequestContext<RoleServer>,
    handle: &CallHandle,
    mut end: Receiver<()>,
    reported: &AtomicUsize,
) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let base = reported.load(Ordering::Relaxed);
    let (mut highest, mut wait) = (0, FIRST_REPORT_AFTER);
    loop {
        tokio::select! {
            biased;
            _ = &mut end => return,
            () = tokio::time::sleep(wait) => {}
        }
        wait = REPORT_INTERVAL;
        let progress = handle.progress();
        let all = progress.before + progress.done;
        // Reported values must increase; and nothing waits for a call that was cancelled.
        if all > highest && !context.ct.is_cancelled() {
            highest = all;
            reported.store(base + all, Ordering::Relaxed);
            let mut note =
                ProgressNotificationParam::new(token.clone(), number(base + all)).with_message(words(progress));
            if progress.of > 0 {
                note = note.with_total(number(base + progress.before + progress.of));
            }
            // A failed report does not affect the answer.
            let _ = context.peer.notify_progress(note).await;
        }
    }
}

/// Reports that the request waits for a person, so that the client does not give up.
pub(crate) async fn report_question(context: &RequestContext<RoleServer>, id: &str, reported: &AtomicUsize) {
    let Some(token) = context.meta.get_progress_token().filter(|_| !context.ct.is_cancelled()) else { return };
    let count = reported.fetch_add(1, Ordering::Relaxed) + 1;
    let text = format!("waiting for a person: emend approve {id}");
    // A failed report does not affect the answer.
    let _ = context.peer.notify_progress(ProgressNotificationParam::new(token, number(count)).with_message(text)).await;
}

/// Converts to the protocol's number type. The number of files is far below the limit of exact doubles.
#[allow(clippy::cast_precision_loss)]
fn number(files: usize) -> f64 {
    files as f64
}

fn words(Progress { step, done, of, .. }: Progress) -> String {
    match (step, of) {
        (CallPhase::Listing, _) => format!("listing: {done} files"),
        (CallPhase::Reading, 0) => format!("reading: {done} files"),
        (CallPhase::Reading, of) => format!("reading: {done} of {of} files"),
        (CallPhase::Writing, of) => format!("writing {of} files"),
    }
}
