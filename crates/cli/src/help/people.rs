//! Examples of the commands with which people answer questions, comment and review.

pub(crate) const COMMENT: &str = "\
Examples:
  emend comment 17 src/a.rs:12 -m 'Use the constant.'
  emend comment 17 -m 'Please split this into two functions.'";

pub(crate) const COMMENTS: &str = "\
Examples:
  emend comments --open
  emend comments --delete 3";

pub(crate) const REVIEWED: &str = "\
Examples:
  emend reviewed                          what is marked
  emend reviewed 17 src/a.rs:1,3
  emend reviewed 17 --clear";

pub(crate) const PENDING: &str = "\
Calls wait if `[ask] wait_seconds` is set. A question whose call ended stays, and its answer carries it out.

Examples:
  emend pending
  emend pending 3f9a01bc
  emend pending --json";

pub(crate) const APPROVE: &str = "\
The approval is for exactly the change that is shown. If the file changed since, a new question is asked.

Examples:
  emend approve 3f9a01bc";

pub(crate) const DENY: &str = "\
Examples:
  emend deny 3f9a01bc
  emend deny 3f9a01bc 'This file is generated; change its template.'";

pub(crate) const CORRECT: &str = "\
Examples:
  emend correct 3f9a01bc                  in your editor
  emend correct 3f9a01bc --from new.rs";
