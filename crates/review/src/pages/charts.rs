//! Charts of the counters.

use crate::html::Html;
use crate::pages::PageContext;
use crate::pages::frame::{self, Place};
use emendate::core::Result;

/// Shows the charts.
///
/// Errors: those of the counters.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let mut main = Html::default();
    main.raw("<h1>Charts</h1>");
    Ok(frame::page(page, "Charts", Place::Charts, "", main))
}
