//! The classes of refaults.

/// Why an evicted page had to come back. Of the rules of a decision the first that holds counts,
/// in the order of the variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// The optimum would not have had the page in memory either.
    Capacity,
    /// The page had not been used: it was read ahead too early, or came back without a use.
    ReadAhead,
    /// A limit or advice asked for the eviction.
    Forced,
    /// The node stood above its high watermark.
    OverReclaim,
    /// Most of the pages that were idle for longer were of another node or group.
    WrongPlace,
    /// More pages of the other type were idle for longer.
    WrongType,
    /// Pages that were not wanted again held as many frames as were missing.
    OneTime,
    /// The same, and most of them had been read ahead in vain.
    ReadAheadKept,
    /// A look found the page used, and it went down all the same.
    ReferenceLost,
    /// The page was used in one stretch only since it came.
    NeverTwice,
    /// Hardly a page of its list was idle for longer.
    Recency,
    /// One look took several uses for one, and kept the page once.
    TakenForOne,
    /// Pages that were idle for longer stood behind it.
    Order,
}

impl Class {
    /// All classes, in the order of their rules.
    pub const ALL: [Class; 13] = [
        Class::Capacity,
        Class::ReadAhead,
        Class::Forced,
        Class::OverReclaim,
        Class::WrongPlace,
        Class::WrongType,
        Class::OneTime,
        Class::ReadAheadKept,
        Class::ReferenceLost,
        Class::NeverTwice,
        Class::Recency,
        Class::TakenForOne,
        Class::Order,
    ];

    /// Its name in words.
    pub fn words(self) -> &'static str {
        match self {
            Class::Capacity => "capacity",
            Class::ReadAhead => "read ahead",
            Class::Forced => "forced",
            Class::OverReclaim => "over-reclaim",
            Class::WrongPlace => "wrong place",
            Class::WrongType => "wrong type",
            Class::OneTime => "one-time pages kept",
            Class::ReadAheadKept => "read-ahead kept",
            Class::ReferenceLost => "reference lost",
            Class::NeverTwice => "never looked at twice",
            Class::Recency => "recency",
            Class::TakenForOne => "uses taken for one",
            Class::Order => "order",
        }
    }

    /// Its name in documents.
    pub fn key(self) -> &'static str {
        match self {
            Class::Capacity => "capacity",
            Class::ReadAhead => "read_ahead",
            Class::Forced => "forced",
            Class::OverReclaim => "over_reclaim",
            Class::WrongPlace => "wrong_place",
            Class::WrongType => "wrong_type",
            Class::OneTime => "one_time",
            Class::ReadAheadKept => "read_ahead_kept",
            Class::ReferenceLost => "reference_lost",
            Class::NeverTwice => "never_twice",
            Class::Recency => "recency",
            Class::TakenForOne => "taken_for_one",
            Class::Order => "order",
        }
    }

    /// True if a better decision would have kept the page.
    pub fn is_decision(self) -> bool {
        self != Class::Capacity
    }

    /// True if the future decides between this and pages that were kept in vain.
    pub(crate) fn waits_for_the_end(self) -> bool {
        self >= Class::ReferenceLost
    }

    /// By its place in [`Class::ALL`].
    pub(crate) fn nth(n: u32) -> Class {
        Class::ALL[n as usize]
    }
}
