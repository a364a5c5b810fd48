//! Guarantees of comments and review marks.

use emendate_history::{
    COMMENTS_MAX, CommentFilter, HistoryLimits, NewComment, REVIEWED_HUNKS_MAX, Retention, ReviewedHunks,
};

use super::Open;
use super::log::edit;

pub(crate) fn all(open: Open<'_>) {
    comments(open);
    marks(open);
    lifetime(open);
}

fn comment<'a>(operation: u64, session: &'a str, text: &'a str) -> NewComment<'a> {
    NewComment { operation, path: Some(b"/a"), line: Some(3), session, text }
}

fn comments(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let id = edit(&*store, "s", b"/a", b"one", b"two").id.number;
    let all = CommentFilter { limit: COMMENTS_MAX, ..CommentFilter::default() };
    assert_eq!((store.comments(&all).unwrap(), store.may_have_open_comments()), (Vec::new(), false));
    let first = store.add_comment(comment(id, "s", "one")).unwrap().unwrap();
    let second = store.add_comment(comment(id, "other", "two")).unwrap().unwrap();
    assert!(store.may_have_open_comments());
    let open_ones = |session| {
        let filter = CommentFilter { session: Some(session), open: true, ..all };
        store.comments(&filter).unwrap().into_iter().map(|comment| comment.number).collect::<Vec<_>>()
    };
    assert_eq!((open_ones("s"), open_ones("other"), open_ones("x")), (vec![first], vec![second], vec![]));
    store.mark_delivered(&[first]).unwrap();
    assert!(open_ones("s").is_empty() && store.may_have_open_comments());
    store.mark_delivered(&[second, 99]).unwrap();
    assert!(!store.may_have_open_comments());
    let kept = store.comments(&CommentFilter { operation: Some(id), ..all }).unwrap();
    assert!(kept.len() == 2 && kept.iter().all(|it| it.delivered_at.is_some() && it.line == Some(3)));
    assert!(store.delete_comment(second).unwrap() && !store.delete_comment(second).unwrap());
    // Numbers are never reused.
    assert!(store.add_comment(comment(id, "s", "three")).unwrap().unwrap() > second);
    for _ in 2..COMMENTS_MAX {
        store.add_comment(comment(id, "s", "more")).unwrap().unwrap();
    }
    assert_eq!(store.add_comment(comment(id, "s", "too many")).unwrap(), None);
}

fn marks(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let marks = |path: &[u8], hunks: Vec<u64>| ReviewedHunks { operation: 1, path: path.to_vec(), hunks };
    assert_eq!(store.reviewed(None, 10).unwrap(), []);
    assert!(store.mark_reviewed(&marks(b"/b", vec![3, 1]), true).unwrap());
    assert!(store.mark_reviewed(&marks(b"/b", vec![1, 2]), true).unwrap());
    assert!(store.mark_reviewed(&marks(b"/a", vec![1]), true).unwrap());
    assert_eq!(store.reviewed(Some(1), 10).unwrap(), [marks(b"/a", vec![1]), marks(b"/b", vec![1, 2, 3])]);
    assert_eq!(store.reviewed(None, 1).unwrap(), [marks(b"/a", vec![1])]);
    store.mark_reviewed(&marks(b"/b", vec![2]), false).unwrap();
    assert_eq!(store.reviewed(Some(1), 10).unwrap()[1], marks(b"/b", vec![1, 3]));
    assert_eq!(store.reviewed(Some(2), 10).unwrap(), []);
    let most = REVIEWED_HUNKS_MAX as u64;
    assert!(!store.mark_reviewed(&marks(b"/c", (1..most).collect()), true).unwrap());
    assert!(store.mark_reviewed(&marks(b"/c", (4..=most).collect()), true).unwrap());
}

fn lifetime(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let old = edit(&*store, "s", b"/a", b"one", b"two").id.number;
    let new = edit(&*store, "s", b"/a", b"two", b"three").id.number;
    for operation in [old, new] {
        store.add_comment(comment(operation, "s", "why")).unwrap();
        let marks = ReviewedHunks { operation, path: b"/a".to_vec(), hunks: vec![1] };
        store.mark_reviewed(&marks, true).unwrap();
    }
    store.collect_garbage(Retention { days: Some(0), bytes: None }).unwrap();
    // The newest operation always stays, with what was said about it.
    let left: Vec<u64> = store.operations_after(0, 10).unwrap().iter().map(|logged| logged.id.number).collect();
    let all = CommentFilter { limit: 10, ..CommentFilter::default() };
    let comments: Vec<u64> = store.comments(&all).unwrap().iter().map(|comment| comment.operation).collect();
    let marks: Vec<u64> = store.reviewed(None, 10).unwrap().iter().map(|marks| marks.operation).collect();
    assert!(!left.contains(&old));
    assert_eq!((comments, marks), (left.clone(), left));
}
