//! Work on a thread of Node's pool.

use emendate_core::{Code, Error};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The work of a call, which returns an envelope.
pub struct Job {
    work: Option<Box<dyn FnOnce() -> String + Send>>,
}

impl Job {
    /// Queues work for the pool.
    pub(crate) fn start(work: impl FnOnce() -> String + Send + 'static) -> AsyncTask<Job> {
        AsyncTask::new(Job { work: Some(Box::new(work)) })
    }
}

impl Task for Job {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<String> {
        let work = self.work.take();
        // A panic must not end the process of Node.
        let done = catch_unwind(AssertUnwindSafe(|| work.map(|work| work())));
        Ok(done.ok().flatten().unwrap_or_else(|| emendate_javascript::envelope(Err(panicked()))))
    }

    fn resolve(&mut self, _: Env, envelope: String) -> napi::Result<String> {
        Ok(envelope)
    }
}

/// Returns the error of a call that panicked.
pub(crate) fn panicked() -> Error {
    Error::new(Code::InternalBug, "The call met a bug of Emendate and was given up.")
}
