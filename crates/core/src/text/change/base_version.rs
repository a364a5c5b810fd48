//! The version that a change set applies to.

use crate::text::content::ContentId;
use crate::text::snapshot::Snapshot;
use core::fmt;

/// A version, as the id of its content; or the version itself until its id is needed, because computing it takes a pass
/// over the content.
#[derive(Clone)]
pub(super) enum BaseVersion {
    Content(ContentId),
    Snapshot(Snapshot),
}

impl BaseVersion {
    pub(super) fn of(base: &Snapshot) -> BaseVersion {
        base.known_id().map_or_else(|| BaseVersion::Snapshot(base.clone()), BaseVersion::Content)
    }

    pub(super) fn id(&self) -> ContentId {
        match self {
            BaseVersion::Content(id) => *id,
            BaseVersion::Snapshot(base) => base.id(),
        }
    }
}

impl PartialEq for BaseVersion {
    fn eq(&self, other: &BaseVersion) -> bool {
        self.id() == other.id()
    }
}

impl Eq for BaseVersion {}

impl fmt::Debug for BaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}
