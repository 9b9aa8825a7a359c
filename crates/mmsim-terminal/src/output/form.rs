//! Form of a file by the ending of its name.

use std::path::Path;

use crate::exit::Failure;

/// Program that packs a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// `.gz`.
    Gzip,
    /// `.zst`.
    Zstd,
}

/// Contents of a file by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// `.json`.
    Json,
    /// `.jsonl` or `.ndjson`: a document in each line.
    JsonLines,
    /// `.csv`.
    Csv,
    /// `.html` or `.htm`: a page.
    Html,
    /// `.svg`: a picture.
    Svg,
    /// `.png`: an image.
    Png,
    /// `.mmev`: events as bytes.
    Events,
    /// A table for people; no ending stands for it.
    Table,
    /// A scenario; `.toml` is as good as no ending.
    Toml,
}

impl Content {
    fn of(extension: &str) -> Option<Content> {
        match extension {
            "json" => Some(Content::Json),
            "jsonl" | "ndjson" => Some(Content::JsonLines),
            "csv" => Some(Content::Csv),
            "html" | "htm" => Some(Content::Html),
            "svg" => Some(Content::Svg),
            "png" => Some(Content::Png),
            "mmev" => Some(Content::Events),
            _ => None,
        }
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Content::Json => "JSON",
            Content::JsonLines => "JSON lines",
            Content::Csv => "CSV",
            Content::Html => "HTML",
            Content::Svg => "SVG",
            Content::Png => "PNG",
            Content::Events => "events as bytes",
            Content::Table => "a table",
            Content::Toml => "TOML",
        }
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Packing by the name, if it has an ending for one.
pub fn packing(path: &Path) -> Option<Packing> {
    match extension(path).as_str() {
        "gz" => Some(Packing::Gzip),
        "zst" => Some(Packing::Zstd),
        _ => None,
    }
}

/// Contents by the name, if it has an ending for them: `x.json` and `x.json.gz` are JSON.
pub fn content(path: &Path) -> Option<Content> {
    match packing(path) {
        Some(_) => Content::of(&extension(Path::new(path.file_stem()?))),
        None => Content::of(&extension(path)),
    }
}

/// Refuses a name that promises something else than what `option` writes there.
pub fn agree(
    option: &str,
    path: Option<&Path>,
    writes: Content,
    also: &[Content],
) -> Result<(), Failure> {
    let Some((path, promised)) = path.and_then(|p| Some((p, content(p)?))) else { return Ok(()) };
    if promised == writes || also.contains(&promised) {
        return Ok(());
    }
    Err(Failure::said(format!(
        "{option} {}: that would be {}, and its name says {}: choose another ending{}",
        path.display(),
        writes.name(),
        promised.name(),
        if option == "--output" { " or --format" } else { "" }
    )))
}

/// Refuses to pack what is packed already.
pub fn unpacked(option: &str, path: &Path) -> Result<(), Failure> {
    packable(option, path)?;
    match packing(path) {
        Some(_) => Err(Failure::said(format!(
            "{option} {}: a trace is packed already, name it without .gz or .zst",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses a packing that cannot be written.
pub fn packable(option: &str, path: &Path) -> Result<(), Failure> {
    match extension(path).as_str() {
        ending @ ("xz" | "bz2" | "lz4" | "zip" | "7z") => Err(Failure::said(format!(
            "{option} {}: .{ending} cannot be written, end the name with .gz or .zst",
            path.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_what_is_within() {
        let of = |name: &str| (content(Path::new(name)), packing(Path::new(name)));
        assert_eq!(of("r.json"), (Some(Content::Json), None));
        assert_eq!(of("a/r.JSON"), (Some(Content::Json), None));
        assert_eq!(of("r.csv.gz"), (Some(Content::Csv), Some(Packing::Gzip)));
        assert_eq!(of("e.jsonl.zst"), (Some(Content::JsonLines), Some(Packing::Zstd)));
        assert_eq!(of("e.mmev.zst"), (Some(Content::Events), Some(Packing::Zstd)));
        assert_eq!(of("r.gz"), (None, Some(Packing::Gzip)));
        assert_eq!(of("json"), (None, None));
        assert_eq!(of("r.txt"), (None, None));
    }
}
