//! Processes in groups of their own, which carry commands out for the first one.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};

use crate::sys;

/// Number in the place of a command: the process locks its own pages.
const LOCK: u32 = u32::MAX;

/// A process that waits for commands.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    commands: PipeWriter,
    replies: PipeReader,
    /// Commands that it was given and has not answered, as far as the first process has looked.
    pending: usize,
}

/// Outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// It was carried out.
    Done,
    /// It failed; the process has said why.
    Failed,
    /// The process has ended.
    Ended,
}

impl Process {
    /// Starts it. `serve` is what it does with the number of a command. Its own pages are locked
    /// first, so that they are neither reclaimed nor charged to the group that it joins.
    pub fn spawn(serve: impl FnMut(usize) -> bool) -> Result<Process, String> {
        let pipe = || std::io::pipe().map_err(|e| format!("a pipe: {e}"));
        let ((mut orders, commands), (replies, mut answers)) = (pipe()?, pipe()?);
        match sys::fork()? {
            None => {
                drop((commands, replies));
                let mut serve = serve;
                let mut number = [0; 4];
                while orders.read_exact(&mut number).is_ok() {
                    let number = u32::from_le_bytes(number);
                    let done = match number {
                        LOCK => sys::lock_all().is_ok(),
                        number => serve(number as usize),
                    };
                    sys::exit_unless(answers.write_all(&[u8::from(done)]).is_ok());
                }
                sys::exit_unless(false);
                unreachable!("it has ended");
            }
            Some(pid) => {
                drop((orders, answers));
                let mut process = Process { pid, commands, replies, pending: 0 };
                match process.order(LOCK) {
                    Reply::Done => Ok(process),
                    reply => Err(format!("the process does not answer: {reply:?}")),
                }
            }
        }
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Has it carry out a command, and waits.
    pub fn order(&mut self, number: u32) -> Reply {
        match self.start(number) {
            Reply::Done => self.wait(),
            reply => reply,
        }
    }

    /// Has it carry out a command as soon as it has done those before.
    pub fn start(&mut self, number: u32) -> Reply {
        self.pending += 1;
        match self.commands.write_all(&number.to_le_bytes()) {
            Ok(()) => Reply::Done,
            Err(_) => Reply::Ended,
        }
    }

    /// Waits until it has done all its commands.
    pub fn wait(&mut self) -> Reply {
        let mut byte = [0];
        while self.pending > 0 {
            match self.replies.read_exact(&mut byte) {
                Ok(()) if byte == [1] => self.pending -= 1,
                Ok(()) => return Reply::Failed,
                Err(_) => return Reply::Ended,
            }
        }
        Reply::Done
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        sys::kill(self.pid);
    }
}
