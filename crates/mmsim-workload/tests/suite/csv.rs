//! Values in columns as people have them: names, tables of operations, units, delimiters,
//! lines that are no records, times out of order, and the layouts of public traces.

use mmsim_workload::trace::{
    Action, Backing, Delimiter, ImportFormat, ImportOptions, Like, PageKind, Record, TraceError,
    TraceReader, TraceTable, import,
};
use proptest::prelude::*;

struct Imported {
    table: TraceTable,
    records: Vec<Record>,
}

impl Imported {
    /// Every touched page as (page of the process, write), in order.
    fn touched(&self) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Action::Access { region, write, first, count } = record.action {
                let start = self.table.regions[usize::from(region)].start + u64::from(first);
                all.extend((start..start + u64::from(count)).map(|page| (page, write)));
            }
        }
        all
    }

    /// Nanoseconds since the record before.
    fn gaps(&self) -> Vec<u64> {
        self.records.iter().map(|r| r.ticks * self.table.tick_ns).collect()
    }

    fn assumes(&self, part: &str) -> bool {
        self.table.assumptions.iter().any(|a| a.contains(part))
    }
}

fn csv(input: &[u8], change: impl Fn(&mut ImportOptions)) -> Result<Imported, TraceError> {
    let mut options = ImportOptions::default();
    change(&mut options);
    let mut out = Vec::new();
    import(ImportFormat::Csv, input, &mut out, &options)?;
    let mut reader = TraceReader::new(&out[..])?;
    let (mut records, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        records.extend_from_slice(&block);
    }
    Ok(Imported { table: reader.table().clone(), records })
}

fn columns(list: &str) -> impl Fn(&mut ImportOptions) {
    move |o| o.columns = Some(list.into())
}

fn like(name: &'static str) -> impl Fn(&mut ImportOptions) {
    move |o| o.like = Some(Like::named(name).expect("a shape"))
}

const KEYS: &str = "\
0,user:alpha,17,213,4,get,0
0,user:beta,27,27,5,get,0
1,user:alpha,17,213,4,set,14400
1,user:gamma,3,4,5,add,0
1,user:gamma,3,4,5,gets,0
";

#[test]
fn names_are_numbered_as_they_appear() {
    let expected = [(0, false), (1, false), (0, true), (2, true), (2, false)];
    let by_page = csv(KEYS.as_bytes(), |o| {
        columns("time=#1,page=#2,op=#6")(o);
        o.time_unit_ns = Some(1_000_000_000);
        o.dense = true;
    });
    let by_key = csv(KEYS.as_bytes(), columns("key=#2,op=#6"));
    let by_shape = csv(KEYS.as_bytes(), like("twitter"));
    for imported in [by_page, by_key, by_shape] {
        let imported = imported.unwrap();
        assert_eq!(imported.touched(), expected);
        // beta is never written, so nothing would hold it.
        assert!(imported.assumes("1 pages are read and never written"));
    }
    // `key` goes by the letters, `page` by the number; mixed ones are different.
    let text = "7,R\n07,R\nx,R\n0x7,R\n18446744073709551615,R\n";
    let pages = |list: &str| {
        let imported = csv(text.as_bytes(), |o| {
            columns(list)(o);
            o.dense = true;
        });
        imported.unwrap().touched().iter().map(|t| t.0).collect::<Vec<_>>()
    };
    assert_eq!(pages("key=#1,op=#2"), [0, 1, 2, 3, 4]);
    assert_eq!(pages("page=#1,op=#2"), [0, 0, 1, 0, 2]);
    let error = csv(b"page,op\nx,R\n", |_| ()).err().expect("a text is no page").to_string();
    assert!(error.contains("line 2, column 1") && error.contains("--dense"), "{error}");
}

#[test]
fn objects_take_as_many_pages_as_they_have() {
    let text = "key,size,op\na,5000,set\nb,1,set\na,9000,get\n";
    let imported = csv(text.as_bytes(), |_| ()).unwrap();
    let pages: Vec<u64> = imported.touched().iter().map(|t| t.0).collect();
    assert_eq!(pages, [0, 1, 2, 0, 1, 3]);
    // Sizes of key and value add up.
    let text = "a,96,4000,set\nb,97,4000,set\n";
    let imported = csv(text.as_bytes(), columns("key=#1,size=#2,size=#3,op=#4")).unwrap();
    assert_eq!(imported.touched().len(), 3);
}

const NUMERIC: &str = "\
# time (ms), operation (0 put, 1 get, 2 delete), object, size
0,1,A,8371
103,1,B,31
159,0,C,3668
315,2,A,15572
";

#[test]
fn tables_say_what_operations_do() {
    let imported = csv(NUMERIC.as_bytes(), |o| {
        columns("time=#1,op=#2,key=#3")(o);
        o.ops = Some("0=w,1=r,2=skip".into());
        o.time_unit_ns = Some(1_000_000);
    })
    .unwrap();
    assert_eq!(imported.touched(), [(0, false), (1, false), (2, true)]);
    assert_eq!(imported.gaps(), [0, 103_000_000, 56_000_000]);
    assert!(imported.assumes("1 lines that begin with # are comments"));
    assert!(imported.assumes("1 operations that neither read nor write"));
    // Unknown words are left out and counted; if all are unknown, it is an error.
    let some = csv(NUMERIC.as_bytes(), |o| {
        columns("op=#2,key=#3")(o);
        o.ops = Some("1=r".into());
    });
    let some = some.unwrap();
    assert_eq!(some.touched().len(), 2);
    assert!(some.assumes("\"0\" 1 times, \"2\" 1 times"), "{:?}", some.table.assumptions);
    let none = csv(NUMERIC.as_bytes(), columns("op=#2,key=#3")).err().expect("no operations");
    let text = none.to_string();
    assert!(text.contains("\"1\" 2 times") && text.contains("--ops 0=r,1=r"), "{text}");
    let wrong = csv(b"page,op\n1,R\n", |o| o.ops = Some("get:r".into())).err();
    assert!(wrong.expect("no table").to_string().contains("WORD=r"));
}

#[test]
fn operation_codes_of_scsi() {
    let text = "op,page\n28,1\n2A,2\n2a,3\n42,4\n";
    let imported = csv(text.as_bytes(), |_| ()).unwrap();
    assert_eq!(imported.touched(), [(1, false), (2, true), (3, true)]);
}

const SECTORS: &str = "\
0,20941264,8192,W,0.551706
0,20939840,8192,W,0.554041
0,20939808,8192,r,0.556202
";

#[test]
fn sectors_beside_bytes() {
    let imported = csv(SECTORS.as_bytes(), columns("sector=#2,size=#3,op=#4")).unwrap();
    let first = 20_941_264 / 8;
    let expected = [
        (first, true),
        (first + 1, true),
        (first - 178, true),
        (first - 177, true),
        (first - 182, false),
        (first - 181, false),
    ];
    assert_eq!(imported.touched(), expected);
    let imported = csv(SECTORS.as_bytes(), like("spc")).unwrap();
    assert_eq!(imported.touched().len(), 6);
    assert_eq!(imported.gaps().iter().sum::<u64>(), 4_496_000);
    // Both in sectors: from 4,096 to 12,287.
    let imported = csv(b"sector,sectors,op\n8,16,R\n15,2,W\n", |_| ()).unwrap();
    assert_eq!(imported.touched(), [(1, false), (2, false), (1, true), (2, true)]);
}

const FILETIME: &str = "\
128166372003061629,usr,0,Write,7014912,4096,26
128166372016382155,usr,0,Read,1074696192,4096,113
128166372002382155,usr,1,Read,1074696192,512,113
";

#[test]
fn times_of_windows_out_of_order() {
    let error = csv(FILETIME.as_bytes(), like("msr")).err().expect("the third is earlier");
    assert!(error.to_string().contains("line 3") && error.to_string().contains("--sort"));
    let sorted = |change: &dyn Fn(&mut ImportOptions)| {
        csv(FILETIME.as_bytes(), |o| {
            change(o);
            o.sort = true;
        })
        .unwrap()
    };
    let imported = sorted(&like("msr"));
    // Two disks: the same place of another is another page.
    // The write begins within a page and ends in the next.
    assert_eq!(imported.touched(), [(0, false), (1, true), (2, true), (3, false)]);
    assert_eq!(imported.gaps(), [0, 67_947_400, 0, 1_332_052_600]);
    assert!(matches!(imported.table.regions[0].backing, Backing::File { .. }));
    let imported = sorted(&|o| {
        columns("time=#1,op=#4,offset=#5,size=#6")(o);
        o.time_unit_ns = Some(100);
    });
    assert_eq!(imported.gaps(), [0, 67_947_400, 1_332_052_600]);
    let untimed = csv(b"page\n1\n", |o| o.sort = true).err().expect("nothing to sort by");
    assert!(untimed.to_string().contains("--sort"), "{untimed}");
}

const BLANKS: &str = "\
l 0x1fffff50 1
s 0x1fffff58 1
l 0x3fffff90 3
*
l 0x1fffff50 12
";

#[test]
fn delimiters_and_marks() {
    let expected = [(0x1ffff, false), (0x1ffff, true), (0x3ffff, false), (0x1ffff, false)];
    let named = csv(BLANKS.as_bytes(), columns("op=#1,address=#2")).unwrap();
    let shaped = csv(BLANKS.as_bytes(), like("ucsd")).unwrap();
    for imported in [named, shaped] {
        assert_eq!(imported.touched(), expected);
        assert!(imported.assumes("1 lines of a single * are passed over"));
    }
    for (input, delimiter) in [
        ("page;op\n5;R\n", None),
        ("page\top\n5\tR\n", None),
        ("page  op\r\n  5 \tR  \r\n", None),
        ("page,op\n5,R\n", None),
        ("page op,x\n5 R\n", Some(Delimiter::Blank)),
    ] {
        let imported = csv(input.as_bytes(), |o| {
            o.delimiter = delimiter;
            o.columns = delimiter.map(|_| "page=page,op=#2".into());
        });
        assert_eq!(imported.unwrap().touched(), [(5, false)], "{input:?}");
    }
    let lirs = csv(b"17\n18\n17\n*\n", like("lirs")).unwrap();
    assert_eq!(lirs.touched(), [(0, true), (1, true), (0, false)]);
}

/// Lines may differ in their numbers of fields where the columns that are used are there.
#[test]
fn ragged_lines_are_taken_where_their_columns_are_there() {
    let text =
        "page,op,who,note\n5,R,a,x\n6,W\n7,R,a,x,more,\"a, b\",\n\"8\",\"R\",\"a,b\"\n9,W,a,x\n";
    let imported = csv(text.as_bytes(), |_| ()).unwrap();
    assert_eq!(imported.touched(), [(5, false), (6, true), (7, false), (8, false), (9, true)]);
    let note = "3 lines have more or fewer fields than the first one, the first of them is line 3";
    assert!(imported.assumes(note), "{:?}", imported.table.assumptions);
    // Without a line of names the first record says how many there are.
    let bare = csv(b"5,R\n6,W,x\n", columns("page=#1,op=#2")).unwrap();
    assert_eq!(bare.touched(), [(5, false), (6, true)]);
    assert!(bare.assumes("1 lines have more or fewer"));
    // Times that are left out are not used, so they may be missing.
    let timed = csv(b"page,time\n5,1\n6\n", |o| o.time_unit_ns = Some(0)).unwrap();
    assert_eq!(timed.touched().len(), 2);
    for (text, place, says) in [
        (
            "page,who,op\n5,a,R\n6,a\n",
            "line 3, column 4",
            "field 3, an operation: this column is used",
        ),
        ("page,who,size\n5,a,1\n6\n", "line 3, column 2", "field 3, a size in bytes"),
        ("who,page\na,5\n\n\"b\"\r\n", "line 4, column 5", "field 2, a page number"),
    ] {
        let e = csv(text.as_bytes(), |_| ()).err().expect(text).to_string();
        assert!(e.contains(place) && e.contains(says), "{e}");
    }
}

/// Two lines of each layout are refused by every other one, with the line and what it should have.
#[test]
fn a_layout_refuses_lines_of_another() {
    let lines = [
        (
            "msr",
            "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,2517712896,8192,1\n",
        ),
        ("spc", "0,20941264,8192,W,0.551706\n0,20939840,8192,r,0.554041\n"),
        ("alibaba", "419,W,8792731648,16384,1577808000000046\n3,R,0,4096,1577808000000050\n"),
        ("tencent", "1538323200,12910952,128,0,1063\n1538323201,12910952,8,1,1064\n"),
        (
            "systor",
            "1455592199.001038000,0.000311000,R,4,10240000,8192\n1455592199.501038000,,W,4,10240000,512\n",
        ),
        ("twitter", "0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n0,yDqF:3q:1AJrrJ1nnCJ,27,27,5,add,0\n"),
        ("cachelib", "key,op,size,op_count,key_size\n11,GET,0,2,8\n11,SET,5000,1,8\n"),
        ("lirs", "17\n18\n*\n"),
        ("ucsd", "l 0x1fffff50 1\ns 0x1fffff58 1\n"),
    ];
    assert_eq!(lines.map(|l| l.0), Like::ALL.map(|l| l.name));
    for (name, text) in lines {
        for shape in Like::ALL {
            let read = csv(text.as_bytes(), like(shape.name));
            match read {
                Ok(_) => assert_eq!(shape.name, name, "lines of {name} as {}", shape.name),
                Err(e) => {
                    assert_ne!(shape.name, name, "{e}");
                    let e = e.to_string();
                    assert!(
                        e.contains("line 1") || e.contains("line 2"),
                        "{name} as {}: {e}",
                        shape.name
                    );
                }
            }
        }
    }
    let e = csv(b"0,20941264,8192,W,0.5\n", like("tencent")).err().expect("spc").to_string();
    assert!(
        e.contains("line 1, column 17") && e.contains("one of 0, 1, as in the layout `tencent`"),
        "{e}"
    );
    // Other words and columns are taken from the options.
    let word = csv(b"0,8,4096,X,1\n", |o| {
        like("spc")(o);
        o.ops = Some("x=w".into());
    });
    assert_eq!(word.unwrap().touched(), [(0, true)]);
    let own = csv(b"7,R\n", |o| {
        like("msr")(o);
        o.columns = Some("page=#1,op=#2".into());
    });
    assert_eq!(own.unwrap().touched().len(), 1);
}

/// Files with the head of one format, or its records, that are given as another.
#[test]
fn files_of_another_format_are_named() {
    use mmsim_workload::trace::{RequestFormat, Requests};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    let mut trace = Vec::new();
    import(ImportFormat::Csv, &b"page,op\n5,R\n"[..], &mut trace, &ImportOptions::default())
        .unwrap();
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, bytes).unwrap();
        out.finish().unwrap()
    };
    let zlib = |bytes: &[u8]| {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, bytes).unwrap();
        out.finish().unwrap()
    };
    let mut lcs = 0x1234_5678_9abc_def0_u64.to_le_bytes().to_vec();
    lcs.resize(2048, 0);
    let mut perf = b"PERFILE2".to_vec();
    perf.resize(480, 0);
    // Requests 0 to 5 of objects a b a c a b.
    let record = |time: u32, object: u64, next: i64| {
        let mut r = time.to_le_bytes().to_vec();
        r.extend(object.to_le_bytes());
        r.extend(4096_u32.to_le_bytes());
        r.extend(next.to_le_bytes());
        r
    };
    let oracle: Vec<u8> = [(1, 7, 2), (1, 8, 5), (2, 7, 4), (3, 9, -1), (3, 7, -1), (9, 8, -1)]
        .into_iter()
        .flat_map(|(time, object, next)| record(time, object, next))
        .collect();
    let text = b"op,page,size\nR,5,4096\nW,6,4096\n".to_vec();
    let files = [
        ("a page trace of mmsim", "bench-trace --from mmt", trace),
        ("an lcs trace", "traceConv", lcs),
        ("a file of perf record", "perf script", perf),
        ("a record of DAMON", "--from damon", zlib(b"[{\"snapshots\": []}]")),
        ("compressed twice", "gunzip", gzip(&gzip(&text))),
        ("oracleGeneral of libCacheSim", "--from oracle-general", oracle.clone()),
        ("a text", "--from csv", text.clone()),
    ];
    for (what, instead, bytes) in &files {
        for packed in [bytes.clone(), gzip(bytes)] {
            std::fs::write(&path, packed).unwrap();
            for format in RequestFormat::ALL {
                let own = format == RequestFormat::OracleGeneral && what.contains("oracleGeneral");
                match Requests::open(&path, format, true) {
                    Ok(_) => assert!(own, "{what} as {format}"),
                    Err(e) => {
                        let e = e.to_string();
                        assert!(!own && e.contains(what) && e.contains(instead), "{format}: {e}");
                    }
                }
            }
        }
        if !what.contains("oracleGeneral") && *what != "a text" {
            let e = csv(bytes, |_| ()).err().expect("no values").to_string();
            assert!(e.contains(what), "{e}");
        }
    }
    // Numbers that only look like it: a scan, a loop of six, of three, and of one page.
    for pages in [
        (0..600).collect::<Vec<u64>>(),
        (0..600).map(|i| (i + 1) % 6).collect(),
        (0..600).map(|i| i % 3).collect(),
        vec![1; 600],
        vec![0x2020_2020; 3],
    ] {
        for (format, bytes) in [
            (RequestFormat::RawU32, pages.iter().flat_map(|p| (*p as u32).to_le_bytes()).collect()),
            (
                RequestFormat::RawU64,
                pages.iter().flat_map(|p| p.to_le_bytes()).collect::<Vec<u8>>(),
            ),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let read = Requests::open(&path, format, true);
            assert!(read.is_ok(), "{format}, {:?}: {}", &pages[..3], read.unwrap_err());
        }
    }
}

/// One line or two of each public layout, as their descriptions have them.
#[test]
fn shapes_of_public_traces() {
    let one = |name: &'static str, text: &str| csv(text.as_bytes(), like(name)).expect(name);
    let alibaba =
        one("alibaba", "419,W,8792731648,16384,1577808000000046\n3,R,0,4096,1577808000000050\n");
    assert_eq!((alibaba.touched().len(), alibaba.gaps()[4]), (5, 4_000));
    let tencent = one("tencent", "1538323200,12910952,128,0,1063\n1538323201,12910952,8,1,1064\n");
    assert_eq!(tencent.touched().len(), 17);
    assert_eq!(tencent.touched()[16], (16, true));
    let systor = one(
        "systor",
        "Timestamp,Response,IOType,LUN,Offset,Size\n\
         1455592199.001038000,0.000311000,R,4,10240000,8192\n\
         1455592199.501038000,,W,4,10240000,512\n",
    );
    assert_eq!(systor.touched(), [(0, false), (1, false), (0, true)]);
    assert_eq!(systor.gaps(), [0, 0, 500_000_000]);
    let old = one("cachelib", "key,op,size,op_count,key_size\n11,GET,0,2,8\n11,SET,5000,1,8\n");
    assert_eq!(old.touched(), [(0, false), (0, false), (0, true), (1, true)]);
    let new = one(
        "cachelib",
        "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n5,a7,30,GET_LEASE,1,100,1,0\n\
         6,a7,30,DELETE,1,0,0,0\n",
    );
    assert_eq!(new.touched(), [(0, false)]);
    assert!(new.assumes("1 operations that neither read nor write"));
    for like in Like::ALL {
        assert!(!like.source.is_empty() && !like.about.is_empty(), "{}", like.name);
    }
}

#[test]
fn what_a_shape_says_can_be_said_otherwise() {
    let imported = csv(b"0,8,4096,W,1\n", |o| {
        like("spc")(o);
        o.kind = Some(PageKind::Anon);
        o.page_size = 512;
    });
    let imported = imported.unwrap();
    assert_eq!(imported.touched().len(), 8);
    assert_eq!(imported.table.regions[0].backing, Backing::Anon);
}

#[test]
fn a_line_of_names_may_stand_over_numbered_columns() {
    let text = "ts,lba,what\n5,7,R\n";
    let imported = csv(text.as_bytes(), |o| {
        columns("time=#1,page=#2,op=#3")(o);
        o.time_unit_ns = Some(1);
    });
    assert_eq!(imported.unwrap().touched(), [(7, false)]);
}

#[test]
fn repeats_happen_at_once() {
    let text = "page,op,repeats,time\n5,R,3,10\n6,W,0,11\n";
    let imported = csv(text.as_bytes(), |o| o.time_unit_ns = Some(1)).unwrap();
    assert_eq!(imported.touched(), [(5, false); 3]);
    let bomb = csv(b"page,repeats\n5,1\n6,268435457\n", |_| ()).err();
    assert!(bomb.expect("too many").to_string().contains("line 3, column 3"));
}

#[test]
fn a_first_access_can_be_made_to_write() {
    let imported = csv(b"page,op\n5,R\n5,R\n", |o| o.fill = true).unwrap();
    assert_eq!(imported.touched(), [(5, true), (5, false)]);
    assert!(imported.assumes("(--fill)"));
}

#[test]
fn compressed_by_others_is_refused_by_name() {
    for (bytes, word) in [
        (&b"\xfd7zXZ\0\0\x04\xe6\xd6"[..], "xz -dk"),
        (b"BZh91AY&SY\x01\x02", "bzip2 -dk"),
        (b"\x04\x22\x4d\x18\x60", "lz4 -d"),
    ] {
        let error = csv(bytes, |_| ()).err().expect(word).to_string();
        assert!(error.contains(word), "{error}");
    }
    // Text that only begins like it.
    assert!(csv(b"BZh,page\n1,2\n", columns("page=page")).is_ok());
}

proptest! {
    /// Sorting is what a stable sort of the lines would do.
    #[test]
    fn sorted_is_what_sorted_lines_are(
        lines in prop::collection::vec((0u64..50, 0u64..9, any::<bool>(), "[a-c]{1,2}"), 1..300),
    ) {
        let text = |lines: &[(u64, u64, bool, String)]| {
            let line = |(time, n, write, key): &(u64, u64, bool, String)| {
                format!("{time},{key},{},{}\n", n * 1000, if *write { "W" } else { "R" })
            };
            "time,key,size,op\n".to_string() + &lines.iter().map(line).collect::<String>()
        };
        let unit = |o: &mut ImportOptions| o.time_unit_ns = Some(7);
        let sorted = csv(text(&lines).as_bytes(), |o| {
            unit(o);
            o.sort = true;
        });
        let mut by_hand = lines.clone();
        by_hand.sort_by_key(|l| l.0);
        let by_hand = csv(text(&by_hand).as_bytes(), unit);
        match (sorted, by_hand) {
            (Ok(a), Ok(b)) => {
                prop_assert_eq!(a.touched(), b.touched());
                prop_assert_eq!(a.gaps(), b.gaps());
            }
            (a, b) => prop_assert!(a.is_err() && b.is_err()),
        }
    }

    /// Whatever the bytes and the delimiter, the answer is a trace or an error.
    #[test]
    fn any_text_is_a_trace_or_an_error(
        body in "(page|op|size|,|;|\t| |\"|\n|\r\n|#|\\*|[0-9]{1,5}|R|W|-|x){0,60}",
        head in prop::sample::select(vec!["page,op\n", "page op\n", "key\top\n", "sector;size\n", ""]),
        shape in prop::sample::select(vec!["", "msr", "lirs", "ucsd", "cachelib"]),
        dense: bool,
    ) {
        let _ = csv(format!("{head}{body}").as_bytes(), |o| {
            o.like = Like::named(shape);
            o.dense = dense;
        });
    }
}

#[test]
fn a_column_that_is_asked_for_is_there_once() {
    let said = |input: &str, change: &dyn Fn(&mut ImportOptions)| {
        csv(input.as_bytes(), change).err().expect("a mistake").to_string()
    };
    let as_named: &dyn Fn(&mut ImportOptions) = &|_| {};
    let message = said("page,page\n1,2\n", as_named);
    assert!(message.contains("two columns \"page\", #1 and #2"), "{message}");
    let message = said("op,page,OP\nr,1,r\n", as_named);
    assert!(message.contains("two columns \"op\", #1 and #3"), "{message}");
    let message = said("lbn,n,lbn\n1,1,2\n", &columns("page=lbn"));
    assert!(message.contains("two columns \"lbn\", #1 and #3"), "{message}");
    // The options say which of them is meant; sizes add up.
    let second = csv(b"lbn,n,lbn\n1,1,2\n", columns("page=#3,pid=n")).unwrap();
    assert_eq!(second.touched()[0].0, 2);
    let sizes = csv(b"offset,size,size\n0,4096,4096\n", as_named).unwrap();
    assert_eq!(sizes.touched().len(), 2);
}

#[test]
fn lines_that_end_with_cr_alone_are_said_to() {
    let short = "page,op\r1,r\r2,w\r".to_string();
    let long = format!("page\r{}", "1\r".repeat(200_000));
    for input in [short, long] {
        let message = csv(input.as_bytes(), |_| {}).err().expect("a mistake").to_string();
        assert!(message.contains("lines that end with CR alone"), "{message}");
        assert!(message.contains("tr '\\r' '\\n'"), "{message}");
    }
    assert_eq!(csv(b"page\r\n1\r\n2\r\n", |_| {}).unwrap().touched().len(), 2);
    assert_eq!(csv(b"page\r\n", |_| {}).map(|i| i.records.len()).ok(), Some(0));
}
