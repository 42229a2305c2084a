//! Mapped workbooks (.xlsx): cells as text, row by row, so that an empty cell far away costs nothing.

use super::Mapping;
use super::cells::{Cells, Row};
use super::delimited::missing;
use crate::finding::{Code, Place};
use crate::format::Context;
use crate::input::Limits;
use crate::row::Rows;
use calamine::{DataRef, ExcelDateTime, Reader, Xlsx};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// The cells of one row by column number.
pub type SheetRow = BTreeMap<u32, String>;

/// Reads a workbook into rows or findings.
pub fn read(bytes: &[u8], mapping: &Mapping, cx: &Context, limits: Limits, rows: &mut Rows) {
    let mut header: Option<BTreeMap<String, u32>> = None;
    let unplaced = Cell::new(false);
    let result = each_row(bytes, mapping.sheet.as_deref(), limits, &mut |number, cells| {
        let place = Place::line(number);
        match &header {
            _ if number < mapping.header => {}
            None => {
                if let Some(detail) = missing(mapping, cells.values().map(String::as_str)) {
                    rows.finding(Code::RecordShape, place, &detail);
                }
                header = Some(cells.into_iter().map(|(at, name)| (name.trim().to_owned(), at)).collect());
            }
            Some(header) => {
                Row { mapping, cx, place, cells: &Sheet { header, cells: &cells }, unplaced: &unplaced }
                    .add(rows);
            }
        }
        true
    });
    if let Err((code, place, detail)) = result {
        rows.refuse(code, place, &detail);
    }
}

struct Sheet<'a> {
    header: &'a BTreeMap<String, u32>,
    cells: &'a SheetRow,
}

impl Cells for Sheet<'_> {
    fn get(&self, column: &str) -> Option<Cow<'_, str>> {
        self.cells.get(self.header.get(column)?).map(|text| Cow::Borrowed(text.as_str()))
    }
}

/// Hands the rows of a sheet (the only one, where none is named) to `visit` with their numbers, until it says no.
///
/// # Errors
/// The finding that says why the workbook or the rest of it cannot be read.
pub fn each_row(
    bytes: &[u8],
    sheet: Option<&str>,
    limits: Limits,
    visit: &mut dyn FnMut(i64, SheetRow) -> bool,
) -> Result<(), (Code, Place, String)> {
    let bad = |what: String| (Code::RecordShape, Place::FILE, what);
    check_size(bytes, limits)?;
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes))
        .map_err(|e| bad(format!("not an .xlsx workbook ({e}): save it as .xlsx or CSV")))?;
    let names = book.sheet_names();
    let quoted = crate::settings::value::quoted(names.iter().map(String::as_str));
    let name = match (sheet, names.as_slice()) {
        (Some(name), _) if names.iter().any(|n| n == name) => name.to_owned(),
        (None, [only]) => only.clone(),
        (Some(name), _) => return Err(bad(format!("no sheet {name:?}; there are {quoted}"))),
        (None, _) => {
            return Err(bad(format!("several sheets: say which with sheet = …; there are {quoted}")));
        }
    };
    let mut reader = book.worksheet_cells_reader(&name).map_err(|e| bad(format!("sheet {name:?}: {e}")))?;
    let (mut row, mut cells) = (0, SheetRow::new());
    loop {
        let cell =
            reader.next_cell().map_err(|e| (Code::RecordShape, Place::line(row + 1), e.to_string()))?;
        let next = cell.as_ref().map(|cell| i64::from(cell.get_position().0));
        if next != Some(row) {
            if !cells.is_empty() && !visit(row + 1, std::mem::take(&mut cells)) {
                return Ok(());
            }
            let Some(next) = next else { return Ok(()) };
            if next < row {
                return Err((Code::RecordShape, Place::line(row + 1), "rows are not in order".to_owned()));
            }
            row = next;
        }
        if let Some(cell) = cell
            && let Some(text) = text(cell.get_value())
        {
            cells.insert(cell.get_position().1, text);
        }
    }
}

/// The names of a workbook's sheets.
///
/// # Errors
/// Why it is no workbook.
pub fn names(bytes: &[u8], limits: Limits) -> Result<Vec<String>, String> {
    check_size(bytes, limits).map_err(|(_, _, detail)| detail)?;
    let book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).map_err(|e| format!("not an .xlsx workbook ({e})"))?;
    Ok(book.sheet_names())
}

/// What is inside a workbook must not be larger than a document may be.
fn check_size(bytes: &[u8], limits: Limits) -> Result<(), (Code, Place, String)> {
    let Ok(mut zip) = zip::ZipArchive::new(Cursor::new(bytes)) else { return Ok(()) };
    let mut left = limits.document as u64;
    for at in 0..zip.len() {
        let Ok(member) = zip.by_index(at) else { continue };
        let most = left + 1;
        let size = std::io::copy(&mut member.take(most), &mut std::io::sink()).unwrap_or(0);
        left = left.checked_sub(size).ok_or_else(|| {
            let detail = format!("unpacks to more than {} MiB", limits.document >> 20);
            (Code::FileTooLarge, Place::FILE, detail)
        })?;
    }
    Ok(())
}

/// A cell as text: numbers with their shortest digits, dates as local time to the millisecond, durations in seconds.
fn text(value: &DataRef) -> Option<String> {
    Some(match value {
        DataRef::Int(n) => n.to_string(),
        DataRef::Float(n) => n.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(flag) => flag.to_string(),
        DataRef::DateTime(time) => date(time),
        DataRef::Error(_) | DataRef::Empty => return None,
    })
}

fn date(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        // Excel keeps days as a double: a millisecond is what that is good for.
        return format!("{:.3}", time.as_f64() * 86_400.0);
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}")
}
