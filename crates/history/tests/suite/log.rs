//! Guarantees of both logs.

use emendate_core::ContentId;
use emendate_core::explain::ReplacedSpan;
use emendate_history::{
    ByteReplacement, CachedFile, ChangeContent, FileChange, FileKind, FileState, HistoryLimits, KnownContent,
    KnownState, LogReceipt, MARK, NewlyKnown, OUTSIDE, Operation, OperationFilter, OperationLog, OperationName,
    OperationOutcome, OutsideContent, OwnedContent, Retention, Role, SessionUpdate, StatCache, TURN, VersionBody,
};

use super::{Open, PATH, noise, record};

pub(crate) fn all(open: Open<'_>) {
    told_as_logged(open);
    filters(open);
    taking_back(open);
    pending_until_marked(open);
    withdrawn(open);
    contents_along_the_trail(open);
    what_cannot_wait_is_kept_at_once(open);
    what_is_known_whole_needs_no_trail(open);
    one_side_missing(open);
    the_last_copy_of_a_large_content(open);
    undo_in_a_large_content(open);
    more_changed_than_is_kept(open);
    moved_over_another(open);
    secrets(open);
    outside_changes(open);
    snapshots(open);
    moments(open);
    freeing(open);
}

#[allow(clippy::unnecessary_wraps, reason = "every use wants an option")]
pub(crate) fn file_state(bytes: &[u8], mode: u32) -> Option<FileState> {
    Some(FileState { content: ContentId::of(bytes), mode, kind: FileKind::Regular })
}

pub(crate) fn operation(session: &str, files: Vec<FileChange>) -> Operation {
    Operation {
        session: session.to_owned(),
        tool: "edit".to_owned(),
        format: "replace".to_owned(),
        digest: [7; 16],
        note: String::new(),
        role: Role::Edit,
        outcome: OperationOutcome::Done,
        keeps_content: true,
        also_undoes: Vec::new(),
        created_dirs: Vec::new(),
        files,
    }
}

pub(crate) fn touched(path: &[u8], before: Option<FileState>, after: Option<FileState>) -> FileChange {
    FileChange { path: path.to_vec(), moved_from: None, before, after, attributes: None, added: 1, removed: 2 }
}

/// Logs a change of the part between the common start and end of two texts.
pub(crate) fn edit(store: &dyn OperationLog, session: &str, path: &[u8], before: &[u8], after: &[u8]) -> LogReceipt {
    let pairs = || before.iter().zip(after);
    let start = pairs().take_while(|(a, b)| a == b).count();
    let most = before.len().min(after.len()) - start;
    let end = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let swap =
        ByteReplacement { at: start, old: &before[start..before.len() - end], new: &after[start..after.len() - end] };
    let operation = operation(session, vec![touched(path, file_state(before, 0o644), file_state(after, 0o644))]);
    store.log(&operation, &[from(before, &[swap])], &[]).unwrap()
}

fn from<'a>(before: &[u8], swaps: &'a [ByteReplacement<'a>]) -> ChangeContent<'a> {
    ChangeContent { base: Some(ContentId::of(before)), replacements: swaps, ..ChangeContent::default() }
}

/// Logs a change of the whole text.
pub(crate) fn wholly(store: &dyn OperationLog, session: &str, path: &[u8], before: &[u8], after: &[u8]) -> LogReceipt {
    let operation = operation(session, vec![touched(path, file_state(before, 0o644), file_state(after, 0o644))]);
    store.log(&operation, &[from(before, &[ByteReplacement { at: 0, old: before, new: after }])], &[]).unwrap()
}

fn told_as_logged(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    assert_eq!(store.newest().unwrap(), None);
    assert_eq!(store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap(), []);
    let link = Some(FileState { content: ContentId::of(b"target"), mode: 0o777, kind: FileKind::Link });
    let moved = FileChange { moved_from: Some(b"/from".to_vec()), ..touched(b"/to", None, file_state(b"m", 0o600)) };
    let files = vec![
        touched(PATH, file_state(b"one", 0o644), file_state(b"two", 0o755)),
        touched(b"/new", None, file_state(b"new", 0o4755)),
        touched(b"/gone", link, None),
        moved,
    ];
    let whole = Operation { note: "n".to_owned(), outcome: OperationOutcome::Partial, ..operation("s", files) };
    let swap = |old, new| [ByteReplacement { at: 0, old, new }];
    let (edited, made) = (swap(b"one", b"two"), swap(b"", b"new"));
    let changes = [
        from(b"one", &edited),
        ChangeContent { replacements: &made, ..ChangeContent::default() },
        ChangeContent { old_bytes: Some(b"target"), ..ChangeContent::default() },
        from(b"m", &[]),
    ];
    let known = record(b"two", &[(1, 4)]);
    let entered = store.log(&whole, &changes, &[SessionUpdate { path: PATH, record: &known }]).unwrap();
    let name: OperationName = entered.id.to_string().parse().unwrap();
    let logged = store.operation(name).unwrap().unwrap();
    assert_eq!((logged.id, logged.undone_by, &logged.operation), (entered.id, None, &whole));
    assert_eq!(store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap(), [logged]);
    assert_eq!(store.newest().unwrap(), Some(entered.id));
    // The ranges that were replaced are known where the change has a base.
    let spans = |number, path| store.replaced_spans(number, path).unwrap();
    let number = entered.id.number;
    assert_eq!(spans(number, PATH), Some(vec![ReplacedSpan { at: 0, old: 3, new: 3 }]));
    assert_eq!((spans(number, b"/new"), spans(number, b"/gone"), spans(number + 1, PATH)), (None, None, None));
    // The session has a record of the new content.
    assert_eq!(store.latest("s", PATH).unwrap(), Some(known));
    let other = OperationName { check: Some(entered.id.check ^ 1), ..name };
    assert_eq!(store.operation(other).unwrap(), None);
    assert_eq!(store.operation(OperationName { number: u64::MAX, check: None }).unwrap(), None);
    assert!(store.log(&whole, &changes[1..], &[]).is_err());
}

fn filters(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    for (session, path) in [("a", "/x"), ("b", "/x"), ("a", "/y"), ("a", "/x")] {
        edit(&*store, session, path.as_bytes(), b"1", b"2");
    }
    let moved = FileChange { moved_from: Some(b"/x".to_vec()), ..touched(b"/z", None, file_state(b"2", 0o644)) };
    store.log(&operation("b", vec![moved]), &[from(b"2", &[])], &[]).unwrap();
    let numbers = |filter: OperationFilter<'_>| -> Vec<u64> {
        store.operations(&filter).unwrap().iter().map(|logged| logged.id.number).collect()
    };
    let any = OperationFilter { limit: 10, ..OperationFilter::default() };
    assert_eq!(numbers(any), [5, 4, 3, 2, 1]);
    assert_eq!(numbers(OperationFilter { limit: 2, ..any }), [5, 4]);
    assert_eq!(numbers(OperationFilter { below: Some(3), ..any }), [2, 1]);
    assert_eq!(numbers(OperationFilter { session: Some("a"), ..any }), [4, 3, 1]);
    assert_eq!(numbers(OperationFilter { path: Some(b"/x"), ..any }), [5, 4, 2, 1]);
    let all = store.operations(&any).unwrap();
    let since = all[1].at;
    let later: Vec<u64> = all.iter().filter(|it| it.at >= since).map(|it| it.id.number).collect();
    assert_eq!(numbers(OperationFilter { since: Some(since), ..any }), later);
    assert!(numbers(OperationFilter { since: Some(i64::MAX), ..any }).is_empty());
    assert!(numbers(OperationFilter { only_reversals: true, ..any }).is_empty());
    let reversal = Operation { role: Role::Undo(all[0].id), ..operation("b", Vec::new()) };
    store.log(&reversal, &[], &[]).unwrap();
    assert_eq!(numbers(OperationFilter { only_reversals: true, ..any }), [6]);
    assert_eq!(
        numbers(OperationFilter { path: Some(b"/x"), session: Some("b"), below: Some(5), limit: 1, ..any }),
        [2]
    );
}

fn taking_back(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let first = edit(&*store, "s", PATH, b"1", b"2").id;
    let back = |role| {
        let operation =
            Operation { role, ..operation("s", vec![touched(PATH, file_state(b"2", 0o644), file_state(b"1", 0o644))]) };
        store.log(&operation, &[from(b"2", &[ByteReplacement { at: 0, old: b"2", new: b"1" }])], &[]).unwrap().id
    };
    let undo = back(Role::Undo(first));
    let redo = back(Role::Redo(undo));
    let all = store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap();
    let told: Vec<_> = all.iter().map(|logged| (logged.id, logged.operation.role, logged.undone_by)).collect();
    assert_eq!(
        told,
        [(redo, Role::Redo(undo), None), (undo, Role::Undo(first), Some(redo)), (first, Role::Edit, Some(undo))]
    );
}

fn pending_until_marked(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let (first, second) = (edit(&*store, "s", PATH, b"1", b"2").id, edit(&*store, "s", PATH, b"2", b"3").id);
    let pending = || store.in_doubt().unwrap().iter().map(|it| (it.id, it.owner)).collect::<Vec<_>>();
    let owner = Some(std::process::id());
    assert_eq!(pending(), [(second, owner), (first, owner)]);
    store.mark_committed(&[first]).unwrap();
    assert_eq!(pending(), [(second, owner)]);
    store.resolve(second, false).unwrap();
    // The report of its own process takes precedence.
    store.resolve(first, false).unwrap();
    assert_eq!(pending(), []);
    let outcomes: Vec<_> = store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap();
    let outcomes: Vec<_> = outcomes.iter().map(|it| (it.owner, it.operation.outcome)).collect();
    assert_eq!(outcomes, [(None, OperationOutcome::Unknown), (None, OperationOutcome::Done)]);
}

fn withdrawn(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let known = |bytes: &[u8]| record(bytes, &[(1, 1)]);
    store.record("s", PATH, &known(b"1"), &VersionBody::Bytes(b"1")).unwrap();
    let (one, two) = (edit(&*store, "s", PATH, b"0", b"1").id, edit(&*store, "s", PATH, b"1", b"2").id);
    store.mark_committed(&[one, two]).unwrap();
    let undo = Operation {
        role: Role::Undo(two),
        also_undoes: vec![one],
        created_dirs: vec![b"/f".to_vec(), b"/f/\xff".to_vec()],
        ..operation("s", vec![touched(PATH, file_state(b"2", 0o644), file_state(b"0", 0o644))])
    };
    let after = record(b"0", &[(1, 1)]);
    let change = from(b"2", &[ByteReplacement { at: 0, old: b"2", new: b"0" }]);
    let undo_id = store.log(&undo, &[change], &[SessionUpdate { path: PATH, record: &after }]).unwrap().id;
    let state = || {
        let all = store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap();
        all.iter().map(|it| (it.id, it.undone_by)).collect::<Vec<_>>()
    };
    let undone = [(undo_id, None), (two, Some(undo_id)), (one, Some(undo_id))];
    assert_eq!(state(), undone);
    assert_eq!(store.latest("s", PATH).unwrap().map(|it| it.content), Some(ContentId::of(b"0")));
    store.abort(undo_id, false).unwrap();
    store.abort(undo_id, false).unwrap();
    assert_eq!(state(), [(two, None), (one, None)]);
    assert_eq!(store.operation("3".parse().unwrap()).unwrap(), None);
    assert_eq!(store.in_doubt().unwrap(), []);
    assert_eq!(store.latest("s", PATH).unwrap().map(|it| it.content), Some(ContentId::of(b"1")));
    // Other processes cannot restore it; the process itself, if it was only slow, can.
    store.resolve(undo_id, true).unwrap();
    assert_eq!(state(), [(two, None), (one, None)]);
    store.mark_committed(&[undo_id]).unwrap();
    assert_eq!(state(), undone);
    let told = store.operation("3".parse().unwrap()).unwrap().unwrap();
    assert_eq!((told.operation, told.owner), (undo, None));
    // Other processes cannot withdraw a committed operation; the process that did not carry it out can, if another one
    // took it for committed. No number is reused.
    store.abort(undo_id, false).unwrap();
    assert_eq!(state(), undone);
    store.abort(undo_id, true).unwrap();
    assert_eq!(state(), [(two, None), (one, None)]);
    assert_eq!(store.latest("s", PATH).unwrap().map(|it| it.content), Some(ContentId::of(b"1")));
    assert_eq!(edit(&*store, "s", PATH, b"0", b"9").id.number, 4);
}

fn contents_along_the_trail(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let mut states = vec![noise(5000, 1)];
    for step in 0..30_usize {
        let mut next = states[step].clone();
        next.splice(step * 100..step * 100 + 3, format!("<{step}>").into_bytes());
        let entered = edit(&*store, "s", PATH, &states[step], &next);
        // The whole file is not stored, so it is requested.
        assert_eq!(entered.unstored, [ContentId::of(&next)]);
        states.push(next);
    }
    let last = states.last().unwrap();
    let hand = [KnownContent { id: ContentId::of(last), bytes: last }];
    for state in &states {
        let id = ContentId::of(state);
        assert!(!store.can_rebuild(id, &[]).unwrap() && store.can_rebuild(id, &[hand[0].id]).unwrap());
        assert_eq!(store.content(id, &[]).unwrap(), None);
        assert_eq!(store.content(id, &hand).unwrap().as_ref(), Some(state));
    }
    // A version that does not match its id is not used.
    assert_eq!(
        store.content(ContentId::of(&states[0]), &[KnownContent { id: hand[0].id, bytes: b"something else" }]).unwrap(),
        None
    );
    // Any one of them stored whole is sufficient.
    store.store_versions(&[OwnedContent { id: ContentId::of(&states[11]), bytes: b"lies".to_vec() }]).unwrap();
    assert!(!store.can_rebuild(ContentId::of(&states[0]), &[]).unwrap());
    let ids: Vec<ContentId> = states.iter().map(|state| ContentId::of(state)).collect();
    assert_eq!(store.not_stored(&ids).unwrap(), ids.iter().copied().collect());
    let (good, bad) = (states[11].clone(), b"lies".to_vec());
    let versions = [OwnedContent { id: ids[11], bytes: good }, OwnedContent { id: ids[12], bytes: bad }];
    store.store_versions(&versions).unwrap();
    assert_eq!(store.not_stored(&ids[10..13]).unwrap(), [ids[10], ids[12]].into());
    for state in &states {
        assert_eq!(store.content(ContentId::of(state), &[]).unwrap().as_ref(), Some(state));
        assert_eq!(store.bytes(ContentId::of(state)).unwrap().as_ref(), Some(state));
    }
}

fn what_cannot_wait_is_kept_at_once(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let (before, after) = (noise(5000, 10), noise(5000, 11));
    let whole = operation("s", vec![touched(PATH, file_state(&before, 0o644), file_state(&after, 0o644))]);
    let swaps = [ByteReplacement { at: 0, old: &before, new: &after }];
    let new = || after.clone();
    let entered = store.log(&whole, &[ChangeContent { new_bytes: Some(&new), ..from(&before, &swaps) }], &[]).unwrap();
    assert!(entered.unstored.is_empty());
    for bytes in [&before, &after] {
        assert_eq!(store.content(ContentId::of(bytes), &[]).unwrap().as_ref(), Some(bytes));
    }
}

fn what_is_known_whole_needs_no_trail(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let before = noise(5000, 2);
    store.record("s", PATH, &record(&before, &[]), &VersionBody::Bytes(&before)).unwrap();
    let mut after = before.clone();
    after[77] ^= 1;
    assert!(edit(&*store, "s", PATH, &before, &after).unstored.is_empty());
    for bytes in [&before, &after] {
        assert_eq!(store.content(ContentId::of(bytes), &[]).unwrap().as_ref(), Some(bytes));
    }
}

fn one_side_missing(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 4000, total: 400_000, ..HistoryLimits::default() });
    let (new, gone, large) = (noise(3000, 3), noise(3000, 4), noise(200_001, 5));
    let files = vec![touched(b"/n", None, file_state(&new, 0o644)), touched(b"/g", file_state(&gone, 0o644), None)];
    let swaps = [ByteReplacement { at: 0, old: b"", new: &new }];
    let changes = [
        ChangeContent { replacements: &swaps, ..ChangeContent::default() },
        ChangeContent { old_bytes: Some(&gone), ..ChangeContent::default() },
    ];
    let entered = store.log(&operation("s", files), &changes, &[]).unwrap();
    assert!(entered.unstored.is_empty());
    for bytes in [&new, &gone] {
        assert_eq!(store.content(ContentId::of(bytes), &[]).unwrap().as_ref(), Some(bytes));
    }
    let files = vec![touched(b"/l", file_state(&large, 0o644), None)];
    let changes = [ChangeContent { old_bytes: Some(&large), ..ChangeContent::default() }];
    assert_eq!(store.log(&operation("s", files), &changes, &[]).unwrap().lost, [0]);
    assert!(!store.can_rebuild(ContentId::of(&large), &[]).unwrap());
}

/// Stores the last copy of a large content, of a removed or rewritten file, if no change leads back to it. A content
/// larger than half of the limit is reported as lost, and leaves space for the rest.
fn the_last_copy_of_a_large_content(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 1000, total: 400_000, ..HistoryLimits::default() });
    let (gone, before, after) = (noise(40_000, 11), noise(30_000, 12), noise(30_000, 13));
    let removed = vec![touched(b"/g", file_state(&gone, 0o644), None)];
    let entered = store
        .log(&operation("s", removed), &[ChangeContent { old_bytes: Some(&gone), ..ChangeContent::default() }], &[])
        .unwrap();
    assert_eq!((entered.lost, entered.unstored), (vec![], vec![]));

    let swaps = [ByteReplacement { at: 0, old: &before, new: &after }];
    let written = || operation("s", vec![touched(b"/w", file_state(&before, 0o644), file_state(&after, 0o644))]);
    let whole = ChangeContent { base_bytes: Some(&before), ..from(&before, &swaps) };
    let entered = store.log(&written(), &[whole], &[]).unwrap();
    assert_eq!((entered.lost, entered.unstored), (vec![], vec![ContentId::of(&after)]));
    for bytes in [&gone, &before] {
        assert_eq!(store.content(ContentId::of(bytes), &[]).unwrap().as_ref(), Some(bytes));
    }
    // A session that meets such a content again stores no second copy of it, nor one of another content of its size.
    store.record("s", b"/g", &record(&gone, &[]), &VersionBody::Bytes(&gone)).unwrap();
    store.record("s", b"/w", &record(&after, &[]), &VersionBody::Bytes(&after)).unwrap();
    assert_eq!(store.content(ContentId::of(&gone), &[]).unwrap(), Some(gone));
    assert_eq!(store.content(ContentId::of(&after), &[]).unwrap(), None);

    // Bytes that are unavailable, or too many, are reported as lost.
    let (before, after) = (noise(200_001, 14), noise(200_001, 15));
    let swaps = [ByteReplacement { at: 0, old: &before, new: &after }];
    for from_bytes in [None, Some(&before[..])] {
        let written = operation("s", vec![touched(b"/x", file_state(&before, 0o644), file_state(&after, 0o644))]);
        let change = ChangeContent { base_bytes: from_bytes, ..from(&before, &swaps) };
        assert_eq!(store.log(&written, &[change], &[]).unwrap().lost, [0]);
    }
}

/// The change that is undone leads to the content it made, so an undo loses nothing, however long its texts are.
fn undo_in_a_large_content(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 1000, total: 400_000, ..HistoryLimits::default() });
    let before = noise(200_001, 21);
    let mut after = before.clone();
    after[77] ^= 1;
    assert!(edit(&*store, "s", PATH, &before, &after).lost.is_empty());
    let swaps = [ByteReplacement { at: 0, old: &after, new: &before }];
    let undo = operation("s", vec![touched(PATH, file_state(&after, 0o644), file_state(&before, 0o644))]);
    let change = ChangeContent { base_bytes: Some(&after), ..from(&after, &swaps) };
    assert!(store.log(&undo, &[change], &[]).unwrap().lost.is_empty());
    assert!(store.can_rebuild(ContentId::of(&after), &[ContentId::of(&before)]).unwrap());
}

/// Overwrites a file: its old text is in the change, or nowhere.
fn more_changed_than_is_kept(open: Open<'_>) {
    let store = open(HistoryLimits { blob: 4000, total: 40_000, ..HistoryLimits::default() });
    let (large, small, more) = (noise(3990, 6), noise(10, 7), noise(30, 8));
    assert!(wholly(&*store, "s", b"/fits", &large, &small).lost.is_empty());
    assert!(store.can_rebuild(ContentId::of(&large), &[ContentId::of(&small)]).unwrap());
    // If the base is stored, the size of the change does not matter.
    let shelved = noise(3999, 9);
    store.record("s", PATH, &record(&shelved, &[]), &VersionBody::Bytes(&shelved)).unwrap();
    assert!(wholly(&*store, "s", PATH, &shelved, &more).lost.is_empty());
    // A larger change is stored as well if nothing else leads back, up to a quarter of the limit.
    let other = noise(3995, 10);
    assert!(wholly(&*store, "s", b"/over", &other, &more).lost.is_empty());
    assert!(store.can_rebuild(ContentId::of(&other), &[ContentId::of(&more)]).unwrap());
    let most = noise(10_001, 11);
    assert_eq!(wholly(&*store, "s", b"/most", &most, &more).lost, [0]);
    assert!(!store.can_rebuild(ContentId::of(&most), &[ContentId::of(&more)]).unwrap());
}

/// Replaces a file by another one that is edited on the way.
fn moved_over_another(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let (source, target) = (noise(2000, 8), noise(2000, 9));
    let mut result = source.clone();
    result[100] ^= 1;
    let moved = FileChange {
        moved_from: Some(b"/a".to_vec()),
        ..touched(b"/b", file_state(&target, 0o644), file_state(&result, 0o644))
    };
    let left = touched(b"/a", file_state(&source, 0o644), None);
    let swaps = [ByteReplacement { at: 100, old: &source[100..101], new: &result[100..101] }];
    let changes = [ChangeContent { old_bytes: Some(&target), ..from(&source, &swaps) }, ChangeContent::default()];
    let entered = store.log(&operation("s", vec![moved, left]), &changes, &[]).unwrap();
    let id = ContentId::of(&result);
    assert_eq!(entered.unstored, [id]);
    assert_eq!(store.content(ContentId::of(&target), &[]).unwrap().as_ref(), Some(&target));
    assert_eq!(
        store.content(ContentId::of(&source), &[KnownContent { id, bytes: &result }]).unwrap().as_ref(),
        Some(&source)
    );
}

fn secrets(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let (before, after) = (b"token=1".to_vec(), b"token=2".to_vec());
    let operation = Operation {
        keeps_content: false,
        ..operation("s", vec![touched(PATH, file_state(&before, 0o600), file_state(&after, 0o600))])
    };
    let entered =
        store.log(&operation, &[from(&before, &[ByteReplacement { at: 6, old: b"1", new: b"2" }])], &[]).unwrap();
    assert!(entered.unstored.is_empty());
    let id = ContentId::of(&before);
    assert!(!store.can_rebuild(id, &[ContentId::of(&after)]).unwrap());
    assert_eq!(store.content(id, &[KnownContent { id: ContentId::of(&after), bytes: &after }]).unwrap(), None);
}

fn freeing(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let bodies: Vec<_> = (0..20).map(|seed| noise(20_000, 100 + seed)).collect();
    for pair in bodies.windows(2) {
        store.record("s", PATH, &record(&pair[0], &[]), &VersionBody::Bytes(&pair[0])).unwrap();
        wholly(&*store, "s", PATH, &pair[0], &pair[1]);
    }
    assert!(store.can_rebuild(ContentId::of(&bodies[0]), &[]).unwrap());
    assert_eq!(store.collect_garbage(Retention { days: Some(1000), bytes: None }).unwrap().operations, 0);
    let freed = store.collect_garbage(Retention { days: None, bytes: Some(200_000) }).unwrap();
    assert!(freed.contents > 0 && freed.bytes > 0 && freed.operations == 0, "{freed:?}");
    // The dropped content is the oldest, and is not claimed any more.
    let claimed: Vec<bool> = bodies.iter().map(|body| store.can_rebuild(ContentId::of(body), &[]).unwrap()).collect();
    assert!(claimed.is_sorted() && !claimed[0] && claimed[18], "{claimed:?}");
    for (body, claimed) in bodies.iter().zip(claimed) {
        assert_eq!(store.content(ContentId::of(body), &[]).unwrap().is_some(), claimed);
    }
    assert_eq!(store.operations(&OperationFilter { limit: 99, ..OperationFilter::default() }).unwrap().len(), 19);
}

/// The log and its contents are bounded; numbers continue.
pub(crate) fn limits(open: Open<'_>) {
    let store = open(HistoryLimits { operations: 100, total: 400_000, ..HistoryLimits::default() });
    let bodies: Vec<_> = (0..400).map(|seed| noise(5000, 3000 + seed)).collect();
    for (number, pair) in bodies.windows(2).enumerate() {
        let entered = wholly(&*store, "s", PATH, &pair[0], &pair[1]);
        assert_eq!(entered.id.number, number as u64 + 1);
    }
    store.collect_garbage(Retention::default()).unwrap();
    let all = store.operations(&OperationFilter { limit: 1000, ..OperationFilter::default() }).unwrap();
    assert_eq!((all.len(), all[0].id.number), (100, 399));
    // The newest can be rebuilt from the current file; those whose changes were dropped are not claimed.
    let last = ContentId::of(bodies.last().unwrap());
    let reached = all.iter().filter(|logged| {
        let before = logged.operation.files[0].before.unwrap().content;
        let bytes = store.content(before, &[KnownContent { id: last, bytes: bodies.last().unwrap() }]).unwrap();
        assert_eq!(bytes.is_some(), store.can_rebuild(before, &[last]).unwrap());
        bytes.is_some()
    });
    let reached = reached.count();
    assert!((5..=20).contains(&reached), "{reached}");
}

/// Files that were found without a change, and what the last snapshot found.
fn snapshots(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let found =
        |path, bytes: &'static [u8]| NewlyKnown { path, state: file_state(bytes, 0o644).unwrap(), bytes: Some(bytes) };
    store.remember_files(&[found(b"/a", b"one"), found(PATH, b"two")]).unwrap();
    // Known states stay.
    store.remember_files(&[found(b"/a", b"three")]).unwrap();
    // A change that another log has begins with the known state.
    let state = |bytes: &'static [u8]| file_state(bytes, 0o644);
    let change = |before, after| FileChange {
        path: b"/a".to_vec(),
        moved_from: None,
        before: state(before),
        after,
        attributes: None,
        added: 0,
        removed: 0,
    };
    let known = || store.last_known(&[b"/a"]).unwrap()[0].unwrap().state;
    store.remember_changes(&[&change(b"three", state(b"four"))]).unwrap();
    assert_eq!(known(), state(b"one"));
    store.remember_changes(&[&change(b"one", None)]).unwrap();
    assert_eq!(known(), None);
    store.remember_changes(&[&FileChange { before: None, ..change(b"", state(b"one")) }]).unwrap();
    assert_eq!(known(), state(b"one"));
    let mut paths = store.known_paths(&|_| true).unwrap();
    paths.sort();
    assert_eq!(paths, [b"/a".to_vec(), PATH.to_vec()]);
    assert_eq!(store.known_paths(&|path| path == PATH).unwrap(), [PATH.to_vec()]);
    let all = [(b"/a".to_vec(), ContentId::of(b"one")), (PATH.to_vec(), ContentId::of(b"two"))];
    assert_eq!(store.all_newest_seen().unwrap(), all.into());
    store.run_deferred().unwrap();
    assert_eq!(
        store.newest_seen(&[b"/a", PATH, b"/b"]).unwrap(),
        [Some(ContentId::of(b"one")), Some(ContentId::of(b"two")), None]
    );
    assert_eq!(store.bytes(ContentId::of(b"one")).unwrap().as_deref(), Some(&b"one"[..]));
    assert!(store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap().is_empty());

    assert!(store.stat_cache().is_none());
    let file = CachedFile { meta: super::stamp(7), content: ContentId::of(b"one"), racy: false };
    let files = [(b"/a".to_vec(), file)].into();
    store.keep_stat_cache(&StatCache { files }).unwrap();
    let cached = store.stat_cache().unwrap().files[&b"/a"[..]];
    assert_eq!((cached.content, cached.racy), (file.content, false));
    // Only metadata that identifies a version of the file is kept.
    assert!(cached.proves(&file.meta) && file.proves(&cached.meta));
}

/// Marks and beginnings of turns are operations without files, done as soon as they are logged.
fn moments(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let moment = |tool: &str| Operation { tool: tool.to_owned(), note: "n".to_owned(), ..operation("s", Vec::new()) };
    let (turn, mark) = (store.log(&moment(TURN), &[], &[]).unwrap(), store.log(&moment(MARK), &[], &[]).unwrap());
    let listed = |tool| {
        let filter = OperationFilter { tool, limit: 9, ..OperationFilter::default() };
        store.operations(&filter).unwrap().iter().map(|it| (it.id, it.owner)).collect::<Vec<_>>()
    };
    assert_eq!(listed(None), [(mark.id, None)]);
    assert_eq!((listed(Some(TURN)), listed(Some(MARK))), (vec![(turn.id, None)], vec![(mark.id, None)]));
    assert!(store.in_doubt().unwrap().is_empty());
}

/// The last known state of a path, and a later change by others.
fn outside_changes(open: Open<'_>) {
    let store = open(HistoryLimits::default());
    let state = |known: Option<KnownState>| known.map(|known| known.state);
    let last = |path: &[u8]| state(store.last_known(&[path]).unwrap()[0]);
    assert_eq!((store.newest_seen(&[PATH]).unwrap(), last(PATH)), (vec![None], None));
    store.record("s", PATH, &record(b"one", &[]), &VersionBody::Bytes(b"one")).unwrap();
    assert_eq!(store.newest_seen(&[PATH]).unwrap(), [Some(ContentId::of(b"one"))]);

    let by_others = |before, after| Operation {
        tool: OUTSIDE.to_owned(),
        format: String::new(),
        ..operation(OUTSIDE, vec![touched(PATH, before, after)])
    };
    let two = [OutsideContent { new_bytes: Some(b"two"), ..OutsideContent::default() }];
    let change = by_others(file_state(b"one", 0o644), file_state(b"two", 0o644));
    let logged = store.log_outside(&change, &two).unwrap().unwrap();
    // A second process that found the same change adds nothing.
    assert_eq!(store.log_outside(&change, &two).unwrap(), None);
    let all = store.operations(&OperationFilter { limit: 9, ..OperationFilter::default() }).unwrap();
    assert_eq!(all.iter().map(|it| (it.id, it.owner)).collect::<Vec<_>>(), [(logged.id, None)]);
    assert!(all[0].operation.is_outside() && store.in_doubt().unwrap().is_empty());
    assert_eq!(store.bytes(ContentId::of(b"two")).unwrap().as_deref(), Some(&b"two"[..]));
    // A tag names a version that a session was shown, not one that was found.
    assert_eq!(store.by_tag(PATH, ContentId::of(b"two").tag()).unwrap(), None);

    // An operation makes its result the known state, and aborting it takes that back.
    let pending = edit(&*store, "s", PATH, b"two", b"two2");
    assert_eq!(last(PATH), Some(file_state(b"two2", 0o644)));
    assert!(store.last_known(&[PATH]).unwrap()[0].unwrap().in_doubt);
    let change = by_others(file_state(b"two2", 0o644), file_state(b"two", 0o644));
    assert_eq!(store.log_outside(&change, &two).unwrap(), None);
    store.abort(pending.id, false).unwrap();
    assert_eq!(store.newest_seen(&[PATH]).unwrap(), [Some(ContentId::of(b"two"))]);

    // A missing file is a state, too.
    let gone = [OutsideContent { old_bytes: Some(b"two"), ..OutsideContent::default() }];
    assert!(store.log_outside(&by_others(file_state(b"two", 0o644), None), &gone).unwrap().is_some());
    assert_eq!(last(PATH), Some(None));
    assert!(store.log_outside(&by_others(None, file_state(b"two", 0o644)), &two).unwrap().is_some());
    assert_eq!(last(PATH), Some(file_state(b"two", 0o644)));
}
