//! A bench for tests: events and keys in, ops and the screen out. No terminal, no clock.

use super::{Cmd, Model, Msg, Theme, TuiOptions, draw, update};
use crate::protocol::*;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use unicode_width::UnicodeWidthStr;

/// A model with hands.
pub struct Bench {
    pub model: Model,
    pub cmds: Vec<Cmd>,
}

impl Bench {
    /// An open session with a loaded model.
    pub fn new(columns: u16, rows: u16) -> Self {
        let mut bench = Self::bare(columns, rows);
        bench.event(Event::Ready {
            model: ModelInfo {
                name: "Tessera-27B".into(),
                context: 32_768,
                ..ModelInfo::default()
            },
        });
        bench
    }

    /// An open session whose model is not loaded.
    pub fn bare(columns: u16, rows: u16) -> Self {
        let themes = vec![Theme::plain(), Theme::parse("dark", "[scopes]\ntext = 'red'\n").0];
        let options = TuiOptions { themes, ..TuiOptions::default() };
        let model = Model::new(options, (columns, rows));
        let mut bench = Self { model, cmds: Vec::new() };
        bench.event(session("one"));
        bench
    }

    pub fn msg(&mut self, msg: Msg) {
        let cmds = update(&mut self.model, msg);
        self.cmds.extend(cmds);
    }

    pub fn event(&mut self, event: Event) {
        self.msg(Msg::Event(Box::new(event)));
    }

    /// Lets time pass, up to `now` milliseconds.
    pub fn at(&mut self, now: u64) {
        self.msg(Msg::Tick(now));
    }

    pub fn wait(&mut self, milliseconds: u64) {
        self.at(self.model.now + milliseconds);
    }

    pub fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.msg(Msg::Key(KeyEvent::new(code, modifiers)));
    }

    /// `enter`, `esc`, `ctrl+c`, `alt+enter`, `a`, …
    pub fn key(&mut self, name: &str) {
        let (modifiers, name) = match name.rsplit_once('+') {
            Some(("ctrl", rest)) => (KeyModifiers::CONTROL, rest),
            Some(("alt", rest)) => (KeyModifiers::ALT, rest),
            Some(("shift", rest)) => (KeyModifiers::SHIFT, rest),
            Some(_) | None => (KeyModifiers::NONE, name),
        };
        let code = match name {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "end" => KeyCode::End,
            "home" => KeyCode::Home,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            "bs" => KeyCode::Backspace,
            "f1" => KeyCode::F(1),
            letter => KeyCode::Char(letter.chars().next().unwrap()),
        };
        self.press(code, modifiers);
    }

    pub fn keys(&mut self, names: &str) {
        for name in names.split(' ') {
            self.key(name);
        }
    }

    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c), KeyModifiers::NONE);
        }
    }

    pub fn click(&mut self, column: u16, row: u16) {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row);
    }

    pub fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) {
        let modifiers = KeyModifiers::NONE;
        self.msg(Msg::Mouse(MouseEvent { kind, column, row, modifiers }));
    }

    /// The ops sent since the last call.
    pub fn ops(&mut self) -> Vec<Op> {
        let cmds = std::mem::take(&mut self.cmds);
        let ops = cmds.into_iter().filter_map(|cmd| match cmd {
            Cmd::Send(op) => Some(op),
            _ => None,
        });
        ops.collect()
    }

    fn terminal(&mut self) -> Terminal<TestBackend> {
        let (columns, rows) = self.model.size;
        self.msg(Msg::Frame);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(frame, &self.model)).unwrap();
        terminal
    }

    /// The rows of the screen, as read.
    pub fn rows(&mut self) -> Vec<String> {
        let terminal = self.terminal();
        let buffer = terminal.backend().buffer();
        let columns = usize::from(buffer.area.width.max(1));
        let rows = buffer.content().chunks(columns).map(|row| {
            let mut text = String::new();
            let mut skip = 0;
            for cell in row {
                if skip == 0 {
                    text.push_str(cell.symbol());
                    skip = cell.symbol().width().max(1);
                }
                skip -= 1;
            }
            text.trim_end().to_owned()
        });
        rows.collect()
    }

    pub fn screen(&mut self) -> String {
        self.rows().join("\n")
    }

    /// Column and row of the terminal's cursor.
    pub fn cursor(&mut self) -> (u16, u16) {
        let mut terminal = self.terminal();
        let at = terminal.get_cursor_position().unwrap();
        (at.x, at.y)
    }
}

pub fn session(id: &str) -> Event {
    Event::Session {
        id: SessionId(id.into()),
        root: "/home/me/parser".into(),
        branch: Some("main".into()),
        policy: Policy::Review,
        effort: Effort::Xhigh,
    }
}

pub fn phase(phase: Phase) -> Event {
    Event::Phase { phase }
}

pub fn started(text: &str) -> Event {
    Event::TurnStarted { turn: TurnId(1), text: text.into() }
}

pub fn step() -> Event {
    Event::StepStarted { step: StepId(1) }
}

pub fn thinking(text: &str) -> Event {
    Event::ThinkingDelta { text: text.into() }
}

pub fn text(text: &str) -> Event {
    Event::TextDelta { text: text.into() }
}

pub fn step_done() -> Event {
    Event::StepFinished {
        step: StepId(1),
        usage: Usage {
            thinking: 143,
            answer: 20,
            context: 4_000,
            decode_ms: 9_000,
            ..Usage::default()
        },
    }
}

pub fn turn_done(outcome: Outcome) -> Event {
    Event::TurnFinished { turn: TurnId(1), outcome }
}

pub fn call(id: u64, name: &str, argument: &str) -> ToolCall {
    let mut args = Args::new();
    args.insert("path".into(), argument.into());
    ToolCall { id: CallId(id), name: name.into(), args }
}

pub fn requested(id: u64, name: &str, argument: &str) -> Event {
    Event::ToolRequested { call: call(id, name, argument), repairs: Vec::new() }
}

fn own(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// Three hunks in two files.
pub fn review() -> Review {
    let hunk = |id, at, before: &[&str], old: &[&str], new: &[&str], after: &[&str]| Hunk {
        id: HunkId(id),
        old_start: at,
        new_start: at,
        before: own(before),
        old: own(old),
        new: own(new),
        after: own(after),
    };
    let parser = vec![
        hunk(
            1,
            12,
            &["fn parse(input: &str) -> Result<Ast> {", "\tlet tokens = lex(input);"],
            &["\tlet ast = build(tokens);", "\treturn Ok(ast);"],
            &["\tlet ast = build(&tokens)?;", "\tOk(ast) // 名前"],
            &["}"],
        ),
        hunk(2, 80, &["#[test]"], &["assert!(ok);"], &["assert!(!ok);"], &[]),
    ];
    let notes = vec![hunk(3, 1, &[], &[], &["# 解析器", "", "空の入力はエラーになります。"], &[])];
    Review {
        calls: vec![CallId(1)],
        files: vec![
            FileDiff {
                path: "src/parser.rs".into(),
                change: Change::Modify,
                hunks: parser,
                notes: vec!["matched after ignoring trailing blanks".into()],
            },
            FileDiff {
                path: "docs/notes.md".into(),
                change: Change::Create,
                hunks: notes,
                notes: Vec::new(),
            },
        ],
    }
}

pub fn asked() -> Event {
    Event::ReviewRequested { review: review() }
}
