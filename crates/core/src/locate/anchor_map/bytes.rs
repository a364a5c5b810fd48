//! Serialization of anchor maps. A map that cannot be deserialized is discarded: the file then counts as seen for the
//! first time.

use super::{
    ANCHORED_LINES_MAX, AnchorMap, AnchorRun, AnchorWord, EARLIER_TEXTS_MAX, PastText, TOMBSTONES_PER_LINE, Tombstone,
};
use crate::work;
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// Format version: covers this layout and this dictionary. Increase it whenever either changes.
const FORMAT_VERSION: u8 = 1;

impl AnchorMap {
    /// Serializes the map, in about twelve bytes per line.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ByteWriter(Vec::with_capacity(self.words.len() * 12 + self.tombstones.len() * 12 + 64));
        out.0.push(FORMAT_VERSION);
        out.0.extend_from_slice(&self.text.to_le_bytes());
        out.list(&self.hashes, |out, hash| out.0.extend_from_slice(&hash.to_le_bytes()));
        self.words.iter().for_each(|word| out.number(word.number()));
        out.number(self.tombstones.len() as u32);
        for spent in &self.tombstones {
            out.number(spent.word.number());
            out.0.extend_from_slice(&spent.hash.to_le_bytes());
        }
        out.number(self.earlier_texts.len() as u32);
        for past in &self.earlier_texts {
            out.0.extend_from_slice(&past.text.to_le_bytes());
            out.list(&past.runs, |out, run| match run {
                AnchorRun::Same(from, len) => {
                    out.number(0);
                    out.number(*from);
                    out.number(*len);
                }
                AnchorRun::Other(words) => {
                    out.number(1);
                    out.list(words, |out, word| out.number(word.number()));
                }
            });
        }
        let sum = xxh3_64(&out.0);
        out.0.extend_from_slice(&sum.to_le_bytes());
        out.0
    }

    /// Deserializes the output of [`AnchorMap::to_bytes`]; `None` for anything else, including another format version.
    /// Counts as work: once the call has to end, the map is incomplete and must not be used.
    pub fn from_bytes(bytes: &[u8]) -> Option<AnchorMap> {
        let (body, sum) = bytes.split_last_chunk::<8>()?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut from = ByteReader(body);
        if from.array::<1>()? != [FORMAT_VERSION] {
            return None;
        }
        let text = u128::from_le_bytes(from.array()?);
        let hashes = from.list(ANCHORED_LINES_MAX, |from| Some(u64::from_le_bytes(from.array()?)))?;
        let words = from.items(hashes.len(), ByteReader::word)?;
        let spent = from.list(TOMBSTONES_PER_LINE * ANCHORED_LINES_MAX, |from| {
            Some(Tombstone { word: from.word()?, hash: u64::from_le_bytes(from.array()?) })
        })?;
        let past = from.list(EARLIER_TEXTS_MAX, |from| {
            let text = u128::from_le_bytes(from.array()?);
            let runs = from.list(ANCHORED_LINES_MAX, |from| match from.number()? {
                0 => Some(AnchorRun::Same(from.number()?, from.number()?)),
                1 => Some(AnchorRun::Other(from.list(TOMBSTONES_PER_LINE * ANCHORED_LINES_MAX, ByteReader::word)?)),
                _ => None,
            })?;
            Some(PastText { text, runs })
        })?;
        let mut seen = HashSet::with_capacity(words.len() + spent.len());
        let all = words.iter().chain(spent.iter().map(|spent| &spent.word));
        let once = work::batched(all).all(|word| seen.insert(*word));
        (from.0.is_empty() && once).then(|| AnchorMap {
            text,
            hashes,
            words,
            tombstones: spent.into(),
            earlier_texts: past.into(),
        })
    }
}

struct ByteWriter(Vec<u8>);

impl ByteWriter {
    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn list<T>(&mut self, items: &[T], one: impl Fn(&mut ByteWriter, &T)) {
        self.number(items.len() as u32);
        for item in items {
            one(self, item);
        }
    }
}

struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            number |= u32::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn word(&mut self) -> Option<AnchorWord> {
        AnchorWord::from_number(self.number()?)
    }

    fn items<T>(&mut self, len: usize, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // Every item takes at least a byte, so a wrong length never allocates more than the input has bytes.
        (len <= self.0.len()).then(|| work::batched(0..len).map(|_| one(self)).collect())?
    }

    fn list<T>(&mut self, most: usize, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = self.number()? as usize;
        if len > most { None } else { self.items(len, one) }
    }
}
