//! Assembly of lines from pieces of text with positions on a page.

/// An affine map: a, b, c, d, e, f of the PDF specification.
type Matrix = [f64; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
/// Maximum depth of saved states.
const SAVED_STATES_MAX: usize = 200;
/// Maximum bytes of text per page.
const PAGE_TEXT_BYTES_MAX: usize = 4 << 20;

/// Composes two maps: first `a`, then `b`.
fn compose(a: Matrix, b: Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}

/// The text of a page in the order of drawing, with line ends and spaces where the position jumps.
pub(super) struct PageText {
    out: String,
    page: Matrix,
    saved: Vec<Matrix>,
    line: Matrix,
    size: f64,
    leading: f64,
    /// The position changed since the last text.
    moved: bool,
    /// Start of the last text, and its approximate end.
    last: Option<(f64, f64)>,
    reach: f64,
}

impl Default for PageText {
    fn default() -> PageText {
        PageText {
            out: String::new(),
            page: IDENTITY,
            saved: Vec::new(),
            line: IDENTITY,
            size: 1.0,
            leading: 0.0,
            moved: true,
            last: None,
            reach: 0.0,
        }
    }
}

impl PageText {
    pub(super) fn save(&mut self) {
        if self.saved.len() < SAVED_STATES_MAX {
            self.saved.push(self.page);
        }
    }

    pub(super) fn restore(&mut self) {
        self.page = self.saved.pop().unwrap_or(self.page);
    }

    pub(super) fn transform(&mut self, by: Matrix) {
        self.page = compose(by, self.page);
    }

    pub(super) fn begin(&mut self) {
        self.set(IDENTITY);
    }

    pub(super) fn set(&mut self, to: Matrix) {
        self.line = to;
        self.moved = true;
    }

    pub(super) fn size(&mut self, size: f64) {
        self.size = size;
    }

    pub(super) fn leading(&mut self, leading: f64) {
        self.leading = leading;
    }

    pub(super) fn step(&mut self, x: f64, y: f64) {
        self.set(compose([1.0, 0.0, 0.0, 1.0, x, y], self.line));
    }

    pub(super) fn next(&mut self) {
        self.step(0.0, -self.leading);
        // Without a leading it is still a new line.
        self.last = None;
        self.end();
    }

    /// Adjusts the position within a text, in thousandths of its size: a wide gap is a space.
    pub(super) fn kern(&mut self, by: f64) {
        if by < -200.0 {
            self.blank();
        }
    }

    pub(super) fn show(&mut self, text: &str) {
        if text.is_empty() || self.out.len() + text.len() > PAGE_TEXT_BYTES_MAX {
            return;
        }
        let place = compose(self.line, self.page);
        let (x, y) = (place[4], place[5]);
        let size = (place[2].hypot(place[3]) * self.size).abs().max(0.001);
        if self.moved {
            match self.last {
                Some((_, before)) if (y - before).abs() > size * 0.5 => self.end(),
                Some((before, _)) if x < before || x - self.reach > size * 0.2 => self.blank(),
                _ => {}
            }
            self.last = Some((x, y));
            self.reach = x;
            self.moved = false;
        }
        self.out.extend(text.chars().filter(|char| !char.is_control() || matches!(char, '\n' | '\t')));
        // A character is about half as wide as the font size.
        self.reach += size * 0.5 * f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
    }

    fn end(&mut self) {
        if !(self.out.is_empty() || self.out.ends_with('\n')) {
            let length = self.out.trim_end_matches(' ').len();
            self.out.truncate(length);
            self.out.push('\n');
        }
    }

    fn blank(&mut self) {
        if !(self.out.is_empty() || self.out.ends_with([' ', '\n'])) {
            self.out.push(' ');
        }
    }

    pub(super) fn text(mut self) -> String {
        self.end();
        self.out
    }
}
