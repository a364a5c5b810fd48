//! Language servers: configured programs that check a language. They are started on first use, shown texts and asked
//! for problems, which are then compared with those of the previous text.
//!
//! This crate touches no files: texts go in, messages of other programs come out. A server's answer counts only for the
//! very text it was last shown ([`AnswerBasis`]); otherwise [`UnknownReason`] gives the reason why nothing is known.
#![allow(clippy::disallowed_methods, reason = "waiting for another program needs a clock")]

mod diagnostic;
mod document;
mod frame;
mod message;
mod new_diagnostics;
mod other_files;
mod position;
mod references;
mod request;
mod running;
mod servers;
mod spec;

pub use diagnostic::{Diagnostic, Severity};
pub use new_diagnostics::SpanEdit;
pub use other_files::{OtherFileReport, UnchangedCheck};
pub use references::Reference;
pub use servers::{AnswerBasis, CheckRequest, DiagnosticReport, DiagnosticsFailure, FileText, Servers, UnknownReason};
pub use spec::{BUILTIN_SERVERS, BuiltinServer, ServerSpec, builtin_server};
