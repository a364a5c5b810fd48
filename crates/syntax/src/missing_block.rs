//! Blocks of Python that are missing. The grammar accepts a statement without its block; Python does not.

use crate::check::FirstError;
use crate::parse::SyntaxTree;
use crate::path::is_blank;
use crate::preamble::indent_of;

/// Maximum number of lines that may be such statements. Each is looked up in the tree.
const EXAMINED_LINES_MAX: usize = 1000;

impl SyntaxTree<'_> {
    /// Returns the first statement whose block is missing; always `None` in other languages, and for a text with other
    /// errors.
    pub(crate) fn missing_block(&self) -> Option<FirstError> {
        if self.language.name() != "python" || self.tree.root_node().has_error() {
            return None;
        }
        let row = *self.missing_block.get_or_init(|| self.row_without_block());
        row.map(|row| FirstError { line: row + 1, last: row + 1, missing: Some("indented block".to_owned()) })
    }

    /// Returns the 0-based row of that statement.
    fn row_without_block(&self) -> Option<usize> {
        let starts = self.starts();
        let is_code = |row: &usize| {
            let line = self.row(starts, *row);
            !is_blank(line) && !line.trim_start().starts_with('#')
        };
        let rows: Vec<usize> = (0..starts.len()).filter(is_code).collect();
        let opens = |(nth, &row): (usize, &usize)| {
            let line = self.row(starts, row);
            let code = line.split('#').next().unwrap_or_default().trim_end();
            let next = rows.get(nth + 1).map(|next| indent_of(self.row(starts, *next)));
            let has_block = next.is_some_and(|next| next.len() > indent_of(line).len());
            (code.ends_with(':') && !has_block).then(|| (row, starts[row] + code.len() - 1))
        };
        let mut places = rows.iter().enumerate().filter_map(opens).take(EXAMINED_LINES_MAX);
        places.find(|(_, colon)| self.lacks_block(*colon)).map(|(row, _)| row)
    }

    /// True for the colon of a statement whose block has nothing in it.
    fn lacks_block(&self, colon: usize) -> bool {
        let chain = self.chain(colon);
        let Some(statement) = chain.last() else { return false };
        let mut cursor = statement.walk();
        let block = statement.children(&mut cursor).find(|it| it.kind() == "block" && it.start_byte() > colon);
        block.is_some_and(|block| block.named_child_count() == 0)
    }
}
