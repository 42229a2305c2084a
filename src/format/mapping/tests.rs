//! Tables read through mappings: exact values, and every trap of tables people make.

use super::*;
use crate::finding::Place;
use crate::format::testing::Read;
use crate::format::{Line, Reader};
use crate::row::{Rows, Table as T};

const REQUESTS: &str = r#"
hop = "client"
[request]
request_id = "id"
input_tokens = "prompt"
status = "code"
[[mark]]
name = "send"
column = "sent"
time = "epoch-ms"
[[mark]]
name = "first_token"
column = "first"
time = "epoch-ms"
[[measure]]
definition = "mapped.ttft"
column = "ttft"
unit = "s"
"#;

fn mapping(text: &str) -> Mapping {
    Mapping::parse(text, "m.toml").unwrap()
}

fn context(zone: Option<&str>) -> Context {
    Context {
        name: String::new(),
        source: "0123456789ab".to_owned(),
        hop: Hop::Client,
        clock: None,
        zone: zone.and_then(input::zone),
        received_ns: 0,
    }
}

fn load(map: &str, text: &str) -> Read {
    let head = Head::of("", text.as_bytes());
    let Reader::Stream(mut stream) = mapping(map).reader(&head, &context(None), Limits::default()) else {
        panic!("not a stream")
    };
    let mut rows = Rows::default();
    for (number, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.is_empty()) {
        stream.line(Line { text, place: Place::line(number), cut: false }, &mut rows);
    }
    stream.end(&mut rows);
    Read(rows.take("c", "s").unwrap())
}

#[test]
fn rows_keep_their_digits_lines_and_definitions() {
    let read = load(
        REQUESTS,
        "id,prompt,code,sent,first,ttft\na,12.0,200,1796073392454.001,1796073392954,0.499999\n",
    );
    let request = read.rows(T::Request, &["line", "request_id", "input_tokens", "status", "outcome"]);
    assert_eq!(request, ["2|a|12|200|ok"]);
    assert_eq!(
        read.rows(T::Mark, &["name", "t_ns", "clock", "resolution_ns"]),
        [
            "send|1796073392454001000|epoch:0123456789ab|1000000",
            "first_token|1796073392954000000|epoch:0123456789ab|1000000"
        ]
    );
    assert_eq!(
        read.rows(T::Measure, &["definition", "duration_ns", "unit", "resolution_ns"]),
        ["mapped.ttft|499999000|s|1000"]
    );
}

#[test]
fn json_records_of_any_layout_read_as_the_table_does() {
    let row =
        r#"{"id":"a","prompt":12,"code":200,"sent":1796073392454.001,"first":1796073392954,"ttft":0.499999}"#;
    let want =
        load(REQUESTS, "id,prompt,code,sent,first,ttft\na,12,200,1796073392454.001,1796073392954,0.499999\n");
    let printed = row.replace(',', ",\n").replace('{', "{\n");
    for text in [row.to_owned(), format!("[{row}]"), format!("{row}{row}"), printed] {
        let read = load(REQUESTS, &text);
        assert_eq!(read.findings(), Vec::<String>::new(), "{text}");
        let columns = ["name", "t_ns", "resolution_ns"];
        assert_eq!(read.rows(T::Mark, &columns)[..2], want.rows(T::Mark, &columns)[..], "{text}");
    }
    let inner = REQUESTS.replace("\"prompt\"", "\"usage.prompt\"");
    let nested = load(&inner, r#"{"id":"a","usage":{"prompt":7}}"#);
    assert_eq!(nested.rows(T::Request, &["input_tokens"]), ["7"]);
    let twice = load(REQUESTS, r#"{"id":"a","id":"b"}"#);
    assert!(twice.findings()[0].starts_with("1 duplicate-key "), "{:?}", twice.findings());
}

#[test]
fn blanks_are_not_zero_and_what_is_no_number_is_said() {
    let head = "id,prompt,code,sent,first,ttft\n";
    for blank in ["", "-", "None", "NaN", "null"] {
        let read = load(REQUESTS, &format!("{head}a,{blank},200,{blank},{blank},{blank}\n"));
        assert_eq!(read.rows(T::Request, &["input_tokens"]), ["~"], "{blank}");
        assert_eq!((read.findings().len(), read.rows(T::Measure, &["line"]).len()), (0, 0), "{blank}");
    }
    assert_eq!(load(REQUESTS, &format!("{head}a,0,200,,,0\n")).rows(T::Measure, &["duration_ns"]), ["0"]);
    let read = load(REQUESTS, &format!("{head}a,x,200,,,\"0,5\"\n"));
    assert_eq!(
        read.findings(),
        [
            "2 record-shape column \"prompt\" holds no number: left out",
            "2 record-shape column \"ttft\" holds a comma: say decimal = \",\" in the mapping if it is the decimal \
             sign: left out",
        ]
    );
    let comma = REQUESTS.replace("hop", "decimal = \",\"\nhop").replace("\"epoch-ms\"", "\"epoch-s\"");
    let read = load(&comma, &format!("{}a;1.024;200;1796073392,5;;0,5\n", head.replace(',', ";")));
    assert_eq!(read.rows(T::Request, &["input_tokens"]), ["1024"]);
    assert_eq!(read.rows(T::Mark, &["t_ns"]), ["1796073392500000000"]);
    assert_eq!(read.rows(T::Measure, &["duration_ns"]), ["500000000"]);
}

#[test]
fn contradictions_are_left_out_with_their_arithmetic() {
    let head = "id,prompt,code,sent,first,ttft\n";
    let read = load(REQUESTS, &format!("{head}a,1,200,2000,1000,-0.5\nb,1,500,2000,,0\n"));
    assert_eq!(
        read.findings(),
        [
            "2 value-impossible first_token_ns 1000000000 < send_ns 2000000000: first_token left out",
            "2 value-impossible ttft -500000000 ns < 0: left out",
            "3 value-impossible ttft 0 ns of a failed request: left out",
        ]
    );
    assert!(read.rows(T::Measure, &["line"]).is_empty());
}

#[test]
fn quotes_stretch_over_lines_and_ragged_rows_are_refused() {
    let map = "hop = \"client\"\n[request]\nrequest_id = \"id\"\n";
    let read = load(map, "id,note\na,\"two\nlines, one \"\"cell\"\"\"\nb\nc,x\nid,note\nd,\"open\n");
    assert_eq!(read.rows(T::Request, &["line", "request_id"]), ["2|a", "5|c"]);
    assert_eq!(
        read.findings(),
        ["4 record-shape 1 cells under 2 column names", "7 truncated a quoted cell is never closed"]
    );
    assert_eq!(read.counts(), (2, 2));
    let missing = load(map, "ID,note\na,b\n");
    assert_eq!(missing.findings(), ["1 record-shape no column \"id\"; the header has \"ID\", \"note\""]);
}

#[test]
fn dates_need_an_offset_or_a_zone() {
    let map = "hop = \"client\"\n[[event]]\nkind = \"x\"\ncolumn = \"at\"\ntime = \"text\"\n";
    let text = "at,n\n2026-12-01T08:00:00.5+08:00,1\n2026/12/01 08:00:00,2\nsoon,3\n";
    let events = ["t_ns", "clock", "resolution_ns"];
    let read = load(map, text);
    assert_eq!(
        read.rows(T::Event, &events),
        [
            "1796083200500000000|epoch:0123456789ab|100000000",
            "1796112000000000000|local:0123456789ab|1000000000"
        ]
    );
    let found: Vec<String> =
        read.findings().iter().map(|f| f.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(found, ["3 time-unplaced", "4 record-shape"]);
    let zoned = load(&format!("zone = \"Asia/Shanghai\"\n{map}"), text);
    assert_eq!(zoned.rows(T::Event, &events)[1], "1796083200000000000|epoch:0123456789ab|1000000000");
}

#[test]
fn series_carry_their_labels() {
    let map = "hop = \"host\"\n[[series]]\nmetric = \"kv\"\ncolumn = \"used\"\nat = \"t\"\ntime = \"monotonic-s\"\nlabels = [\"pod\", \"gpu\"]\n";
    let read = load(map, "t,pod,gpu,used\n1.5,a,0,0.25\n");
    assert_eq!(
        read.rows(T::Series, &["metric", "labels", "t_ns", "clock", "value"]),
        ["kv|gpu=\"0\",pod=\"a\"|1500000000|monotonic:0123456789ab|0.25"]
    );
}

#[test]
fn problems_are_told_at_their_lines() {
    let told = |text: &str| -> Vec<String> {
        let findings = Mapping::parse(text, "m.toml").unwrap_err();
        findings.iter().map(|f| format!("{}:{} {}", f.place.line, f.code, f.detail)).collect()
    };
    assert!(told("")[1].starts_with("1:config-bad-value no column is mapped"), "{:?}", told(""));
    let bad = told(
        "hop = \"client\"\n[[measure]]\ndefinition = \"ttft\"\ncolumn = \"t\"\nunit = \"min\"\ncolum = 1\n",
    );
    assert_eq!(bad.len(), 4, "{bad:?}");
    assert!(
        bad.iter().any(|f| f.starts_with("3:config-bad-value definition = \"ttft\": want the id")),
        "{bad:?}"
    );
    assert!(bad.iter().any(|f| f.ends_with("did you mean \"column\"?")), "{bad:?}");
    assert!(bad.iter().any(|f| f.starts_with("5:config-bad-value unit = \"min\": want one of")), "{bad:?}");
}

#[test]
fn a_sketch_can_be_read_and_reads_what_its_names_say() {
    let text = "request_id;start_time;TTFT(ms);prompt_tokens;Prompt\na;1796073392.5;499.5;12;hello there\nb;1796073393.5;501;7;secret\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, text).unwrap();
    let sketched = sketch(&path, &Head::of("x.csv", text.as_bytes()), Limits::default()).unwrap();
    assert!(!sketched.contains("secret") && sketched.contains("# \"Prompt\" holds words"), "{sketched}");
    let read = load(&sketched, text);
    assert_eq!(read.findings(), Vec::<String>::new());
    assert_eq!(read.rows(T::Request, &["request_id", "input_tokens"]), ["a|12", "b|7"]);
    assert_eq!(read.rows(T::Mark, &["name", "t_ns"])[0], "send|1796073392500000000");
    assert_eq!(read.rows(T::Measure, &["definition", "duration_ns"])[0], "mapped.ttft|499500000");
}
