//! Comments and review marks in memory.

use std::collections::BTreeSet;

use emendate_core::Result;

use super::MemoryHistory;
use crate::clock;
use crate::reviews::{
    COMMENTS_MAX, CommentFilter, NewComment, REVIEWED_HUNKS_MAX, ReviewedHunks, Reviews, StoredComment,
};

/// The comments and marks of one history.
#[derive(Default)]
pub(super) struct MemoryReviews {
    comments: Vec<StoredComment>,
    /// Number of comments ever stored.
    numbered: u64,
    /// Operation, path and hunk.
    reviewed: BTreeSet<(u64, Vec<u8>, u64)>,
}

impl MemoryReviews {
    /// Drops the comments and marks of operations before this number.
    pub(super) fn drop_before(&mut self, first: u64) {
        self.comments.retain(|comment| comment.operation >= first);
        self.reviewed.retain(|(operation, ..)| *operation >= first);
    }
}

impl Reviews for MemoryHistory {
    fn add_comment(&self, comment: NewComment<'_>) -> Result<Option<u64>> {
        let reviews = &mut self.inner().reviews;
        if reviews.comments.len() >= COMMENTS_MAX {
            return Ok(None);
        }
        reviews.numbered += 1;
        reviews.comments.push(StoredComment {
            number: reviews.numbered,
            operation: comment.operation,
            path: comment.path.map(<[u8]>::to_vec),
            line: comment.line,
            session: comment.session.to_owned(),
            text: comment.text.to_owned(),
            at: clock::now_us(),
            delivered_at: None,
        });
        Ok(Some(reviews.numbered))
    }

    fn comments(&self, filter: &CommentFilter<'_>) -> Result<Vec<StoredComment>> {
        let inner = self.inner();
        Ok(inner
            .reviews
            .comments
            .iter()
            .filter(|comment| is_wanted(filter, comment))
            .take(filter.limit)
            .cloned()
            .collect())
    }

    fn mark_delivered(&self, numbers: &[u64]) -> Result<()> {
        let now = clock::now_us();
        for comment in &mut self.inner().reviews.comments {
            if numbers.contains(&comment.number) && comment.delivered_at.is_none() {
                comment.delivered_at = Some(now);
            }
        }
        Ok(())
    }

    fn delete_comment(&self, number: u64) -> Result<bool> {
        let comments = &mut self.inner().reviews.comments;
        let before = comments.len();
        comments.retain(|comment| comment.number != number);
        Ok(comments.len() < before)
    }

    fn may_have_open_comments(&self) -> bool {
        self.inner().reviews.comments.iter().any(|comment| comment.delivered_at.is_none())
    }

    fn mark_reviewed(&self, marks: &ReviewedHunks, reviewed: bool) -> Result<bool> {
        let all = &mut self.inner().reviews.reviewed;
        if reviewed && all.len() + marks.hunks.len() > REVIEWED_HUNKS_MAX {
            return Ok(false);
        }
        for hunk in &marks.hunks {
            let mark = (marks.operation, marks.path.clone(), *hunk);
            if reviewed {
                all.insert(mark)
            } else {
                all.remove(&mark)
            };
        }
        Ok(true)
    }

    fn reviewed(&self, operation: Option<u64>, limit: usize) -> Result<Vec<ReviewedHunks>> {
        let mut found: Vec<ReviewedHunks> = Vec::new();
        for (number, path, hunk) in &self.inner().reviews.reviewed {
            if operation.is_some_and(|operation| operation != *number) {
                continue;
            }
            match found.last_mut().filter(|last| last.operation == *number && last.path == *path) {
                Some(last) => last.hunks.push(*hunk),
                None => found.push(ReviewedHunks { operation: *number, path: path.clone(), hunks: vec![*hunk] }),
            }
        }
        found.sort_by(|one, other| (other.operation, &one.path).cmp(&(one.operation, &other.path)));
        found.truncate(limit);
        Ok(found)
    }
}

/// True for a comment that the filter selects.
fn is_wanted(filter: &CommentFilter<'_>, comment: &StoredComment) -> bool {
    filter.operation.is_none_or(|operation| comment.operation == operation)
        && filter.session.is_none_or(|session| comment.session == session)
        && (!filter.open || comment.delivered_at.is_none())
}
