//! stub
pub(crate) fn clients(_arguments: &[String]) -> Result<String, String> {
    Ok(String::new())
}
