//! The parts of the report that are read. Prompts, answers and backend settings such as keys are not.

use crate::format::json::{Raw, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub struct Report<'a> {
    #[serde(borrow)]
    pub metadata: Metadata<'a>,
    #[serde(borrow)]
    pub benchmarks: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Metadata<'a> {
    #[serde(borrow, default)]
    pub version: Raw<'a>,
    #[serde(borrow, default)]
    pub guidellm_version: Raw<'a>,
}

#[derive(Deserialize)]
pub struct Benchmark<'a> {
    #[serde(borrow, alias = "args", default)]
    pub config: Config<'a>,
    #[serde(borrow)]
    pub requests: Lists<'a>,
    /// Kept as written until the requests are read.
    #[serde(borrow)]
    pub metrics: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub duration: Raw<'a>,
    #[serde(borrow)]
    pub scheduler_metrics: Option<Scheduler<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Config<'a> {
    #[serde(borrow)]
    pub strategy: Option<&'a RawValue>,
    #[serde(borrow)]
    pub profile: Option<&'a RawValue>,
    #[serde(borrow)]
    pub backend: Option<Backend<'a>>,
    #[serde(borrow)]
    pub sample_size: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Backend<'a> {
    #[serde(borrow)]
    pub model: Text<'a>,
    pub stream: Option<bool>,
}

#[derive(Deserialize)]
pub struct Scheduler<'a> {
    #[serde(borrow)]
    pub requests_made: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Lists<'a> {
    #[serde(borrow)]
    pub successful: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub errored: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub incomplete: Option<Vec<&'a RawValue>>,
}

/// One request. Times are epoch seconds, `*_ms` milliseconds, the latency seconds.
#[derive(Deserialize)]
pub struct Stats<'a> {
    #[serde(borrow)]
    pub response_id: Text<'a>,
    #[serde(borrow)]
    pub info: Info<'a>,
    #[serde(borrow, default)]
    pub prompt_tokens: Raw<'a>,
    #[serde(borrow, default)]
    pub output_tokens: Raw<'a>,
    #[serde(borrow, default)]
    pub cached_tokens: Raw<'a>,
    #[serde(borrow, default)]
    pub request_latency: Raw<'a>,
    #[serde(borrow, default)]
    pub time_to_first_token_ms: Raw<'a>,
    #[serde(borrow, default)]
    pub time_to_first_output_token_ms: Raw<'a>,
}

#[derive(Deserialize)]
pub struct Info<'a> {
    #[serde(borrow)]
    pub timings: Timings<'a>,
    #[serde(borrow, default)]
    pub scheduler_start_time: Raw<'a>,
    #[serde(borrow)]
    pub error: Text<'a>,
}

#[derive(Deserialize)]
pub struct Timings<'a> {
    #[serde(borrow, default)]
    pub targeted_start: Raw<'a>,
    #[serde(borrow, default)]
    pub request_start: Raw<'a>,
    #[serde(borrow, default)]
    pub first_request_iteration: Raw<'a>,
    #[serde(borrow, default)]
    pub first_token_iteration: Raw<'a>,
    #[serde(borrow, default)]
    pub last_token_iteration: Raw<'a>,
    #[serde(borrow, default)]
    pub request_end: Raw<'a>,
}
