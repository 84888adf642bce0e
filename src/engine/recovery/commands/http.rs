//! A request of the user's own, and the `GET` that proves it.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    drivers::{
        error::{DriverError, Landing},
        http::Content,
        place::Fill,
    },
    engine::recovery::{Scene, by_hand},
    model::{
        playbook::{HttpCheck, Method},
        said::{Said, said},
        text::harmless,
    },
};

use super::{Once, Proof};

/// A request with all of its places filled.
pub(super) struct Request {
    method: Method,
    url: String,
    body: Option<Value>,
}

impl Request {
    pub(super) fn fill(
        once: &Once<'_>,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Self, Said> {
        Ok(Self {
            method,
            url: filled(once, url)?,
            body: body.map(|b| filled_in(once, b)).transpose()?,
        })
    }

    /// A text goes as it is, anything else as JSON.
    fn content(&self) -> Content<'_> {
        match &self.body {
            None => Content::None,
            Some(Value::String(text)) => Content::Text(text),
            Some(json) => Content::Json(json),
        }
    }

    fn method(&self) -> reqwest::Method {
        match self.method {
            Method::Put => reqwest::Method::PUT,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        }
    }

    /// Whether it may be sent again after such an error: what is put or deleted twice is as it was the first time.
    fn may_repeat(&self, error: &DriverError) -> bool {
        let is_safe = self.method != Method::Post || error.landing() == Landing::NotDone;
        error.may_pass() && is_safe
    }

    pub(super) fn by_hand(&self, scene: &Scene) -> String {
        let method = self.method.as_str();
        let typed = match &self.body {
            None => by_hand::curl(method, &self.url),
            Some(Value::String(text)) => by_hand::curl_text(method, &self.url, text),
            Some(json) => by_hand::curl_json(method, &self.url, json),
        };
        scene.drivers.mask(&typed)
    }
}

impl Once<'_> {
    /// Sends the request until it is answered or the time is over; then looks until the check passes or the time is over.
    pub(super) async fn requested(&self, request: &Request, check: Option<&HttpCheck>) -> Proof {
        let deadline = Instant::now() + self.command.timeout.into();
        let sent = loop {
            let http = self.scene.drivers.http();
            let answer = http
                .ask_any_status(request.method(), &request.url, request.content())
                .await;
            match answer.and_then(|a| a.successful()) {
                Err(error) if request.may_repeat(&error) && Instant::now() < deadline => {
                    self.scene.pause().await
                }
                ended => break ended,
            }
        };
        let Some(check) = check else {
            let status = sent.map_err(|e| e.said())?.status.as_u16();
            return Ok(said!("HTTP {status}, no check given", "HTTP {status}，未设检查"));
        };
        // The check decides, also when the answer was lost: it looks at what there is.
        let why = loop {
            match self.meets(check).await {
                Ok(()) => return Ok(said!("checked", "检查通过")),
                Err(why) if Instant::now() >= deadline => break why,
                Err(why) if sent.as_ref().is_err_and(|e| e.landing() == Landing::NotDone) => break why,
                Err(_) => self.scene.pause().await,
            }
        };
        Err(match sent {
            Ok(_) => said!(
                why;
                "it was sent, but its check fails: {why}",
                "已发送，但检查未通过：{why}"
            ),
            Err(error) => error.said(),
        })
    }

    /// Looks whether the check passes.
    ///
    /// # Errors
    /// What is not as it must be.
    pub(super) async fn meets(&self, check: &HttpCheck) -> Result<(), Said> {
        let url = filled(self, &check.url)?;
        let http = self.scene.drivers.http();
        let answer = http
            .ask_any_status(reqwest::Method::GET, &url, Content::None)
            .await
            .map_err(|e| e.said())?;
        let what = answer.what.clone();
        if answer.status.as_u16() != check.status {
            let (is, wanted) = (answer.text(), check.status);
            return Err(said!(
                "{what}: {is}, and not {wanted}",
                "{what}：{is}，应为 {wanted}"
            ));
        }
        if check.json.is_empty() {
            return Ok(());
        }
        let json: Value = answer.json().map_err(|e| e.said())?;
        let wanted: BTreeMap<&String, Value> = check
            .json
            .iter()
            .map(|(pointer, value)| Ok((pointer, filled_in(self, value)?)))
            .collect::<Result<_, Said>>()?;
        for (pointer, value) in wanted {
            let found = json.pointer(pointer);
            if !found.is_some_and(|f| is_same(f, &value)) {
                let found = found.map_or(said!("nothing", "空"), |f| {
                    Said::as_it_is(harmless(&f.to_string(), 60))
                });
                let value = harmless(&value.to_string(), 60);
                return Err(said!(
                    found;
                    "{what}: {pointer} is {found}, and not {value}",
                    "{what}：{pointer} 为 {found}，应为 {value}"
                ));
            }
        }
        Ok(())
    }
}

/// 1 is 1.0; everything else must be alike.
fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => found == wanted,
    }
}

fn filled(once: &Once<'_>, url: &str) -> Result<String, Said> {
    let fill = Fill {
        instance: once.instance,
        name: None,
    };
    once.scene.drivers.places().fill(url, fill).map_err(|e| e.said())
}

/// A body, or a value that is looked for, with its texts filled.
fn filled_in(once: &Once<'_>, value: &Value) -> Result<Value, Said> {
    Ok(match value {
        Value::String(text) => {
            let places = once.scene.drivers.places();
            Value::String(places.fill_word(text, once.instance).map_err(|e| e.said())?)
        }
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|i| filled_in(once, i))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| Ok((k.clone(), filled_in(once, v)?)));
            Value::Object(fields.collect::<Result<_, Said>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written_and_a_text_is_no_number() {
        assert!(is_same(&json!(1), &json!(1.0)));
        assert!(!is_same(&json!("1"), &json!(1)));
        assert!(is_same(&json!({"a": [true]}), &json!({"a": [true]})));
    }
}
