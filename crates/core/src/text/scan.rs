//! One pass over a file that is too large to be loaded, fed in chunks of any size. The pass computes everything that an
//! exact edit needs: the content id, the encoding, the line ends, the occurrences of search texts with their lines, and
//! the offsets of lines. Between two chunks it keeps as many bytes as the longest search text has.

use crate::text::charset::{Charset, Codec};
use crate::text::content::{ContentHash, ShortHash};
use crate::text::multi_search::{AUTOMATON_NEEDLE_BYTES_MAX, Needles, SHORT_NEEDLE_BYTES};
use crate::text::snapshot::{FileSummary, LineEnds};
use crate::work::{self, STEP_BYTES};
use memchr::memmem::Finder;
use std::borrow::Cow;

/// Number of first bytes from which the encoding and the kind of a file are detected.
const OPENING: usize = 16;
/// Number of first bytes within which a NUL makes a file binary.
const BINARY: usize = 8192;
/// Maximum number of occurrences that are kept, of all search texts together.
pub const OCCURRENCES_MAX: usize = 100_000;

/// The reason why a file cannot be scanned in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanObstacle {
    /// The file is not UTF-8; the offset of the chunk in which that was found.
    Encoding(usize),
    /// The file is binary.
    Binary,
    /// There are too many search texts, or too many occurrences.
    Crowded,
}

/// An occurrence of a search text in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Offset of its first byte in the file.
    pub at: usize,
    /// Offset after its last byte.
    pub end: usize,
    /// Index of the search text.
    pub needle: usize,
    /// The 1-based line on which it begins.
    pub line: usize,
}

/// The result of a [`Scan`].
#[derive(Clone, Debug)]
pub struct ScanResult {
    /// Properties of the file.
    pub summary: FileSummary,
    /// Every occurrence of every search text, including overlapping ones, in the order of the file.
    pub occurrences: Vec<Occurrence>,
    /// Byte offset of each requested line; `None` for lines that do not exist.
    pub starts: Vec<Option<usize>>,
    /// If the short tag was requested, the basis for that of the edited file: the length of a prefix, most likely
    /// before all occurrences and requested lines, and the hash of that prefix.
    pub before: Option<(usize, ShortHash)>,
}

/// A scan of a file. Feed it all chunks in order, then call [`Scan::finish`].
pub struct Scan<'n> {
    needles: Vec<&'n str>,
    search: NeedleSearch<'n>,
    /// The requested line numbers with their indices in the list; sorted.
    wanted: Vec<(usize, usize)>,
    /// Number of requested lines reached so far.
    met: usize,
    starts: Vec<Option<usize>>,
    /// Size of the file as stated by the caller; only a hint.
    size: usize,
    hash: ContentHash,
    /// The hash for the short tag, if requested, and its state before the first of the lines.
    short: Option<ShortHash>,
    before: Option<(usize, ShortHash)>,
    /// The first bytes, until there are enough of them.
    opening: Vec<u8>,
    codec: Option<Codec>,
    ascii: bool,
    utf8: Utf8Checker,
    /// Bytes of the file so far.
    raw: usize,
    /// Bytes of the decoded text so far.
    read: usize,
    /// Line ends so far.
    ends: usize,
    /// True if the last byte was a CR, which may begin a line end.
    cr: bool,
    last: u8,
    /// The end of the decoded text so far, in which an occurrence may have begun, and the line ends before it.
    carry: Vec<u8>,
    carry_ends: usize,
    /// Offsets in the decoded text of the line feeds from `carry` on that were CRLFs in the file, and the number of
    /// earlier ones.
    crlfs: Vec<usize>,
    crlfs_before: usize,
    occurrences: Vec<Occurrence>,
    scratch: Vec<u8>,
    /// The decoded text of the last chunk, if the caller asked for it.
    given: Option<Vec<u8>>,
}

/// The search method.
enum NeedleSearch<'n> {
    Nothing,
    One(Finder<'n>),
    /// Several texts. Their search is prepared with the first chunk, which shows which byte sequences are rare.
    Many,
    Made(Needles<'n>),
}

impl<'n> Scan<'n> {
    /// Creates a scan of a file of about `size` bytes for these texts (with `\n` line ends) and for the offsets of
    /// these lines. Empty texts never occur.
    pub fn new(needles: &[&'n str], lines: &[usize], size: usize) -> Scan<'n> {
        let search = match needles {
            all if all.iter().all(|needle| needle.is_empty()) => NeedleSearch::Nothing,
            [one] if one.len() < SHORT_NEEDLE_BYTES => NeedleSearch::One(Finder::new(*one)),
            _ => NeedleSearch::Many,
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
            utf8: Utf8Checker::default(),
            raw: 0,
            read: 0,
            ends: 0,
            cr: false,
            last: b'\n',
            carry: Vec::new(),
            carry_ends: 0,
            crlfs: Vec::new(),
            crlfs_before: 0,
            occurrences: Vec::new(),
            scratch: Vec::new(),
            given: None,
        }
    }

    /// Also computes the short tag, which costs more than everything else.
    #[must_use]
    pub fn with_short_tag(self) -> Scan<'n> {
        Scan { short: Some(ShortHash::default()), ..self }
    }

    /// Keeps the decoded text of each chunk for [`Scan::take_text`].
    #[must_use]
    pub fn with_text(self) -> Scan<'n> {
        Scan { given: Some(Vec::new()), ..self }
    }

    /// Returns the decoded text of the last chunk, in exchange for a buffer. It is not known to be UTF-8 until the scan
    /// is finished.
    pub fn take_text(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        self.given.as_mut().map(|given| std::mem::replace(given, buffer)).unwrap_or_default()
    }

    /// Processes the next bytes of the file.
    ///
    /// Errors: the reason why the file cannot be scanned; the scan is then useless.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), ScanObstacle> {
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

    /// Processes the end of the file; nothing may be fed afterwards.
    ///
    /// Errors: as [`Scan::feed`].
    pub fn close(&mut self) -> Result<(), ScanObstacle> {
        if self.codec.is_none() {
            self.open()?;
        }
        if std::mem::take(&mut self.cr) {
            self.scan_decoded(b"\r")?;
        }
        Ok(())
    }

    /// Returns the result, once the whole file was fed.
    ///
    /// Errors: as [`Scan::feed`].
    pub fn finish(mut self) -> Result<ScanResult, ScanObstacle> {
        self.close()?;
        let Some(codec) = self.codec else { return Err(ScanObstacle::Encoding(0)) };
        if !self.utf8.is_whole() {
            return Err(ScanObstacle::Encoding(self.raw));
        }
        let open = self.read > 0 && self.last != b'\n';
        let lines = self.ends + usize::from(open);
        let crlf = self.crlfs_before + self.crlfs.len();
        let ends = LineEnds { lf: self.ends - crlf, crlf };
        let short = self.short.as_ref().map(ShortHash::tag);
        let whole =
            FileSummary { id: self.hash.id(), short, size: self.raw, codec, ends, lines, open, ascii: self.ascii };
        // A long occurrence that begins before a short one may have been found after it.
        self.occurrences.sort_unstable();
        Ok(ScanResult { summary: whole, occurrences: self.occurrences, starts: self.starts, before: self.before })
    }

    /// Detects the encoding from the first bytes, and processes them.
    fn open(&mut self) -> Result<(), ScanObstacle> {
        let opening = std::mem::take(&mut self.opening);
        let codec = Codec::detect(&opening, true, None).map_err(|_| ScanObstacle::Binary)?;
        if codec.charset != Charset::Utf8 {
            return Err(ScanObstacle::Encoding(0));
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

    fn take(&mut self, chunk: &[u8]) -> Result<(), ScanObstacle> {
        if self.raw < BINARY && memchr::memchr(0, &chunk[..chunk.len().min(BINARY - self.raw)]).is_some() {
            return Err(ScanObstacle::Binary);
        }
        if work::spend_or_end(chunk.len() / (2 * STEP_BYTES)) {
            return Err(ScanObstacle::Crowded);
        }
        self.hash.update(chunk);
        if let Some(short) = &mut self.short {
            if self.met == 0 && self.occurrences.is_empty() {
                self.before = Some((self.raw, short.clone()));
            }
            short.update(chunk);
        }
        if !(self.utf8.is_whole() && chunk.is_ascii()) {
            self.ascii = false;
            if !self.utf8.takes(chunk) {
                return Err(ScanObstacle::Encoding(self.raw));
            }
        }
        self.raw += chunk.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let searched = {
            let decoded = self.decode(chunk, &mut scratch);
            self.scan_decoded(&decoded)
        };
        self.scratch = scratch;
        searched
    }

    /// Decodes a chunk: a CRLF becomes one line feed, even if two chunks share it.
    fn decode<'c>(&mut self, chunk: &'c [u8], out: &'c mut Vec<u8>) -> Cow<'c, [u8]> {
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

    /// Searches a chunk of the decoded text.
    fn scan_decoded(&mut self, piece: &[u8]) -> Result<(), ScanObstacle> {
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

    /// Records the offsets of requested lines.
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

    /// Converts an offset in the decoded text, from `carry` on, to one in the file.
    fn raw_at(&self, read: usize) -> usize {
        let mark = self.codec.map_or(0, |codec| codec.mark);
        mark + read + self.crlfs_before + self.crlfs.partition_point(|at| *at < read)
    }

    fn search(&mut self, piece: &[u8]) -> Result<(), ScanObstacle> {
        let longest = self.needles.iter().map(|needle| needle.len()).max().unwrap_or(0);
        if longest == 0 {
            return Ok(());
        }
        // Occurrences within the chunk, and those that begin in the carry and end after it.
        let inside = self.found(piece)?;
        let mut border = self.carry.clone();
        border.extend_from_slice(&piece[..piece.len().min(longest - 1)]);
        let kept = self.carry.len();
        let mut found = self.found(&border)?;
        found.retain(|&(at, needle)| at < kept && at + self.needles[needle].len() > kept);
        found.extend(inside.into_iter().map(|(at, needle)| (kept + at, needle)));
        if self.occurrences.len() + found.len() > OCCURRENCES_MAX {
            return Err(ScanObstacle::Crowded);
        }
        found.sort_unstable();
        let (mut at, mut line) = (0, self.carry_ends + 1);
        let start = self.read - kept;
        for (here, needle) in found {
            line += count_breaks(&self.carry, at, here)
                + count_breaks(piece, at.saturating_sub(kept), here.saturating_sub(kept));
            at = here;
            let (from, to) = (self.raw_at(start + here), self.raw_at(start + here + self.needles[needle].len()));
            self.occurrences.push(Occurrence { at: from, end: to, needle, line });
        }
        Ok(())
    }

    /// Finds all occurrences of all search texts in these bytes.
    fn found(&mut self, bytes: &[u8]) -> Result<Vec<(usize, usize)>, ScanObstacle> {
        if matches!(self.search, NeedleSearch::Many) {
            let needles = Needles::new(&self.needles, bytes, self.size).ok_or(ScanObstacle::Crowded)?;
            self.search = NeedleSearch::Made(needles);
        }
        match &self.search {
            NeedleSearch::Nothing | NeedleSearch::Many => Ok(Vec::new()),
            NeedleSearch::One(finder) => {
                let (mut out, mut from) = (Vec::new(), 0);
                while let Some(at) = finder.find(&bytes[from..]) {
                    out.push((from + at, 0));
                    from += at + 1;
                    if out.len() > OCCURRENCES_MAX {
                        return Err(ScanObstacle::Crowded);
                    }
                }
                Ok(out)
            }
            NeedleSearch::Made(needles) => {
                let budget = bytes.len() / 4 + 2 * self.needles.iter().map(|needle| needle.len()).sum::<usize>();
                let seen = if let Some(seen) = needles.find_all(bytes, &mut budget.max(1 << 16)) {
                    seen
                } else {
                    // The text is so repetitive that the grams exclude nothing.
                    if self.needles.iter().map(|needle| needle.len()).sum::<usize>() > AUTOMATON_NEEDLE_BYTES_MAX {
                        return Err(ScanObstacle::Crowded);
                    }
                    let plain = Needles::without_grams(&self.needles).ok_or(ScanObstacle::Crowded)?;
                    let seen = plain.find_all(bytes, &mut (OCCURRENCES_MAX * 64)).ok_or(ScanObstacle::Crowded)?;
                    self.search = NeedleSearch::Made(plain);
                    seen
                };
                Ok(seen.into_iter().map(|seen| (seen.at, seen.needle)).collect())
            }
        }
    }

    /// Keeps the end of the decoded text, in which an occurrence may have begun.
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

/// Counts the line ends in a part.
fn count_breaks(bytes: &[u8], from: usize, to: usize) -> usize {
    let (from, to) = (from.min(bytes.len()), to.min(bytes.len()));
    memchr::memchr_iter(b'\n', &bytes[from..to]).count()
}

/// Incremental check for UTF-8.
#[derive(Default)]
struct Utf8Checker {
    /// An incomplete character, and the number of its bytes so far.
    begun: [u8; 4],
    have: usize,
}

impl Utf8Checker {
    fn is_whole(&self) -> bool {
        self.have == 0
    }

    /// False if the bytes so far cannot be UTF-8, whatever follows.
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
