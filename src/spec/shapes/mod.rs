//! The tables of the three files.

pub(super) mod config;
pub(super) mod dashboard;
pub(super) mod drill;
pub(super) mod playbook;
pub(super) mod steps;

use super::shape::{Form, Scalar, Shape, may, need};

pub(super) const NAME: Form = Form::One(Scalar::Name);
pub(super) const TEXT: Form = Form::One(Scalar::Text);
pub(super) const TOKEN: Form = Form::One(Scalar::Token);
pub(super) const PATH: Form = Form::One(Scalar::Path);
pub(super) const URL_PATH: Form = Form::One(Scalar::UrlPath);
pub(super) const URL: Form = Form::One(Scalar::Url);
pub(super) const INSTANCE_URL: Form = Form::One(Scalar::InstanceUrl);
pub(super) const DURATION: Form = Form::One(Scalar::Duration);
pub(super) const WHOLE: Form = Form::One(Scalar::Whole);
pub(super) const HTTP_STATUS: Form = Form::One(Scalar::HttpStatus);
pub(super) const NAMES: Form = Form::List(&NAME);
pub(super) const TOKENS: Form = Form::List(&TOKEN);
/// A text, or one per language.
pub(super) const LOCALIZED: Form = Form::Either(&[TEXT, Form::Map(&LANGUAGES)]);

pub(super) static LANGUAGES: Shape = Shape {
    name: "a text per language",
    doc: "A text in two languages.",
    keys: &[need("en", TEXT, "English."), may("zh", TEXT, "Chinese.")],
    rules: &[],
};
