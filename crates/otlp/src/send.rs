//! One request to a collector, and what its answer means.

use crate::settings::{Settings, Signal, Target};
use crate::url;
use chrono::DateTime;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::http::{Response, header};
use ureq::{Agent, Body, Error};

/// Bytes that are read of an answer.
const ANSWER: u64 = 64 << 10;
/// The longest pause that a collector can ask for.
const LONGEST: Duration = Duration::from_secs(60);

/// What a collector answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It has them, all but so many, which it refused for a reason.
    Taken(u64, String),
    /// Try again, after a time where it said one. Why, as part of a sentence.
    Later(Option<Duration>, String),
    /// It will never take them.
    Never(String),
}

/// What speaks to collectors.
///
/// Errors: certificates that cannot be read, as part of a sentence.
#[cfg_attr(not(feature = "tls"), expect(clippy::unnecessary_wraps, reason = "certificates alone can be wrong"))]
pub(crate) fn agent(settings: &Settings) -> Result<Agent, String> {
    // Headers hold keys, which must not go where an answer says.
    let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).max_redirects_will_error(false);
    #[cfg(feature = "tls")]
    let config = config.tls_config(crate::tls::config(settings)?);
    #[cfg(not(feature = "tls"))]
    let _ = &settings.certificate;
    Ok(config.user_agent(concat!("emend-otlp/", env!("CARGO_PKG_VERSION"))).build().new_agent())
}

/// Sends one body.
pub(crate) fn post(agent: &Agent, target: &Target, body: &[u8]) -> Answer {
    let config = agent.post(&target.url).config().timeout_global(Some(target.timeout));
    let config = if url::is_local(&target.url) { config.proxy(None) } else { config };
    let request = config.build().content_type("application/json");
    let request = target.headers.iter().fold(request, |request, (key, value)| request.header(key, value));
    match request.send(body) {
        Ok(answer) => understood(target.signal, answer),
        Err(Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::Tls(_)) => {
            Answer::Never("the address or a header of the request is wrong".to_owned())
        }
        // Certificates do not get better, but a machine in between may go away. Some errors repeat what was sent.
        Err(Error::Io(error)) => Answer::Later(None, error.to_string()),
        Err(Error::Timeout(_)) => Answer::Later(None, "it did not answer in time".to_owned()),
        Err(Error::HostNotFound) => Answer::Later(None, "there is no such machine".to_owned()),
        Err(Error::ConnectionFailed) => Answer::Later(None, "no connection".to_owned()),
        Err(error) => Answer::Later(None, error.to_string().chars().take(200).collect()),
    }
}

fn understood(signal: Signal, mut answer: Response<Body>) -> Answer {
    let status = answer.status().as_u16();
    match status {
        200..=299 => {
            let text = answer.body_mut().with_config().limit(ANSWER).read_to_string().unwrap_or_default();
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            let partial = &value["partialSuccess"];
            let key = match signal {
                Signal::Traces => "rejectedSpans",
                Signal::Metrics => "rejectedDataPoints",
                Signal::Logs => "rejectedLogRecords",
            };
            let count = partial[key].as_u64().or_else(|| partial[key].as_str()?.parse().ok()).unwrap_or(0);
            let why = partial["errorMessage"].as_str().unwrap_or_default();
            Answer::Taken(count, why.chars().filter(|char| !char.is_control()).take(200).collect())
        }
        429 | 502 | 503 | 504 => {
            let after = answer.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
            Answer::Later(after.and_then(|text| pause(text, SystemTime::now())), format!("it answered {status}"))
        }
        _ => Answer::Never(format!("it answered {status}")),
    }
}

/// The pause that a `Retry-After` asks for: seconds, or a date.
pub(crate) fn pause(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let pause = if let Ok(seconds) = text.parse() {
        Duration::from_secs(seconds)
    } else {
        let date = DateTime::parse_from_rfc2822(text).ok()?;
        let seconds = u64::try_from(date.timestamp()).ok()?;
        (UNIX_EPOCH + Duration::from_secs(seconds)).duration_since(now).unwrap_or_default()
    };
    Some(pause.min(LONGEST))
}
