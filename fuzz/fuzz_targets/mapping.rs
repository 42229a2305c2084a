//! A mapping and a table, both anything: the mapping stands before the first NUL byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::format::mapping::Mapping;
use readers::input::{Head, Limits};
use readers::row::Hop;
use readers::{context, read};

const PLAIN: &str = "hop = \"client\"\n[request]\nrequest_id = \"id\"\nstatus = \"code\"\n[[mark]]\nname = \"send\"\n\
                     column = \"at\"\ntime = \"text\"\n[[measure]]\ndefinition = \"mapped.ttft\"\ncolumn = \"ttft\"\nunit = \"s\"\n";

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|b| *b == 0).unwrap_or(0);
    let (map, table) = bytes.split_at(at);
    let given = std::str::from_utf8(map).ok().and_then(|text| Mapping::parse(text, "m.toml").ok());
    let mapping = given.or_else(|| Mapping::parse(PLAIN, "m.toml").ok()).expect("the plain mapping is one");
    let head = Head::of("", table);
    let _ = readers::format::describe(&head);
    read(mapping.reader(&head, &context(Hop::Client), Limits::default()), table);
});
