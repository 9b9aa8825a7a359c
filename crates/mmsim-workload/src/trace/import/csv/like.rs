//! Shapes of public traces: columns, units and words of files that many people have.
//!
//! A shape sets options, and an option that is given comes before it. It also says how many fields
//! its lines have and which operations, so that lines of another shape are refused: most of them
//! would be read, with a size as a place. With columns of the user that is left to the user.
//! docs/traces.md has the table with a command for each.

use super::Delimiter;
use crate::trace::import::PageKind;

/// Layout of the files of a public collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Like {
    /// Its name after `--like`.
    pub name: &'static str,
    /// Description in a line.
    pub about: &'static str,
    /// Where the layout is written down.
    pub source: &'static str,
    /// As in `--columns`; a role with `?` may be missing.
    pub columns: &'static str,
    /// Delimiter between fields.
    pub delimiter: Delimiter,
    /// Nanoseconds of the unit of times; 0: they are left out.
    pub time_unit_ns: u64,
    /// As in `--ops`: all words that it has; empty: those that are known anyway.
    pub ops: &'static str,
    /// The fewest and most fields of a line.
    pub fields: (usize, usize),
    /// Kind of the pages.
    pub kind: PageKind,
    /// Places are names.
    pub dense: bool,
}

const BLOCKS: Like = Like {
    name: "",
    about: "",
    source: "",
    columns: "",
    delimiter: Delimiter::Comma,
    time_unit_ns: 1_000_000_000,
    ops: "r=r,w=w",
    fields: (1, usize::MAX),
    kind: PageKind::File,
    dense: true,
};

const OBJECTS: Like = Like { kind: PageKind::Anon, ..BLOCKS };

impl Like {
    /// All shapes.
    pub const ALL: [Like; 9] = [
        Like {
            name: "msr",
            about: "MSR Cambridge: disks of servers, times of Windows (100 ns)",
            source: "README of SNIA IOTTA trace set 388",
            columns: "time=#1,volume=#2,volume=#3,op=#4,offset=#5,size=#6",
            time_unit_ns: 100,
            ops: "read=r,write=w",
            fields: (6, 7),
            ..BLOCKS
        },
        Like {
            name: "spc",
            about: "UMass Financial and WebSearch: sectors of 512 bytes, sizes in bytes",
            source: "SPC Trace File Format Specification 1.0.1",
            columns: "volume=#1,sector=#2,size=#3,op=#4,time=#5",
            fields: (5, usize::MAX),
            ..BLOCKS
        },
        Like {
            name: "alibaba",
            about: "Alibaba block traces: virtual disks, times in us",
            source: "README of github.com/alibaba/block-traces",
            columns: "volume=#1,op=#2,offset=#3,size=#4,time=#5",
            time_unit_ns: 1_000,
            fields: (5, 5),
            ..BLOCKS
        },
        Like {
            name: "tencent",
            about: "Tencent block storage: offsets and sizes in sectors, 0 reads and 1 writes",
            source: "README of SNIA IOTTA trace set 27917",
            columns: "time=#1,sector=#2,sectors=#3,op=#4,volume=#5",
            ops: "0=r,1=w",
            fields: (5, 5),
            ..BLOCKS
        },
        Like {
            name: "systor",
            about: "SYSTOR '17: virtual desktops, a line of names, times in s",
            source: "README of SNIA IOTTA trace set 4964",
            columns: "time=#1,op=#3,volume=#4,offset=#5,size=#6",
            fields: (6, 6),
            ..BLOCKS
        },
        Like {
            name: "twitter",
            about: "Twitter cache clusters: keys, sizes of key and value, memcached's operations",
            source: "README of github.com/twitter/cache-trace",
            columns: "time=#1,key=#2,size=#3,size=#4,op=#6",
            ops: "get=r,gets=r,set=w,add=w,replace=w,cas=w,append=w,prepend=w,incr=w,decr=w,delete=skip",
            fields: (7, 7),
            ..OBJECTS
        },
        Like {
            name: "cachelib",
            about: "Meta's CacheLib key-value traces: named columns, operations that repeat",
            source: "cachelib.org, Cachebench_FB_HW_eval",
            columns: "key=key,op=op,size=size,size=key_size,repeats=op_count,time=op_time?",
            ops: "",
            ..OBJECTS
        },
        Like {
            name: "lirs",
            about: "LIRS: a block number a line, ended by a mark",
            source: "the traces of Jiang and Zhang, LIRS (SIGMETRICS 2002)",
            columns: "page=#1",
            delimiter: Delimiter::Blank,
            time_unit_ns: 0,
            ops: "",
            fields: (1, 1),
            ..OBJECTS
        },
        Like {
            name: "ucsd",
            about: "UCSD cse240a: l or s, an address, instructions since the access before",
            source: "cseweb.ucsd.edu/classes/fa07/cse240a/project1.html",
            columns: "op=#1,address=#2",
            delimiter: Delimiter::Blank,
            time_unit_ns: 0,
            dense: false,
            ops: "l=r,s=w",
            fields: (2, 3),
            ..OBJECTS
        },
    ];

    /// Expected fields of a line, for an error.
    pub(super) fn expected_fields(&self) -> String {
        let name = self.name;
        let layout = format!("the layout `{name}` (without --like, --columns says what is what)");
        match self.fields {
            (least, most) if least == most => format!("{least}, as in {layout}"),
            (least, usize::MAX) => format!("at least {least}, as in {layout}"),
            (least, most) => format!("{least} to {most}, as in {layout}"),
        }
    }

    /// The shape of a name.
    pub fn named(name: &str) -> Option<&'static Like> {
        const ALL: &[Like] = &Like::ALL;
        ALL.iter().find(|like| like.name == name)
    }
}
