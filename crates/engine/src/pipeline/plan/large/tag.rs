//! The short tag of a large file after an edit, for the header of the reply. It is a hash of the whole text, so the
//! file is scanned once more, from the first change on.

use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::CHUNK_BYTES;
use emendate_core::{Result, ShortHash, ShortTag};
use emendate_fs::{FileSource, SpliceChunk};

/// Computes the short tags that replies will show.
///
/// Errors: `conflict.raced` for a file that is written meanwhile; `io.*`.
pub(crate) fn compute_short_tags(plans: &mut [FilePlan]) -> Result<()> {
    for plan in plans.iter_mut().filter(|plan| plan.display.header.is_some() && plan.display.short_tag.is_none()) {
        let Some(source) = plan.source.clone() else { continue };
        plan.display.short_tag = Some(short_tag(&source, plan)?);
    }
    Ok(())
}

fn short_tag(source: &FileSource, plan: &FilePlan) -> Result<ShortTag> {
    let first = plan.changes.splices().first().and_then(|splice| plan.before.to_file_offset(splice.span));
    let known = plan.prefix_hash.clone().filter(|(at, _)| first.is_none_or(|first| *at <= first));
    let (from, mut hash) = known.unwrap_or((plan.before.codec().mark, ShortHash::default()));
    for part in plan.chunks() {
        match part {
            SpliceChunk::New(bytes) => hash.update(bytes),
            SpliceChunk::Copied { at, len } => {
                let (start, end) = (at.max(from as u64), at + len);
                source.for_each_chunk_of(start..end.max(start), CHUNK_BYTES, |chunk| {
                    hash.update(chunk);
                    Ok(())
                })?;
            }
        }
    }
    source.check_unchanged()?;
    Ok(hash.tag())
}
