//! Progress of a call, told to clients that gave a token for it.

use emendate::{Progress, Step, Watch};
use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use std::time::Duration;
use tokio::sync::oneshot::Receiver;

/// How often it is told, while there is something new.
const EVERY: Duration = Duration::from_millis(200);

/// Tells how far the call of `watch` is until `end`, and then once more, so that the last word is there before the answer.
/// Nothing is told of calls that look at no files one by one.
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
        // What is told must rise; and nobody waits for a call that was cancelled.
        if all > told && !context.ct.is_cancelled() {
            told = all;
            let mut note = ProgressNotificationParam::new(token.clone(), number(all)).with_message(words(progress));
            if progress.of > 0 {
                note = note.with_total(number(progress.before + progress.of));
            }
            // A client that does not listen gets its answer all the same, or not.
            let _ = context.peer.notify_progress(note).await;
        }
        if ended {
            return;
        }
    }
}

/// As the protocol counts. Files are far fewer than what a double holds exactly.
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
