//! The fast path through a record against the slow one.

use super::*;
use proptest::prelude::*;

fn parser<'a>(names: &str, options: &'a ImportOptions) -> Parser<'a> {
    let line = format!("{names}\n");
    let (columns, _) = Columns::of_line(line.as_bytes(), 0, 1, options).unwrap();
    Parser::new(columns, Left::default(), options).unwrap()
}

fn plan<'a>(parser: &'a Parser<'_>) -> &'a Plan {
    parser.plan.as_ref().expect("a plan for these roles")
}

/// Fields that are plain, that just are not, and that are wrong.
fn some_field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "0{0,3}[0-9]{1,8}",
        2 => "[0-9]{7,20}",
        1 => "[0-9]{1,16}\\.[0-9]{0,11}",
        3 => "R|W|r|w|D|F|N|m|read|Write|TRIM|flush|discard|update|FWFS|RA|modify|discards",
        1 => "[-+ ]?(0x)?[0-9a-fA-F]{0,17} ?",
        1 => "\"[0-9RW,a\"]{0,5}\"?",
        1 => "[ -~]{0,9}",
        1 => ".{0,5}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Records that take the fast path would be the same by the slow path; and plain ones do take
    /// the fast path.
    #[test]
    fn the_short_way_leads_where_the_long_one_does(
        mut fields in prop::collection::vec(some_field(), 6),
        place in prop::sample::select(vec!["page", "address"]),
        extent in prop::sample::select(vec!["size", "count", "a"]),
        others in prop::sample::subsequence(vec!["op", "pid", "time", "b"], 0..5),
        order in any::<prop::sample::Index>(),
        page_size in prop::sample::select(vec![1, 512, 4096, 1 << 40, 1 << 63]),
        unit in prop::sample::select(vec![1, 1_000, 1_000_000_000, 7]),
        end in "\n|\r\n|\r| \n|,\n",
        rest in "[0-9,RW\n\"]{24}",
    ) {
        let mut roles = vec![place, extent];
        roles.extend(others);
        let n = roles.len();
        roles.rotate_left(order.index(n));
        let options =
            ImportOptions { time_unit_ns: Some(unit), page_size, ..ImportOptions::default() };
        let mut parser = parser(&roles.join(","), &options);
        fields.resize(n, "0".into());
        let piece = format!("{}{end}{rest}\n", fields.join(","));
        if let Some((short, next)) = plan(&parser).request(piece.as_bytes(), 0) {
            match parser.record(piece.as_bytes(), 0, 1) {
                Err(e) => prop_assert!(false, "{piece:?}: {e}"),
                Ok((values, end)) => {
                    prop_assert_eq!(next, end, "{}", piece);
                    let other = short.op == Some(Op::Other);
                    let same = |r: Request| if other { r.op == short.op } else { r == short };
                    prop_assert!(parser.request(values).is_ok_and(same), "{piece:?}: {short:?}");
                }
            }
        }
    }
}

#[test]
fn plain_lines_go_the_short_way() {
    let options = ImportOptions { time_unit_ns: Some(1_000_000), ..ImportOptions::default() };
    let parser = parser("time,a,page,size,op", &options);
    let rest = "1.250,x,12,4096,R\n".repeat(2);
    for line in ["1.25,usr 0,12345678901,4096,R\n", "17,,0,9,Write\r\n", "0,abcdefghijk,7,9,d\n"] {
        let piece = format!("{line}{rest}");
        let next = plan(&parser).request(piece.as_bytes(), 0).map(|r| r.1);
        assert_eq!(next, Some(line.len()), "{line:?}");
    }
}
