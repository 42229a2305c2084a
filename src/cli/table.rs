//! Text tables whose columns line up, Chinese included.

use unicode_width::UnicodeWidthStr;

/// Rows of cells; the first row is the heading. Numbers are set right by a leading `>` in the heading.
pub fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let right: Vec<bool> = (0..columns)
        .map(|c| rows.first().and_then(|r| r.get(c)).is_some_and(|h| h.starts_with('>')))
        .collect();
    let clean = |text: &str, heading: bool| {
        if heading { text.trim_start_matches('>').to_owned() } else { text.to_owned() }
    };
    let widths: Vec<usize> = (0..columns)
        .map(|c| {
            let cells =
                rows.iter().enumerate().filter_map(|(at, r)| r.get(c).map(|t| clean(t, at == 0).width()));
            cells.max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .enumerate()
        .map(|(at, row)| {
            let cells = row.iter().enumerate().map(|(c, text)| {
                let text = clean(text, at == 0);
                let gap = " ".repeat(widths[c].saturating_sub(text.width()));
                if right[c] { gap + &text } else { text + &gap }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn wide_characters_count_double() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(lines(&[row("阶段", ">n"), row("x", "10")]), ["阶段   n", "x     10"]);
    }
}
