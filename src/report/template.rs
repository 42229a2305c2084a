//! Fills a page into the templates of `reports/`, escaped by default and strict about what is missing.

use super::context::Page;
use crate::error::{Error, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, HtmlEscape, UndefinedBehavior, Value};

const PAGE: &str = "page";

/// The templates by the name they include each other with.
const TEMPLATES: [(&str, &str); 6] = [
    (PAGE, include_str!("../../reports/report.html")),
    ("part/answer.html", include_str!("../../reports/part/answer.html")),
    ("part/candidate.html", include_str!("../../reports/part/candidate.html")),
    ("part/beside.html", include_str!("../../reports/part/beside.html")),
    ("part/evidence.html", include_str!("../../reports/part/evidence.html")),
    ("part/method.html", include_str!("../../reports/part/method.html")),
];

/// The page as HTML.
pub fn render(page: &Page) -> Result<String> {
    let failed = |e| Error::run("the report could not be rendered").because(e);
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?;
    environment.set_syntax(syntax);
    environment.add_filter("code", code);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(failed)?;
    }
    environment.get_template(PAGE).and_then(|template| template.render(Serde(page))).map_err(failed)
}

/// Escaped text whose parts between backticks are set as code.
fn code(text: &str) -> Value {
    let mut html = String::new();
    for (at, part) in text.split('`').enumerate() {
        let (begin, end) = if at % 2 == 1 { ("<code>", "</code>") } else { ("", "") };
        html.extend([begin, &HtmlEscape(part).to_string(), end]);
    }
    Value::from_safe_string(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_set_as_code_and_everything_is_escaped() {
        assert_eq!(code("run `a <b>` & see").to_string(), "run <code>a &lt;b&gt;</code> &amp; see");
        assert_eq!(code("<i>").to_string(), "&lt;i&gt;");
    }
}
