//! Formats: what a file is, from its content, and how it is read into rows.
//!
//! Adding a format is one file in `format/`, two lines here (module, [`FORMATS`]) and one folder in
//! `samples/`; tests fail if one of them is missing.

pub mod aiperf;
pub mod aiperf_csv;
pub mod aiperf_server_metrics;
pub mod aiperf_summary;
pub mod azure_trace;
pub mod bench_command;
mod bodies;
pub mod burstgpt;
pub mod civil;
pub mod client_timeline;
pub mod curl_timing;
pub mod decimal;
pub mod dynamo_trace;
mod elements;
mod envoy;
pub mod envoy_access_json;
pub mod envoy_access_text;
pub mod evalscope_text;
mod fields;
mod figures;
pub mod genai_perf;
pub mod genai_perf_summary;
mod glance;
pub mod guidellm;
pub mod guidellm_csv;
pub mod haproxy_access;
pub mod haproxy_text;
pub mod har;
pub mod health_poll;
pub mod inference_perf;
pub mod inference_perf_config;
pub mod inference_perf_prometheus;
pub mod inference_perf_requests;
pub mod jaeger;
pub mod json;
pub mod k8s_events_json;
pub mod k8s_events_table;
pub mod k8s_pods;
pub mod kong_log;
pub mod kubelet_log;
mod kubernetes;
mod litellm;
pub mod litellm_log;
pub mod litellm_spend;
pub mod litellm_standard;
pub mod llama_log;
pub mod llama_timings;
pub mod llmd_report;
pub mod llmperf_individual;
pub mod llmperf_summary;
mod load_tool;
pub mod mapping;
pub mod mlperf_detail;
pub mod mooncake_trace;
pub mod nginx_access;
pub mod nginx_error;
pub mod nginx_text;
pub mod nvidia_smi_csv;
mod objects;
pub mod ollama_response;
pub mod otel_flattened;
mod otlp;
pub mod otlp_json;
pub mod otlp_json_document;
pub mod otlp_logs;
pub mod otlp_metrics;
pub mod otlp_proto;
mod perf_summary;
pub mod prometheus_range;
pub mod prometheus_text;
pub mod request_plan;
pub mod resource_timing;
pub mod scrape_manifest;
pub mod servegen_trace;
mod serving;
mod sglang;
pub mod sglang_bench;
pub mod sglang_log;
mod sglang_message;
pub mod sglang_metrics_export;
pub mod sglang_request_log;
mod stamp;
pub mod tempo;
#[cfg(test)]
mod testing;
pub mod tgi_log;
mod trace;
mod tree;
pub mod triton_trace;
pub mod trtllm_perf;
mod unknown;
mod values;
pub mod vllm_bench;
pub mod vllm_bench_text;
pub mod vllm_log;
mod vllm_message;
pub mod vllm_response_metrics;
mod workload;
pub mod zipkin;

pub use glance::clocks;
pub use unknown::describe;

use crate::finding::{Code, Place};
use crate::input::Head;
use crate::row::{Hop, Rows};

/// What a format says of the beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Not this format.
    No,
    /// This format: the version it states, if any, and the fields that decided.
    Yes {
        /// Version of the tool or schema, as stated; empty when the file does not say.
        version: String,
        /// What was seen: names of the deciding fields.
        because: &'static str,
    },
}

impl Match {
    /// This format, without a stated version.
    #[must_use]
    pub fn yes(because: &'static str) -> Match {
        Match::Yes { version: String::new(), because }
    }

    /// `Yes` when `condition` holds.
    #[must_use]
    pub fn when(condition: bool, because: &'static str) -> Match {
        if condition { Match::yes(because) } else { Match::No }
    }
}

/// What a reader knows of the source it reads.
#[derive(Clone, Debug)]
pub struct Context {
    /// File name without folders.
    pub name: String,
    /// First 12 hex digits of the file's SHA-256.
    pub source: String,
    /// Hop the user declared, else the format's own.
    pub hop: Hop,
    /// Clock domain the user declared for the source, shared by sources that one clock stamps.
    pub clock: Option<String>,
    /// Zone the user declared for naive local times.
    pub zone: Option<jiff::tz::TimeZone>,
    /// When the source was received: naive dates without a year fall in the year before this.
    pub received_ns: i64,
}

impl Context {
    /// Clock id of epoch times in this source. Two sources share a clock only where that is declared.
    #[must_use]
    pub fn epoch(&self) -> String {
        format!("epoch:{}", self.domain())
    }

    /// Clock id of times with an arbitrary zero.
    #[must_use]
    pub fn monotonic(&self) -> String {
        format!("monotonic:{}", self.domain())
    }

    /// Clock id of local times: epoch once a zone is declared, an island of its own before.
    #[must_use]
    pub fn local(&self) -> String {
        if self.zone.is_some() { self.epoch() } else { format!("local:{}", self.domain()) }
    }

    /// Clock id of a source that states no time at all: one moment, its zero, which nothing else shares.
    #[must_use]
    pub fn undated(&self) -> String {
        format!("undated:{}", self.source)
    }

    fn domain(&self) -> &str {
        self.clock.as_deref().unwrap_or(&self.source)
    }
}

/// A line of text with its place.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Text without line end.
    pub text: &'a str,
    /// Its number.
    pub place: Place,
    /// Whether it is the last line of the file and lacks its line end.
    pub cut: bool,
}

impl Line<'_> {
    /// Refuses the line: as `truncated` when the file ends inside it, else with `code`.
    pub fn refuse(&self, rows: &mut Rows, code: Code, detail: &str) {
        rows.refuse(if self.cut { Code::Truncated } else { code }, self.place, detail);
    }
}

/// Reads lines in order and keeps what later lines need.
pub trait Stream: Send {
    /// One line.
    fn line(&mut self, line: Line, rows: &mut Rows);
    /// The end of the file: whatever is still open becomes rows or findings.
    fn end(&mut self, rows: &mut Rows);
}

/// Reads one independent line into rows or a finding.
pub type LineReader = Box<dyn Fn(Line, &mut Rows) + Send + Sync>;

/// Reads a whole file into rows or findings.
pub type DocumentReader = Box<dyn FnOnce(&[u8], &mut Rows) + Send>;

/// How a format is read.
pub enum Reader {
    /// Lines that do not depend on each other: read on many threads.
    Lines(LineReader),
    /// Lines in order.
    Stream(Box<dyn Stream>),
    /// The whole file at once, up to the document limit.
    Document(DocumentReader),
}

/// One file format.
pub trait Format: Sync {
    /// Stable id: the file name in `format/`, the folder in `samples/`.
    fn id(&self) -> &'static str;
    /// The tool or standard, as people call it.
    fn title(&self) -> &'static str;
    /// Where its producer stands unless the user says otherwise.
    fn hop(&self) -> Hop;
    /// What its rows are evidence for: stages of the wait before the first token, or one of [`USES`].
    fn informs(&self) -> &'static [&'static str];
    /// Whether the beginning of a file is this format. Looks at content only.
    fn recognise(&self, head: &Head) -> Match;
    /// A reader for one source.
    fn reader(&self, cx: &Context) -> Reader;
}

/// What a format can inform besides a stage: the load that was asked for, figures over many requests, and the
/// state of servers and machines.
pub const USES: [&str; 3] = ["workload", "aggregate", "resources"];

/// Every format, in the order of ids.
pub static FORMATS: &[&dyn Format] = &[
    &aiperf::Aiperf,
    &aiperf_csv::AiperfCsv,
    &aiperf_server_metrics::AiperfServerMetrics,
    &aiperf_summary::AiperfSummary,
    &azure_trace::AzureTrace,
    &bench_command::BenchCommand,
    &burstgpt::Burstgpt,
    &client_timeline::ClientTimeline,
    &curl_timing::CurlTiming,
    &dynamo_trace::DynamoTrace,
    &envoy_access_json::EnvoyAccessJson,
    &envoy_access_text::EnvoyAccessText,
    &evalscope_text::EvalscopeText,
    &genai_perf::GenaiPerf,
    &genai_perf_summary::GenaiPerfSummary,
    &guidellm::Guidellm,
    &guidellm_csv::GuidellmCsv,
    &haproxy_access::HaproxyAccess,
    &haproxy_text::HaproxyText,
    &har::Har,
    &health_poll::HealthPoll,
    &inference_perf::InferencePerf,
    &inference_perf_config::InferencePerfConfig,
    &inference_perf_prometheus::InferencePerfPrometheus,
    &inference_perf_requests::InferencePerfRequests,
    &jaeger::Jaeger,
    &k8s_events_json::K8sEventsJson,
    &k8s_events_table::K8sEventsTable,
    &k8s_pods::K8sPods,
    &kong_log::KongLog,
    &kubelet_log::KubeletLog,
    &litellm_log::LitellmLog,
    &litellm_spend::LitellmSpend,
    &litellm_standard::LitellmStandard,
    &llama_log::LlamaLog,
    &llama_timings::LlamaTimings,
    &llmd_report::LlmdReport,
    &llmperf_individual::LlmperfIndividual,
    &llmperf_summary::LlmperfSummary,
    &mlperf_detail::MlperfDetail,
    &mooncake_trace::MooncakeTrace,
    &nginx_access::NginxAccess,
    &nginx_error::NginxError,
    &nginx_text::NginxText,
    &nvidia_smi_csv::NvidiaSmiCsv,
    &ollama_response::OllamaResponse,
    &otel_flattened::OtelFlattened,
    &otlp_json::OtlpJson,
    &otlp_json_document::OtlpJsonDocument,
    &otlp_logs::OtlpLogs,
    &otlp_metrics::OtlpMetrics,
    &otlp_proto::OtlpProto,
    &prometheus_range::PrometheusRange,
    &prometheus_text::PrometheusText,
    &request_plan::RequestPlan,
    &resource_timing::ResourceTiming,
    &scrape_manifest::ScrapeManifest,
    &servegen_trace::ServegenTrace,
    &sglang_bench::SglangBench,
    &sglang_log::SglangLog,
    &sglang_metrics_export::SglangMetricsExport,
    &sglang_request_log::SglangRequestLog,
    &tempo::Tempo,
    &tgi_log::TgiLog,
    &triton_trace::TritonTrace,
    &trtllm_perf::TrtllmPerf,
    &vllm_bench::VllmBench,
    &vllm_bench_text::VllmBenchText,
    &vllm_log::VllmLog,
    &vllm_response_metrics::VllmResponseMetrics,
    &zipkin::Zipkin,
];

/// The format with this id.
#[must_use]
pub fn format(id: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.id() == id)
}

/// A format that recognised a file.
pub struct Recognised {
    /// The format.
    pub format: &'static dyn Format,
    /// Version it states, or empty.
    pub version: String,
    /// What decided.
    pub because: &'static str,
}

/// Every format that says yes to this head: exactly one for a file that can be loaded.
#[must_use]
pub fn recognise(head: &Head) -> Vec<Recognised> {
    FORMATS
        .iter()
        .filter_map(|format| match format.recognise(head) {
            Match::Yes { version, because } => Some(Recognised { format: *format, version, because }),
            Match::No => None,
        })
        .collect()
}
