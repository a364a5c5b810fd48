//! TOML, parsed by the `toml` crate.

use crate::SyntaxError;
use crate::document::{Document, Id, ObjectMember, Value};
use crate::number::Number;
use ::toml::de::{DeTable, DeValue};

pub(crate) fn read(text: &str) -> Result<Document, SyntaxError> {
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
