//! What is sent, to a collector that takes it and to one that does not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

pub(crate) mod collector;

use super::{Exporter, Settings, Wish};
use crate::encode::Parent;
use crate::metrics::Metrics;
use crate::send::pause;
use collector::{Answers, Collector, Request, TAKEN};
use emendate_events::{Event, Export as _};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

const AT: u64 = 1_700_000_000_000_000;
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn event(tool: &'static str, code: &'static str) -> Event {
    Event {
        at: AT,
        micros: 1500,
        tool,
        format: "replace",
        code,
        tier: Some(2),
        input: 131,
        output: 240,
        files: 1,
        lines: (3, 1),
        door: "mcp",
        model: "m\n1".to_owned(),
        session: "s".to_owned(),
        paths: vec!["/home/me/secret.txt".to_owned()],
        ..Event::default()
    }
}

fn settings(wish: Wish, vars: &[(&str, &str)]) -> Result<Settings, (&'static str, Vec<String>)> {
    Settings::read(wish, "1.2.3", &|name| {
        vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

type Said = Arc<Mutex<Vec<String>>>;

/// An exporter to that address, and what it says. It waits for its collector as long as it takes, unless `more` says otherwise.
fn exporter(url: &str, wish: Wish, more: &[(&str, &str)]) -> (Exporter, Said) {
    let mut vars = more.to_vec();
    vars.extend([
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_BLRP_EXPORT_TIMEOUT", "120000"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "120000"),
        ("OTEL_BLRP_SCHEDULE_DELAY", "1"),
    ]);
    let said = Said::default();
    let kept = Arc::clone(&said);
    let tell = Box::new(move |text: &str| kept.lock().unwrap().push(text.to_owned()));
    (Exporter::new(settings(wish, &vars).unwrap(), tell), said)
}

fn said(said: &Said) -> Vec<String> {
    said.lock().unwrap().clone()
}

#[test]
fn a_call_is_a_span_counters_and_a_record() {
    let collector = Collector::new(|_| Some(TAKEN));
    let more = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, other = x"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=lost,deployment.environment=test"),
        ("OTEL_SERVICE_NAME", "my agent"),
    ];
    let (exporter, told) = exporter(&collector.url, Wish::default(), &more);
    exporter.take(&Event { traceparent: TRACE.to_owned(), ..event("edit", "match.not_found") });
    drop(exporter);
    let [traces, metrics, logs] = collector.three();
    for request in [&traces, &metrics, &logs] {
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!((request.header("api-key"), request.header("other")), ("a b", "x"));
        let text = request.body.to_string();
        assert!(text.contains("my agent") && text.contains("deployment.environment") && !text.contains("lost\""));
        assert!(text.contains("service.instance.id") && text.contains("1.2.3") && !text.contains("secret"), "{text}");
    }
    let [span] = traces.items() else { panic!("{traces:?}") };
    assert_eq!((&traces.path[..], &span["name"]), ("/v1/traces", &"edit".into()));
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!((&span["parentSpanId"], &span["kind"]), (&"b7ad6b7169203331".into(), &2.into()));
    assert_eq!(span["startTimeUnixNano"], "1700000000000000000");
    assert_eq!(span["endTimeUnixNano"], "1700000000001500000");
    assert_eq!((&span["status"]["code"], &span["status"]["message"]), (&2.into(), &"match.not_found".into()));
    let [record] = logs.items() else { panic!("{logs:?}") };
    assert_eq!((&record["traceId"], &record["spanId"]), (&span["traceId"], &span["spanId"]));
    assert_eq!((&record["eventName"], &record["severityNumber"]), (&"emend.call".into(), &13.into()));
    for item in [span, record] {
        let of = |key: &str| Request::attribute(item, key).clone();
        assert_eq!((of("emend.tool"), of("emend.code")), ("edit".into(), "match.not_found".into()));
        assert_eq!((of("emend.micros"), of("emend.tier")), ("1500".into(), "2".into()), "numbers of 64 bits are texts");
        assert_eq!(
            (of("emend.ok"), of("emend.model"), of("error.type")),
            (false.into(), "m1".into(), of("emend.code"))
        );
        assert_eq!((of("emend.bytes_in"), of("emend.paths")), ("131".into(), Value::Null));
    }
    let named = |name: &str| metrics.items().iter().find(|it| it["name"] == name).cloned().unwrap_or_default();
    let calls = named("emend.calls");
    assert_eq!((&calls["sum"]["aggregationTemporality"], &calls["sum"]["isMonotonic"]), (&1.into(), &true.into()));
    let point = &calls["sum"]["dataPoints"][0];
    assert_eq!((&point["asInt"], Request::attribute(point, "emend.format")), (&"1".into(), &"replace".into()));
    assert_eq!(Request::attribute(point, "emend.session"), &Value::Null, "no series for each session");
    let point = &named("emend.call.duration")["histogram"]["dataPoints"][0];
    assert_eq!((&point["count"], &point["sum"], &point["bucketCounts"][4]), (&"1".into(), &0.0015.into(), &"1".into()));
    assert_eq!(named("emend.bytes_out")["sum"]["dataPoints"][0]["asInt"], "240");
    assert!(said(&told).is_empty() && collector.rest().is_empty());
}

#[test]
fn a_question_is_no_failure_and_paths_are_sent_where_they_are_wished_for() {
    let collector = Collector::new(|_| Some(TAKEN));
    let (exporter, _) = exporter(&collector.url, Wish { paths: true, ..Wish::default() }, &[]);
    assert!(exporter.wants_paths());
    exporter.take(&event("write", "access.ask"));
    drop(exporter);
    let [traces, _, logs] = collector.three();
    let span = &traces.items()[0];
    assert!(span["status"].is_null() && span["parentSpanId"].is_null() && span["kind"] == 1, "{span}");
    assert_eq!(Request::attribute(span, "emend.paths")["values"][0]["stringValue"], "/home/me/secret.txt");
    assert_eq!(logs.items()[0]["severityNumber"], 9);
}

#[test]
fn events_of_a_burst_share_requests() {
    let collector = Collector::new(|_| Some(TAKEN));
    let (exporter, told) = exporter(&collector.url, Wish::default(), &[("OTEL_BLRP_SCHEDULE_DELAY", "600000")]);
    (0..100).for_each(|_| exporter.take(&event("edit", "ok")));
    drop(exporter);
    let [traces, metrics, logs] = collector.three();
    assert_eq!((traces.items().len(), logs.items().len()), (100, 100));
    assert_eq!(metrics.items()[0]["sum"]["dataPoints"][0]["asInt"], "100");
    assert!(said(&told).is_empty());
}

/// Sends one event to a collector that answers so, ends, and gives what was said and the requests.
fn sent(answers: Answers, more: &[(&str, &str)]) -> (Vec<String>, Vec<Request>) {
    let collector = Collector::new(answers);
    let mut vars = vec![("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
    vars.splice(0..0, more.iter().copied());
    let (exporter, told) = exporter(&collector.url, Wish::default(), &vars);
    exporter.take(&event("edit", "ok"));
    drop(exporter);
    (said(&told), collector.rest())
}

#[test]
fn a_collector_that_is_busy_is_asked_again() {
    const BUSY: &str = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (told, requests) = sent(|number| Some(if number < 3 { BUSY } else { TAKEN }), &[]);
    assert!(told.is_empty(), "{told:?}");
    assert!(requests.iter().all(|it| it.body == requests[0].body && it.path == "/v1/logs"));
    // A pause that is longer than the end of the process waits is not begun.
    const LATER: &str =
        "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (told, _) = sent(|_| Some(LATER), &[("OTEL_BLRP_EXPORT_TIMEOUT", "30000")]);
    assert!(told.len() == 1 && told[0].contains("1 event was not sent") && told[0].contains("503"), "{told:?}");
}

#[test]
fn one_that_closes_the_connection_is_asked_again_while_there_is_time() {
    let collector = Collector::new(|number| Some(if number == 0 { "" } else { TAKEN }));
    let vars = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
    let (exporter, told) = exporter(&collector.url, Wish::default(), &vars);
    exporter.take(&event("edit", "ok"));
    let (first, second) = (collector.next(), collector.next());
    assert_eq!(first.body, second.body);
    drop(exporter);
    assert!(said(&told).is_empty());
}

#[test]
fn what_is_refused_is_told_and_not_repeated() {
    const WRONG: &str = "HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (told, requests) = sent(|_| Some(WRONG), &[]);
    assert!(told.len() == 1 && told[0].contains("401") && told[0].contains("/v1/logs"), "{told:?}");
    assert_eq!(requests.len(), 1);
    const MOVED: &str = "HTTP/1.1 307 There\r\nLocation: /v1/logs\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (told, _) = sent(|_| Some(MOVED), &[]);
    assert!(told.len() == 1 && told[0].contains("307"), "headers go nowhere else: {told:?}");
    const PART: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"partialSuccess\":{\"rejectedLogRecords\":\"1\",\"errorMessage\":\"too old\"}}";
    let (told, _) = sent(|_| Some(PART), &[]);
    assert!(told.len() == 1 && told[0].contains("refused 1 of the logs: too old"), "{told:?}");
    const GARBAGE: &str = "SSH-2.0-x\r\n\r\n\0\0";
    let (told, _) = sent(|_| Some(GARBAGE), &[]);
    assert!(told.len() == 1 && told[0].contains("1 event was not sent"), "{told:?}");
}

#[test]
fn one_that_is_away_or_says_nothing_fails_nothing() {
    // Nobody listens there; a port that was free a moment ago may be that of another test now.
    let (away, told) = exporter("http://127.0.0.1:1", Wish::default(), &[]);
    (0..3).for_each(|_| away.take(&event("edit", "ok")));
    drop(away);
    let told = said(&told);
    assert!(told.last().unwrap().contains("3 in all") || told[0].contains("3 events were not sent"), "{told:?}");
    let (told, _) = sent(|_| None, &[("OTEL_BLRP_EXPORT_TIMEOUT", "50")]);
    assert!(told.len() == 1 && told[0].contains("did not answer in time"), "{told:?}");
}

#[test]
fn what_waits_is_bounded_and_what_is_lost_counted() {
    let collector = Collector::new(|_| None);
    let more = [("OTEL_BLRP_MAX_QUEUE_SIZE", "2"), ("OTEL_BLRP_EXPORT_TIMEOUT", "50")];
    let (exporter, told) = exporter(&collector.url, Wish::default(), &more);
    (0..100).for_each(|_| exporter.take(&event("edit", "ok")));
    assert!(exporter.shared.state().waiting.len() <= 2);
    drop(exporter);
    let told = said(&told);
    assert!(told.last().unwrap().contains("100 in all"), "{told:?}");
    let mut metrics = Metrics::default();
    let out = metrics.told(&[event("edit", "ok")], 98, false);
    let lost = out.iter().find(|it| it["name"] == "emend.events.lost").unwrap();
    assert_eq!(lost["sum"]["dataPoints"][0]["asInt"], "98");
}

#[test]
fn counters_begin_anew_or_go_on() {
    let calls = |out: &[Value]| -> Vec<(String, String)> {
        let points = out[0]["sum"]["dataPoints"].as_array().unwrap().iter();
        points.map(|it| (it["startTimeUnixNano"].to_string(), it["asInt"].as_str().unwrap().to_owned())).collect()
    };
    for (cumulative, second) in [(false, "1"), (true, "2")] {
        let mut metrics = Metrics::default();
        let first = calls(&metrics.told(&[event("edit", "ok")], 0, cumulative));
        let then = calls(&metrics.told(&[Event { at: AT + 10_000, ..event("edit", "ok") }], 0, cumulative));
        assert_eq!((first.len(), &*first[0].1, then.len(), &*then[0].1), (1, "1", 1, second));
        assert_eq!(first[0].0 == then[0].0, cumulative, "{first:?} {then:?}");
    }
    let mut metrics = Metrics::default();
    let many: Vec<Event> = (0..5000).map(|nth| Event { model: format!("m{nth}"), ..event("edit", "ok") }).collect();
    let out = calls(&metrics.told(&many, 0, true));
    assert_eq!((out.len(), out.iter().map(|it| it.1.parse::<u64>().unwrap()).sum::<u64>()), (2001, 5000));
}

#[test]
fn variables_say_where_to() {
    let url = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1/base/");
    let off = |wish, vars: &[(&str, &str)]| settings(wish, vars).unwrap_err().0;
    let (wish, yes, no) =
        (Wish::default(), Wish { send: Some(true), paths: false }, Wish { send: Some(false), paths: true });
    assert!(off(wish, &[]).contains("no OTEL_EXPORTER_OTLP_ENDPOINT"));
    assert!(off(wish, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).contains("no OTEL_EXPORTER_OTLP_ENDPOINT"));
    assert!(off(no, &[url]).contains("events.otlp"));
    assert!(off(yes, &[url, ("OTEL_SDK_DISABLED", "TRUE")]).contains("OTEL_SDK_DISABLED"));
    let to = |wish, vars: &[(&str, &str)]| -> Vec<String> {
        settings(wish, vars).unwrap().targets().into_iter().map(|(_, url)| url).collect()
    };
    assert_eq!(
        to(wish, &[url]),
        ["http://h:1/base/v1/traces", "http://h:1/base/v1/metrics", "http://h:1/base/v1/logs"]
    );
    assert_eq!(
        to(yes, &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "console")]),
        ["http://localhost:4318/v1/metrics"]
    );
    let own = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://me:word@h:2/x?key=1");
    assert_eq!(to(wish, &[own]), ["http://h:2/x"], "as it stands, and its secrets are not shown");
    let remarks =
        |vars: &[(&str, &str)]| settings(yes, vars).map_or_else(|it| it.1, |it| it.remarks().to_vec()).join(" ");
    assert_eq!(remarks(&[url]), "");
    for (key, value, part) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "the protocol is `grpc`"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "as http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "does not begin with http://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x", "does not begin with http://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http:///x", "no machine"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1", "no whole number"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret", "no `key=value`"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "x", "delta counts"),
        ("OTEL_LOGS_EXPORTER", "console", "none counts"),
    ] {
        let told = remarks(&[(key, value)]);
        assert!(told.contains(part) && !told.contains("secret"), "{key}={value}: {told}");
    }
    assert_eq!(cfg!(feature = "tls"), remarks(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://h")]).is_empty());
    let shown = format!("{:?}", exporter("http://h", wish, &[("OTEL_EXPORTER_OTLP_HEADERS", "k=secret")]).0);
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn no_proxy_leads_to_this_machine() {
    for local in [
        "http://localhost",
        "http://a:b@LOCALHOST:4318/v1",
        "https://127.1.2.3:1/x",
        "http://[::1]:4318/",
        "http://[::1]",
    ] {
        assert!(crate::url::is_local(local), "{local}");
    }
    for other in
        ["http://localhost.example", "http://h:4318/localhost", "http://127.0.0.1@h", "http://[2001:db8::1]:80", "x"]
    {
        assert!(!crate::url::is_local(other), "{other}");
    }
}

#[test]
fn traces_of_callers_are_read_strictly() {
    let read = Parent::read(TRACE).unwrap();
    assert_eq!((&*read.trace, &*read.span, read.sampled), (&TRACE[3..35], &TRACE[36..52], true));
    assert!(!Parent::read(&TRACE.replace("-01", "-00")).unwrap().sampled);
    assert!(Parent::read(&format!("cc{}-more", &TRACE[2..])).is_some());
    for wrong in [
        "",
        "00",
        &format!("{TRACE}-more"),
        &TRACE.replace("00-", "ff-"),
        &TRACE.to_uppercase(),
        &TRACE.replace("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"),
        &TRACE.replace("b7ad6b7169203331", "0000000000000000"),
        &TRACE.replace("b7ad", "é7a"),
        &TRACE.replace("-01", "-1"),
        &TRACE.replace("-01", "-+1"),
    ] {
        assert_eq!(Parent::read(wrong), None, "{wrong}");
    }
}

#[test]
fn pauses_are_seconds_or_dates() {
    let now = UNIX_EPOCH + Duration::from_secs(1_445_412_470);
    assert_eq!(pause("7", now), Some(Duration::from_secs(7)));
    assert_eq!(pause("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(Duration::from_secs(10)));
    assert_eq!(pause("Wed, 21 Oct 2015 07:27:00 GMT", now), Some(Duration::ZERO));
    assert_eq!((pause("soon", now), pause("-3", now)), (None, None));
    assert_eq!(pause("99999999999", now), Some(Duration::from_secs(60)));
}

#[cfg(feature = "tls")]
mod https {
    use super::collector::{Collector, TAKEN};
    use super::{Wish, event, exporter, said};
    use emendate_events::Export as _;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::sync::Arc;

    /// Its own authority, for 127.0.0.1, until 2126.
    const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/certificate.pem");
    const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/key.pem");

    fn collector() -> (Collector, String) {
        let certificate = CertificateDer::from_pem_file(CERTIFICATE).unwrap();
        let key = PrivateKeyDer::from_pem_file(KEY).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
        let collector = Collector::over(
            |_| Some(TAKEN),
            move |stream| StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream),
        );
        let url = collector.url.replace("http:", "https:");
        (collector, url)
    }

    #[test]
    fn the_certificate_that_was_named_counts_and_no_other() {
        let (collector, url) = collector();
        let (trusting, told) = exporter(&url, Wish::default(), &[("OTEL_EXPORTER_OTLP_CERTIFICATE", CERTIFICATE)]);
        trusting.take(&event("edit", "ok"));
        drop(trusting);
        assert_eq!(collector.three()[0].items().len(), 1);
        assert!(said(&told).is_empty());
        for (file, part) in
            [(None, "ertificate"), (Some(KEY), "there is none in it"), (Some("/no/such"), "cannot be used")]
        {
            let vars: Vec<_> = file.iter().map(|file| ("OTEL_EXPORTER_OTLP_CERTIFICATE", *file)).collect();
            let (wary, told) = exporter(&url, Wish::default(), &vars);
            wary.take(&event("edit", "ok"));
            drop(wary);
            let told = said(&told);
            assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
        }
        assert!(collector.rest().is_empty());
    }
}
