//! The wire format of protocol buffers, as far as traces need it: varints, fixed words and fields
//! with a length.

/// A message that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A whole number.
    #[must_use]
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field << 3));
        self.varint(value);
        self
    }

    /// A word of 64 bits.
    #[must_use]
    pub(super) fn fixed(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field << 3 | 1));
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Bytes with their length.
    #[must_use]
    fn bytes(mut self, field: u32, bytes: &[u8]) -> Message {
        self.varint(u64::from(field << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A text.
    #[must_use]
    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// A message within this one.
    #[must_use]
    pub(super) fn message(self, field: u32, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    /// Its bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Number of bytes so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends what another message holds.
    pub(super) fn append(&mut self, other: &Message) {
        self.0.extend_from_slice(&other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own documentation.
    #[test]
    fn bytes_as_the_format_defines_them() {
        assert_eq!(Message::default().number(1, 150).finish(), [0x08, 0x96, 0x01]);
        let testing = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::default().text(2, "testing").finish(), testing);
        let inner = Message::default().number(1, 150);
        let outer = Message::default().message(3, &inner);
        assert_eq!(outer.finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let fixed = [0x81 + 0x78, 0x02, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Message::default().fixed(47, 1).finish(), fixed);
    }
}
