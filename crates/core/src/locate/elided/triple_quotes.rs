//! Texts in triple quotes, such as documentation of Python, whose lines may have any indentation and any signs.

const QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// The state between two lines.
#[derive(Default)]
pub(super) struct TripleQuotes {
    open: Option<&'static str>,
}

impl TripleQuotes {
    /// True if the next line begins inside of such a text.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Passes a line, and returns what is outside of the texts.
    pub(super) fn pass(&mut self, line: &str) -> String {
        let (mut out, mut rest) = (String::new(), line);
        loop {
            let next = match self.open {
                Some(quotes) => rest.find(quotes).map(|at| (at, None)),
                None => QUOTES.iter().filter_map(|quotes| Some((rest.find(quotes)?, Some(*quotes)))).min(),
            };
            let end = next.map_or(rest.len(), |(at, _)| at);
            if self.open.is_none() {
                out.push_str(&rest[..end]);
            }
            let Some((at, open)) = next else { return out };
            self.open = open;
            rest = &rest[at + QUOTES[0].len()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TripleQuotes;

    #[test]
    fn text_inside_of_quotes_is_passed() {
        let mut quotes = TripleQuotes::default();
        assert_eq!(quotes.pass("a = '''one''' + \"\"\"two"), "a =  + ");
        assert!(quotes.is_open());
        assert_eq!(quotes.pass("it's ''' not the end"), "");
        assert_eq!(quotes.pass("end\"\"\" + b"), " + b");
        assert!(!quotes.is_open());
    }
}
