//! The tiers, one module each. A tier finds sites and determines how the new text is written at each; it never selects
//! among them.

pub(super) mod block;
pub(super) mod drift;
pub(super) mod edges;
pub(super) mod elision;
pub(super) mod escapes;
pub(super) mod exact;
mod layout;
pub(super) mod line_breaks;
pub(super) mod lines_alike;
pub(super) mod numbers;
pub(super) mod punctuation;
pub(super) mod runs;
pub(super) mod shift;
pub(super) mod spacing;
pub(super) mod trailing;
pub(super) mod widths;
pub(super) mod windows;

pub(crate) use escapes::{EncodedText, ProvenEscape, ProvenEscapes, without_entities};
pub(crate) use numbers::{is_padded, removed_row};

/// The rules of tiers 2 to 6, in order.
pub(in crate::locate::find) static RULES: [&windows::WindowRule; 5] =
    [&trailing::RULE, &lines_alike::RULE, &shift::RULE, &widths::RULE, &runs::RULE];
