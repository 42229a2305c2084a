//! Tests of the plan's reader.

use super::*;
use proptest::prelude::*;

/// The findings of a plan as `line code detail`.
fn findings(text: &str) -> Vec<String> {
    let found = Trial::parse(text, FILE, Path::new(".")).err().unwrap_or_default();
    found.iter().map(|f| format!("{} {} {}", f.place.line, f.code, f.detail)).collect()
}

fn trial(text: &str) -> Trial {
    Trial::parse(text, FILE, Path::new("t")).unwrap_or_else(|found| panic!("{found:?}"))
}

#[test]
fn an_empty_plan_has_the_defaults_and_the_template_states_them() {
    let defaults = trial("");
    assert_eq!(defaults.slow, Slow::Over(2_000_000_000));
    assert_eq!((defaults.cold_first, defaults.window), (1, 60_000_000_000));
    assert_eq!(defaults.input_buckets, [128, 512, 2048, 8192]);
    assert_eq!(defaults.output_buckets, [64, 256, 1024]);
    assert_eq!(defaults.groups, Dimension::ALL);
    assert_eq!(defaults.candidates, []);
    assert_eq!(trial(TEMPLATE), defaults);
}

/// The template with its examples switched on.
fn examples() -> String {
    let on = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => rest.to_owned(),
        _ => line.to_owned(),
    };
    TEMPLATE.lines().map(on).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_has_every_key_and_its_examples_work() {
    let source = &trial(&examples()).candidates[0].sources[0];
    assert_eq!(source.path, Path::new("raw/vendor-a/access.log"));
    assert_eq!((source.hop, source.zone.as_deref()), (Some(Hop::Gateway), Some("Asia/Shanghai")));

    // A key that is close to none makes the reader name all it knows.
    let probe = "q0q0q0 = 1\n[trial]\nq0q0q0 = 1\n[[candidate]]\nid = \"a\"\nq0q0q0 = 1\n\
                 [[candidate.source]]\npath = \"a\"\nq0q0q0 = 1\n";
    let known = findings(probe);
    assert_eq!(known.len(), 4);
    let mut keys = 0;
    for key in
        known.iter().filter_map(|line| line.split_once("known here: ")).flat_map(|(_, k)| k.split(", "))
    {
        let key = key.trim_matches('"');
        let stands = |line: &str| line.split([' ', '[', ']', '.']).any(|word| word == key);
        assert!(examples().lines().filter(|l| !l.starts_with('#')).any(stands), "the template lacks {key}");
        keys += 1;
    }
    assert_eq!(keys, 2 + 7 + 3 + 6);
}

#[test]
fn a_full_plan_is_read() {
    let text = "\u{feff}[trial]\r\nname = \"试用\"\r\nslow = \"p95\"\r\ncold_first = 0\r\nwindow = \"5m\"\r\n\
                groups = [\"caller\"]\r\ninput_buckets = []\r\n\r\n[[candidate]]\r\nid = \"vllm\"\r\ntitle = \"vLLM\"\r\n\
                [[candidate.source]]\r\npath = \"/raw/a.jsonl\"\r\nhop = \"client\"\r\nclock = \"host\"\r\n\
                zone = \"+08:00\"\r\nformat = \"timeline\"\r\n[[candidate.source]]\r\npath = \"b\"\r\n\
                [[candidate]]\r\nid = \"llamacpp\"\r\n";
    let trial = trial(text);
    assert_eq!((trial.name.as_str(), trial.slow), ("试用", Slow::Percentile(0.95)));
    assert_eq!((trial.cold_first, trial.window), (0, 300_000_000_000));
    assert_eq!(
        (trial.groups.as_slice(), trial.input_buckets.as_slice()),
        (&[Dimension::Caller][..], &[][..])
    );
    let first = SourceSpec {
        path: PathBuf::from("/raw/a.jsonl"),
        format: Some("timeline".to_owned()),
        map: None,
        hop: Some(Hop::Client),
        clock: Some("host".to_owned()),
        zone: Some("+08:00".to_owned()),
    };
    let second =
        SourceSpec { path: PathBuf::from("b"), format: None, map: None, hop: None, clock: None, zone: None };
    assert_eq!(trial.find_candidate("vllm").map(|c| c.sources.clone()), Some(vec![first, second]));
    assert_eq!(trial.find_candidate("llamacpp").map(|c| c.title.as_str()), Some("llamacpp"));
    assert_eq!(trial.find_candidate("sglang"), None);
}

#[test]
fn all_problems_are_reported_at_their_lines() {
    let text = "[trial]\nslwo = \"2s\"\nslow = 2\nwindow = \"0s\"\ncold_first = -1\n\
                groups = [\"model\",\n  \"tenant\",\n  \"model\"]\ninput_buckets = [128, 128]\noutput_buckets = 64\n\
                [[candidate]]\ntitle = \"no id\"\n[[candidate]]\nid = \"A/B\"\n[[candidate]]\nid = \"a\"\n\
                [[candidate.source]]\nhop = \"proxy\"\nzone = \"CST\"\nformat = \"Nginx\"\n[[candidate]]\nid = \"a\"\n\
                [report]\n";
    let found = findings(text);
    let begins = [
        "2 config-unknown-key unknown key \"slwo\" in [trial]; did you mean \"slow\"?",
        "3 config-bad-value slow = 2: want a duration",
        "4 config-bad-value window = \"0s\": want a duration",
        "5 config-bad-value cold_first = -1: want a whole number",
        "7 config-bad-value groups holds \"tenant\": want each once, of \"model\", \"caller\"",
        "8 config-bad-value groups holds \"model\": want each once",
        "9 config-bad-value input_buckets holds 128: want whole numbers",
        "10 config-bad-value output_buckets = 64: want a list [ ]",
        "11 config-bad-value [[candidate]] has no \"id\": want an id",
        "14 config-bad-value id = \"A/B\": want an id",
        "17 config-bad-value [[candidate.source]] has no \"path\": want the path",
        "18 config-bad-value hop = \"proxy\": want one of \"client\", \"gateway\"",
        "19 config-bad-value zone = \"CST\": want \"UTC\"",
        "20 config-bad-value format = \"Nginx\": want an id",
        "22 config-bad-value id = \"a\": want an id that no other",
        "23 config-unknown-key unknown key \"report\" at the top; known here: \"trial\", \"candidate\"",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (line, begin) in found.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\n{begin}");
    }
}

#[test]
fn brackets_are_explained_when_they_are_wrong() {
    assert_eq!(
        findings("[candidate]\nid = \"a\"\n[[trial]]\n"),
        [
            "1 config-bad-value candidate = {…}: want [[candidate]], with double brackets, once for each",
            "3 config-bad-value trial = […]: want one table [trial], with single brackets",
        ]
    );
    let single = findings("[[candidate]]\nid = \"a\"\nsource = [\"raw\"]\n");
    assert_eq!(single.len(), 1);
    assert!(
        single[0].starts_with("3 config-bad-value source holds \"raw\": want [[candidate.source]]"),
        "{single:?}"
    );
}

#[test]
fn what_is_not_toml_is_said_at_its_line() {
    for (text, line) in
        [("[trial]\nslow = 2s\n", 2), ("[trial]\n\nname = \"a\n", 3), ("a = 1\na = 2\n", 2), ("x", 1)]
    {
        let found = findings(text);
        assert!(!found.is_empty(), "{text:?}");
        assert!(found.iter().all(|f| f.starts_with(&format!("{line} config-syntax "))), "{found:?}");
    }
    let two = findings("[trial]\nslow = 2s\nname = x y\n");
    assert!(two.len() == 2 && two[0].starts_with("2 ") && two[1].starts_with("3 "), "{two:?}");
}

#[test]
fn files_that_are_not_a_plan_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = Trial::load(folder.path()).unwrap_err();
    assert_eq!(error.kind.exit_code(), 2);
    assert!(error.what.starts_with("there is no trial.toml in "));
    assert!(error.hint.is_some_and(|hint| hint.starts_with("run `probity init ")));

    let write = |bytes: &[u8]| std::fs::write(folder.path().join(FILE), bytes).unwrap();
    write(b"[trial]\nname = \"\xff\"\n");
    assert!(Trial::load(folder.path()).unwrap_err().what.ends_with("is not UTF-8 text: see line 2"));
    write(&vec![b'#'; (256 << 10) + 1]);
    assert!(Trial::load(folder.path()).unwrap_err().what.ends_with("is larger than 256 KiB"));
    write(b"[trail]\n");
    let found = Trial::load(folder.path()).unwrap().unwrap_err();
    assert!(found[0].location().ends_with("trial.toml:1"));
    assert!(found[0].detail.ends_with("did you mean \"trial\"?"));
    write(TEMPLATE.as_bytes());
    assert_eq!(Trial::load(folder.path()).unwrap().map(|trial| trial.root), Ok(folder.path().to_owned()));
}

#[test]
fn deep_and_wide_plans_end_quickly() {
    let deep =
        ["[".repeat(50_000), format!("{}a = 1", "a.".repeat(50_000)), format!("x = {}", "[".repeat(50_000))];
    assert!(deep.iter().all(|text| !findings(text).is_empty()));
    let wide = (0..20_000).map(|n| format!("k{n} = 1\n")).collect::<Vec<_>>().concat();
    let found = findings(&wide);
    assert_eq!(found.len(), 100);
    assert!(found[99].ends_with(" (and 19900 more problems)"), "{}", found[99]);
}

proptest! {
    #[test]
    fn a_damaged_plan_never_panics(cut in 0_usize..6000, at in 0_usize..6000, byte in any::<u8>()) {
        let mut bytes = examples().into_bytes();
        bytes.truncate(cut);
        if let Some(damaged) = bytes.get_mut(at) {
            *damaged = byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines = i64::try_from(text.split('\n').count()).unwrap_or(i64::MAX);
        for finding in Trial::parse(&text, FILE, Path::new(".")).err().unwrap_or_default() {
            prop_assert!((1..=lines).contains(&finding.place.line), "{finding:?}");
        }
    }
}
