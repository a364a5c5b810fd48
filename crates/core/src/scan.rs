//! One pass over a file that is too large to be taken whole: it comes in chunks of any size, and afterwards everything is
//! known that an exact edit needs. Which bytes it is, whether they are text, its line ends, where texts stand and on which
//! lines, and where lines begin. What is kept between two chunks is as long as the longest text looked for.

use crate::charset::{Charset, Codec};
use crate::content::{ContentHash, ShortHash};
use crate::find::AUTOMATON;
use crate::needles::{Needles, SHORT};
use crate::snapshot::{LineEnds, Whole};
use crate::work::{self, STEP_BYTES};
use memchr::memmem::Finder;
use std::borrow::Cow;

/// Bytes by which the encoding and the kind of a file are told.
const OPENING: usize = 16;
/// A NUL within so many bytes makes a file binary.
const BINARY: usize = 8192;
/// Places that are kept, of all texts together.
pub const MOST_STANDS: usize = 100_000;

/// Why a file cannot be gone through in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is no UTF-8; the offset of the chunk in which that was seen.
    Encoding(usize),
    /// It looks like no text.
    Binary,
    /// The texts looked for are too many, or in too many places.
    Crowded,
}

/// Where a text stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stand {
    /// Its first byte in the file.
    pub at: usize,
    /// The byte behind it.
    pub end: usize,
    /// Which of the texts.
    pub needle: usize,
    /// The 1-based line on which it begins.
    pub line: usize,
}

/// What a [`Scan`] found.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// What is known of the file.
    pub whole: Whole,
    /// Every place of every text, overlapping ones too, in the order of the file.
    pub places: Vec<Stand>,
    /// Where the lines that were asked for begin, in bytes; `None` for lines that are not there.
    pub starts: Vec<Option<usize>>,
    /// For the short tag of what becomes of the file, where its own was asked for: a number of bytes at its beginning, most
    /// likely before all places and lines that were asked for, and their hash.
    pub before: Option<(usize, ShortHash)>,
}

/// A pass over a file. Feed it all chunks in order, then [`Scan::finish`].
pub struct Scan<'n> {
    needles: Vec<&'n str>,
    search: Search<'n>,
    /// Numbers of lines whose beginnings are asked for, with their places in the list; sorted.
    wanted: Vec<(usize, usize)>,
    /// How many of them were met.
    met: usize,
    starts: Vec<Option<usize>>,
    /// Bytes that the caller says the file has: no more than a hint.
    size: usize,
    hash: ContentHash,
    /// That of the short tag, where it is asked for, and what it was before the first of the lines.
    short: Option<ShortHash>,
    before: Option<(usize, ShortHash)>,
    /// The first bytes, until there are enough of them.
    opening: Vec<u8>,
    codec: Option<Codec>,
    ascii: bool,
    utf8: Utf8,
    /// Bytes of the file so far.
    raw: usize,
    /// Bytes of the reading so far.
    read: usize,
    /// Line ends so far.
    ends: usize,
    /// The last byte was a CR, which may begin a line end.
    cr: bool,
    last: u8,
    /// The end of the reading so far, in which a text may have begun; and the line ends before it.
    carry: Vec<u8>,
    carry_ends: usize,
    /// Offsets in the reading of the line feeds from `carry` on that stand for a CRLF, and how many there were before.
    crlfs: Vec<usize>,
    crlfs_before: usize,
    places: Vec<Stand>,
    scratch: Vec<u8>,
    /// The reading of what was fed, where somebody takes it.
    given: Option<Vec<u8>>,
}

/// How texts are looked for.
enum Search<'n> {
    Nothing,
    One(Finder<'n>),
    /// Not made yet: the first chunk shows what is rare.
    Many,
    Made(Needles<'n>),
}

impl<'n> Scan<'n> {
    /// A pass over a file of about `size` bytes that looks for these texts (of a reading: `\n` line ends) and for where these
    /// lines begin. Empty texts are nowhere.
    pub fn new(needles: &[&'n str], lines: &[usize], size: usize) -> Scan<'n> {
        let search = match needles {
            all if all.iter().all(|needle| needle.is_empty()) => Search::Nothing,
            [one] if one.len() < SHORT => Search::One(Finder::new(*one)),
            _ => Search::Many,
        };
        let mut wanted: Vec<(usize, usize)> = lines.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        Scan {
            needles: needles.to_vec(),
            search,
            wanted,
            met: 0,
            starts: vec![None; lines.len()],
            size,
            hash: ContentHash::default(),
            short: None,
            before: None,
            opening: Vec::with_capacity(OPENING),
            codec: None,
            ascii: true,
            utf8: Utf8::default(),
            raw: 0,
            read: 0,
            ends: 0,
            cr: false,
            last: b'\n',
            carry: Vec::new(),
            carry_ends: 0,
            crlfs: Vec::new(),
            crlfs_before: 0,
            places: Vec::new(),
            scratch: Vec::new(),
            given: None,
        }
    }

    /// The same that also tells the short tag, which costs more than all of the rest.
    #[must_use]
    pub fn tagged(self) -> Scan<'n> {
        Scan { short: Some(ShortHash::default()), ..self }
    }

    /// The same whose reading is taken by [`Scan::take_reading`] after every chunk.
    #[must_use]
    pub fn giving(self) -> Scan<'n> {
        Scan { given: Some(Vec::new()), ..self }
    }

    /// The reading of what was fed since, in exchange for a buffer. It is no text before the scan is finished: what comes may
    /// not be UTF-8.
    pub fn take_reading(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        self.given.as_mut().map(|given| std::mem::replace(given, buffer)).unwrap_or_default()
    }

    /// Takes the next bytes of the file.
    ///
    /// Errors: why the file cannot be gone through like this; the scan is of no use then.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), Unfit> {
        if self.codec.is_some() {
            return self.take(chunk);
        }
        if self.opening.len() + chunk.len() < OPENING {
            self.opening.extend_from_slice(chunk);
            return Ok(());
        }
        let missing = OPENING.saturating_sub(self.opening.len());
        self.opening.extend_from_slice(&chunk[..missing]);
        self.open()?;
        self.take(&chunk[missing..])
    }

    /// Looks at the last bytes, after which none are fed.
    ///
    /// Errors: as [`Scan::feed`].
    pub fn close(&mut self) -> Result<(), Unfit> {
        if self.codec.is_none() {
            self.open()?;
        }
        if std::mem::take(&mut self.cr) {
            self.look(b"\r")?;
        }
        Ok(())
    }

    /// What was found, once all of the file was fed.
    ///
    /// Errors: as [`Scan::feed`].
    pub fn finish(mut self) -> Result<Scanned, Unfit> {
        self.close()?;
        let Some(codec) = self.codec else { return Err(Unfit::Encoding(0)) };
        if !self.utf8.is_whole() {
            return Err(Unfit::Encoding(self.raw));
        }
        let open = self.read > 0 && self.last != b'\n';
        let lines = self.ends + usize::from(open);
        let crlf = self.crlfs_before + self.crlfs.len();
        let ends = LineEnds { lf: self.ends - crlf, crlf };
        let short = self.short.as_ref().map(ShortHash::tag);
        let whole = Whole { id: self.hash.id(), short, size: self.raw, codec, ends, lines, open, ascii: self.ascii };
        // A long text that begins before a short one may have been met after it.
        self.places.sort_unstable();
        Ok(Scanned { whole, places: self.places, starts: self.starts, before: self.before })
    }

    /// Tells the encoding from the first bytes, and takes them.
    fn open(&mut self) -> Result<(), Unfit> {
        let opening = std::mem::take(&mut self.opening);
        let codec = Codec::settle(&opening, true, None).map_err(|_| Unfit::Binary)?;
        if codec.charset != Charset::Utf8 {
            return Err(Unfit::Encoding(0));
        }
        self.codec = Some(codec);
        let (mark, rest) = opening.split_at(codec.mark);
        self.hash.update(mark);
        self.raw = mark.len();
        while let Some(&(line, nth)) = self.wanted.get(self.met).filter(|(line, _)| *line <= 1) {
            self.starts[nth] = (line == 1).then_some(0);
            self.met += 1;
        }
        self.take(rest)
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), Unfit> {
        if self.raw < BINARY && memchr::memchr(0, &chunk[..chunk.len().min(BINARY - self.raw)]).is_some() {
            return Err(Unfit::Binary);
        }
        if work::ends(chunk.len() / (2 * STEP_BYTES)) {
            return Err(Unfit::Crowded);
        }
        self.hash.update(chunk);
        if let Some(short) = &mut self.short {
            if self.met == 0 && self.places.is_empty() {
                self.before = Some((self.raw, short.clone()));
            }
            short.update(chunk);
        }
        if !(self.utf8.is_whole() && chunk.is_ascii()) {
            self.ascii = false;
            if !self.utf8.takes(chunk) {
                return Err(Unfit::Encoding(self.raw));
            }
        }
        self.raw += chunk.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let looked = {
            let reading = self.reading(chunk, &mut scratch);
            self.look(&reading)
        };
        self.scratch = scratch;
        looked
    }

    /// The reading of a chunk: a CRLF is one line feed, also where it comes in two chunks.
    fn reading<'c>(&mut self, chunk: &'c [u8], out: &'c mut Vec<u8>) -> Cow<'c, [u8]> {
        let mut rest = chunk;
        let Some(&first) = rest.first() else { return Cow::Borrowed(rest) };
        if !self.cr && memchr::memchr(b'\r', rest).is_none() {
            return Cow::Borrowed(rest);
        }
        if std::mem::take(&mut self.cr) {
            if first == b'\n' {
                self.crlfs.push(self.read);
                rest = &rest[1..];
            }
            out.push(if first == b'\n' { b'\n' } else { b'\r' });
        }
        while let Some(at) = memchr::memchr(b'\r', rest) {
            out.extend_from_slice(&rest[..at]);
            match rest.get(at + 1) {
                Some(b'\n') => {
                    self.crlfs.push(self.read + out.len());
                    out.push(b'\n');
                    rest = &rest[at + 2..];
                }
                Some(_) => {
                    out.push(b'\r');
                    rest = &rest[at + 1..];
                }
                None => {
                    self.cr = true;
                    return Cow::Borrowed(out);
                }
            }
        }
        out.extend_from_slice(rest);
        Cow::Borrowed(out)
    }

    /// Goes through a piece of the reading.
    fn look(&mut self, piece: &[u8]) -> Result<(), Unfit> {
        let Some(&last) = piece.last() else { return Ok(()) };
        if let Some(given) = &mut self.given {
            given.extend_from_slice(piece);
        }
        self.last = last;
        let ends = memchr::memchr_iter(b'\n', piece).count();
        self.lines_wanted(piece, ends);
        self.search(piece)?;
        self.ends += ends;
        self.read += piece.len();
        self.keep(piece);
        Ok(())
    }

    /// Notes where lines begin that are asked for.
    fn lines_wanted(&mut self, piece: &[u8], ends: usize) {
        let mut all = memchr::memchr_iter(b'\n', piece);
        let (mut passed, mut last) = (self.ends, 0);
        while let Some(&(line, nth)) = self.wanted.get(self.met).filter(|(line, _)| *line - 1 <= self.ends + ends) {
            if let Some(further) = (line - 1).checked_sub(passed + 1) {
                last = all.nth(further).unwrap_or(last);
                passed = line - 1;
            }
            self.starts[nth] = Some(self.raw_at(self.read + last + 1));
            self.met += 1;
        }
    }

    /// The offset in the file of one in the reading, from `carry` on.
    fn raw_at(&self, read: usize) -> usize {
        let mark = self.codec.map_or(0, |codec| codec.mark);
        mark + read + self.crlfs_before + self.crlfs.partition_point(|at| *at < read)
    }

    fn search(&mut self, piece: &[u8]) -> Result<(), Unfit> {
        let longest = self.needles.iter().map(|needle| needle.len()).max().unwrap_or(0);
        if longest == 0 {
            return Ok(());
        }
        // What lies in the piece, and what begins in the carry and ends behind it.
        let inside = self.found(piece)?;
        let mut border = self.carry.clone();
        border.extend_from_slice(&piece[..piece.len().min(longest - 1)]);
        let kept = self.carry.len();
        let mut found = self.found(&border)?;
        found.retain(|&(at, needle)| at < kept && at + self.needles[needle].len() > kept);
        found.extend(inside.into_iter().map(|(at, needle)| (kept + at, needle)));
        if self.places.len() + found.len() > MOST_STANDS {
            return Err(Unfit::Crowded);
        }
        found.sort_unstable();
        let (mut at, mut line) = (0, self.carry_ends + 1);
        let start = self.read - kept;
        for (here, needle) in found {
            let part = |bytes: &[u8], from: usize, to: usize| {
                let (from, to) = (from.min(bytes.len()), to.min(bytes.len()));
                memchr::memchr_iter(b'\n', &bytes[from..to]).count()
            };
            line += part(&self.carry, at, here) + part(piece, at.saturating_sub(kept), here.saturating_sub(kept));
            at = here;
            let (from, to) = (self.raw_at(start + here), self.raw_at(start + here + self.needles[needle].len()));
            self.places.push(Stand { at: from, end: to, needle, line });
        }
        Ok(())
    }

    /// All places of all texts in these bytes.
    fn found(&mut self, bytes: &[u8]) -> Result<Vec<(usize, usize)>, Unfit> {
        if matches!(self.search, Search::Many) {
            let needles = Needles::new(&self.needles, bytes, self.size).ok_or(Unfit::Crowded)?;
            self.search = Search::Made(needles);
        }
        match &self.search {
            Search::Nothing | Search::Many => Ok(Vec::new()),
            Search::One(finder) => {
                let (mut out, mut from) = (Vec::new(), 0);
                while let Some(at) = finder.find(&bytes[from..]) {
                    out.push((from + at, 0));
                    from += at + 1;
                    if out.len() > MOST_STANDS {
                        return Err(Unfit::Crowded);
                    }
                }
                Ok(out)
            }
            Search::Made(needles) => {
                let budget = bytes.len() / 4 + 2 * self.needles.iter().map(|needle| needle.len()).sum::<usize>();
                let seen = if let Some(seen) = needles.seen(bytes, &mut budget.max(1 << 16)) {
                    seen
                } else {
                    // Text that repeats itself so much that pieces of it tell nothing.
                    if self.needles.iter().map(|needle| needle.len()).sum::<usize>() > AUTOMATON {
                        return Err(Unfit::Crowded);
                    }
                    let plain = Needles::plain(&self.needles).ok_or(Unfit::Crowded)?;
                    let seen = plain.seen(bytes, &mut (MOST_STANDS * 64)).ok_or(Unfit::Crowded)?;
                    self.search = Search::Made(plain);
                    seen
                };
                Ok(seen.into_iter().map(|seen| (seen.at, seen.needle)).collect())
            }
        }
    }

    /// Keeps the end of the reading, in which a text may have begun.
    fn keep(&mut self, piece: &[u8]) {
        let longest = self.needles.iter().map(|needle| needle.len()).max().unwrap_or(0);
        let keep = longest.saturating_sub(1).min(self.carry.len() + piece.len());
        let from_carry = keep.saturating_sub(piece.len());
        self.carry.drain(..self.carry.len() - from_carry);
        self.carry.extend_from_slice(&piece[piece.len() - (keep - from_carry)..]);
        self.carry_ends = self.ends - memchr::memchr_iter(b'\n', &self.carry).count();
        let start = self.read - keep;
        let gone = self.crlfs.partition_point(|at| *at < start);
        self.crlfs.drain(..gone);
        self.crlfs_before += gone;
    }
}

/// Checks UTF-8 that comes in pieces.
#[derive(Default)]
struct Utf8 {
    /// A character that has begun, and how many bytes of it came.
    begun: [u8; 4],
    have: usize,
}

impl Utf8 {
    fn is_whole(&self) -> bool {
        self.have == 0
    }

    /// False when the bytes so far are no UTF-8, whatever follows.
    fn takes(&mut self, mut bytes: &[u8]) -> bool {
        while self.have > 0 {
            let Some((&next, rest)) = bytes.split_first() else { return true };
            bytes = rest;
            self.begun[self.have] = next;
            self.have += 1;
            match std::str::from_utf8(&self.begun[..self.have]) {
                Ok(_) => self.have = 0,
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                let begun = &bytes[error.valid_up_to()..];
                self.begun[..begun.len()].copy_from_slice(begun);
                self.have = begun.len();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests;
