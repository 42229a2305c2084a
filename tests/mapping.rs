//! Tables that no format knows, loaded with a mapping: identity, evidence, workbooks, and the tables of two cases.

use crate::archive::zip;
use crate::support::{AS_OF, Trial, checkout, corpora};
use std::fmt::Write;
use std::path::PathBuf;

const TABLE: &[u8] = b"rid,ttft_ms\na,499.5\nb,501\n";
const MAP: &[u8] =
    b"hop = \"client\"\n[request]\nrequest_id = \"rid\"\n[[measure]]\ndefinition = \"mapped.ttft\"\n\
                     column = \"ttft_ms\"\nunit = \"ms\"\n";

#[test]
fn another_mapping_reads_anew_and_both_are_kept() {
    let trial = Trial::new();
    let (table, map) = (trial.file("x.csv", TABLE), trial.file("m.toml", MAP));
    let load = || trial.load(std::slice::from_ref(&table), &["--map", map.to_str().unwrap()]).exits(0).json();
    assert_eq!((&load()[0]["format"], &load()[0]["outcome"]), (&"mapped".into(), &"already".into()));
    let median = "SELECT CAST(MAX(duration_ns) AS BIGINT) AS ns FROM measure";
    assert_eq!(trial.sql(median)[0]["ns"], 501_000_000);
    let other = String::from_utf8(MAP.to_vec()).unwrap().replace("\"ms\"", "\"us\"");
    trial.file("m.toml", other.as_bytes());
    assert_eq!(load()[0]["outcome"], "loaded");
    assert_eq!(trial.sql(median)[0]["ns"], 501_000);
    let row = &trial.sql("SELECT map, bytes FROM source")[0];
    let kept = trial.path().join("evidence").join(format!("{}.toml", row["map"].as_str().unwrap()));
    assert_eq!(std::fs::read(kept).unwrap(), other.as_bytes());
    let custody = std::fs::read_to_string(trial.path().join("evidence/custody.jsonl")).unwrap();
    assert_eq!(custody.matches("\"map\":").count(), 2, "{custody}");
}

#[test]
fn a_table_without_a_mapping_is_told_how_to_get_one() {
    let trial = Trial::new();
    let table = trial.file("x.csv", TABLE);
    let refused = trial.load(std::slice::from_ref(&table), &[]).exits(2);
    assert!(
        refused.err.contains("\"rid\", \"ttft_ms\"") && refused.err.contains("--sketch-map"),
        "{}",
        refused.err
    );
    let sketched = trial.run(["load".as_ref(), table.as_os_str(), "--sketch-map".as_ref()]).exits(0);
    insta::assert_snapshot!("sketch", sketched.out);
    let map = trial.file("m.toml", sketched.out.as_bytes());
    let loaded = trial.load(&[table], &["--map", map.to_str().unwrap()]).exits(0).json();
    assert_eq!(loaded[0]["read"], 2);
    let prose = trial.file("letter.txt", b"Dear all,\nit is slow.\n");
    trial.run(["load".as_ref(), prose.as_os_str(), "--sketch-map".as_ref()]).exits(2);
}

#[test]
fn the_plan_names_a_mapping_and_its_problems_are_shown() {
    let trial = Trial::new();
    trial.file("x.csv", TABLE);
    trial.file("m.toml", MAP);
    trial.file(
        "trial.toml",
        b"[[candidate]]\nid = \"a\"\n[[candidate.source]]\npath = \"x.csv\"\nmap = \"m.toml\"\n",
    );
    let ran = trial.run(["run", "--as-of", AS_OF]);
    assert!(ran.code <= 1, "{ran:?}");
    assert_eq!(trial.sql("SELECT format FROM source")[0]["format"], "mapped");
    trial.file("m.toml", b"hop = \"client\"\n[request]\nrequest = \"rid\"\n");
    let ran = trial.run(["run", "--as-of", AS_OF]).exits(2);
    assert!(ran.err.contains("m.toml:3") && ran.err.contains("did you mean \"request_id\""), "{}", ran.err);
}

/// A workbook of one or more sheets, each as the XML of its rows; style 1 is a date.
fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const REL: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let (mut names, mut links, mut files) = (String::new(), String::new(), Vec::new());
    for (at, (name, rows)) in (1..).zip(sheets) {
        write!(names, "<sheet name=\"{name}\" sheetId=\"{at}\" r:id=\"r{at}\"/>").unwrap();
        write!(
            links,
            "<Relationship Id=\"r{at}\" Type=\"{REL}/worksheet\" Target=\"worksheets/s{at}.xml\"/>"
        )
        .unwrap();
        let sheet = format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
        files.push((format!("xl/worksheets/s{at}.xml"), sheet));
    }
    write!(links, "<Relationship Id=\"st\" Type=\"{REL}/styles\" Target=\"styles.xml\"/>").unwrap();
    files.push((
        "[Content_Types].xml".into(),
        "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>".into(),
    ));
    files.push((
        "_rels/.rels".into(),
        format!("<Relationships xmlns=\"{PACKAGE}\"><Relationship Id=\"r\" Type=\"{REL}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"),
    ));
    files.push((
        "xl/workbook.xml".into(),
        format!("<workbook xmlns=\"{MAIN}\" xmlns:r=\"{REL}\"><sheets>{names}</sheets></workbook>"),
    ));
    files.push((
        "xl/_rels/workbook.xml.rels".into(),
        format!("<Relationships xmlns=\"{PACKAGE}\">{links}</Relationships>"),
    ));
    files.push((
        "xl/styles.xml".into(),
        format!("<styleSheet xmlns=\"{MAIN}\"><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"22\"/></cellXfs></styleSheet>"),
    ));
    let members: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    zip(&members)
}

/// Rows of a sheet: names, then a request whose duration is a formula's kept value.
const ROWS: &str = "<row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>rid</t></is></c><c r=\"B2\" t=\"inlineStr\"><is><t>at</t></is></c>\
    <c r=\"D2\" t=\"inlineStr\"><is><t>ttft</t></is></c></row>\
    <row r=\"4\"><c r=\"A4\" t=\"inlineStr\"><is><t>a</t></is></c><c r=\"B4\" s=\"1\"><v>46357.3333333333</v></c>\
    <c r=\"D4\"><f>1/8</f><v>0.125</v></c></row>\
    <row r=\"5\"><c r=\"A5\" t=\"inlineStr\"><is><t>b</t></is></c><c r=\"D5\" t=\"e\"><v>#DIV/0!</v></c></row>";

#[test]
fn workbooks_are_read_by_sheet_with_dates_and_formulas() {
    let trial = Trial::new();
    let map = "hop = \"client\"\nheader = 2\nzone = \"Asia/Shanghai\"\n[request]\nrequest_id = \"rid\"\n[[mark]]\n\
               name = \"send\"\ncolumn = \"at\"\ntime = \"text\"\n[[measure]]\ndefinition = \"mapped.ttft\"\ncolumn = \"ttft\"\nunit = \"s\"\n";
    let one = trial.file("one.xlsx", &workbook(&[("Requests", ROWS)]));
    let mapped = |file: &PathBuf, map: &str| {
        let map = trial.file("m.toml", map.as_bytes());
        trial.load(std::slice::from_ref(file), &["--map", map.to_str().unwrap()])
    };
    mapped(&one, map).exits(0);
    let rows = trial.sql(
        "SELECT r.line, r.request_id, m.t_ns, m.clock LIKE 'epoch:%' AS placed, d.duration_ns FROM request r
         LEFT JOIN mark m USING (row) LEFT JOIN measure d USING (row) ORDER BY r.line",
    );
    let first = [&rows[0]["line"], &rows[0]["t_ns"], &rows[0]["duration_ns"]];
    assert_eq!(
        first,
        [4_i64, 1_796_083_200_000_000_000, 125_000_000].map(serde_json::Value::from).each_ref()
    );
    assert_eq!((&rows[1]["line"], rows[1]["duration_ns"].is_null()), (&5.into(), true));
    let two = trial.file("two.xlsx", &workbook(&[("Notes", ""), ("Requests", ROWS)]));
    let which = mapped(&two, map).exits(2);
    assert!(which.err.contains("\"Notes\", \"Requests\""), "{}", which.err);
    mapped(&two, &format!("sheet = \"Requests\"\n{map}")).exits(0);
    // A cell at the far corner costs nothing.
    let far = ROWS.to_owned() + "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>";
    mapped(&trial.file("far.xlsx", &workbook(&[("Requests", &far)])), map).exits(0);
    let plain = trial.load(&[one], &[]).exits(2);
    assert!(plain.err.contains("a workbook: write a mapping"), "{}", plain.err);
    mapped(&trial.file("old.xls", b"\xd0\xcf\x11\xe0 old"), map).exits(2);
}

#[test]
fn the_tables_of_two_cases_show_what_they_prove() {
    let Some(cases) = corpora("cases") else { return };
    let map = |name: &str| checkout("tests/mapping").join(name).display().to_string();
    let trial = Trial::new();
    let chunks = cases.join("05-gateway-buffers-16k/chunks_derived.jsonl");
    let loaded = trial.load(&[chunks], &["--map", &map("chunks.toml")]).exits(0).json();
    assert_eq!((&loaded[0]["read"], &loaded[0]["refused"]), (&240.into(), &0.into()));
    let bursts = trial.sql(
        "SELECT instance, CAST(COUNT(DISTINCT t_ns) FILTER (kind = 'chunk-sent') AS BIGINT) AS sent,
           CAST(COUNT(DISTINCT t_ns) FILTER (kind = 'chunk-received') AS BIGINT) AS received
         FROM event GROUP BY instance ORDER BY instance",
    );
    let counts: Vec<_> = bursts.iter().map(|b| (b["sent"].as_i64(), b["received"].as_i64())).collect();
    assert_eq!(
        counts,
        [(Some(60), Some(60)), (Some(60), Some(1))],
        "direct streams, the gateway delivers once"
    );

    let trial = Trial::new();
    let spans = cases.join("29-negative-latency-clock-skew/spans_derived.jsonl");
    trial.load(&[spans], &["--map", &map("spans.toml")]).exits(0);
    let events = trial.sql("SELECT kind, t_ns, clock FROM event ORDER BY line, kind");
    let told: Vec<_> =
        events.iter().map(|e| (e["kind"].as_str().unwrap(), e["clock"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("span-start", "epoch:database"),
            ("span-end", "epoch:process"),
            ("span-exported-end", "epoch:exporter"),
            ("span-exported-start", "epoch:exporter"),
        ]
    );
    let skew = events[0]["t_ns"].as_i64().unwrap() - events[1]["t_ns"].as_i64().unwrap();
    assert_eq!(skew, 237_500_000_000, "240 s less the 2.5 s of the request");
}
