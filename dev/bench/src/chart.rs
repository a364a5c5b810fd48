//! Charts of lines as SVG: both axes logarithmic, readable on light and on dark pages.

use crate::outcome::Unit;
use std::fmt::Write as _;

/// One line of a chart.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) look: Look,
    /// Where it is: along the axis, the value, and whether a goal was missed there or a peer was faster.
    pub(crate) points: Vec<(f64, f64, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Ours(usize),
    Peer(usize),
    Floor(usize),
}

impl Look {
    /// The class of the style sheet.
    fn class(self) -> String {
        match self {
            Look::Ours(nth) => format!("o{}", nth % 4),
            Look::Peer(nth) => format!("p{}", nth % 5),
            Look::Floor(nth) => format!("f{}", nth % 2),
        }
    }
}

pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the horizontal axis counts.
    pub(crate) across: &'static str,
    /// Its values are bytes.
    pub(crate) bytes: bool,
    pub(crate) unit: Unit,
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 920.0;
const HEIGHT: f64 = 400.0;
/// The edges of the plot.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 350.0;

/// Colours of a page without a background of its own, and of a dark one.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-size:15px;font-weight:600}.g{stroke:#8c959f;stroke-opacity:.35}\
polyline{fill:none;stroke-width:2}.o0{color:#0550ae}.o1{color:#218bff}.o2{color:#1b7c83}.o3{color:#6639ba}\
.p0{color:#bc4c00}.p1{color:#1a7f37}.p2{color:#8250df}.p3{color:#9a6700}.p4{color:#bf3989}.f0{color:#57606a}.f1{color:#8c959f}\
polyline,.m{stroke:currentColor}.m{fill:currentColor}.o0,.o1,.o2,.o3{stroke-width:3}.f0,.f1{stroke-dasharray:5 4}.bad{fill:#cf222e;stroke:#cf222e}\
text.bad{font-weight:600;stroke:none}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.o0{color:#58a6ff}.o1{color:#a5d6ff}.o2{color:#39c5cf}.o3{color:#bc8cff}\
.p0{color:#ffa657}.p1{color:#56d364}.p2{color:#d2a8ff}.p3{color:#e3b341}.p4{color:#ff7bc0}.f0{color:#8b949e}.f1{color:#b1bac4}.bad{fill:#ff7b72;stroke:#ff7b72}}";

impl Chart {
    /// The picture; none where fewer than two places are known along the axis.
    pub(crate) fn svg(&self) -> Option<String> {
        let points = || self.series.iter().flat_map(|series| &series.points).filter(|point| point.1 > 0.0);
        let mut across: Vec<f64> = points().map(|point| point.0).collect();
        across.sort_by(f64::total_cmp);
        across.dedup();
        let (first, last) = (*across.first()?, *across.last()?);
        if across.len() < 2 {
            return None;
        }
        let low = points().map(|point| point.1).fold(f64::INFINITY, f64::min).log10().floor();
        let high = points().map(|point| point.1).fold(0.0, f64::max).log10().ceil().max(low + 1.0);
        let x = |value: f64| LEFT + (RIGHT - LEFT) * (value / first).ln() / (last / first).ln();
        let y = |value: f64| BOTTOM - (BOTTOM - TOP) * (value.log10() - low) / (high - low);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n<text class=\"t\" x=\"{LEFT}\" y=\"22\">{0}</text>\n",
            escaped(&self.title)
        );
        let mut decade = low;
        while decade <= high {
            let (value, at) = (10f64.powf(decade), y(10f64.powf(decade)));
            let _ = writeln!(
                out,
                "<line class=\"g\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                tick(self.unit, value)
            );
            decade += 1.0;
        }
        self.across(&mut out, &across, &x);
        for (nth, series) in self.series.iter().enumerate() {
            line(&mut out, series, &x, &y);
            legend(&mut out, series, nth);
        }
        if points().any(|point| point.2) {
            let at = TOP + 22.0 * float(self.series.len()) + 14.0;
            let _ = writeln!(
                out,
                "<circle class=\"bad\" cx=\"{}\" cy=\"{at}\" r=\"5\"/><text class=\"bad\" x=\"{}\" y=\"{}\">goal missed, or a peer is faster</text>",
                RIGHT + 32.0,
                RIGHT + 52.0,
                at + 4.0
            );
        }
        out.push_str("</svg>\n");
        Some(out)
    }

    fn across(&self, out: &mut String, across: &[f64], x: &dyn Fn(f64) -> f64) {
        let mut clear = 0.0;
        for &value in across {
            let at = x(value);
            let _ = writeln!(out, "<line class=\"g\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>");
            if at >= clear {
                let name = if self.bytes { Unit::Bytes.show(value).replace(".0", "") } else { grouped(value) };
                let _ =
                    writeln!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>", BOTTOM + 18.0);
                clear = at + 62.0;
            }
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        let _ =
            writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", BOTTOM + 38.0, self.across);
    }
}

fn line(out: &mut String, series: &Series, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
    let class = series.look.class();
    let shown = || series.points.iter().filter(|point| point.1 > 0.0);
    let path: Vec<String> = shown().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
    let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
    for &(across, value, bad) in shown() {
        let (class, radius) = if bad { ("bad".to_owned(), 5.0) } else { (format!("m {class}"), 3.0) };
        let _ =
            writeln!(out, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"/>", x(across), y(value));
    }
}

fn legend(out: &mut String, series: &Series, nth: usize) {
    let (from, at) = (RIGHT + 20.0, TOP + 22.0 * float(nth) + 10.0);
    let _ = writeln!(
        out,
        "<polyline class=\"{}\" points=\"{from},{at} {},{at}\"/><text x=\"{}\" y=\"{}\">{}</text>",
        series.look.class(),
        from + 24.0,
        from + 32.0,
        at + 4.0,
        escaped(&series.name)
    );
}

#[allow(clippy::cast_precision_loss, reason = "rows of a legend")]
fn float(count: usize) -> f64 {
    count as f64
}

/// A power of ten in the unit of the axis.
fn tick(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => unit.show(value),
        Unit::Seconds => {
            let (by, name) = match value {
                0.0..0.9e-6 => (1e9, "ns"),
                0.9e-6..0.9e-3 => (1e6, "µs"),
                0.9e-3..0.9 => (1e3, "ms"),
                _ => (1.0, "s"),
            };
            format!("{} {name}", grouped(value * by))
        }
    }
}

/// A whole number, its thousands apart.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Chart, Look, Series, grouped, tick};
    use crate::outcome::Unit;

    fn chart(points: Vec<(f64, f64, bool)>) -> Chart {
        let series = vec![Series { name: "a < b".to_owned(), look: Look::Ours(0), points }];
        Chart { title: "x & y".to_owned(), across: "lines", bytes: false, unit: Unit::Seconds, series }
    }

    #[test]
    fn a_missed_goal_is_a_red_point() {
        let svg = chart(vec![(100.0, 1e-4, false), (10_000.0, 1e-2, true)]).svg().unwrap();
        assert_eq!(svg.matches("<circle class=\"bad\"").count(), 2, "the point and its legend");
        assert!(svg.contains("a &lt; b") && svg.contains("x &amp; y") && svg.contains(">10,000<"), "{svg}");
        assert!(svg.contains(">100 µs<") && svg.contains(">10 ms<"), "{svg}");
        // On the corners of the plot.
        assert!(svg.contains("points=\"78.0,350.0 560.0,44.0\""), "{svg}");
    }

    #[test]
    fn one_place_is_no_chart() {
        assert!(chart(vec![(100.0, 1e-4, false)]).svg().is_none());
    }

    #[test]
    fn numbers_of_axes() {
        assert_eq!((grouped(1_000_000.0), grouped(100.0)), ("1,000,000".to_owned(), "100".to_owned()));
        assert_eq!(tick(Unit::Seconds, 1e-6), "1 µs");
        assert_eq!(tick(Unit::Seconds, 100.0), "100 s");
    }
}
