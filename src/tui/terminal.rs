//! The real terminal: modes in, modes out, whatever happens.
//!
//! Only this file changes terminal modes. Invariant: every mode that [`Screen::enter`] sets is taken
//! back by [`Screen::leave`], which also runs on drop and from the panic hook; leaving twice is harmless.

use super::fragile::Fragile;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{clipboard::CopyToClipboard, cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Buttons and wheel in SGR coding; no motion, which would wake the program for nothing.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";

type Hook = Arc<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync>;

/// The terminal while the interface owns it.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    mouse: bool,
    inside: bool,
    previous: Hook,
    fragile: Fragile,
    /// Set by the panic hook when another thread wrote over the screen.
    spoiled: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over: raw mode, alternate screen, bracketed paste, focus reports, the kitty
    /// keyboard protocol (ignored where unknown) and, if wanted, the mouse.
    ///
    /// Call it on the thread that runs the interface: a panic there restores the terminal at once.
    /// Fails when standard input or output is not a terminal.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            let text = "the interface needs a terminal on standard input and output";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let previous: Hook = Arc::from(std::panic::take_hook());
        let spoiled = Arc::new(AtomicBool::new(false));
        install_hook(&previous, &spoiled);
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let mut screen = Self {
            terminal: Terminal::new(backend)?,
            mouse,
            inside: false,
            previous,
            fragile: Fragile::default(),
            spoiled,
        };
        screen.resume()?;
        Ok(screen)
    }

    /// Sets the modes again, after [`leave`](Self::leave), and forces a full redraw.
    pub fn resume(&mut self) -> io::Result<()> {
        self.inside = true;
        enable_raw_mode()?;
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
        )?;
        self.set_mouse(self.mouse)?;
        self.repaint();
        Ok(())
    }

    /// Gives the terminal back as it was.
    pub fn leave(&mut self) {
        if std::mem::take(&mut self.inside) {
            restore();
        }
    }

    /// Turns mouse reports on or off. Without them the terminal's own selection works.
    pub fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        if on {
            execute!(io::stdout(), Print(MOUSE_ON))
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }

    /// Columns and rows; 80x24 while the terminal does not know.
    pub fn size(&self) -> (u16, u16) {
        match self.terminal.size() {
            Ok(size) if size.width > 0 && size.height > 0 => (size.width, size.height),
            Ok(_) | Err(_) => (80, 24),
        }
    }

    /// Draws one frame inside a synchronized update, so that no half frame is ever shown.
    pub fn draw(&mut self, render: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if self.spoiled.swap(false, Ordering::Relaxed) {
            self.clear()?;
        }
        let fragile = &mut self.fragile;
        self.terminal.draw(|frame| {
            render(frame);
            fragile.mend(frame.buffer_mut());
        })?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        io::Write::flush(self.terminal.backend_mut())
    }

    /// Draws the next frame whole, on a cleared screen.
    pub fn repaint(&mut self) {
        self.spoiled.store(true, Ordering::Relaxed);
    }

    /// Clears the screen, so that the next frame is drawn whole.
    ///
    /// Not with `Terminal::clear`, which asks the terminal for its cursor and waits for the answer.
    fn clear(&mut self) -> io::Result<()> {
        self.fragile.forget();
        self.terminal.backend_mut().clear_region(ClearType::All)?;
        // Each swap empties one of the two buffers.
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Hands `text` to the terminal's clipboard (OSC 52). Whether it takes it cannot be known.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Rings the bell.
    pub fn bell(&mut self) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(b"\x07")?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
        if !std::thread::panicking() {
            let previous = Arc::clone(&self.previous);
            std::panic::set_hook(Box::new(move |info| previous(info)));
        }
    }
}

/// A panic on this thread ends the interface, so the terminal goes back first; one elsewhere may
/// have written on the screen.
fn install_hook(previous: &Hook, spoiled: &Arc<AtomicBool>) {
    let (previous, spoiled) = (Arc::clone(previous), Arc::clone(spoiled));
    let own = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == own {
            restore();
        } else {
            spoiled.store(true, Ordering::Relaxed);
        }
        previous(info);
    }));
}

/// Errors are ignored: there is nothing left to tell them to.
fn restore() {
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show,
    );
    let _ = disable_raw_mode();
}
