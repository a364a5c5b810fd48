//! An operation as an entry of the spool.

use emendate_core::ContentId;

use super::{log, rows};
use crate::{Change, Kind, Known, Operation, Record, Role, Side, Swap, Touched, swap, varint};

/// An operation with what belongs to it, as it was logged.
pub(super) struct Entry<'a> {
    pub(super) number: u64,
    /// Microseconds since the epoch.
    pub(super) at: i64,
    /// The process that is about to do it.
    pub(super) owner: u32,
    pub(super) operation: Operation,
    /// Of each file: the base of its change, and what leads from there.
    pub(super) changes: Vec<(Option<ContentId>, Vec<Swap<'a>>)>,
    pub(super) known: Vec<(Vec<u8>, Record)>,
}

/// The entry for an operation; `None` for what has to go into the database at once: what takes others back, what removes
/// contents or makes folders, what must not be kept, and what is larger than `most` bytes.
pub(super) fn pack(
    (number, at, owner): (u64, i64, u32),
    operation: &Operation,
    changes: &[Change<'_>],
    known: &[Known<'_>],
    most: usize,
) -> Option<Vec<u8>> {
    let plain = operation.role == Role::Edit && operation.also.is_empty() && operation.folders.is_empty();
    let light = changes.iter().map(|change| swap::weight(change.swaps)).sum::<u64>() <= most as u64;
    if !plain || !operation.kept || !light || changes.iter().any(|change| change.old.is_some()) {
        return None;
    }
    let mut out = Vec::with_capacity(512);
    varint::put(&mut out, number);
    varint::put(&mut out, at.cast_unsigned());
    varint::put(&mut out, u64::from(owner));
    let Operation { session, tool, format, digest, note, role: _, also: _, outcome, kept: _, files, folders: _ } =
        operation;
    for text in [session, tool, format, note] {
        part(&mut out, text.as_bytes());
    }
    out.extend_from_slice(digest);
    varint::put(&mut out, log::outcome_number(*outcome).cast_unsigned());
    varint::put(&mut out, files.len() as u64);
    for (touched, change) in files.iter().zip(changes) {
        let Touched { path, moved_from, before, after, attributes, added, removed } = touched;
        if attributes.is_some() {
            return None;
        }
        part(&mut out, path);
        maybe(&mut out, moved_from.as_ref(), |out, from| part(out, from));
        maybe(&mut out, before.as_ref(), side);
        maybe(&mut out, after.as_ref(), side);
        varint::put(&mut out, *added);
        varint::put(&mut out, *removed);
        maybe(&mut out, change.base.as_ref(), |out, base| out.extend_from_slice(&base.to_bytes()));
        part(&mut out, &swap::encode(change.swaps)?);
    }
    varint::put(&mut out, known.len() as u64);
    for Known { path, record } in known {
        let Record { content, stamp, racy, lines, how, offset, limit } = record;
        part(&mut out, path);
        out.extend_from_slice(&content.to_bytes());
        part(&mut out, &rows::pack_stamp(stamp));
        varint::put(&mut out, u64::from(*racy));
        part(&mut out, &rows::pack_lines(lines));
        varint::put(&mut out, rows::how_number(*how).cast_unsigned());
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

fn side(out: &mut Vec<u8>, side: &Side) {
    let Side { content, mode, kind } = side;
    out.extend_from_slice(&content.to_bytes());
    varint::put(out, u64::from(*mode));
    out.push(u8::from(*kind == Kind::Link));
}

/// What [`pack`] made; `None` for anything else.
pub(super) fn unpack(bytes: &[u8]) -> Option<Entry<'_>> {
    let mut rest = Rest(bytes);
    let (number, at, owner) = (rest.number()?, rest.number()?.cast_signed(), u32::try_from(rest.number()?).ok()?);
    let (session, tool, format, note) = (rest.text()?, rest.text()?, rest.text()?, rest.text()?);
    let digest = rest.fixed()?;
    let outcome = log::outcome_of(rest.number()?.cast_signed()).ok()?;
    let (mut files, mut changes) = (Vec::new(), Vec::new());
    for _ in 0..rest.number()? {
        files.push(rest.touched()?);
        let base = rest.maybe(|rest| rest.fixed().map(ContentId::from_bytes))?;
        changes.push((base, swap::decode(rest.part()?)?));
    }
    let mut known = Vec::new();
    for _ in 0..rest.number()? {
        known.push((rest.part()?.to_vec(), rest.record()?));
    }
    let (role, also, folders) = (Role::Edit, Vec::new(), Vec::new());
    let operation = Operation { session, tool, format, digest, note, role, also, outcome, kept: true, files, folders };
    rest.0.is_empty().then_some(Entry { number, at, owner, operation, changes, known })
}

/// What is left of an entry.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
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

    fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    fn side(&mut self) -> Option<Side> {
        let content = ContentId::from_bytes(self.fixed()?);
        let mode = u32::try_from(self.number()?).ok()?;
        Some(Side { content, mode, kind: if self.flag()? { Kind::Link } else { Kind::Regular } })
    }

    fn touched(&mut self) -> Option<Touched> {
        let path = self.part()?.to_vec();
        let moved_from = self.maybe(|rest| rest.part().map(<[u8]>::to_vec))?;
        let (before, after) = (self.maybe(Rest::side)?, self.maybe(Rest::side)?);
        let (added, removed) = (self.number()?, self.number()?);
        Some(Touched { path, moved_from, before, after, attributes: None, added, removed })
    }

    fn record(&mut self) -> Option<Record> {
        let content = ContentId::from_bytes(self.fixed()?);
        let stamp = rows::unpack_stamp(self.part()?).ok()?;
        let racy = self.flag()?;
        let lines = rows::unpack_lines(self.part()?).ok()?;
        let how = rows::how_of(self.number()?.cast_signed()).ok()?;
        let (offset, limit) = (self.maybe(Rest::number)?, self.maybe(Rest::number)?);
        Some(Record { content, stamp, racy, lines, how, offset, limit })
    }
}
