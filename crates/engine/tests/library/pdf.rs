//! The text of PDF pages, in builds that support it.

use crate::fixture::EngineFixture;
use emendate::Config;
use emendate::core::Code;
use serde_json::{Value, json};

fn read(fixture: &EngineFixture, name: &str, pages: Option<&str>) -> emendate::Reply {
    fixture.call_on(name, "read", pages.map_or_else(|| json!({}), |pages| json!({ "pages": pages })))
}

#[test]
fn requested_pages_are_shown() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("a.pdf", include_str!("pages.pdf"));
    let whole = read(&fixture, "a.pdf", None);
    let text = "--- page 1 of 2 ---\nHello world\nsecond line\n--- page 2 of 2 ---\npage two\n";
    assert_eq!(whole.text(), text);
    let data = whole.result.unwrap().data;
    assert_eq!((&data["totalPages"], &data["notes"]), (&json!(2), &Value::Array(Vec::new())));
    for pages in ["2", "2-2", "2-", " 2-9 "] {
        assert_eq!(read(&fixture, "a.pdf", Some(pages)).text(), "--- page 2 of 2 ---\npage two\n", "{pages}");
    }
    for (pages, code) in
        [("3", Code::ReadRange), ("0", Code::ReadRange), ("2-1", Code::ReadRange), ("two", Code::CallInvalid)]
    {
        assert_eq!(read(&fixture, "a.pdf", Some(pages)).result.unwrap_err().code(), code, "{pages}");
    }
}

#[test]
fn unreadable_pdf_is_refused_with_the_reason() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("locked.pdf", include_str!("locked.pdf"));
    fixture.put("cut.pdf", "%PDF-1.4\n1 0 obj\n");
    for (name, part) in [("locked.pdf", "password"), ("cut.pdf", "damaged")] {
        let error = read(&fixture, name, None).result.unwrap_err();
        assert!(error.code() == Code::MediaUnreadable && error.message().contains(part), "{error}");
        assert!(error.evidence_text().contains(name) && !error.next_step().is_empty());
    }
}
