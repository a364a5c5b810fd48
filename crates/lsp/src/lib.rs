//! Language servers: configured programs that check a language. They are started on first use, shown texts and asked
//! for problems, which are then compared with those of the previous text.
//!
//! This crate touches no files: texts go in, messages of other programs come out. A server's answer counts only for the
//! very text it was last shown ([`Basis`]); otherwise [`Why`] gives the reason why nothing is known.
#![allow(clippy::disallowed_methods, reason = "who waits for another program needs a clock")]

mod around;
mod ask;
mod document;
mod frame;
mod live;
mod message;
mod position;
mod problem;
mod references;
mod servers;
mod sorted;
mod spec;

pub use around::{Elsewhere, StandsStill};
pub use problem::{Problem, Severity};
pub use references::Reference;
pub use servers::{Basis, Found, Job, Servers, Text, Unknown, Why};
pub use sorted::Edit;
pub use spec::{KNOWN, Known, Spec, known_as};
