//! TOML, parsed by the `toml` crate.

use crate::SyntaxError;
use crate::document::{Document, Id, ObjectMember, Value};
use crate::number::Number;
use ::toml::de::{DeTable, DeValue};

/// Tables with members that are read. The library needs about 1.4 KB for each.
const TABLES_MAX: usize = 300_000;

pub(crate) fn read(text: &str) -> Result<Document, SyntaxError> {
    if count_tables(text) > TABLES_MAX {
        return Err(SyntaxError::limit_reached(0, "the text may contain more than 300,000 tables"));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let what = error.message().replace('\n', "; ");
        let beyond = what.contains("recursion limit");
        SyntaxError { limit_reached: beyond, ..SyntaxError::new(at, what) }
    })?;
    let mut document = Document::default();
    let root = object(&mut document, table.get_ref(), table.span().start)?;
    document.roots.push(root);
    Ok(document)
}

/// Counts the tables with members that a text has at most: a header, a brace or a dot in a key may begin one, and a member
/// has a sign of equality or is a part of such a key. Signs in strings count as well.
fn count_tables(text: &str) -> usize {
    let count = |byte: u8| memchr::memchr_iter(byte, text.as_bytes()).count();
    let dots = count(b'.');
    dots + (count(b'{') + count(b'[')).min(count(b'='))
}

/// Converts a table; the library limits the depth.
fn object(document: &mut Document, table: &DeTable<'_>, at: usize) -> Result<Id, SyntaxError> {
    let mut members = Vec::with_capacity(table.len());
    for (name, value) in table {
        let id = self::value(document, value.get_ref(), value.span().start)?;
        members.push(ObjectMember { name: name.get_ref().to_string(), at: name.span().start, value: id });
    }
    document.add_object(members, at)
}

fn value(document: &mut Document, value: &DeValue<'_>, at: usize) -> Result<Id, SyntaxError> {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        // Schemas treat dates and times as strings.
        DeValue::Datetime(moment) => Value::Text(moment.to_string()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(whole) => Value::Number(Number::whole(whole)),
            Err(_) => return Err(SyntaxError::new(at, "this number is too large")),
        },
        DeValue::Float(number) => {
            Value::Number(Number::decimal(number.as_str()).unwrap_or(Number::Approximate(f64::NAN)))
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| self::value(document, item.get_ref(), item.span().start));
            Value::List(items.collect::<Result<Vec<Id>, SyntaxError>>()?)
        }
        DeValue::Table(table) => return object(document, table, at),
    };
    document.add(value, at)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn number_of_tables_is_limited() {
        let small = "a=1\n".repeat(3) + &"[[b]]\n".repeat(400_000);
        assert!(read(&small).is_err_and(|error| !error.limit_reached), "the key is in it three times");
        assert!(read(&"[[b]]\n".repeat(350_000)).is_ok());
        assert!(read(&format!("a=[{}]\n", "{a=1},".repeat(290_000))).is_ok());
        let keys: String = (0..60_000).map(|nth| format!("a{nth}.b.c.d.e.f=1\n")).collect();
        for text in [format!("a=[{}]\n", "{a=1},".repeat(310_000)), format!("[[b]]\na=1\n{keys}")] {
            assert!(read(&text).is_err_and(|error| error.limit_reached));
        }
    }
}
