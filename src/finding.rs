//! Findings: every refusal, gap and contradiction, with a stable code and the place that proves it.

use serde::Serialize;
use std::fmt;

/// How much a finding matters to what is computed from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing was lost.
    Info,
    /// Read, but with a reservation that figures carry on.
    Warning,
    /// A record or a file was refused; the rest was loaded.
    Error,
}

impl Severity {
    /// The word used in files and on the terminal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $severity:ident;)+) => {
        /// Stable code of a finding. Its title, cause and remedy stand in `reports/words/` as `[code.<id>]`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, in the order of declaration.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The stable id: kebab-case, never reused for another meaning.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $id,)+ }
            }

            /// Severity of every finding with this code.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    // The file as a whole.
    /// A file holds no bytes, or no records.
    FileEmpty = "file-empty", Error;
    /// No format recognises the file.
    FormatUnknown = "format-unknown", Error;
    /// More than one format recognises the file.
    FormatAmbiguous = "format-ambiguous", Error;
    /// The file says it comes from a version this reader was not made for.
    VersionUnknown = "version-unknown", Warning;
    /// The file is larger than a reader that needs it whole can take.
    FileTooLarge = "file-too-large", Error;
    /// Decompression failed, or expands beyond the limit.
    CompressionBad = "compression-bad", Error;
    /// An archive cannot be opened, or a member of it cannot be unpacked.
    ArchiveBad = "archive-bad", Error;
    /// An archive holds more members, or deeper archives, than the limit.
    ArchiveLimit = "archive-limit", Error;
    /// A member of an archive is encrypted.
    MemberEncrypted = "member-encrypted", Error;
    /// The name of a member leads out of the archive, or stands twice in it.
    MemberName = "member-name", Error;
    /// The file ends in the middle of a record.
    Truncated = "truncated", Error;
    /// Text was not UTF-8 and was read as another encoding.
    TextEncoding = "text-encoding", Info;
    /// A line begins with NUL bytes, which were skipped.
    NulBytes = "nul-bytes", Info;
    // One record.
    /// A line is longer than the limit.
    LineTooLong = "line-too-long", Error;
    /// A line is neither UTF-8 nor another known encoding.
    TextInvalid = "text-invalid", Error;
    /// A record is not JSON.
    RecordNotJson = "record-not-json", Error;
    /// A record breaks the JSON grammar in a known, harmless way and was read.
    RecordNotStrict = "record-not-strict", Warning;
    /// A record lacks a needed field or has one of the wrong type.
    RecordShape = "record-shape", Error;
    /// The same key stands twice in one JSON object.
    DuplicateKey = "duplicate-key", Error;
    /// A value contradicts another value of the same record.
    ValueImpossible = "value-impossible", Warning;
    /// A time of day has no zone, year or date: it cannot be placed.
    TimeUnplaced = "time-unplaced", Warning;
    /// A duration is stated under a name that different tools use for different things; it was left out.
    DefinitionUnknown = "definition-unknown", Warning;
    /// A request was answered, yet no token text was ever seen.
    NoFirstToken = "no-first-token", Info;
    /// The service said it was refused or failed at the gateway.
    UpstreamUnreachable = "upstream-unreachable", Info;
    // Files of settings: trial.toml, a mapping.
    /// The file is not TOML.
    ConfigSyntax = "config-syntax", Error;
    /// The file has a key that nothing reads.
    ConfigUnknownKey = "config-unknown-key", Error;
    /// The file has a value that cannot be used.
    ConfigBadValue = "config-bad-value", Error;
    // Across sources.
    /// The same record came from two sources; it counts once.
    DuplicateRecord = "duplicate-record", Info;
    /// Two records of the same hop, id and attempt disagree.
    RecordContradiction = "record-contradiction", Error;
    /// One id points at several exchanges.
    IdAmbiguous = "id-ambiguous", Warning;
    /// No offset between two clocks can satisfy every exchange.
    ClockContradiction = "clock-contradiction", Error;
    /// Two clocks in one document cannot both be right, by what calls what.
    ClockSkew = "clock-skew", Warning;
    /// A duration measured inside another is longer than it.
    NestedContradiction = "nested-contradiction", Warning;
    /// Exchanges that no other hop's record joins.
    JoinGap = "join-gap", Warning;
    // Evidence that contradicts itself or cannot bear its figures. An error voids its source.
    /// No request of a run was answered: it measured nothing.
    AllFailed = "all-failed", Error;
    /// Statistics count requests that were not answered.
    FailedCounted = "failed-counted", Error;
    /// A client did not ask for a stream: it has no time to first token.
    NotStreamed = "not-streamed", Error;
    /// The time to first token is the time of the whole request.
    TtftIsTotal = "ttft-is-total", Error;
    /// A mean time to first token too small to be one.
    TtftImplausible = "ttft-implausible", Error;
    /// Too many requests of a source contradict themselves.
    TimelineImpossible = "timeline-impossible", Error;
    /// A span has its ends from two clocks and runs backwards.
    ClockJump = "clock-jump", Error;
    /// A histogram contradicts itself.
    HistogramInconsistent = "histogram-inconsistent", Error;
    /// All requests of a run started at once.
    OneWave = "one-wave", Warning;
    /// Requests were offered faster than they were completed.
    OverSaturated = "over-saturated", Warning;
    /// The client's limit of requests in flight keeps the wait out of TTFT.
    CapHidesWait = "cap-hides-wait", Warning;
    /// Client and server count different requests.
    PopulationMismatch = "population-mismatch", Warning;
    /// Client and server state prompts of different lengths.
    TokenCountMismatch = "token-count-mismatch", Warning;
    /// Statistics of one summary contradict each other.
    SummaryContradiction = "summary-contradiction", Warning;
    /// Percentiles were interpolated inside one histogram bucket.
    PercentileInterpolated = "percentile-interpolated", Warning;
    /// A percentile of fewer requests than it needs.
    PercentileTooFew = "percentile-too-few", Warning;
    /// Cold requests stand in the measured set.
    WarmUpCounted = "warm-up-counted", Warning;
    /// A hop between server and client holds the response stream back.
    ResponseBuffered = "response-buffered", Warning;
    /// An absent metric was written as 0.
    ZeroNotMeasured = "zero-not-measured", Warning;
    /// Runs that are compared share prompts in the prefix cache.
    PrefixCacheShared = "prefix-cache-shared", Warning;
    /// The first token of a client is not yet an answer.
    FirstTokenMeaning = "first-token-meaning", Info;
    /// Where the achieved rate of a sweep stops following the offered one.
    SweepKnee = "sweep-knee", Info;
}

impl Code {
    /// The code with this id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.id() == id)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// A place inside one source: a line (1-based; 0 = the file as a whole) and an item within it.
///
/// `item` counts records within a line or document from 0: the spans of one OTLP line, the rows of a
/// benchmark array, the fields of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Line number, from 1; 0 means the whole file.
    pub line: i64,
    /// Record number within the line or document, from 0.
    pub item: i64,
}

impl Place {
    /// The file as a whole.
    pub const FILE: Place = Place { line: 0, item: 0 };

    /// A line.
    #[must_use]
    pub fn line(line: i64) -> Self {
        Place { line, item: 0 }
    }

    /// A record within a line or document.
    #[must_use]
    pub fn item(line: i64, item: i64) -> Self {
        Place { line, item }
    }
}

/// One finding as it is stored, printed and reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What kind of finding it is.
    pub code: Code,
    /// The file it is about: the source's name, or the trial file's path.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// The words or figures that prove it: field names, values, the arithmetic.
    pub detail: String,
}

impl Finding {
    /// A finding at a place.
    pub fn new(code: Code, file: impl Into<String>, place: Place, detail: impl Into<String>) -> Self {
        Finding { code, file: file.into(), place, detail: detail.into() }
    }

    /// `file`, `file:line` or `file:line#item`: what an editor or a person can jump to.
    #[must_use]
    pub fn location(&self) -> String {
        match self.place {
            Place { line: 0, item: 0 } => self.file.clone(),
            Place { line, item: 0 } => format!("{}:{line}", self.file),
            Place { line, item } => format!("{}:{line}#{item}", self.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_kebab_case_and_found_again() {
        let mut ids: Vec<_> = Code::ALL.iter().map(|c| c.id()).collect();
        assert!(ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        assert!(Code::ALL.iter().all(|c| Code::parse(c.id()) == Some(*c)));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), Code::ALL.len());
    }

    #[test]
    fn location_names_only_what_is_known() {
        let at = |place| Finding::new(Code::RecordNotJson, "a.jsonl", place, "").location();
        assert_eq!(at(Place::FILE), "a.jsonl");
        assert_eq!(at(Place::line(3)), "a.jsonl:3");
        assert_eq!(at(Place::item(3, 2)), "a.jsonl:3#2");
    }
}
