//! Files too large to be taken whole. What an exact edit, an edit of some lines or a read of them needs comes in one pass in chunks;
//! then the parts around the places that matter are looked at as an *extract*, by the same code as a whole text, and the new
//! file is made of parts of the old one. Whatever needs all of the text at once goes the usual way, up to `max_whole`.

mod edit;
mod extract;
mod hunks;
mod pass;
mod read;
mod rows;
mod tag;
mod undo;

pub(crate) use extract::{MOST_PARTS, NEAR};
pub(crate) use pass::{MOST_LINE, Passing, SEARCHED};
pub(crate) use read::MOST_READ;
pub(crate) use tag::tag_parts;

use crate::encoding;
use crate::engine::{Engine, Opened};
use crate::notebook;
use crate::options::Options;
use crate::plan::Plan;
use emendate_core::{Charset, Code, Error, Op, Result, Scan, Scanned, Snapshot, Unfit, Whole};
use emendate_fs::{Place, Source, Version};

/// A file above this many bytes is not taken whole where that is not needed.
pub const STREAM_FROM: u64 = 4 << 20;
/// The largest file that is taken whole, in bytes.
pub const MAX_WHOLE: u64 = 256 << 20;

/// Bytes read and looked at together.
const CHUNK: usize = 256 << 10;
/// Times a file is gone through that changes meanwhile.
pub(crate) const ATTEMPTS: usize = 3;

/// A file as it is now.
pub(crate) enum Sized {
    /// All of it; `None`: there is none.
    Whole(Option<Version>),
    /// It is large, and open.
    Big(Source),
}

/// Why a large file has to be taken whole for what is asked, as the end of a sentence, and what else there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) what: &'static str,
    pub(crate) next: &'static str,
}

impl Why {
    const fn new(what: &'static str, next: &'static str) -> Why {
        Why { what, next }
    }
}

/// What a read shows that shows lines in a way of their own.
pub(crate) const SHOWN: Why = Why::new(
    "is to be shown in a way that needs all of its text",
    "Read it with offset and limit alone, in any format but those with words.",
);
const DECLARED: Why = Why::new(
    "is said to be in another encoding than UTF-8, so it would have to be taken whole",
    "Use ASCII text only, or ask a person to raise max_whole.",
);
const MERGED: Why = Why::new(
    "changed since it was read, and would have to be taken whole to be merged",
    "Read the lines again, then send the edit again.",
);
const BINARY: Why = Why::new("is binary", "It cannot be edited as text; use another program.");
const ENCODING: Why = Why::new(
    "is not UTF-8, so it would have to be taken whole",
    "Convert it to UTF-8 first, e.g. with iconv, or ask a person to raise max_whole.",
);
const CROWDED: Why = Why::new(
    "has the text in too many places to be edited in parts",
    "Give a longer old_string that fits fewer places, or ask a person to raise max_whole.",
);

/// What a pass over a file is to find.
#[derive(Clone, Copy, Default)]
struct Sought<'s> {
    needles: &'s [&'s str],
    /// Lines whose beginnings are asked for.
    lines: &'s [usize],
    /// Its short tag, too.
    tag: bool,
}

/// What became of a try to edit a file in parts.
enum Tried {
    Planned(Box<Plan>),
    /// It takes all of the text.
    Whole(Why),
}

impl Engine {
    /// The file as it is now; a large one is only opened.
    pub(crate) fn sized(&self, place: &Place) -> Result<Sized> {
        let config = self.config();
        let most = config.stream_from.min(config.max_whole).min(config.max_file);
        let error = match self.read_up_to(place, most) {
            Err(error) if error.code() == Code::FileTooLarge => error,
            other => return other.map(Sized::Whole),
        };
        match self.store().source(place)? {
            None => Ok(Sized::Whole(None)),
            // Read as what it is, or refused as what it is, before a byte of it is looked at.
            Some(source) if source.stamp().size > config.max_file => {
                drop(source);
                self.read_up_to(place, config.max_file).map(Sized::Whole)
            }
            Some(source) if source.stamp().size > most => Ok(Sized::Big(source)),
            // It was larger a moment ago, or does not say how large it is.
            Some(_) => self.version(place).map(Sized::Whole).map_err(|_| error),
        }
    }

    /// The refusal of a file that would have to be taken whole, if it is too large for that.
    pub(crate) fn not_whole(&self, place: &Place, size: u64, why: Why) -> Result<()> {
        let most = self.config().whole();
        if size <= most {
            return Ok(());
        }
        if why == BINARY {
            return Err(Error::new(Code::ContentBinary, format!("{} is binary.", place.shown())).next(why.next));
        }
        let (path, what) = (place.shown(), why.what);
        let told = format!("{path} has {size} bytes and {what}; that is done for files of up to {most} bytes.");
        Err(Error::new(Code::FileTooLarge, told).next(why.next).fact("size", size).fact("limit", most))
    }

    /// True when a large file has to be written in place, and is not too large to be taken whole for that.
    pub(crate) fn fits_whole(&self, error: &Error) -> bool {
        let size = error.data().get("size").and_then(serde_json::Value::as_u64);
        error.data().contains_key("in_place") && size.is_some_and(|size| size <= self.config().whole())
    }

    /// Plans an edit in parts, again while others write the file; nothing where it has to be taken whole.
    ///
    /// Errors: as the edit; `file.too_large` where it has to be taken whole, and cannot.
    fn tried(
        &self,
        place: &Place,
        source: Source,
        mut edit: impl FnMut(Source) -> Result<Tried>,
    ) -> Result<Option<Plan>> {
        let (size, mut source) = (source.stamp().size, source);
        for attempt in 1.. {
            match edit(source) {
                Ok(Tried::Planned(plan)) => return Ok(Some(*plan)),
                Ok(Tried::Whole(why)) => return self.not_whole(place, size, why).map(|()| None),
                Err(error) if error.code() == Code::ConflictRaced && attempt < ATTEMPTS => {
                    let Some(again) = self.store().source(place)? else { return Ok(None) };
                    source = again;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// True where nothing but the edit itself asks for all of the text.
    fn asks_for_parts(&self, place: &Place, options: &Options) -> bool {
        options.declared.is_none()
            && !options.whole
            && options.worded.is_none()
            && !notebook::is_named(place)
            && !self.config().formatters.iter().any(|it| it.files.matches(place.relative(), place.absolute()))
    }

    /// True where new text has to be written in an encoding that the bytes do not show.
    fn is_declared_otherwise(&self, place: &Place, ops: &[Op], whole: &Whole) -> bool {
        let other = |it: encoding::Configured| it.declared.charset != Charset::Utf8;
        whole.ascii
            && ops.iter().any(|op| !op.text.is_ascii())
            && encoding::configured(self.config(), self.store(), place).is_some_and(other)
    }

    /// Goes through a file; nothing where it is not fit for that.
    fn scan(source: &Source, sought: Sought<'_>) -> Result<Result<Scanned, Unfit>> {
        Engine::scan_beside(source, sought, |_| ())
    }

    /// The same for somebody else, too, who gets every chunk.
    fn scan_beside(
        source: &Source,
        sought: Sought<'_>,
        mut beside: impl FnMut(&[u8]),
    ) -> Result<Result<Scanned, Unfit>> {
        let size = usize::try_from(source.stamp().size).unwrap_or(usize::MAX);
        let scan = Scan::new(sought.needles, sought.lines, size);
        let mut scan = if sought.tag { scan.tagged() } else { scan };
        let mut unfit = None;
        let gone = source.each(CHUNK, |chunk| {
            beside(chunk);
            scan.feed(chunk).map_err(|why| {
                unfit = Some(why);
                Error::new(Code::ContentUndecodable, "It is no text that comes in chunks.")
            })
        });
        match unfit {
            Some(unfit) => Ok(Err(unfit)),
            None => gone.map(|()| scan.finish()),
        }
    }
}

/// The same for a caller.
fn why(unfit: Unfit) -> Why {
    match unfit {
        Unfit::Encoding(_) => ENCODING,
        Unfit::Binary => BINARY,
        Unfit::Crowded => CROWDED,
    }
}

/// An extract as the file that it is of.
fn opened(source: &Source, snapshot: Snapshot) -> Opened {
    Opened { snapshot, stamp: *source.stamp(), racy: true }
}
