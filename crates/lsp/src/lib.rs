//! Language servers: programs of the configuration that know a language. They are started when they are first needed, told
//! of texts, and asked what is wrong with them; what is new since the text before is told apart.
//!
//! Nothing here touches files: texts come in, words of other programs go out. What a server says is believed only for the
//! very text it was last shown ([`Basis`]); everything else is [`Why`] nothing is known.
#![allow(clippy::disallowed_methods, reason = "who waits for another program needs a clock")]

mod around;
mod ask;
mod document;
mod frame;
mod live;
mod message;
mod position;
mod problem;
mod servers;
mod sorted;
mod spec;

pub use around::{Elsewhere, StandsStill};
pub use problem::{Problem, Severity};
pub use servers::{Basis, Found, Job, Servers, Text, Unknown, Why};
pub use sorted::Edit;
pub use spec::{KNOWN, Known, Spec, known_as};
