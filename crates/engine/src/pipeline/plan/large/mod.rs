//! Files too large to be loaded whole. One pass in chunks collects the input of an exact edit, an edit of some lines or
//! a read. The parts around the relevant positions then form a sparse snapshot, which the same code handles as a whole
//! text, and the new file is assembled from parts of the old one. Operations that need the whole text load the file, up
//! to `max_whole`.

pub(crate) mod edit;
pub(crate) mod hunks;
pub(crate) mod line_edits;
pub(crate) mod pass;
pub(crate) mod read;
pub(crate) mod sparse;
pub(crate) mod tag;

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::context::{Context, LoadedFile, encoding};
use crate::pipeline::plan::notebook;
use crate::session::base::{Base, find_base};
use emendate_core::{
    Advice, Charset, Code, Error, ErrorContext, FileSummary, Op, Result, Scan, ScanObstacle, ScanResult, Snapshot,
};
use emendate_fs::{FileSource, FileVersion, SafePath};

/// Bytes read and scanned together.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;
/// Retries for a file that changes while it is scanned.
pub(crate) const RACE_RETRIES_MAX: usize = 3;

/// The current file.
pub(crate) enum LoadedSource {
    /// The content of the file; `None` if it does not exist.
    Whole(Option<FileVersion>),
    /// A large file, open for reading.
    Big(FileSource),
}

/// The reason why an operation needs the whole file, as the end of a sentence, with advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeFileReason {
    pub(crate) what: &'static str,
    /// The text of [`Advice::named`].
    pub(crate) next: &'static str,
}

impl WholeFileReason {
    /// Creates the reason.
    pub(crate) const fn new(what: &'static str, next: &'static str) -> WholeFileReason {
        WholeFileReason { what, next }
    }
}

/// Reads that show lines in a special way.
pub(crate) const SHOWN_AS_WHOLE: WholeFileReason = WholeFileReason::new(
    "is to be shown in a way that needs all of its text",
    "Read it with offset and limit alone, in any format but those with words.",
);
const DECLARED_ENCODING: WholeFileReason = WholeFileReason::new(
    "is declared to be in an encoding other than UTF-8, so it would have to be loaded whole",
    "Use ASCII text only, or ask a person to raise max_whole.",
);
const NEEDS_MERGE: WholeFileReason = WholeFileReason::new(
    "changed since it was read, and would have to be loaded whole to be merged",
    "Read the lines again, then send the edit again.",
);
const IS_BINARY: WholeFileReason =
    WholeFileReason::new("is binary", "It cannot be edited as text; use another program.");
const NOT_UTF8: WholeFileReason = WholeFileReason::new(
    "is not UTF-8, so it would have to be loaded whole",
    "Convert it to UTF-8 first, e.g. with iconv, or ask a person to raise max_whole.",
);
const TOO_MANY_OCCURRENCES: WholeFileReason = WholeFileReason::new(
    "has the text in too many places to be edited in parts",
    "Give a longer {old_string} that fits fewer places, or ask a person to raise max_whole.",
);

/// The targets of a scan.
#[derive(Clone, Copy, Default)]
pub(crate) struct ScanQuery<'s> {
    pub(crate) needles: &'s [&'s str],
    /// Lines whose offsets are requested.
    pub(crate) lines: &'s [usize],
    /// Requests the short tag.
    pub(crate) tag: bool,
}

/// The reason why something was not done by streaming.
pub(crate) enum StreamObstacle {
    /// The whole text is needed.
    Whole(WholeFileReason),
    Failed(Error),
}

impl StreamObstacle {
    /// Leaves it to be done with the whole text: returns `None`.
    ///
    /// Errors: `file.too_large` if the file cannot be loaded whole; the failure.
    pub(crate) fn or_whole<T>(self, context: &Context, path: &SafePath, size: u64) -> Result<Option<T>> {
        match self {
            StreamObstacle::Whole(why) => check_whole_allowed(context, path, size, why).map(|()| None),
            StreamObstacle::Failed(error) => Err(error),
        }
    }
}

impl From<Error> for StreamObstacle {
    fn from(error: Error) -> StreamObstacle {
        StreamObstacle::Failed(error)
    }
}

impl From<WholeFileReason> for StreamObstacle {
    fn from(why: WholeFileReason) -> StreamObstacle {
        StreamObstacle::Whole(why)
    }
}

impl From<ScanObstacle> for StreamObstacle {
    fn from(obstacle: ScanObstacle) -> StreamObstacle {
        StreamObstacle::Whole(match obstacle {
            ScanObstacle::Encoding(_) => NOT_UTF8,
            ScanObstacle::Binary => IS_BINARY,
            ScanObstacle::Crowded => TOO_MANY_OCCURRENCES,
        })
    }
}

/// An edit of a large file, and the call that makes it.
pub(crate) struct StreamedEdit<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) path: &'a SafePath,
    pub(crate) ops: &'a [Op],
    pub(crate) options: &'a CallOptions,
}

/// Loads the current file; a large one is only opened.
pub(crate) fn load_sized(context: &Context, path: &SafePath) -> Result<LoadedSource> {
    let config = context.config();
    let most = config.stream_from.min(config.max_whole).min(config.max_file);
    let error = match context.read_up_to(path, most) {
        Err(error) if error.code() == Code::FileTooLarge => error,
        other => return other.map(LoadedSource::Whole),
    };
    match context.store().source(path)? {
        None => Ok(LoadedSource::Whole(None)),
        // Loaded or refused by its kind, before its content is scanned.
        Some(source) if source.meta().size > config.max_file => {
            drop(source);
            context.read_up_to(path, config.max_file).map(LoadedSource::Whole)
        }
        Some(source) if source.meta().size > most => Ok(LoadedSource::Big(source)),
        // The file was larger a moment ago, or does not report its size.
        Some(_) => context.version(path).map(LoadedSource::Whole).map_err(|_| error),
    }
}

/// Refuses a file that would have to be loaded whole, if it is too large for that.
pub(crate) fn check_whole_allowed(
    context: &Context,
    safe_path: &SafePath,
    size: u64,
    why: WholeFileReason,
) -> Result<()> {
    let most = context.config().max_whole_bytes();
    if size <= most {
        return Ok(());
    }
    if why == IS_BINARY {
        return Err(Error::new(Code::ContentBinary, format!("{} is binary.", safe_path.shown()))
            .next(Advice::named(why.next).or("Edit it in smaller parts.")));
    }
    let (path, what) = (safe_path.shown(), why.what);
    let message = format!("{path} has {size} bytes and {what}; that is done for files of up to {most} bytes.");
    Err(Error::new(Code::FileTooLarge, message)
        .next(Advice::named(why.next).or("Edit it in smaller parts."))
        .about(ErrorContext::FileSize(size))
        .fact("limit", most))
}

/// True when a large file has to be written in place, and is small enough to be loaded whole for that.
pub(crate) fn fits_whole(context: &Context, error: &Error) -> bool {
    let in_place = error.contexts().iter().any(|it| matches!(it, ErrorContext::WrittenInPlace(_)));
    in_place && error.file_size().is_some_and(|size| size <= context.config().max_whole_bytes())
}

/// Streams a file, and retries while others write it; `None` if the file has to be loaded whole.
///
/// Errors: as `once`; `file.too_large` if the file has to be loaded whole and cannot be.
pub(crate) fn retry_streamed<T>(
    context: &Context,
    path: &SafePath,
    source: FileSource,
    mut once: impl FnMut(FileSource) -> Result<T, StreamObstacle>,
) -> Result<Option<T>> {
    let (mut source, mut attempt) = (source, 1);
    loop {
        let size = source.meta().size;
        match once(source) {
            Ok(done) => return Ok(Some(done)),
            Err(StreamObstacle::Failed(error)) if error.code() == Code::ConflictRaced && attempt < RACE_RETRIES_MAX => {
                let Some(again) = context.store().source(path)? else { return Ok(None) };
                (source, attempt) = (again, attempt + 1);
            }
            Err(why) => return why.or_whole(context, path, size),
        }
    }
}

impl StreamedEdit<'_> {
    /// True when nothing but the edit itself may require the whole text.
    fn asks_for_parts(&self) -> bool {
        let StreamedEdit { call, path, options, .. } = self;
        options.declared.is_none()
            && !options.whole
            && options.anchor_format.is_none()
            && !notebook::is_named(path)
            && !call.config().formatters.iter().any(|it| it.files.matches(path.relative(), path.absolute()))
    }

    /// Refuses new text that has to be written in an encoding that the bytes do not show.
    fn check_encoding(&self, whole: &FileSummary) -> Result<(), StreamObstacle> {
        let call = &self.call;
        let is_declared_otherwise = whole.ascii
            && self.ops.iter().any(|op| !op.text.is_ascii())
            && encoding::configured_encoding(call.config(), call.store(), self.path)
                .is_some_and(|it| it.declared.charset != Charset::Utf8);
        if is_declared_otherwise { Err(DECLARED_ENCODING.into()) } else { Ok(()) }
    }

    /// Finds the version that the caller saw of a file of which only parts are loaded. A merge needs all of it; if the
    /// file may not be loaded whole, a version that differs counts as lost.
    fn find_base_of_parts(&self, now: &LoadedFile) -> Result<Base, StreamObstacle> {
        let base = find_base(self.call, self.options, self.path, now)?;
        if now.meta.size > self.call.config().max_whole_bytes() {
            return Ok(base.without_merge());
        }
        if base.is_stale() { Err(NEEDS_MERGE.into()) } else { Ok(base) }
    }
}

/// Scans a file.
pub(crate) fn scan(source: &FileSource, sought: ScanQuery<'_>) -> Result<ScanResult, StreamObstacle> {
    scan_beside(source, sought, |_| ())
}

/// Scans a file and passes every chunk to a second consumer.
pub(crate) fn scan_beside(
    source: &FileSource,
    sought: ScanQuery<'_>,
    mut beside: impl FnMut(&[u8]),
) -> Result<ScanResult, StreamObstacle> {
    let size = usize::try_from(source.meta().size).unwrap_or(usize::MAX);
    let scan = Scan::new(sought.needles, sought.lines, size);
    let mut scan = if sought.tag { scan.with_short_tag() } else { scan };
    let mut unfit = None;
    let gone = source.for_each_chunk(CHUNK_BYTES, |chunk| {
        beside(chunk);
        scan.feed(chunk).map_err(|why| {
            unfit = Some(why);
            Error::new(Code::ContentUndecodable, "It is not text that comes in chunks.")
        })
    });
    if let Some(unfit) = unfit {
        return Err(unfit.into());
    }
    gone?;
    Ok(scan.finish()?)
}

/// Wraps a sparse snapshot as a loaded file.
pub(crate) fn opened(source: &FileSource, snapshot: Snapshot) -> LoadedFile {
    LoadedFile { snapshot, meta: *source.meta(), racy: true }
}
