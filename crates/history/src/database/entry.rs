//! Serialization of an operation as an entry of the append log.

use emendate_core::ContentId;

use super::{log, rows};
use crate::{
    ByteReplacement, ChangeContent, FileChange, FileKind, FileState, Operation, Record, Role, SessionUpdate,
    replacement, varint,
};

/// An operation with its changes and records, as it was logged.
pub(super) struct AppendLogEntry<'a> {
    pub(super) number: u64,
    /// Microseconds since the epoch.
    pub(super) at: i64,
    /// Id of the process that performs it.
    pub(super) owner: u32,
    pub(super) operation: Operation,
    /// For each file: the base of its change, and the replacements that lead from there.
    pub(super) changes: Vec<(Option<ContentId>, Vec<ByteReplacement<'a>>)>,
    pub(super) known: Vec<(Vec<u8>, Record)>,
}

/// Serializes an operation; `None` if it has to go into the database at once: it undoes others, removes contents,
/// creates directories, must not be kept, or takes more than `most` bytes.
pub(super) fn pack(
    number: u64,
    at: i64,
    owner: u32,
    operation: &Operation,
    changes: &[ChangeContent<'_>],
    known: &[SessionUpdate<'_>],
    most: usize,
) -> Option<Vec<u8>> {
    let plain = operation.role == Role::Edit && operation.also_undoes.is_empty() && operation.created_dirs.is_empty();
    let light = changes.iter().map(|change| replacement::text_bytes(change.replacements)).sum::<u64>() <= most as u64;
    if !plain || !operation.keeps_content || !light || changes.iter().any(|change| change.old_bytes.is_some()) {
        return None;
    }
    let mut out = Vec::with_capacity(512);
    varint::put(&mut out, number);
    varint::put(&mut out, at.cast_unsigned());
    varint::put(&mut out, u64::from(owner));
    let Operation {
        session,
        tool,
        format,
        digest,
        note,
        role: _,
        also_undoes: _,
        outcome,
        keeps_content: _,
        files,
        created_dirs: _,
    } = operation;
    for text in [session, tool, format, note] {
        part(&mut out, text.as_bytes());
    }
    out.extend_from_slice(digest);
    varint::put(&mut out, log::outcome_number(*outcome).cast_unsigned());
    varint::put(&mut out, files.len() as u64);
    for (touched, change) in files.iter().zip(changes) {
        let FileChange { path, moved_from, before, after, attributes, added, removed } = touched;
        if attributes.is_some() {
            return None;
        }
        part(&mut out, path);
        maybe(&mut out, moved_from.as_ref(), |out, from| part(out, from));
        maybe(&mut out, before.as_ref(), pack_state);
        maybe(&mut out, after.as_ref(), pack_state);
        varint::put(&mut out, *added);
        varint::put(&mut out, *removed);
        maybe(&mut out, change.base.as_ref(), |out, base| out.extend_from_slice(&base.to_bytes()));
        part(&mut out, &replacement::encode(change.replacements)?);
    }
    varint::put(&mut out, known.len() as u64);
    for SessionUpdate { path, record } in known {
        let Record { content, meta, racy, lines, origin: how, offset, limit } = record;
        part(&mut out, path);
        out.extend_from_slice(&content.to_bytes());
        part(&mut out, &rows::pack_meta(meta));
        varint::put(&mut out, u64::from(*racy));
        part(&mut out, &rows::pack_lines(lines));
        varint::put(&mut out, rows::origin_number(*how).cast_unsigned());
        for number in [offset, limit] {
            maybe(&mut out, number.as_ref(), |out, number| varint::put(out, *number));
        }
    }
    (out.len() <= most).then_some(out)
}

fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn maybe<T>(out: &mut Vec<u8>, value: Option<&T>, write: impl FnOnce(&mut Vec<u8>, &T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        write(out, value);
    }
}

fn pack_state(out: &mut Vec<u8>, state: &FileState) {
    let FileState { content, mode, kind } = state;
    out.extend_from_slice(&content.to_bytes());
    varint::put(out, u64::from(*mode));
    out.push(u8::from(*kind == FileKind::Link));
}

/// Decodes the result of [`pack`]; `None` for anything else.
pub(super) fn unpack(bytes: &[u8]) -> Option<AppendLogEntry<'_>> {
    let mut rest = EntryReader(bytes);
    let (number, at, owner) = (rest.number()?, rest.number()?.cast_signed(), u32::try_from(rest.number()?).ok()?);
    let (session, tool, format, note) = (rest.text()?, rest.text()?, rest.text()?, rest.text()?);
    let digest = rest.fixed()?;
    let outcome = log::outcome_of(rest.number()?.cast_signed()).ok()?;
    let (mut files, mut changes) = (Vec::new(), Vec::new());
    for _ in 0..rest.number()? {
        files.push(rest.touched()?);
        let base = rest.maybe(|rest| rest.fixed().map(ContentId::from_bytes))?;
        changes.push((base, replacement::decode(rest.part()?)?));
    }
    let mut known = Vec::new();
    for _ in 0..rest.number()? {
        known.push((rest.part()?.to_vec(), rest.record()?));
    }
    let (role, also_undoes, folders) = (Role::Edit, Vec::new(), Vec::new());
    let operation = Operation {
        session,
        tool,
        format,
        digest,
        note,
        role,
        also_undoes,
        outcome,
        keeps_content: true,
        files,
        created_dirs: folders,
    };
    rest.0.is_empty().then_some(AppendLogEntry { number, at, owner, operation, changes, known })
}

/// Reader over the rest of an entry.
struct EntryReader<'a>(&'a [u8]);

impl<'a> EntryReader<'a> {
    fn number(&mut self) -> Option<u64> {
        varint::take(&mut self.0)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.part()?.to_vec()).ok()
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (fixed, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*fixed)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.fixed::<1>()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    #[allow(clippy::option_option, reason = "damage, nothing, something")]
    fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    fn file_state(&mut self) -> Option<FileState> {
        let content = ContentId::from_bytes(self.fixed()?);
        let mode = u32::try_from(self.number()?).ok()?;
        Some(FileState { content, mode, kind: if self.flag()? { FileKind::Link } else { FileKind::Regular } })
    }

    fn touched(&mut self) -> Option<FileChange> {
        let path = self.part()?.to_vec();
        let moved_from = self.maybe(|rest| rest.part().map(<[u8]>::to_vec))?;
        let (before, after) = (self.maybe(EntryReader::file_state)?, self.maybe(EntryReader::file_state)?);
        let (added, removed) = (self.number()?, self.number()?);
        Some(FileChange { path, moved_from, before, after, attributes: None, added, removed })
    }

    fn record(&mut self) -> Option<Record> {
        let content = ContentId::from_bytes(self.fixed()?);
        let meta = rows::unpack_meta(self.part()?).ok()?;
        let racy = self.flag()?;
        let lines = rows::unpack_lines(self.part()?).ok()?;
        let how = rows::origin_of(self.number()?.cast_signed()).ok()?;
        let (offset, limit) = (self.maybe(EntryReader::number)?, self.maybe(EntryReader::number)?);
        Some(Record { content, meta, racy, lines, origin: how, offset, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use crate::{
        ByteReplacement, ChangeContent, FileChange, FileKind, FileState, LineSet, Operation, OperationOutcome, Record,
        RecordOrigin, Role, SessionUpdate,
    };
    use emendate_core::ContentId;
    use emendate_fs::FileMeta;

    #[test]
    fn encoding_round_trips_and_damage_is_detected() {
        let [old, new] = [b"old", b"new"].map(|bytes| ContentId::of(bytes));
        let side = |content, kind| Some(FileState { content, mode: 0o4755, kind });
        let touched = |path: &[u8], before, after| FileChange {
            path: path.to_vec(),
            moved_from: (path == b"/b\xff").then(|| b"/a".to_vec()),
            before,
            after,
            attributes: None,
            added: 300,
            removed: u64::MAX,
        };
        let operation = Operation {
            session: "s\u{e9}".to_owned(),
            tool: "edit".to_owned(),
            format: String::new(),
            digest: [9; 16],
            note: "merged".to_owned(),
            role: Role::Edit,
            also_undoes: Vec::new(),
            outcome: OperationOutcome::Partial,
            keeps_content: true,
            files: vec![
                touched(b"/a", side(old, FileKind::Regular), None),
                touched(b"/b\xff", None, side(new, FileKind::Link)),
            ],
            created_dirs: Vec::new(),
        };
        let swaps =
            [ByteReplacement { at: 3, old: b"", new: b"x\0y" }, ByteReplacement { at: 900, old: b"gone", new: b"" }];
        let changes = [
            ChangeContent::default(),
            ChangeContent { base: Some(old), replacements: &swaps, ..ChangeContent::default() },
        ];
        let meta =
            FileMeta { dev: 1, ino: u64::MAX, size: 0, mtime_ns: -5, ctime_ns: 7, mode: 1, links: 2, uid: 3, gid: 4 };
        let mut lines = LineSet::none();
        lines.add(4, 9);
        let record =
            Record { content: new, meta, racy: true, lines, origin: RecordOrigin::Shown, offset: Some(0), limit: None };
        let known = [SessionUpdate { path: b"/b\xff", record: &record }];
        let packed = pack(17, -1, 42, &operation, &changes, &known, 4096).unwrap();
        let entry = unpack(&packed).unwrap();
        assert_eq!((entry.number, entry.at, entry.owner), (17, -1, 42));
        assert_eq!(entry.operation, operation);
        assert_eq!(entry.changes, [(None, vec![]), (Some(old), swaps.to_vec())]);
        assert_eq!(entry.known, [(b"/b\xff".to_vec(), record.clone())]);
        for end in 0..packed.len() {
            assert!(unpack(&packed[..end]).is_none(), "{end}");
        }
        for at in 0..packed.len() {
            let mut harmed = packed.clone();
            harmed[at] ^= 0xff;
            let _ = unpack(&harmed);
        }
        assert!(pack(17, -1, 42, &operation, &changes, &known, packed.len() - 1).is_none());
    }
}
