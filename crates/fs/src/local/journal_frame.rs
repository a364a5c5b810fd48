//! Binary format of a journal record: a header, then frames with a checksum each, so that a torn end is detected.

use emendate_os::ffi::{OsStrExt, OsStringExt};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use emendate_core::ContentId;

/// First bytes of a record; the digit is the format version.
pub(super) const RECORD_HEADER: &[u8] = b"emendate record 1\n";

/// Bytes of the checksum at the end of a frame.
const CHECKSUM_BYTES: usize = 16;

/// Bytes of the shortest frame: its length, its kind and its checksum.
const FRAME_BYTES_MIN: usize = 4 + 1 + CHECKSUM_BYTES;

/// State of a path before or after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathState {
    Missing,
    File {
        content: ContentId,
        mode: u32,
    },
    /// Identified by its target.
    Link(ContentId),
    /// A directory with these files, by [`super::tree_swap::TreeHash`].
    Tree(ContentId),
    /// Any other directory, or a device. Never in a record.
    Other,
}

impl PathState {
    /// True if both have the same content, whatever their modes.
    pub(super) fn same_content(self, other: PathState) -> bool {
        match (self, other) {
            (PathState::File { content, .. }, PathState::File { content: other, .. }) => content == other,
            _ => self == other && self != PathState::Other,
        }
    }
}

/// One write of a transaction, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalStep {
    /// Absolute, resolved path.
    pub(super) path: PathBuf,
    /// The temporary name in the same directory; empty if the file is overwritten in place.
    pub(super) temp: OsString,
    pub(super) old: PathState,
    /// Last modification of the old file, in nanoseconds since the epoch.
    pub(super) modified: i64,
    pub(super) new: PathState,
}

/// One entry of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JournalFrame {
    /// Temporary files may be in this directory.
    TempDir(PathBuf),
    /// The directory at this path is created by the transaction.
    CreatedDir(PathBuf),
    /// All files are staged; recovery completes the transaction from here on.
    Commit(Vec<JournalStep>),
    /// Old and new bytes of the step with this number, which overwrites its file in place.
    Bytes { step: u32, old: Vec<u8>, new: Vec<u8> },
    /// Recovery must undo the transaction.
    Abort,
    /// Recovery has completed or undone these steps, by number, and could not do so with the others yet.
    Settled(Vec<u32>),
}

impl JournalFrame {
    /// Serializes the frame with its length and checksum.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        match self {
            JournalFrame::TempDir(path) => put_path(&mut out, b'f', path),
            JournalFrame::CreatedDir(path) => put_path(&mut out, b'm', path),
            JournalFrame::Commit(steps) => {
                out.push(b'c');
                for step in steps {
                    put(&mut out, step.path.as_os_str().as_bytes());
                    put(&mut out, step.temp.as_bytes());
                    put_state(&mut out, step.old);
                    out.extend(step.modified.to_le_bytes());
                    put_state(&mut out, step.new);
                }
            }
            JournalFrame::Bytes { step, old, new } => {
                out.push(b'b');
                out.extend(step.to_le_bytes());
                put(&mut out, old);
                put(&mut out, new);
            }
            JournalFrame::Abort => out.push(b'a'),
            JournalFrame::Settled(steps) => {
                out.push(b's');
                out.extend(steps.iter().flat_map(|step| step.to_le_bytes()));
            }
        }
        let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        let sum = ContentId::of(&out).to_bytes();
        out.extend(sum);
        out
    }

    fn decode(body: &[u8]) -> Option<JournalFrame> {
        let (&kind, payload) = body.split_first()?;
        let mut fields = FrameReader(payload);
        Some(match kind {
            b'f' => JournalFrame::TempDir(fields.path()?),
            b'm' => JournalFrame::CreatedDir(fields.path()?),
            b'a' => JournalFrame::Abort,
            b's' => {
                let mut steps = Vec::new();
                while !fields.0.is_empty() {
                    steps.push(fields.u32()?);
                }
                JournalFrame::Settled(steps)
            }
            b'b' => JournalFrame::Bytes {
                step: fields.u32()?,
                old: fields.bytes()?.to_vec(),
                new: fields.bytes()?.to_vec(),
            },
            b'c' => {
                let mut steps = Vec::new();
                while !fields.0.is_empty() {
                    steps.push(JournalStep {
                        path: fields.path()?,
                        temp: OsStr::from_bytes(fields.bytes()?).to_owned(),
                        old: fields.state()?,
                        modified: i64::from_le_bytes(fields.take()?),
                        new: fields.state()?,
                    });
                }
                JournalFrame::Commit(steps)
            }
            _ => return None,
        })
    }
}

/// Returns the complete frames of a record and the offset of the first incomplete one; `None` if this is not a record
/// of this version.
pub(super) fn decode_record(record: &[u8]) -> Option<(Vec<JournalFrame>, usize)> {
    let Some(mut rest) = record.strip_prefix(RECORD_HEADER) else {
        // A header that reached the disk only in part; anything else was written by another program.
        let torn = record.iter().zip(RECORD_HEADER).all(|(byte, right)| byte == right || *byte == 0);
        return torn.then(|| (Vec::new(), record.len()));
    };
    let mut out = Vec::new();
    while let Some((frame, next)) = decode_frame(rest) {
        out.push(frame);
        rest = next;
    }
    Some((out, record.len() - rest.len()))
}

/// True if the unreadable end of a record is what an interrupted or lost write leaves: the beginning of a frame, or
/// zeros up to its end. Anything else is damage: a frame that was complete once, and that recovery may need.
pub(super) fn is_torn(end: &[u8]) -> bool {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let Some((length, body)) = end.split_first_chunk() else { return true };
    let length = u32::from_le_bytes(*length) as usize;
    if is_zero(&end[..end.len().min(FRAME_BYTES_MIN)]) {
        return true;
    }
    match body.get(..length.saturating_add(CHECKSUM_BYTES)) {
        Some(frame) => {
            let written = frame.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            frame.len() - written >= CHECKSUM_BYTES / 2 && begins_frame(&frame[..written], length)
        }
        None => begins_frame(body, length),
    }
}

/// A part of a frame.
#[derive(Clone, Copy)]
enum FrameField {
    Fixed(usize),
    /// A length of eight bytes, and as many bytes.
    Sized,
}

/// True if a frame's body of this length can begin like this: the parts that are there leave room for the others.
fn begins_frame(body: &[u8], length: usize) -> bool {
    use FrameField::{Fixed, Sized};
    const STATE: FrameField = Fixed(21);
    let Some(kind) = body.first() else { return true };
    let (fields, repeated): (&[FrameField], bool) = match kind {
        b'f' | b'm' => (&[Sized], false),
        b'a' => (&[], false),
        b's' => (&[Fixed(4)], true),
        b'b' => (&[Fixed(4), Sized, Sized], false),
        b'c' => (&[Sized, Sized, STATE, Fixed(8), STATE], true),
        _ => return false,
    };
    let mut at = 1_usize;
    loop {
        for field in fields {
            let size = match field {
                Fixed(size) => *size,
                Sized => match body.get(at..).and_then(<[u8]>::first_chunk) {
                    Some(size) => usize::try_from(u64::from_le_bytes(*size)).unwrap_or(usize::MAX).saturating_add(8),
                    None => 8,
                },
            };
            at = at.saturating_add(size);
            if at > length || at > body.len() {
                return at <= length;
            }
        }
        if !repeated || at == length {
            return at == length;
        }
    }
}

/// Returns the old and new bytes of each step that overwrites its file, by step number.
pub(super) fn overwritten(frames: &[JournalFrame]) -> HashMap<usize, (&[u8], &[u8])> {
    let mut all = HashMap::new();
    for frame in frames {
        if let JournalFrame::Bytes { step, old, new } = frame {
            all.entry(*step as usize).or_insert((&old[..], &new[..]));
        }
    }
    all
}

/// Returns the numbers of the steps that an earlier recovery has completed or undone.
pub(super) fn settled(frames: &[JournalFrame]) -> HashSet<usize> {
    let numbers =
        frames.iter().filter_map(|frame| if let JournalFrame::Settled(all) = frame { Some(all) } else { None });
    numbers.flatten().map(|step| *step as usize).collect()
}

/// Decodes the first frame and returns it with the rest.
fn decode_frame(bytes: &[u8]) -> Option<(JournalFrame, &[u8])> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    let (body, tail) = bytes.split_at_checked(length.checked_add(4)?)?;
    let (sum, next) = tail.split_at_checked(CHECKSUM_BYTES)?;
    let whole = ContentId::of(body).to_bytes() == sum;
    Some((JournalFrame::decode(body.get(4..).filter(|_| whole)?)?, next))
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_path(out: &mut Vec<u8>, kind: u8, path: &Path) {
    out.push(kind);
    put(out, path.as_os_str().as_bytes());
}

fn put_state(out: &mut Vec<u8>, state: PathState) {
    let (kind, content, mode) = match state {
        PathState::Missing | PathState::Other => (b'-', [0; 16], 0),
        PathState::File { content, mode } => (b'f', content.to_bytes(), mode),
        PathState::Link(content) => (b'l', content.to_bytes(), 0),
        PathState::Tree(content) => (b't', content.to_bytes(), 0),
    };
    out.push(kind);
    out.extend(content);
    out.extend(mode.to_le_bytes());
}

struct FrameReader<'a>(&'a [u8]);

impl FrameReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(u64::from_le_bytes(self.take()?)).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsString::from_vec(self.bytes()?.to_vec())))
    }

    fn state(&mut self) -> Option<PathState> {
        let [kind] = self.take()?;
        let content = ContentId::from_bytes(self.take()?);
        let mode = self.u32()?;
        match kind {
            b'-' => Some(PathState::Missing),
            b'f' => Some(PathState::File { content, mode }),
            b'l' => Some(PathState::Link(content)),
            b't' => Some(PathState::Tree(content)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JournalFrame, JournalStep, PathState, RECORD_HEADER, decode_record, is_torn};
    use emendate_core::ContentId;

    fn record() -> (Vec<JournalFrame>, Vec<u8>) {
        let file = PathState::File { content: ContentId::of(b"x"), mode: 0o100_644 };
        let step = |old, new| JournalStep { path: "/a/b\n".into(), temp: ".t".into(), old, modified: -5, new };
        let all = vec![
            JournalFrame::TempDir("/a".into()),
            JournalFrame::CreatedDir("/a/n".into()),
            JournalFrame::Commit(vec![
                step(PathState::Missing, file),
                step(file, PathState::Link(ContentId::of(b"y"))),
                step(PathState::Tree(ContentId::of(b"z")), file),
            ]),
            JournalFrame::Bytes { step: 1, old: b"old".to_vec(), new: Vec::new() },
            JournalFrame::Abort,
            JournalFrame::Settled(vec![0, 2]),
        ];
        let bytes = all.iter().fold(RECORD_HEADER.to_vec(), |bytes, frame| [bytes, frame.encode()].concat());
        (all, bytes)
    }

    #[test]
    fn record_is_decoded_up_to_the_first_incomplete_frame() {
        let (all, bytes) = record();
        assert_eq!(decode_record(&bytes), Some((all.clone(), bytes.len())));
        for end in 0..bytes.len() {
            let (read, whole) = decode_record(&bytes[..end]).unwrap();
            assert!(whole <= end && decode_record(&bytes[..whole]).unwrap().0 == read);
            assert!(read.len() < all.len() && all.starts_with(&read), "cut at {end}");
            assert!(is_torn(&bytes[whole..end]), "cut at {end}");
        }
        assert_eq!((decode_record(b"something else"), decode_record(b"emendate record 2\n")), (None, None));
        let without_header = [&[0; 18][..], &JournalFrame::Abort.encode()].concat();
        assert_eq!(decode_record(&without_header), Some((Vec::new(), without_header.len())));
    }

    #[test]
    fn lost_write_is_torn() {
        let (all, bytes) = record();
        let mut from = RECORD_HEADER.len();
        for frame in all {
            let end = from + frame.encode().len();
            for kept in [0, (end - from) / 2] {
                let mut bytes = bytes.clone();
                bytes[from + kept..end].fill(0);
                let (_, whole) = decode_record(&bytes).unwrap();
                assert_eq!((whole, is_torn(&bytes[whole..])), (from, true), "{frame:?} from {kept}");
            }
            from = end;
        }
    }

    #[test]
    fn flipped_bit_ends_the_record_and_is_damage() {
        let (all, bytes) = record();
        // The numbers of a list of steps need not be preserved: a longer one looks like one that was cut.
        let longer = bytes.len() - JournalFrame::Settled(vec![0, 2]).encode().len();
        for at in RECORD_HEADER.len()..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let (read, whole) = decode_record(&bytes).unwrap();
                assert!(read.len() < all.len() && all.starts_with(&read), "flipped at {at}");
                let is_longer = (longer..longer + 4).contains(&at);
                assert!(is_longer || !is_torn(&bytes[whole..]), "bit {bit} at {at}");
            }
        }
    }
}
