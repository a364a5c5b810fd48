//! Events sent to an OpenTelemetry collector: only in a build with the feature, where the user says so, and never in the way.

#[cfg(feature = "otlp")]
#[path = "../../../otlp/src/tests/collector.rs"]
mod collector;

use crate::bed::{Bed, Ran, feed};
use std::fs;

const URL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

fn run(bed: &Bed, args: &[&str], vars: &[(&str, &str)]) -> Ran {
    let mut command = bed.command(args);
    command.envs(vars.iter().copied());
    feed(command, b"")
}

fn config(bed: &Bed, text: &str) {
    let folder = bed.beside("home/.config/emendate");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

#[test]
#[cfg(not(feature = "otlp"))]
fn the_usual_build_sends_nothing() {
    let bed = Bed::with("a\n");
    let vars = [(URL, "http://127.0.0.1:1")];
    let found = run(&bed, &["doctor", "--json"], &vars).exits(0).json();
    assert!(found["telemetry"] == false && found["notices"] == serde_json::json!([]), "{found}");
    config(&bed, "[events]\notlp = true\n");
    let ran = run(&bed, &["read", "a.txt"], &vars).exits(0);
    assert!(ran.err.contains("events.otlp is true") && ran.err.contains("feature otlp"), "{ran:?}");
    let page = run(&bed, &["doctor"], &vars).exits(0).out;
    assert!(
        page.contains("telemetry none: emend opens no network connection") && page.contains("feature otlp"),
        "{page}"
    );
}

#[cfg(feature = "otlp")]
mod with_exporter {
    use super::collector::{Collector, Request, TAKEN};
    use super::{Bed, Ran, URL, config, feed, fs, run};
    use serde_json::json;

    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// A test waits for its collector as long as it takes.
    const PATIENT: (&str, &str) = ("OTEL_BLRP_EXPORT_TIMEOUT", "120000");

    fn edit(bed: &Bed, vars: &[(&str, &str)]) -> Ran {
        run(bed, &["edit", "a.txt", "--old", "secret", "--new", "hidden", "--session", "s1"], vars)
    }

    #[test]
    fn an_edit_is_sent_without_contents_and_paths() {
        let bed = Bed::with("secret one\n");
        let collector = Collector::new(|_| Some(TAKEN));
        let vars = [(URL, &*collector.url), PATIENT, ("TRACEPARENT", TRACE), ("HTTP_PROXY", "http://127.0.0.1:1")];
        let ran = edit(&bed, &vars).exits(0);
        assert!(ran.err.is_empty() && bed.get("a.txt") == "hidden one\n", "{ran:?}");
        let [traces, metrics, logs] = collector.three();
        let span = &traces.items()[0];
        assert_eq!((&span["name"], &span["traceId"]), (&"edit".into(), &TRACE[3..35].into()));
        assert_eq!(Request::attribute(span, "emend.door"), "cli");
        assert_eq!(Request::attribute(&logs.items()[0], "emend.session"), "s1");
        assert_eq!(metrics.items()[0]["name"], "emend.calls");
        for request in [&traces, &metrics, &logs] {
            let text = request.body.to_string();
            assert!(!text.contains("secret") && !text.contains("hidden") && !text.contains("a.txt"), "{text}");
        }
        let page = run(&bed, &["doctor"], &[(URL, "http://me:word@h:1/x?key=1")]).exits(0).out;
        assert!(page.contains("traces to http://h:1/x/v1/traces") || page.contains("traces to http://h:1/x"), "{page}");
        assert!(
            page.contains("without paths or contents") && !page.contains("word") && !page.contains("key=1"),
            "{page}"
        );
    }

    #[test]
    fn the_user_alone_says_what_is_sent() {
        let bed = Bed::with("secret\n");
        let collector = Collector::new(|_| Some(TAKEN));
        let vars = [(URL, &*collector.url), PATIENT];
        // Without an address, by the standard's switch, and by the configuration.
        edit(&bed, &[]).exits(0);
        edit(&bed, &[vars[0], ("OTEL_SDK_DISABLED", "true")]).exits(10);
        config(&bed, "[events]\notlp = false\n");
        edit(&bed, &vars).exits(10);
        let shown = run(&bed, &["config", "show", "--origin"], &vars).exits(0).out;
        assert!(shown.contains("events.otlp = false") && shown.contains("events.otlp_paths = false"), "{shown}");
        assert!(run(&bed, &["doctor"], &vars).exits(0).out.contains("telemetry none: events.otlp is false"));
        assert!(collector.rest().is_empty());
        fs::remove_file(bed.beside("home/.config/emendate/config.toml")).unwrap();
        bed.put("emend.toml", "[events]\notlp_paths = true\notlp = false\n");
        edit(&bed, &vars).exits(10);
        assert!(!collector.three()[2].body.to_string().contains("a.txt"), "a project has no say in it");
        config(&bed, "[events]\notlp_paths = true\n");
        edit(&bed, &vars).exits(10);
        assert!(collector.three()[2].body.to_string().contains("a.txt"));
    }

    #[test]
    fn servers_send_while_they_run_and_tell_of_the_caller() {
        let bed = Bed::with("a\nb\n");
        let collector = Collector::new(|_| Some(TAKEN));
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "3" },
            "io.modelcontextprotocol/clientCapabilities": {},
            "traceparent": TRACE,
        });
        let arguments = json!({ "file_path": bed.path("a.txt"), "old_string": "a", "new_string": "x" });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "edit", "arguments": arguments, "_meta": meta } });
        let mut command = bed.command(&["mcp", "--unread", "allow"]);
        command.envs([(URL, &*collector.url), PATIENT]);
        feed(command, format!("{call}\n").as_bytes()).exits(0);
        let [traces, ..] = collector.three();
        let span = &traces.items()[0];
        assert_eq!((&span["parentSpanId"], &span["kind"]), (&TRACE[36..52].into(), &2.into()));
        assert_eq!(Request::attribute(span, "emend.client"), "agent 3");
    }

    #[test]
    fn a_collector_that_is_away_or_hangs_fails_no_edit() {
        let bed = Bed::with("secret\n");
        let ran = edit(&bed, &[(URL, "http://127.0.0.1:1"), PATIENT]).exits(0);
        assert!(ran.err.contains("1 event was not sent to the OpenTelemetry collector"), "{ran:?}");
        let collector = Collector::new(|_| None);
        let ran = edit(&bed, &[(URL, &*collector.url), ("OTEL_BLRP_EXPORT_TIMEOUT", "50")]).exits(10);
        assert!(ran.err.contains("did not answer in time"), "{ran:?}");
        let ran = run(&bed, &["read", "a.txt"], &[(URL, "nonsense")]).exits(0);
        assert!(ran.err.contains("does not begin with http://") && ran.out.contains("hidden"), "{ran:?}");
    }
}
