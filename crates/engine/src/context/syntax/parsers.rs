//! Access to grammars: questions about texts, answered in this process or in worker processes, where a crash, a hang or
//! excessive memory use of a grammar affects nothing else.

use crate::model::call_handle::NEVER_STOPPED;
use emendate_core::{ContentId, work};
use emendate_run::{Companion, NoAnswer, limit_self, mapped_bytes};
use emendate_syntax::{
    Answerer, CodeBlock, FirstError, Language, ParseLimits, QuerySubject, SymbolTarget, SyntaxAnswer, SyntaxQuery,
    TimedAnswer,
};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Concurrent worker processes.
const WORKERS_MAX: usize = 4;
/// Bytes of memory for one answer.
pub(crate) const PARSE_MEMORY_BYTES_MAX: u64 = 512 << 20;
/// Bytes of stack for a parse in a worker. A text with deeper nesting ends it.
const PARSE_STACK_BYTES: usize = 64 << 20;
/// Bytes mapped since the start from which a worker is replaced, because grammars leak memory. What it maps at the start
/// does not count: an allocator may reserve a gigabyte then.
const WORKER_GROWTH_BYTES_MAX: u64 = 320 << 20;
/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Seconds of processor time for an answer beyond the time of the limits.
const GRACE_SECONDS: u64 = 1;
/// Longest wait for an answer on a busy machine. The processor time of a worker has a much lower limit.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);
/// Interval at which a waiting call checks whether to stop.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Remembered texts that ended a worker.
const FATAL_TEXTS_MAX: usize = 256;

/// The texts that are parsed in worker processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParserIsolation {
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
pub(crate) enum NoAnswerReason {
    /// The text is too large, too deeply nested or takes too long.
    Beyond,
    /// The grammar failed on this text.
    Failed,
    /// The call was asked to stop.
    Stopped,
}

/// The idle workers, and the number of busy ones.
#[derive(Default)]
struct CompanionPool {
    idle: Vec<Companion>,
    busy: usize,
    fatal: VecDeque<ContentId>,
}

/// Answers questions about texts.
#[derive(Default)]
pub(crate) struct Parsers {
    isolation: ParserIsolation,
    /// The program and its arguments.
    command: Vec<String>,
    here: Answerer,
    pool: Mutex<CompanionPool>,
    freed: Condvar,
}

impl Parsers {
    /// Parses in worker processes of this program.
    pub(crate) fn isolated(command: Vec<String>, isolation: ParserIsolation) -> Parsers {
        Parsers { isolation, command, ..Parsers::default() }
    }

    /// Answers a question.
    pub(crate) fn ask(&self, question: &SyntaxQuery<'_>, stop: &AtomicBool) -> Result<TimedAnswer, NoAnswerReason> {
        let fits = |text: &str| text.len() <= question.limits.bytes;
        let other = if let QuerySubject::After(after) = &question.about { &**after } else { "" };
        if !fits(&question.text) || !fits(other) {
            return Err(NoAnswerReason::Beyond);
        }
        let here = match self.isolation {
            ParserIsolation::Never => true,
            ParserIsolation::Unusual => is_small_ascii(&question.text) && is_small_ascii(other),
            ParserIsolation::Always => false,
        };
        if here {
            let answered = self.here.answer(question, stop);
            let stopped = answered.answer.is_none() && stop.load(Ordering::Relaxed);
            return if stopped { Err(NoAnswerReason::Stopped) } else { Ok(answered) };
        }
        // The meter also covers a client that is gone, and work that is used up.
        let meter = work::current();
        let stopped = || stop.load(Ordering::Relaxed) || meter.as_ref().is_some_and(|it| it.halted().is_some());
        self.ask_another(question, stop, &stopped)
    }

    fn ask_another(
        &self,
        question: &SyntaxQuery<'_>,
        stop: &AtomicBool,
        stopped: &dyn Fn() -> bool,
    ) -> Result<TimedAnswer, NoAnswerReason> {
        let message = serde_json::to_vec(question).map_err(|_| NoAnswerReason::Failed)?;
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
            Some(Err(NoAnswer::Stopped)) => Err(NoAnswerReason::Stopped),
            Some(Err(NoAnswer::Failed | NoAnswer::Ended)) => {
                pool.fatal.truncate(FATAL_TEXTS_MAX - 1);
                pool.fatal.push_front(id);
                Err(NoAnswerReason::Failed)
            }
            None => {
                drop(pool);
                // If no worker can be started, an answer is more important than isolation.
                Ok(self.here.answer(question, stop))
            }
        }
    }

    /// Sends a message to a worker; returns the answer and the worker. `None` if none can be started.
    fn exchange(
        &self,
        message: &[u8],
        stopped: &dyn Fn() -> bool,
    ) -> Option<Result<(TimedAnswer, Companion), NoAnswer>> {
        let idle = self.pool().idle.pop();
        let again = idle.is_some();
        let mut companion = idle.or_else(|| self.start())?;
        let mut asked = companion.ask(message, MESSAGE_BYTES_MAX, ANSWER_WAIT_MAX, stopped);
        if again && asked == Err(NoAnswer::Ended) {
            // The idle worker may have ended for another reason than this text, so a new worker gets the same question.
            companion = self.start()?;
            asked = companion.ask(message, MESSAGE_BYTES_MAX, ANSWER_WAIT_MAX, stopped);
        }
        let answered = asked.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|_| NoAnswer::Failed));
        Some(answered.map(|answered| (answered, companion)))
    }

    /// Waits until another worker may be used.
    fn enter(&self, id: ContentId, stopped: &dyn Fn() -> bool) -> Result<(), NoAnswerReason> {
        let mut pool = self.pool();
        if pool.fatal.contains(&id) {
            return Err(NoAnswerReason::Failed);
        }
        while pool.busy >= WORKERS_MAX {
            if stopped() {
                return Err(NoAnswerReason::Stopped);
            }
            let waited = self.freed.wait_timeout(pool, CANCEL_POLL_INTERVAL);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        pool.busy += 1;
        Ok(())
    }

    fn start(&self) -> Option<Companion> {
        Companion::start(&self.command, Path::new("/")).ok()
    }

    fn pool(&self) -> MutexGuard<'_, CompanionPool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for a text that is quick to parse.
fn is_small_ascii(text: &str) -> bool {
    text.len() <= ParseLimits::CHECK.bytes && text.is_ascii()
}

/// Runs a worker: answers questions of the parent process until the input ends. A text that is too much for its grammar
/// ends this process, by a crash or by its own limits.
///
/// Errors: a broken pipe, or an invalid message.
pub fn answer_questions(mut input: impl Read, mut output: impl Write) -> std::io::Result<()> {
    let answerer = Answerer::default();
    let stop = AtomicBool::new(false);
    let mapped_at_start = mapped_bytes();
    loop {
        let mut len = [0; 4];
        if input.read_exact(&mut len).is_err() {
            return Ok(());
        }
        let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX).min(MESSAGE_BYTES_MAX);
        let mut message = vec![0; len];
        input.read_exact(&mut message)?;
        let mut question: SyntaxQuery<'_> = serde_json::from_slice(&message)?;
        question.limits.stack = PARSE_STACK_BYTES;
        limit_self(PARSE_MEMORY_BYTES_MAX, question.limits.millis.div_ceil(1000) + GRACE_SECONDS);
        let answer = serde_json::to_vec(&answerer.answer(&question, &stop))?;
        let len = u32::try_from(answer.len()).unwrap_or(u32::MAX);
        output.write_all(&len.to_le_bytes())?;
        output.write_all(&answer)?;
        output.flush()?;
        if mapped_bytes().saturating_sub(mapped_at_start) > WORKER_GROWTH_BYTES_MAX {
            return Ok(());
        }
    }
}

/// A text to be compared with edited versions of it. All answers share the time limit.
pub(crate) struct Comparison<'a> {
    parsers: &'a Parsers,
    language: Language,
    before: &'a str,
    limits: Cell<ParseLimits>,
}

/// The parse result of the edited text, once known.
pub(crate) enum ComparisonResult {
    Parses,
    Breaks(FirstError),
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(
        parsers: &'a Parsers,
        language: Language,
        before: &'a str,
        limits: ParseLimits,
    ) -> Comparison<'a> {
        Comparison { parsers, language, before, limits: Cell::new(limits) }
    }

    /// Parses `after`; `None` if the first text does not parse, or the time is used up.
    pub(crate) fn after(&self, after: &str) -> Option<ComparisonResult> {
        let answered = self.ask(QuerySubject::After(Cow::Borrowed(after)))?;
        self.limits.set(ParseLimits { millis: answered.left, ..self.limits.get() });
        match answered.answer? {
            SyntaxAnswer::After(None) => Some(ComparisonResult::Parses),
            SyntaxAnswer::After(Some(error)) => Some(ComparisonResult::Breaks(error)),
            _ => None,
        }
    }

    /// Returns whether `after` parses.
    pub(crate) fn parses(&self, after: &str) -> Option<bool> {
        self.after(after).map(|it| matches!(it, ComparisonResult::Parses))
    }

    /// Returns the blocks that begin on some lines of the first text.
    pub(crate) fn blocks(&self, lines: Vec<usize>) -> Vec<Option<CodeBlock>> {
        match self.ask(QuerySubject::Blocks(lines)).and_then(|it| it.answer) {
            Some(SyntaxAnswer::Blocks(blocks)) => blocks.into_iter().map(Result::ok).collect(),
            _ => Vec::new(),
        }
    }

    fn ask(&self, about: QuerySubject<'_>) -> Option<TimedAnswer> {
        let limits = self.limits.get();
        if limits.millis == 0 {
            return None;
        }
        let question = SyntaxQuery { language: self.language, limits, text: Cow::Borrowed(self.before), about };
        self.parsers.ask(&question, &NEVER_STOPPED).ok()
    }
}

/// Refers to a symbol by its path.
pub(crate) fn target(path: &str, line: Option<usize>) -> SymbolTarget<'_> {
    SymbolTarget { path: Cow::Borrowed(path), line }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, NEVER_STOPPED, NoAnswerReason, ParserIsolation, Parsers};
    use emendate_core::work::Meter;
    use emendate_syntax::{Language, ParseLimits, QuerySubject, SyntaxQuery};
    use std::borrow::Cow;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn cancelled_call_does_not_wait_for_a_parser() {
        let command = ["sh", "-c", "exec sleep 600"].map(str::to_owned).to_vec();
        let parsers = Parsers::isolated(command, ParserIsolation::Always);
        let gone = Arc::new(AtomicBool::new(true));
        let _entered = Meter::with_flag(1_000, Arc::default(), gone).enter();
        let (language, limits) = (Language::from_name("rust").unwrap(), ParseLimits::CHECK);
        let question =
            SyntaxQuery { language, limits, text: Cow::Borrowed("x"), about: QuerySubject::After(Cow::Borrowed("y")) };
        assert!(matches!(parsers.ask(&question, &NEVER_STOPPED), Err(NoAnswerReason::Stopped)));
        assert!(Comparison::new(&parsers, language, "x", limits).after("y").is_none());
    }
}
