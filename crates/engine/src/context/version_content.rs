//! Contents of versions, from the histories of all roots: a call that changes files of several roots is logged in one of
//! them, so the changes that lead to a version may be in several logs.

use crate::context::Context;
use emendate_core::{ContentId, Result};
use emendate_history::KnownContent;

/// Versions that are tried to rebuild one from the logs of several roots.
const VERSIONS_TRIED_MAX: usize = 200;

/// A version that the history of a root can rebuild.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RootVersion {
    root: usize,
    content: ContentId,
}

/// A version on the way to the wanted one.
struct RebuildStep {
    version: RootVersion,
    /// The index of the step that rebuilds its version from this one.
    next: Option<usize>,
}

impl Context {
    /// Returns the bytes of a version that an operation of a root names; `None` if it is lost. `at_hand` are versions from
    /// which it may be rebuilt.
    ///
    /// Errors: those of the session store.
    pub(crate) fn version_content(
        &self,
        root: usize,
        content: ContentId,
        at_hand: &[KnownContent<'_>],
    ) -> Result<Option<Vec<u8>>> {
        if let Some(bytes) = self.history(root).content(content, at_hand)? {
            return Ok(Some(bytes));
        }
        let known: Vec<ContentId> = at_hand.iter().map(|known| known.id).collect();
        let mut found: Option<(ContentId, Vec<u8>)> = None;
        for RootVersion { root, content } in self.rebuild_steps(root, content, &known)?.unwrap_or_default() {
            let last = found.as_ref().map(|(id, bytes)| KnownContent { id: *id, bytes });
            let known: Vec<KnownContent<'_>> = at_hand.iter().copied().chain(last).collect();
            let Some(bytes) = self.history(root).content(content, &known)? else { return Ok(None) };
            found = Some((content, bytes));
        }
        Ok(found.map(|(_, bytes)| bytes))
    }

    /// True if [`Context::version_content`] would find the version, apart from damage.
    ///
    /// Errors: those of the session store.
    pub(crate) fn can_rebuild(&self, root: usize, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        Ok(self.history(root).can_rebuild(content, at_hand)? || self.rebuild_steps(root, content, at_hand)?.is_some())
    }

    /// Returns versions each of which can be rebuilt in its root once the one before it is at hand, the wanted one last;
    /// `None` if there is no such way.
    fn rebuild_steps(
        &self,
        root: usize,
        content: ContentId,
        at_hand: &[ContentId],
    ) -> Result<Option<Vec<RootVersion>>> {
        if self.root_count() < 2 {
            return Ok(None);
        }
        let roots = std::iter::once(root).chain((0..self.root_count()).filter(|other| *other != root));
        let mut steps: Vec<RebuildStep> =
            roots.map(|root| RebuildStep { version: RootVersion { root, content }, next: None }).collect();
        let mut index = 0;
        while let Some(&RebuildStep { version, .. }) = steps.get(index) {
            if self.history(version.root).can_rebuild(version.content, at_hand)? {
                let way = std::iter::successors(steps.get(index), |step| steps.get(step.next?));
                return Ok(Some(way.map(|step| step.version).collect()));
            }
            for content in self.history(version.root).linked_versions(version.content, VERSIONS_TRIED_MAX)? {
                let others = (0..self.root_count()).filter(|other| *other != version.root);
                for version in others.map(|root| RootVersion { root, content }) {
                    if steps.len() < VERSIONS_TRIED_MAX && steps.iter().all(|step| step.version != version) {
                        steps.push(RebuildStep { version, next: Some(index) });
                    }
                }
            }
            index += 1;
        }
        Ok(None)
    }
}
