//! Markdown to styled lines.
//!
//! Stateless: the same text gives the same lines, so a streaming answer can be drawn again and again.
//! What is not understood (HTML, unclosed marks) is shown as it was written. Tables are in `table.rs`.

mod table;

use super::flow::{Run, flow};
use super::text::clean;
use super::theme::{Scope, Theme};
use super::wrap::width;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

/// Lays `text` out in `columns` cells.
pub fn render(text: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = clean(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(columns, theme);
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.flush();
    page.lines
}

/// `text` without a last line that may still turn into another kind of markup (`-`, `#`, a fence).
pub fn settled(text: &str) -> &str {
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let markup = |c: char| "-=*_#`~>|+:. ".contains(c) || c.is_ascii_digit();
    let last = &text[start..];
    if !last.trim().is_empty() && last.len() < 12 && last.chars().all(markup) {
        &text[..start]
    } else {
        text
    }
}

enum Container {
    Quote,
    Item { marker: Option<String>, cells: usize },
}

struct Page<'a> {
    theme: &'a Theme,
    columns: usize,
    lines: Vec<Line<'static>>,
    inline: Vec<Run>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// Next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    code: Option<String>,
    link: Option<String>,
    table: Option<table::Table>,
    gap: bool,
}

impl<'a> Page<'a> {
    fn new(columns: usize, theme: &'a Theme) -> Self {
        Self {
            theme,
            columns,
            lines: Vec::new(),
            inline: Vec::new(),
            styles: vec![theme.style(Scope::Text)],
            containers: Vec::new(),
            lists: Vec::new(),
            code: None,
            link: None,
            table: None,
            gap: false,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn say(&mut self, text: &str, style: Style) {
        match (&mut self.code, &mut self.table) {
            (Some(code), _) => code.push_str(text),
            (None, Some(table)) => table.text(text),
            (None, None) => self.inline.push((text.to_owned(), style)),
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.say(&text, self.style());
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let style = self.style().patch(self.theme.style(Scope::Code));
                self.say(&text, style);
            }
            Event::SoftBreak => self.say(" ", self.style()),
            Event::HardBreak => self.say("\n", self.style()),
            Event::Rule => {
                self.begin();
                let rule = "─".repeat(self.columns.min(40));
                self.inline.push((rule, self.theme.style(Scope::Rule)));
                self.flush();
            }
            Event::TaskListMarker(done) => {
                self.say(if done { "[x] " } else { "[ ] " }, self.theme.style(Scope::Marker));
            }
            Event::FootnoteReference(name) => self.say(&format!("[{name}]"), self.style()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin(),
            Tag::Heading { level, .. } => {
                self.begin();
                self.push_style(self.theme.style(Scope::Heading));
                let marks = "#".repeat(level as usize);
                self.inline.push((format!("{marks} "), self.theme.style(Scope::Marker)));
            }
            Tag::BlockQuote(_) => {
                self.begin();
                self.containers.push(Container::Quote);
                self.push_style(self.theme.style(Scope::Quote));
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.inline.push((language.to_string(), self.theme.style(Scope::Dim)));
                    self.flush();
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                let nested = !self.lists.is_empty();
                self.flush();
                self.gap &= !nested;
                self.begin();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.begin();
                self.table = Some(table::Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.in_table(table::Table::row),
            Tag::TableCell => self.in_table(table::Table::cell),
            Tag::Emphasis => self.push_style(self.theme.style(Scope::Emphasis)),
            Tag::Strong => self.push_style(self.theme.style(Scope::Strong)),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.push_style(self.theme.style(Scope::Link));
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn start_item(&mut self) {
        self.flush();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        };
        self.containers.push(Container::Item { cells: width(&marker), marker: Some(marker) });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.close(),
            TagEnd::Heading(_) => {
                self.close();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.close();
                self.styles.pop();
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.close();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.containers.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let lead = cells_of(&self.lead());
                    let room = self.columns.saturating_sub(lead);
                    for row in table.rows(room, self.theme) {
                        self.inline = row;
                        self.flush();
                    }
                }
                self.gap = true;
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => _ = self.styles.pop(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let style = self.theme.style(Scope::CodeBlock);
        for line in code.trim_end_matches('\n').split('\n') {
            let mut lead = self.lead();
            lead.push(("  ".into(), style));
            let lines = flow(&[(line.to_owned(), style)], self.columns, &lead, &lead);
            self.lines.extend(lines);
        }
        self.gap = true;
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.link.take() else {
            return;
        };
        let shown = self.inline.last().is_some_and(|(text, _)| *text == target);
        if !shown && !target.is_empty() {
            self.say(&format!(" ({target})"), self.theme.style(Scope::Dim));
        }
    }

    fn in_table(&mut self, change: fn(&mut table::Table)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    /// A block begins: what is open is written out, and a blank line set off from the block before.
    fn begin(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) {
            let lead = self.lead_blank();
            let style = self.theme.style(Scope::Quote);
            self.lines.push(Line::styled(lead.trim_end().to_owned(), style));
        }
    }

    fn close(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let runs = std::mem::take(&mut self.inline);
        let first = self.lead();
        let rest = self.lead();
        self.lines.extend(flow(&runs, self.columns, &first, &rest));
    }

    /// What stands before the next line; the marker of an item is used up.
    fn lead(&mut self) -> Vec<Run> {
        let quote = self.theme.style(Scope::Quote);
        let bullet = self.theme.style(Scope::Marker);
        let runs = self.containers.iter_mut().map(|container| match container {
            Container::Quote => ("│ ".to_owned(), quote),
            Container::Item { marker, cells } => {
                (marker.take().unwrap_or_else(|| " ".repeat(*cells)), bullet)
            }
        });
        runs.collect()
    }

    fn lead_blank(&self) -> String {
        let parts = self.containers.iter().map(|container| match container {
            Container::Quote => "│ ".to_owned(),
            Container::Item { cells, .. } => " ".repeat(*cells),
        });
        parts.collect()
    }
}

fn cells_of(runs: &[Run]) -> usize {
    super::flow::cells(runs)
}

#[cfg(test)]
mod tests;
