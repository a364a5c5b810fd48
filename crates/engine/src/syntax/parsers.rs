//! Access to grammars: questions about texts, answered in this process or in worker processes, where a crash, a hang or
//! excessive memory use of a grammar affects nothing else.

use crate::watch::NEVER;
use emendate_core::ContentId;
use emendate_core::work;
use emendate_run::{Companion, Silence, bound_self, mapped};
use emendate_syntax::{About, Answer, Answered, Answerer, Block, FirstError, Language, Limits, Question, Target};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Concurrent worker processes.
const PROCESSES: usize = 4;
/// Bytes of memory for one answer.
pub(crate) const PARSE_MEMORY: u64 = 512 << 20;
/// Bytes of stack for a parse in a worker. A text with deeper nesting ends it.
const STACK: usize = 64 << 20;
/// Mapped bytes from which a worker is replaced, because grammars leak memory.
const WORN: u64 = 384 << 20;
/// Bytes of a message.
const MESSAGE: usize = 256 << 20;
/// Seconds of processor time for an answer beyond the time of the limits.
const GRACE: u64 = 1;
/// Longest wait for an answer on a busy machine. The processor time of a worker has a much lower limit.
const WAIT: Duration = Duration::from_secs(60);
/// Interval at which a waiting call checks whether to stop.
const GLANCE: Duration = Duration::from_millis(50);
/// Remembered texts that ended a worker.
const FATAL: usize = 256;

/// The texts that are parsed in worker processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Apart {
    /// None: a fault of a grammar ends this process. For programs that embed the engine.
    #[default]
    Never,
    /// All except for short ASCII texts: for a process that makes one call, where starting a worker would cost as much
    /// as the call. Every known fault of the grammars needs another character or more text.
    Unusual,
    /// All: for servers.
    Always,
}

/// The reason for a missing answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The text is too large, too deeply nested or takes too long.
    Beyond,
    /// The grammar failed on this text.
    Failed,
    /// The call was asked to stop.
    Stopped,
}

/// The idle workers, and the number of busy ones.
#[derive(Default)]
struct Pool {
    idle: Vec<Companion>,
    busy: usize,
    fatal: VecDeque<ContentId>,
}

/// Answers questions about texts.
#[derive(Default)]
pub(crate) struct Parsers {
    apart: Apart,
    /// The program and its arguments.
    words: Vec<String>,
    here: Answerer,
    pool: Mutex<Pool>,
    freed: Condvar,
}

impl Parsers {
    /// Parses in worker processes of this program.
    pub(crate) fn apart(words: Vec<String>, apart: Apart) -> Parsers {
        Parsers { apart, words, ..Parsers::default() }
    }

    /// Answers a question.
    pub(crate) fn ask(&self, question: &Question<'_>, stop: &AtomicBool) -> Result<Answered, Unanswered> {
        let fits = |text: &str| text.len() <= question.limits.bytes;
        let other = if let About::After(after) = &question.about { &**after } else { "" };
        if !fits(&question.text) || !fits(other) {
            return Err(Unanswered::Beyond);
        }
        let plain = |text: &str| text.len() <= Limits::CHECK.bytes && text.is_ascii();
        let here = match self.apart {
            Apart::Never => true,
            Apart::Unusual => plain(&question.text) && plain(other),
            Apart::Always => false,
        };
        if here {
            let answered = self.here.answer(question, stop);
            let stopped = answered.answer.is_none() && stop.load(Ordering::Relaxed);
            return if stopped { Err(Unanswered::Stopped) } else { Ok(answered) };
        }
        // The meter also covers a client that is gone, and work that is used up.
        let meter = work::current();
        let stopped = || stop.load(Ordering::Relaxed) || meter.as_ref().is_some_and(|it| it.halted().is_some());
        self.ask_another(question, stop, &stopped)
    }

    fn ask_another(
        &self,
        question: &Question<'_>,
        stop: &AtomicBool,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Answered, Unanswered> {
        let message = serde_json::to_vec(question).map_err(|_| Unanswered::Failed)?;
        let id = ContentId::of(&message);
        self.enter(id, stopped)?;
        let asked = self.exchange(&message, stopped);
        let mut pool = self.pool();
        pool.busy -= 1;
        self.freed.notify_one();
        match asked {
            Some(Ok((answered, companion))) => {
                pool.idle.push(companion);
                Ok(answered)
            }
            Some(Err(Silence::Stopped)) => Err(Unanswered::Stopped),
            Some(Err(Silence::Failed | Silence::Ended)) => {
                pool.fatal.truncate(FATAL - 1);
                pool.fatal.push_front(id);
                Err(Unanswered::Failed)
            }
            None => {
                drop(pool);
                // If no worker can be started, an answer is more important than isolation.
                Ok(self.here.answer(question, stop))
            }
        }
    }

    /// Sends a message to a worker; returns the answer and the worker. `None` if none can be started.
    fn exchange(&self, message: &[u8], stopped: &dyn Fn() -> bool) -> Option<Result<(Answered, Companion), Silence>> {
        let idle = self.pool().idle.pop();
        let again = idle.is_some();
        let mut companion = idle.or_else(|| self.start())?;
        let mut asked = companion.ask(message, MESSAGE, WAIT, stopped);
        if again && asked == Err(Silence::Ended) {
            // The worker was worn or was killed: the text is not to blame.
            companion = self.start()?;
            asked = companion.ask(message, MESSAGE, WAIT, stopped);
        }
        let answered = asked.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|_| Silence::Failed));
        Some(answered.map(|answered| (answered, companion)))
    }

    /// Waits until another worker may be used.
    fn enter(&self, id: ContentId, stopped: &dyn Fn() -> bool) -> Result<(), Unanswered> {
        let mut pool = self.pool();
        if pool.fatal.contains(&id) {
            return Err(Unanswered::Failed);
        }
        while pool.busy >= PROCESSES {
            if stopped() {
                return Err(Unanswered::Stopped);
            }
            let waited = self.freed.wait_timeout(pool, GLANCE);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        pool.busy += 1;
        Ok(())
    }

    fn start(&self) -> Option<Companion> {
        Companion::start(&self.words, Path::new("/")).ok()
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a worker: answers questions of the parent process until the input ends. A text that is too much for its grammar
/// ends this process, by a crash or by its own limits.
///
/// Errors: a broken pipe, or an invalid message.
pub fn answer_questions(mut input: impl Read, mut output: impl Write) -> std::io::Result<()> {
    let answerer = Answerer::default();
    let stop = AtomicBool::new(false);
    loop {
        let mut len = [0; 4];
        if input.read_exact(&mut len).is_err() {
            return Ok(());
        }
        let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX).min(MESSAGE);
        let mut message = vec![0; len];
        input.read_exact(&mut message)?;
        let mut question: Question<'_> = serde_json::from_slice(&message)?;
        question.limits.stack = STACK;
        bound_self(PARSE_MEMORY, question.limits.millis.div_ceil(1000) + GRACE);
        let answer = serde_json::to_vec(&answerer.answer(&question, &stop))?;
        let len = u32::try_from(answer.len()).unwrap_or(u32::MAX);
        output.write_all(&len.to_le_bytes())?;
        output.write_all(&answer)?;
        output.flush()?;
        if mapped() > WORN {
            return Ok(());
        }
    }
}

/// A text to be compared with edited versions of it. All answers share the time limit.
pub(crate) struct Comparison<'a> {
    parsers: &'a Parsers,
    language: Language,
    before: &'a str,
    limits: Cell<Limits>,
}

/// The parse result of the edited text, once known.
pub(crate) enum Compared {
    Parses,
    Breaks(FirstError),
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(parsers: &'a Parsers, language: Language, before: &'a str, limits: Limits) -> Comparison<'a> {
        Comparison { parsers, language, before, limits: Cell::new(limits) }
    }

    /// Parses `after`; `None` if the first text does not parse, or the time is used up.
    pub(crate) fn after(&self, after: &str) -> Option<Compared> {
        let answered = self.ask(About::After(Cow::Borrowed(after)))?;
        self.limits.set(Limits { millis: answered.left, ..self.limits.get() });
        match answered.answer? {
            Answer::After(None) => Some(Compared::Parses),
            Answer::After(Some(error)) => Some(Compared::Breaks(error)),
            _ => None,
        }
    }

    /// Returns whether `after` parses.
    pub(crate) fn parses(&self, after: &str) -> Option<bool> {
        self.after(after).map(|it| matches!(it, Compared::Parses))
    }

    /// Returns the blocks that begin on some lines of the first text.
    pub(crate) fn blocks(&self, lines: Vec<usize>) -> Vec<Option<Block>> {
        match self.ask(About::Blocks(lines)).and_then(|it| it.answer) {
            Some(Answer::Blocks(blocks)) => blocks.into_iter().map(Result::ok).collect(),
            _ => Vec::new(),
        }
    }

    fn ask(&self, about: About<'_>) -> Option<Answered> {
        let limits = self.limits.get();
        if limits.millis == 0 {
            return None;
        }
        let question = Question { language: self.language, limits, text: Cow::Borrowed(self.before), about };
        self.parsers.ask(&question, &NEVER).ok()
    }
}

/// Refers to a symbol by its path.
pub(crate) fn target(path: &str, line: Option<usize>) -> Target<'_> {
    Target { path: Cow::Borrowed(path), line }
}

#[cfg(test)]
mod tests {
    use super::{Apart, Comparison, NEVER, Parsers, Unanswered};
    use emendate_core::work::Meter;
    use emendate_syntax::{About, Language, Limits, Question};
    use std::borrow::Cow;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nobody_waits_for_an_answer_to_a_client_that_is_gone() {
        let words = ["sh", "-c", "exec sleep 600"].map(str::to_owned).to_vec();
        let parsers = Parsers::apart(words, Apart::Always);
        let gone = Arc::new(AtomicBool::new(true));
        let _entered = Meter::also(1_000, Arc::default(), gone).enter();
        let (language, limits) = (Language::named("rust").unwrap(), Limits::CHECK);
        let question = Question { language, limits, text: Cow::Borrowed("x"), about: About::After(Cow::Borrowed("y")) };
        assert!(matches!(parsers.ask(&question, &NEVER), Err(Unanswered::Stopped)));
        assert!(Comparison::new(&parsers, language, "x", limits).after("y").is_none());
    }
}
