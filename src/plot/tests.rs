use super::ecdf::{Ecdf, Series};
use super::shares::{Shares, Stage};
use super::svg::text_width;
use super::waterfall::{Request, Segment, Waterfall};
use super::*;

const EN: Words = Words { title: "Time to first token", x: "time", no_data: "no data" };
const ZH: Words =
    Words { title: "首字时间 <script>alert(1)</script>", x: "时间 & 份额", no_data: "没有数据" };

const STAGES: [(&str, &str); 8] = [
    ("ingress", "入口"),
    ("queue", "排队"),
    ("schedule", "调度"),
    ("ready", "就绪"),
    ("model_load", "模型加载"),
    ("prefill", "Prefill"),
    ("transport", "传输"),
    ("unattributed", "未归因 <script>"),
];

fn segment(stage: &str, ms: i64, bounds: Option<(i64, i64)>) -> Segment<'_> {
    let bounds = bounds.map(|(low, high)| (low * 1_000_000, high * 1_000_000));
    Segment { stage, ns: ms * 1_000_000, bounds }
}

fn waterfall(words: Words) -> String {
    let slow = [
        segment("ingress", 30, Some((0, 60))),
        segment("queue", 1900, None),
        segment("schedule", 12, None),
        segment("ready", 3, None),
        segment("prefill", 260, None),
        segment("transport", 30, Some((10, 90))),
        segment("unattributed", 110, None),
    ];
    let quick =
        [segment("model_load", 40, None), segment("prefill", 200, None), segment("nonsense", 5, None)];
    let requests = [
        Request { label: "chatcmpl-91d30e89a2e9dc66-and-much-more", start_ns: 0, segments: &slow },
        Request { label: "平台甲 <b>", start_ns: 500_000_000, segments: &quick },
        Request { label: "nothing", start_ns: 0, segments: &[] },
    ];
    let bounds_note = "lowest to highest, where only bounded";
    waterfall::draw(&Waterfall { words, stages: &STAGES, bounds_note, requests: &requests })
}

fn ecdf(words: Words) -> String {
    let a: Vec<i64> = (1..2000).map(|i| 100_000_000 + i * i * 700).collect();
    let b: Vec<i64> = (1..90).map(|i| 150_000_000 + i * 1_000_000).rev().collect();
    let series = [
        Series {
            label: "candidate-with-a-very-long-name-that-must-be-cut-somewhere-or-it-overlaps",
            values_ns: &a,
        },
        Series { label: "平台乙", values_ns: &b },
        Series { label: "empty", values_ns: &[] },
    ];
    let (log_note, band_note) = ("log scale", "95 % band (DKW)");
    let threshold = Some((1_500_000_000, "slow from <here>"));
    ecdf::draw(&Ecdf { words, series: &series, log_note, band_note, threshold })
}

fn shares(words: Words) -> String {
    let stage = |(key, label), all, excess: Option<f64>| Stage {
        key,
        label,
        all,
        tail: all.map(|a| a * 0.9),
        excess,
        interval: excess.map(|e| (e - 0.04, e + 0.03)),
    };
    let stages = [
        stage(STAGES[0], Some(0.02), Some(0.01)),
        stage(STAGES[1], Some(0.31), Some(0.951)),
        stage(STAGES[5], Some(0.6), Some(-0.081)),
        stage(STAGES[7], None, None),
    ];
    let bars = ["share of all time", "share of slow-tail time", "share of the excess, 95 % interval"];
    shares::draw(&Shares { words, bars, stages: &stages })
}

fn figures() -> Vec<String> {
    [EN, ZH].into_iter().flat_map(|words| [waterfall(words), ecdf(words), shares(words)]).collect()
}

fn empty() -> Vec<String> {
    let words = ZH;
    vec![
        waterfall::draw(&Waterfall { words, stages: &STAGES, bounds_note: "", requests: &[] }),
        ecdf::draw(&Ecdf { words, series: &[], log_note: "", band_note: "", threshold: Some((5, "x")) }),
        shares::draw(&Shares { words, bars: ["", "", ""], stages: &[] }),
    ]
}

/// Tags of a figure, each with the text up to the next; panics unless they nest.
fn tags(svg: &str) -> Vec<(String, String)> {
    let mut open = Vec::new();
    let mut all = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap().to_owned();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        all.push((tag.to_owned(), text.to_owned()));
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(v, _)| v)
}

#[test]
fn figures_are_well_formed_titled_and_without_ids() {
    for svg in figures().iter().chain(&empty()) {
        let tags = tags(svg);
        assert_eq!(attribute(&tags[0].0, "role"), "img");
        assert!(attribute(&tags[0].0, "viewBox").starts_with("0 0 720 "));
        assert_eq!(tags[1].0, "title");
        assert!(tags.iter().all(|(tag, _)| attribute(tag, "id").is_empty() && !tag.contains("url(")));
        assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains("<here"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
    assert!(waterfall(ZH).contains("首字时间 &lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn numbers_have_at_most_two_decimals() {
    for svg in figures() {
        for (tag, _) in tags(&svg) {
            for number in tag.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|n| n.contains('.')) {
                let decimals = number.split('.').nth(1).unwrap_or("").len();
                assert!(decimals <= 2, "{number} in {tag}");
            }
        }
    }
}

#[test]
fn no_data_is_said() {
    for svg in empty() {
        assert!(svg.contains("没有数据 (n = 0)"), "{svg}");
    }
}

#[test]
fn the_same_data_gives_the_same_bytes() {
    assert_eq!(figures(), figures());
}

#[test]
fn curves_are_thinned_and_the_axis_says_that_it_is_logarithmic() {
    let values: Vec<i64> = (1..=100_000).map(|i| i * 1000).collect();
    let series = [Series { label: "a", values_ns: &values }];
    let svg = ecdf::draw(&Ecdf {
        words: EN,
        series: &series,
        log_note: "log scale",
        band_note: "",
        threshold: None,
    });
    assert!(svg.len() < 30_000, "{}", svg.len());
    assert!(svg.contains("(n = 100000)") && svg.contains("time (log scale)"));
}

#[test]
fn odd_data_is_drawn_without_panic() {
    for values in [&[0][..], &[-5, 3], &[i64::MAX, i64::MIN], &[7, 7, 7]] {
        let series = [Series { label: "", values_ns: values }];
        let svg =
            ecdf::draw(&Ecdf { words: EN, series: &series, log_note: "", band_note: "", threshold: None });
        tags(&svg);
    }
    let parts = [
        segment("queue", -3, None),
        Segment { stage: "prefill", ns: i64::MAX, bounds: Some((-1, i64::MAX)) },
    ];
    let requests = [Request { label: "", start_ns: i64::MAX, segments: &parts }];
    tags(&waterfall::draw(&Waterfall { words: EN, stages: &[], bounds_note: "", requests: &requests }));
    let nan = Stage {
        key: "",
        label: "",
        all: Some(f64::NAN),
        tail: Some(f64::INFINITY),
        excess: Some(-7.5),
        interval: Some((f64::NAN, 9.0)),
    };
    let svg = shares::draw(&Shares { words: EN, bars: ["", "", ""], stages: &[nan] });
    tags(&svg);
    assert!(svg.contains("−750.0 %"));
}

#[test]
fn labels_are_inside_the_figure_and_do_not_overlap() {
    for svg in figures().iter().chain(&empty()) {
        let tags = tags(svg);
        let height: f64 = attribute(&tags[0].0, "viewBox").rsplit(' ').next().unwrap().parse().unwrap();
        let boxes: Vec<(f64, f64, f64, f64, &str)> = tags
            .iter()
            .filter(|(tag, _)| tag.starts_with("text "))
            .map(|(tag, text)| {
                let number = |name| attribute(tag, name).parse::<f64>().unwrap();
                let size = number("font-size");
                let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
                let wide = text_width(&plain, size);
                let left = match attribute(tag, "text-anchor") {
                    "start" => number("x"),
                    "middle" => number("x") - wide / 2.0,
                    _ => number("x") - wide,
                };
                let base = number("y");
                (left, left + wide, base - size * 0.8, base + size * 0.2, text.as_str())
            })
            .collect();
        for (at, a) in boxes.iter().enumerate() {
            assert!(a.0 >= -0.1 && a.1 <= 720.1 && a.2 >= 0.0 && a.3 <= height, "{a:?} is outside");
            for b in &boxes[..at] {
                let apart = a.1 <= b.0 + 0.1 || b.1 <= a.0 + 0.1 || a.3 <= b.2 + 0.1 || b.3 <= a.2 + 0.1;
                assert!(apart, "{a:?} over {b:?}");
            }
        }
    }
}
