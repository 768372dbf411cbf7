//! Everything the interface wants done; carried out by the loop in `mod.rs`, never by `update`.

use super::Exit;
use crate::protocol::Op;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Tell the runtime.
    Send(Op),
    /// End the interface.
    Quit(Exit),
    /// Put this on the terminal's clipboard.
    Copy(String),
    /// Ring the bell: the person is wanted and looks elsewhere.
    Bell,
    /// Stop the process until the shell continues it.
    Suspend,
    /// Draw everything anew.
    Repaint,
    /// Turn mouse reports on or off.
    Mouse(bool),
}
