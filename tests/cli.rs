//! What is typed and what comes back: help, words, shapes, exit codes, pipes and the fence around SQL.

use crate::support::{AS_OF, Ran, Trial, checkout, digest, probity, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::LazyLock;

/// The demo, run once.
static DEMO: LazyLock<Trial> = LazyLock::new(|| {
    let trial = Trial::new();
    trial.run(["demo", ".", "--as-of", AS_OF]).exits(0);
    trial
});

/// Output without the temporary folder's name.
fn told(ran: &Ran) -> String {
    ran.out.replace(&DEMO.path().display().to_string(), "[trial]")
}

#[test]
fn help_of_every_command() {
    let help = |arguments: &[&str]| run(&mut probity(arguments)).exits(0).out;
    let all = help(&["--help"]);
    let commands = all.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.contains(&"diagnose") && names.contains(&"report"), "{names:?}");
    insta::assert_snapshot!("help", all);
    for name in names {
        insta::assert_snapshot!(format!("help_{name}"), help(&[name, "--help"]));
    }
}

#[test]
fn words_in_both_languages() {
    // A key that stands for a missing word would be shown as itself.
    let key = regex::Regex::new(r"\b(ui|stage|verdict|code|hop|known|severity|dimension)\.[a-z]").unwrap();
    for lang in ["en", "zh"] {
        let say = |arguments: &[&str]| run(probity(arguments).args(["--lang", lang])).exits(0).out;
        insta::assert_snapshot!(format!("formats_{lang}"), say(&["formats"]));
        insta::assert_snapshot!(format!("explain_{lang}"), say(&["explain", "record-not-json"]));
        let diagnosis = DEMO.run(["diagnose", "--lang", lang]).exits(1);
        insta::assert_snapshot!(format!("diagnose_{lang}"), told(&diagnosis));
        let one = DEMO.run(["timeline", "s1-bat-0085", "--lang", lang]).exits(0);
        insta::assert_snapshot!(format!("timeline_{lang}"), told(&one));
        for text in [&diagnosis.out, &one.out, &say(&["explain"])] {
            assert!(!key.is_match(text), "a word is missing in {lang}:\n{text}");
        }
    }
}

/// The paths in a JSON value with the types met there, one a line; elements of a list share their path.
fn shape(value: &Value) -> String {
    fn visit(value: &Value, path: &str, seen: &mut BTreeMap<String, BTreeSet<&str>>) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "flag",
            Value::Number(n) if n.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(items) => {
                for item in items {
                    visit(item, &format!("{path}[]"), seen);
                }
                "list"
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    visit(field, &format!("{path}.{key}"), seen);
                }
                "object"
            }
        };
        seen.entry(path.to_owned()).or_default().insert(kind);
    }
    let mut seen = BTreeMap::new();
    visit(value, "", &mut seen);
    let lines = seen.iter().map(|(path, kinds)| {
        let kinds: Vec<_> = kinds.iter().copied().collect();
        format!("{path}: {}\n", kinds.join(" | "))
    });
    lines.collect()
}

#[test]
fn shapes_of_json() {
    insta::assert_snapshot!("shape_diagnose", shape(&DEMO.run(["diagnose", "--json"]).exits(1).json()));
    insta::assert_snapshot!(
        "shape_timeline",
        shape(&DEMO.run(["timeline", "--json", "s1-bat-0085"]).exits(0).json())
    );
    insta::assert_snapshot!("shape_sources", shape(&DEMO.run(["sources", "--json"]).exits(0).json()));
    let formats = run(&mut probity(["formats", "--json"])).exits(0);
    insta::assert_snapshot!("shape_formats", shape(&formats.json()));
    let trial = Trial::new();
    let loaded = trial.load(&[checkout("samples/nginx_error")], &[]).exits(0);
    insta::assert_snapshot!("shape_load", shape(&loaded.json()));
}

#[test]
fn what_a_file_is_or_why_it_is_nothing() {
    let trial = Trial::new();
    let client = std::fs::read(checkout("samples/client_timeline/retries.jsonl")).unwrap();
    let archive =
        crate::archive::zip(&[("a/client.jsonl", &client), ("b.txt", b"Dear all,\nit is slow today.\n")]);
    let zip = trial.file("x.zip", &archive);
    let table = trial.file("x.csv", b"rid;ttft\na;1\n");
    let ran = trial.run(["formats".as_ref(), "--of".as_ref(), zip.as_os_str(), table.as_os_str()]).exits(2);
    insta::assert_snapshot!("formats_of", ran.out.replace(&trial.path().display().to_string(), "[trial]"));
    let json =
        trial.run(["formats".as_ref(), "--json".as_ref(), "--of".as_ref(), zip.as_os_str()]).exits(2).json();
    insta::assert_snapshot!("shape_formats_of", shape(&json));
    let one = run(probity(["formats", "--of"]).arg(checkout("samples/nginx_error/error.log"))).exits(0);
    assert!(one.out.contains(": nginx_error ") && one.out.contains("local time"), "{}", one.out);
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let (trial, demo) = (Trial::new(), &*DEMO);
    let cases: [(&Trial, i32, &[&str]); 17] = [
        (&trial, 0, &["formats"]),
        (&trial, 0, &["explain"]),
        (demo, 0, &["diagnose", "--slow", "1h"]),
        (demo, 0, &["timeline", "s1-bat-0085"]),
        (demo, 1, &["diagnose"]),
        (demo, 1, &["diagnose", "--slow", "p90", "--by", "caller,input"]),
        (&trial, 2, &["diagnose"]),
        (&trial, 2, &["run"]),
        (&trial, 2, &["explain", "record-not-jsn"]),
        (&trial, 2, &["load", "no-such-file", "--candidate", "c"]),
        (&trial, 2, &["load", "no-such-file", "--candidate", "../c"]),
        (&trial, 2, &["no-such-command"]),
        (demo, 2, &["diagnose", "--slow", "fast"]),
        (demo, 2, &["diagnose", "--candidate", "nobody"]),
        (demo, 2, &["diagnose", "--by", "mood"]),
        (demo, 2, &["timeline", "no-such-id"]),
        (demo, 2, &["sql", "SELECT no_such_column FROM exchange"]),
    ];
    for (place, code, arguments) in cases {
        let ran = place.run(arguments).exits(code);
        // Whoever is told no is told what to do.
        assert!(
            code != 2 || ran.err.contains("→") || ran.err.contains("--help"),
            "{arguments:?}: {}",
            ran.err
        );
        assert_eq!(
            code == 2,
            ran.out.is_empty(),
            "{arguments:?} prints its result, and only that, on stdout"
        );
    }
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        run(trial.command(["explain"]).stdout(full)).exits(3);
    }
}

#[test]
fn a_new_trial_is_not_written_over() {
    let trial = Trial::new();
    let folder = trial.path().join("new");
    let init = || trial.run(["init".as_ref(), folder.as_os_str()]);
    init().exits(0);
    let plan = std::fs::read(folder.join("trial.toml")).unwrap();
    assert!(init().exits(2).err.contains("is there already"));
    assert_eq!(std::fs::read(folder.join("trial.toml")).unwrap(), plan);
    let empty = run(probity(["run"]).current_dir(&folder)).exits(2);
    assert!(empty.err.contains("names no sources"), "the template is a valid plan: {}", empty.err);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = DEMO.command(["sql", "--json", "SELECT * FROM mark"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn sql_asks_and_neither_reads_elsewhere_nor_writes() {
    let trial = Trial::new();
    trial.run(["demo", ".", "--as-of", AS_OF]).exits(0);
    trial.sql("SELECT 1 AS one");
    let before = digest(trial.path());
    let inside = trial.path().display();
    let fenced = [
        "SELECT * FROM read_csv('/etc/passwd')".to_owned(),
        "SELECT * FROM read_text('/etc/passwd')".to_owned(),
        "SELECT * FROM '/etc/passwd'".to_owned(),
        format!("SELECT * FROM read_text('{inside}/trial.toml')"),
        format!("SELECT * FROM read_text('{inside}/tables/../trial.toml')"),
        "SELECT * FROM glob('/*')".to_owned(),
        format!("COPY (SELECT 1) TO '{inside}/out.csv'"),
        format!("COPY (SELECT 1) TO '{inside}/tables/out.parquet'"),
        format!("SELECT 1; COPY (SELECT 1) TO '{inside}/tables/out.parquet'; SELECT 1"),
        format!("ATTACH '{inside}/tables/out.db'"),
        format!("EXPORT DATABASE '{inside}/tables/out'"),
        "INSTALL httpfs".to_owned(),
        "LOAD httpfs".to_owned(),
        "SET enable_external_access = true".to_owned(),
        "RESET lock_configuration".to_owned(),
        "PRAGMA enable_external_access".to_owned(),
        "DROP VIEW request".to_owned(),
        "DELETE FROM request".to_owned(),
        "CREATE OR REPLACE VIEW request AS SELECT 1".to_owned(),
        "CALL pragma_version()".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
        "SELEC 1".to_owned(),
        String::new(),
    ];
    for query in fenced {
        let ran = trial.run(["sql", query.as_str()]).exits(2);
        assert!(ran.out.is_empty() && ran.err.contains("the query was refused"), "{query}: {}", ran.err);
        assert_eq!(digest(trial.path()), before, "{query}");
    }
    for query in
        ["DESCRIBE exchange", "FROM exchange LIMIT 1", "WITH a AS (SELECT 1) SELECT * FROM a;", "SHOW TABLES"]
    {
        assert!(!trial.run(["sql", query]).exits(0).out.is_empty(), "{query}");
    }
}
