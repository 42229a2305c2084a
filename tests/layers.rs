//! The plan of the house, held to: data walks one way, printing has one place, files stay small.

use crate::support::checkout;
use std::path::PathBuf;

/// Every source file of the library as (path within `src/`, text).
fn sources() -> Vec<(PathBuf, String)> {
    let root = checkout("src");
    let files = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().map(|e| e.unwrap().into_path());
    files
        .filter(|path| path.extension() == Some("rs".as_ref()))
        .map(|path| {
            (path.strip_prefix(&root).unwrap().to_path_buf(), std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The code of a file: no comments, and nothing from its unit tests on.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn arrows_never_point_back() {
    let lib = std::fs::read_to_string(checkout("src/lib.rs")).unwrap();
    let rooms: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert!(rooms.len() > 5, "the walk is {rooms:?}");
    let crossing = regex::Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let mut crossings = 0;
    for (path, text) in sources() {
        let room = path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        let Some(here) = rooms.iter().position(|r| *r == room) else { continue };
        if path.ends_with("tests.rs") || path.ends_with("testing.rs") {
            continue;
        }
        for (number, line) in code(&text) {
            for found in crossing.captures_iter(line) {
                let there = rooms.iter().position(|r| *r == &found[1]);
                assert!(there.is_some_and(|there| there <= here), "{}:{number}: {line}", path.display());
                crossings += 1;
            }
        }
    }
    assert!(crossings > 50, "{crossings} uses seen");
}

#[test]
fn only_the_output_prints() {
    let print = regex::Regex::new(r"\b(e?print(ln)?|dbg)!").unwrap();
    for (path, text) in sources() {
        for (number, line) in code(&text) {
            let here = path.ends_with("cli/output.rs");
            assert!(here || !print.is_match(line), "{}:{number}: {line}", path.display());
        }
    }
}

#[test]
fn files_have_one_subject() {
    let tests = walkdir::WalkDir::new(checkout("tests")).into_iter().map(|e| e.unwrap().into_path());
    let tests = tests
        .filter(|path| path.extension() == Some("rs".as_ref()))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    for (path, text) in sources().into_iter().chain(tests) {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}
