//! Everything that can happen to the interface.
//!
//! Time comes in as [`Msg::Tick`]; nothing below reads a clock.

use crate::protocol::Event;
use crossterm::event::{KeyEvent, MouseEvent};

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// The time now, in milliseconds since the start. Sent before every other message.
    Tick(u64),
    /// A frame is about to be drawn: lay out what changed.
    Frame,
    /// Columns and rows of the terminal.
    Resize(u16, u16),
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The terminal window gained (true) or lost the focus.
    Focus(bool),
    /// The runtime tells something.
    Event(Box<Event>),
    /// The runtime is gone.
    Disconnected,
    /// The process was told to end by this signal.
    Signal(i32),
}
