//! Binary format of a journal record: a header, then frames with a checksum each, so that a torn end is detected.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use emendate_core::ContentId;

/// First bytes of a record; the digit is the format version.
pub(super) const HEADER: &[u8] = b"emendate record 1\n";

/// Bytes of the checksum at the end of a frame.
const CHECKSUM: usize = 16;

/// State of a path before or after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Missing,
    File {
        content: ContentId,
        mode: u32,
    },
    /// Identified by its target.
    Link(ContentId),
    /// A directory or device. Never in a record.
    Other,
}

impl State {
    /// True if both have the same content, whatever their modes.
    pub(super) fn same_content(self, other: State) -> bool {
        match (self, other) {
            (State::File { content, .. }, State::File { content: other, .. }) => content == other,
            _ => self == other && self != State::Other,
        }
    }
}

/// One draft of a transaction, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Absolute, resolved path.
    pub(super) path: PathBuf,
    /// The temporary name in the same directory; empty if the file is overwritten in place.
    pub(super) temp: OsString,
    pub(super) old: State,
    /// Last modification of the old file, in nanoseconds since the epoch.
    pub(super) modified: i64,
    pub(super) new: State,
}

/// One entry of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Temporary files may be in this directory.
    Folder(PathBuf),
    /// This directory is created by the transaction.
    Made(PathBuf),
    /// All files are staged; recovery completes the transaction from here on.
    Commit(Vec<Step>),
    /// Old and new bytes of the step with this number, which overwrites its file in place.
    Bytes { step: u32, old: Vec<u8>, new: Vec<u8> },
    /// Recovery must undo the transaction.
    Abort,
}

impl Frame {
    /// Serializes the frame with its length and checksum.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        match self {
            Frame::Folder(path) => put_path(&mut out, b'f', path),
            Frame::Made(path) => put_path(&mut out, b'm', path),
            Frame::Commit(steps) => {
                out.push(b'c');
                for step in steps {
                    put(&mut out, step.path.as_os_str().as_bytes());
                    put(&mut out, step.temp.as_bytes());
                    put_state(&mut out, step.old);
                    out.extend(step.modified.to_le_bytes());
                    put_state(&mut out, step.new);
                }
            }
            Frame::Bytes { step, old, new } => {
                out.push(b'b');
                out.extend(step.to_le_bytes());
                put(&mut out, old);
                put(&mut out, new);
            }
            Frame::Abort => out.push(b'a'),
        }
        let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        let sum = ContentId::of(&out).to_bytes();
        out.extend(sum);
        out
    }

    fn decode(body: &[u8]) -> Option<Frame> {
        let (&kind, payload) = body.split_first()?;
        let mut fields = Fields(payload);
        Some(match kind {
            b'f' => Frame::Folder(fields.path()?),
            b'm' => Frame::Made(fields.path()?),
            b'a' => Frame::Abort,
            b'b' => Frame::Bytes { step: fields.u32()?, old: fields.bytes()?.to_vec(), new: fields.bytes()?.to_vec() },
            b'c' => {
                let mut steps = Vec::new();
                while !fields.0.is_empty() {
                    steps.push(Step {
                        path: fields.path()?,
                        temp: OsStr::from_bytes(fields.bytes()?).to_owned(),
                        old: fields.state()?,
                        modified: i64::from_le_bytes(fields.take()?),
                        new: fields.state()?,
                    });
                }
                Frame::Commit(steps)
            }
            _ => return None,
        })
    }
}

/// Returns the complete frames of a record and the offset of the first incomplete one; `None` if this is not a record
/// of this version.
pub(super) fn frames(record: &[u8]) -> Option<(Vec<Frame>, usize)> {
    let Some(mut rest) = record.strip_prefix(HEADER) else {
        // A header that reached the disk only in part; anything else was written by another program.
        let torn = record.iter().zip(HEADER).all(|(byte, right)| byte == right || *byte == 0);
        return torn.then(|| (Vec::new(), 0));
    };
    let mut out = Vec::new();
    while let Some((frame, next)) = first(rest) {
        out.push(frame);
        rest = next;
    }
    Some((out, record.len() - rest.len()))
}

/// Returns the old and new bytes of each step that overwrites its file, by step number.
pub(super) fn overwritten(frames: &[Frame]) -> HashMap<usize, (&[u8], &[u8])> {
    let mut all = HashMap::new();
    for frame in frames {
        if let Frame::Bytes { step, old, new } = frame {
            all.entry(*step as usize).or_insert((&old[..], &new[..]));
        }
    }
    all
}

/// Decodes the first frame and returns it with the rest.
fn first(bytes: &[u8]) -> Option<(Frame, &[u8])> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    let (body, tail) = bytes.split_at_checked(length.checked_add(4)?)?;
    let (sum, next) = tail.split_at_checked(CHECKSUM)?;
    let whole = ContentId::of(body).to_bytes() == sum;
    Some((Frame::decode(body.get(4..).filter(|_| whole)?)?, next))
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_path(out: &mut Vec<u8>, kind: u8, path: &Path) {
    out.push(kind);
    put(out, path.as_os_str().as_bytes());
}

fn put_state(out: &mut Vec<u8>, state: State) {
    let (kind, content, mode) = match state {
        State::Missing | State::Other => (b'-', [0; 16], 0),
        State::File { content, mode } => (b'f', content.to_bytes(), mode),
        State::Link(content) => (b'l', content.to_bytes(), 0),
    };
    out.push(kind);
    out.extend(content);
    out.extend(mode.to_le_bytes());
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
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

    fn state(&mut self) -> Option<State> {
        let [kind] = self.take()?;
        let content = ContentId::from_bytes(self.take()?);
        let mode = self.u32()?;
        match kind {
            b'-' => Some(State::Missing),
            b'f' => Some(State::File { content, mode }),
            b'l' => Some(State::Link(content)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, HEADER, State, Step, frames};
    use emendate_core::ContentId;

    fn record() -> (Vec<Frame>, Vec<u8>) {
        let file = State::File { content: ContentId::of(b"x"), mode: 0o100_644 };
        let step = |old, new| Step { path: "/a/b\n".into(), temp: ".t".into(), old, modified: -5, new };
        let all = vec![
            Frame::Folder("/a".into()),
            Frame::Made("/a/n".into()),
            Frame::Commit(vec![step(State::Missing, file), step(file, State::Link(ContentId::of(b"y")))]),
            Frame::Bytes { step: 1, old: b"old".to_vec(), new: Vec::new() },
            Frame::Abort,
        ];
        let bytes = all.iter().fold(HEADER.to_vec(), |bytes, frame| [bytes, frame.encode()].concat());
        (all, bytes)
    }

    #[test]
    fn record_is_decoded_up_to_the_first_incomplete_frame() {
        let (all, bytes) = record();
        assert_eq!(frames(&bytes), Some((all.clone(), bytes.len())));
        for end in 0..bytes.len() {
            let (read, whole) = frames(&bytes[..end]).unwrap();
            assert!(whole <= end && frames(&bytes[..whole]).unwrap().0 == read);
            assert!(read.len() < all.len() && all.starts_with(&read), "cut at {end}");
        }
        assert_eq!((frames(b"something else"), frames(b"emendate record 2\n")), (None, None));
        assert_eq!(frames(&[&[0; 18][..], &Frame::Abort.encode()].concat()), Some((Vec::new(), 0)));
    }

    #[test]
    fn flipped_bit_ends_the_record() {
        let (all, bytes) = record();
        for at in HEADER.len()..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            let (read, _) = frames(&bytes).unwrap();
            assert!(read.len() < all.len() && all.starts_with(&read), "flipped at {at}");
        }
    }
}
