//! Files too large to be taken whole. What an exact edit or a read of some lines needs of them comes in one pass in chunks;
//! then the parts around the places that matter are looked at as an *extract*, by the same code as a whole text, and the new
//! file is made of parts of the old one. Whatever needs all of the text at once goes the usual way, up to `max_whole`.

mod edit;
mod extract;
mod read;
mod undo;

pub(crate) use extract::{MOST_PARTS, NEAR};
pub(crate) use read::MOST_READ;

use crate::engine::{Engine, Opened};
use emendate_core::{Code, Error, Result, Scan, Scanned, Snapshot, Unfit};
use emendate_fs::{Place, Source, Version};

/// A file above this many bytes is not taken whole where that is not needed.
pub const STREAM_FROM: u64 = 4 << 20;
/// The largest file that is taken whole, in bytes.
pub const MAX_WHOLE: u64 = 256 << 20;

/// Bytes read and looked at together.
const CHUNK: usize = 256 << 10;
/// Times a file is gone through that changes meanwhile.
const ATTEMPTS: usize = 3;

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
    "Read it with offset and limit alone, as numbered or plain lines.",
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
        Err(Error::new(Code::FileTooLarge, told)
            .next(why.next)
            .fact("size", size)
            .fact("limit", most))
    }

    /// True when a large file has to be written in place, and is not too large to be taken whole for that.
    pub(crate) fn fits_whole(&self, error: &Error) -> bool {
        let size = error.data().get("size").and_then(serde_json::Value::as_u64);
        error.data().contains_key("in_place") && size.is_some_and(|size| size <= self.config().whole())
    }

    /// Goes through a file; nothing where it is not fit for that.
    fn scan(source: &Source, needles: &[&str], lines: &[usize]) -> Result<Result<Scanned, Unfit>> {
        Engine::scan_beside(source, needles, lines, |_| ())
    }

    /// The same for somebody else, too, who gets every chunk.
    fn scan_beside(
        source: &Source,
        needles: &[&str],
        lines: &[usize],
        mut beside: impl FnMut(&[u8]),
    ) -> Result<Result<Scanned, Unfit>> {
        let mut scan = Scan::new(needles, lines, usize::try_from(source.stamp().size).unwrap_or(usize::MAX));
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
