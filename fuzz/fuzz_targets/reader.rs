//! One reader, the format that `PROBITY_FORMAT` names, on anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::format::{Format, format};
use readers::input::Head;
use readers::{context, read};
use std::sync::LazyLock;

static FORMAT: LazyLock<&dyn Format> = LazyLock::new(|| {
    let id = std::env::var("PROBITY_FORMAT").expect("PROBITY_FORMAT names a format");
    format(&id).expect("a format of this id")
});

fuzz_target!(|bytes: &[u8]| {
    let _ = FORMAT.recognise(&Head::of("", bytes));
    read(FORMAT.reader(&context(FORMAT.hop())), bytes);
});
