//! What this process knows of the database without asking it. It is as good as asking: whoever changes what sessions know
//! raises the turn of the spool first.

use std::collections::{HashMap, HashSet};

use emendate_core::ContentId;

use crate::Record;

/// Above this it is forgotten and begun anew.
const MOST: usize = 256;

/// What went into the database.
#[derive(Default)]
pub(super) struct Learned {
    /// Bytes of contents.
    pub(super) added: u64,
    /// Session, path, and what the session knows of it last.
    pub(super) records: Vec<(String, Vec<u8>, Record)>,
    /// Versions that are kept.
    pub(super) held: Vec<ContentId>,
}

#[derive(Default)]
pub(super) struct Memo {
    /// The turn of the spool at which it holds.
    turn: u64,
    /// By session and path.
    latest: HashMap<String, HashMap<Vec<u8>, Record>>,
    /// How many were learned.
    count: usize,
    /// Versions that were kept when this process last looked: a clean-up may have dropped them since.
    held: HashSet<ContentId>,
}

impl Memo {
    /// The latest record of the session and path.
    pub(super) fn latest(&self, turn: u64, session: &str, path: &[u8]) -> Option<&Record> {
        self.latest.get(session).filter(|_| self.turn == turn)?.get(path)
    }

    /// True when the version was kept.
    pub(super) fn holds(&self, content: ContentId) -> bool {
        self.held.contains(&content)
    }

    /// This process alone made the turn go on `from` there; what it changed is told next.
    pub(super) fn go_on(&mut self, from: u64, to: u64) {
        if self.turn != from {
            self.latest.clear();
            self.count = 0;
        }
        self.turn = to;
    }

    pub(super) fn learn(&mut self, learned: Learned) {
        for (session, path, record) in learned.records {
            self.count += 1;
            if self.count > MOST {
                self.latest.clear();
                self.count = 1;
            }
            self.latest.entry(session).or_default().insert(path, record);
        }
        if self.held.len() > MOST {
            self.held.clear();
        }
        self.held.extend(learned.held);
    }

    /// What the session knows of the path has to be asked for again.
    pub(super) fn forget(&mut self, session: &str, path: &[u8]) {
        if let Some(known) = self.latest.get_mut(session) {
            known.remove(path);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Memo::default();
    }
}
