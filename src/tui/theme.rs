//! Themes: a TOML text with a palette and dotted scopes becomes a table of styles.
//!
//! No colour is named in Rust; without a usable theme the interface gets by on bold, dim and reverse.
//! Invariant: loading never fails. What cannot be understood is a warning, and the scope falls back
//! to its parent (`diff.added.word` -> `diff.added` -> `diff`) and then to the built-in look.

use ratatui::style::Color::{Indexed, Rgb};
use ratatui::style::{Color, Modifier, Style};
use std::collections::BTreeMap;
use std::str::FromStr;

macro_rules! scopes {
    ($($variant:ident $name:literal $modifier:ident,)*) => {
        /// A named role on the screen that a theme can style.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scope {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Scope {
            /// Every scope, in the order of the enum.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn plain(self) -> Modifier {
                match self { $(Self::$variant => modifier::$modifier,)* }
            }
        }
    };
}

mod modifier {
    use ratatui::style::Modifier;
    pub const NONE: Modifier = Modifier::empty();
    pub const BOLD: Modifier = Modifier::BOLD;
    pub const DIM: Modifier = Modifier::DIM;
    pub const ITALIC: Modifier = Modifier::ITALIC;
    pub const UNDER: Modifier = Modifier::UNDERLINED;
    pub const REV: Modifier = Modifier::REVERSED;
}

scopes! {
    Text "text" NONE,
    Dim "text.dim" DIM,
    Strong "text.strong" BOLD,
    Accent "text.accent" BOLD,
    Link "text.link" UNDER,
    User "user" BOLD,
    UserBar "user.bar" BOLD,
    Queued "user.queued" DIM,
    Thinking "thinking" DIM,
    ThinkingHead "thinking.head" DIM,
    Focus "focus" REV,
    Heading "markdown.heading" BOLD,
    Emphasis "markdown.emphasis" ITALIC,
    Code "markdown.code" NONE,
    CodeBlock "markdown.block" NONE,
    Quote "markdown.quote" DIM,
    Marker "markdown.marker" DIM,
    Rule "markdown.rule" DIM,
    ToolName "tool.name" BOLD,
    ToolOutput "tool.output" DIM,
    ToolRunning "tool.running" NONE,
    ToolDone "tool.done" NONE,
    ToolFailed "tool.failed" BOLD,
    ToolStopped "tool.stopped" DIM,
    DiffAdded "diff.added" NONE,
    DiffAddedWord "diff.added.word" UNDER,
    DiffRemoved "diff.removed" DIM,
    DiffRemovedWord "diff.removed.word" UNDER,
    DiffContext "diff.context" NONE,
    DiffNumber "diff.number" DIM,
    DiffFile "diff.file" BOLD,
    DiffHunk "diff.hunk" NONE,
    DiffCurrent "diff.current" BOLD,
    Accepted "verdict.accepted" BOLD,
    Rejected "verdict.rejected" BOLD,
    Undecided "verdict.undecided" NONE,
    Info "notice.info" NONE,
    Warning "notice.warning" BOLD,
    Error "notice.error" BOLD,
    Border "border" DIM,
    BorderActive "border.active" BOLD,
    Prompt "composer.prompt" BOLD,
    Placeholder "composer.placeholder" DIM,
    Paste "composer.paste" REV,
    Popup "popup" NONE,
    PopupSelected "popup.selected" REV,
    Key "key" BOLD,
    Status "status" DIM,
    StatusPhase "status.phase" BOLD,
    StatusWaiting "status.waiting" REV,
}

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// None: `NO_COLOR` or a dumb terminal.
    None,
    /// The palette of 16; the theme must name colours by their ANSI names.
    Ansi,
    /// 256 indexed colours.
    Indexed,
    /// 24 bits.
    #[default]
    True,
}

impl Depth {
    /// Reads what the environment announces; `get` looks a variable up.
    ///
    /// Follows <https://no-color.org> and the `COLORTERM` convention.
    pub fn detect(get: impl Fn(&str) -> Option<String>) -> Self {
        let term = get("TERM").unwrap_or_default();
        if get("NO_COLOR").is_some_and(|v| !v.is_empty()) || term == "dumb" {
            Self::None
        } else if get("COLORTERM").is_some_and(|v| v == "truecolor" || v == "24bit") {
            Self::True
        } else if term.contains("256") {
            Self::Indexed
        } else {
            Self::Ansi
        }
    }
}

/// A style for every scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Shown in `/theme`.
    pub name: String,
    styles: Vec<Style>,
}

#[derive(serde::Deserialize)]
struct File {
    name: Option<String>,
    #[serde(default)]
    palette: BTreeMap<String, String>,
    #[serde(default)]
    scopes: BTreeMap<String, toml::Value>,
}

impl Theme {
    /// The look without any theme: no colours.
    pub fn plain() -> Self {
        let style = |scope: &Scope| Style::new().add_modifier(scope.plain());
        Self { name: "plain".into(), styles: Scope::ALL.iter().map(style).collect() }
    }

    /// Reads a theme file. `name` is used when the file does not give one.
    ///
    /// Also returns one line for each thing that was not understood.
    pub fn parse(name: &str, text: &str) -> (Self, Vec<String>) {
        let mut theme = Self::plain();
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let line = error.message().lines().next().unwrap_or_default().to_owned();
                return (theme, vec![format!("theme {name}: {line}; using no colours")]);
            }
        };
        theme.name = file.name.clone().unwrap_or_else(|| name.to_owned());
        let mut warnings = Vec::new();
        let mut named = BTreeMap::new();
        for (scope, value) in &file.scopes {
            match read_style(value, &file.palette) {
                Ok(style) => _ = named.insert(scope.as_str(), style),
                Err(problem) => warnings.push(format!("theme {name}: {scope}: {problem}")),
            }
            if !Scope::ALL.iter().any(|s| is_prefix(scope, s.name())) {
                warnings.push(format!("theme {name}: no scope is called {scope}"));
            }
        }
        for (index, scope) in Scope::ALL.iter().enumerate() {
            if let Some(style) = lookup(&named, scope.name()) {
                theme.styles[index] = style;
            }
        }
        (theme, warnings)
    }

    /// The style of a scope.
    pub fn style(&self, scope: Scope) -> Style {
        self.styles[scope as usize]
    }

    /// Fits the colours to what the terminal can show. At [`Depth::Ansi`] colours that have no ANSI
    /// name are dropped; choose a theme made for it.
    #[must_use]
    pub fn limited(mut self, depth: Depth) -> Self {
        for (style, scope) in self.styles.iter_mut().zip(Scope::ALL) {
            if depth == Depth::None {
                *style = Style::new().add_modifier(scope.plain());
            }
            style.fg = style.fg.and_then(|color| limit(color, depth));
            style.bg = style.bg.and_then(|color| limit(color, depth));
        }
        self
    }
}

fn is_prefix(given: &str, scope: &str) -> bool {
    scope == given || scope.strip_prefix(given).is_some_and(|rest| rest.starts_with('.'))
}

fn lookup(named: &BTreeMap<&str, Style>, scope: &str) -> Option<Style> {
    let mut name = scope;
    loop {
        if let Some(style) = named.get(name) {
            return Some(*style);
        }
        name = &name[..name.rfind('.')?];
    }
}

fn read_style(value: &toml::Value, palette: &BTreeMap<String, String>) -> Result<Style, String> {
    match value {
        toml::Value::String(color) => Ok(Style::new().fg(read_color(color, palette)?)),
        toml::Value::Table(table) => {
            let mut style = Style::new();
            for (key, value) in table {
                style = match (key.as_str(), value) {
                    ("fg", toml::Value::String(color)) => style.fg(read_color(color, palette)?),
                    ("bg", toml::Value::String(color)) => style.bg(read_color(color, palette)?),
                    ("modifiers", toml::Value::Array(list)) => {
                        style.add_modifier(read_modifiers(list)?)
                    }
                    (other, _) => return Err(format!("cannot read {other}")),
                };
            }
            Ok(style)
        }
        _ => Err("expected a colour or { fg, bg, modifiers }".into()),
    }
}

fn read_color(name: &str, palette: &BTreeMap<String, String>) -> Result<Color, String> {
    let text = palette.get(name).map_or(name, String::as_str);
    if text == "default" {
        return Ok(Color::Reset);
    }
    Color::from_str(text).map_err(|_| format!("{name} is neither a colour nor in the palette"))
}

fn read_modifiers(list: &[toml::Value]) -> Result<Modifier, String> {
    let mut all = Modifier::empty();
    for item in list {
        all |= match item.as_str() {
            Some("bold") => Modifier::BOLD,
            Some("dim") => Modifier::DIM,
            Some("italic") => Modifier::ITALIC,
            Some("underlined") => Modifier::UNDERLINED,
            Some("reversed") => Modifier::REVERSED,
            Some("crossed-out") => Modifier::CROSSED_OUT,
            Some(other) => return Err(format!("unknown modifier {other}")),
            None => return Err("modifiers are words".into()),
        };
    }
    Ok(all)
}

/// `None` drops the colour, so that the terminal's own is used.
fn limit(color: Color, depth: Depth) -> Option<Color> {
    match (color, depth) {
        (_, Depth::None) | (Rgb(..) | Indexed(16..), Depth::Ansi) => None,
        (Rgb(r, g, b), Depth::Indexed) => Some(Indexed(cube(r, g, b))),
        (other, _) => Some(other),
    }
}

/// The nearest entry of the 6x6x6 cube or the grey ramp of xterm's 256 colours.
fn cube(r: u8, g: u8, b: u8) -> u8 {
    let level = |v: u8| -> u8 {
        match v {
            0..48 => 0,
            48..115 => 1,
            _ => (v - 35) / 40,
        }
    };
    let spread = r.max(g).max(b) - r.min(g).min(b);
    if spread < 12 && (8..=238).contains(&r) {
        return 232 + ((r - 8) / 10).min(23);
    }
    16 + 36 * level(r) + 6 * level(g) + level(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: [(&str, &str); 3] = [
        ("dark", include_str!("../../themes/dark.toml")),
        ("light", include_str!("../../themes/light.toml")),
        ("ansi", include_str!("../../themes/ansi.toml")),
    ];

    #[test]
    fn shipped_themes_load_without_warnings_and_style_every_scope() {
        for (name, text) in SHIPPED {
            let (theme, warnings) = Theme::parse(name, text);
            assert_eq!(warnings, Vec::<String>::new());
            assert_eq!(theme.name, name);
            let file: File = toml::from_str(text).unwrap();
            for scope in Scope::ALL {
                let known = file.scopes.keys().any(|key| is_prefix(key, scope.name()));
                assert!(known, "{name} says nothing about {}", scope.name());
            }
        }
    }

    #[test]
    fn bad_files_warn_and_fall_back() {
        let (theme, warnings) = Theme::parse("x", "scopes = 3");
        assert_eq!(theme, Theme::plain());
        assert_eq!(warnings.len(), 1);
        let text = "[scopes]\ndiff = 'green'\n'text.dim' = 'nocolour'\nfoo = 'red'\n";
        let (theme, warnings) = Theme::parse("x", text);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert_eq!(theme.style(Scope::DiffAddedWord).fg, Some(Color::Green));
        assert_eq!(theme.style(Scope::Dim), Theme::plain().style(Scope::Dim));
    }

    #[test]
    fn colours_follow_the_depth() {
        let (theme, _) = Theme::parse("x", "[scopes]\ntext = '#ff0000'\nuser = 'red'\n");
        let fg = |depth, scope| theme.clone().limited(depth).style(scope).fg;
        assert_eq!(fg(Depth::None, Scope::User), None);
        assert_eq!(fg(Depth::Ansi, Scope::Text), None);
        assert_eq!(fg(Depth::Ansi, Scope::User), Some(Color::Red));
        assert_eq!(fg(Depth::Indexed, Scope::Text), Some(Color::Indexed(196)));
        assert_eq!(fg(Depth::True, Scope::Text), Some(Color::Rgb(255, 0, 0)));
    }

    #[test]
    fn the_environment_decides_the_depth() {
        let with = |pairs: &[(&str, &str)]| {
            let pairs: BTreeMap<_, _> = pairs.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
            Depth::detect(|key| pairs.get(key).cloned())
        };
        assert_eq!(with(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]), Depth::None);
        assert_eq!(with(&[("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(with(&[("TERM", "tmux-256color")]), Depth::Indexed);
        assert_eq!(with(&[("TERM", "xterm")]), Depth::Ansi);
    }
}
