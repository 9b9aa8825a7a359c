//! Contents of pages that are measured: pages whose compressed length is known within some bytes.

use mmsim::base::rng::SplitMix64;
use mmsim::contents::{Compressor, Measured};
use mmsim::machines;
use mmsim::scenario::Scenario;

/// A page with `noise` random bytes, and then one byte again and again.
fn page(noise: usize, rest: u8, seed: u64) -> Vec<u8> {
    let mut draws = SplitMix64::new(seed);
    let mut page = vec![rest; 4096];
    page[..noise].iter_mut().for_each(|b| *b = draws.next_u64() as u8);
    page
}

fn measured(pages: &[Vec<u8>], compressor: Compressor) -> Measured {
    Measured::read(&pages.concat()[..], compressor).expect("bytes in memory")
}

/// A value of the summary.
fn said(m: &Measured, name: &str) -> String {
    let all = m.summary();
    let row = all.iter().find(|row| row.0 == name);
    row.unwrap_or_else(|| panic!("{name}: {all:?}")).1.clone()
}

#[test]
fn zeros_and_words_take_nothing_of_zram() {
    let m = measured(&[page(0, 0, 0), page(0, 7, 0), page(0, 0, 0)], Compressor::Lz4);
    assert_eq!((m.pages, m.zeros, m.same), (3, 2, 1));
    assert_eq!(said(&m, "in zram"), "0 frames for 0 objects");
    // zswap compresses the page of one word. Objects of 48 bytes have zspages of three frames.
    assert_eq!(said(&m, "in zswap"), "3 frames for 1 objects, ratio 1.00");
    let want = "contents = { zero-permille = 667, same-permille = 333, lengths = [] }\n";
    assert_eq!(m.contents(), want);
}

/// Noise does not compress, so a page with some of it compresses to a little more: the rest is one
/// match. lz4 has a byte of length for each 255 bytes of noise and of match, and some at the end; zstd
/// has the head of a frame besides.
#[test]
fn noise_is_kept() {
    for compressor in [Compressor::Lz4, Compressor::Zstd] {
        for noise in [100, 1000, 2000, 3500] {
            let m = measured(&[page(noise, 1, 3)], compressor);
            let length = m.of_length.iter().position(|&n| n > 0).expect("a page");
            let most = noise + 4096 / 255 + 30;
            assert!((noise..most).contains(&length), "{compressor:?}: {noise} in {length}");
        }
        let m = measured(&[page(4096, 1, 4), page(4096, 1, 5)], compressor);
        assert_eq!(m.of_length[4096], 2);
        assert_eq!(said(&m, "incompressible"), "2 (100.0 %)");
        assert_eq!(said(&m, "in zram"), "2 frames for 2 objects, ratio 1.00");
    }
}

/// Half of the pages are alike, and half do not compress. A short last page is filled up with zeros.
/// Two objects of the class of 2048 bytes share a frame. A scenario takes the law.
#[test]
fn shares_are_thousandths_of_a_law() {
    let mut pages: Vec<Vec<u8>> = (0..5).map(|i| page(2000, 1, i)).collect();
    pages.extend((0..4).map(|i| page(4096, 1, 100 + i)));
    pages.push(vec![0; 10]);
    let m = measured(&pages, Compressor::Lz4);
    assert_eq!((m.pages, m.zeros), (10, 1));
    assert_eq!(said(&m, "in zram"), "7 frames for 9 objects, ratio 1.43");
    let text = m.contents();
    for part in
        ["zero-permille = 100, same", "{ permille = 556, ", "{ permille = 444, bytes = 4096 }"]
    {
        assert!(text.contains(part), "{text}");
    }
    let scenario = format!(
        "schema = 1\nname = \"x\"\n[machine]\nmemory = \"64MiB\"\nswap = {{ size = \"64MiB\", device = \
         \"zram\" }}\n[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n{text}"
    );
    let scenario = Scenario::from_str(&scenario, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
    let law = runs[0].tasks[0].contents.clone().expect("contents");
    assert_eq!((law.zero_permille, law.lengths.len()), (100, 2));
    assert!((2000..2040).contains(&law.lengths[0].bytes), "{law:?}");
}

/// A third is 334, 333 and 333 thousandths.
#[test]
fn shares_add_up() {
    let pages = [page(100, 1, 1), page(1000, 1, 2), page(2000, 1, 3)];
    let text = measured(&pages, Compressor::Lz4).contents();
    let shares: Vec<&str> = text.split("{ permille = ").skip(1).map(|t| &t[..3]).collect();
    assert_eq!(shares, ["334", "333", "333"]);
}

#[test]
fn a_compressor_without_a_crate_is_refused_by_name() {
    for (name, help) in
        [("lzo-rle", "--compressor lz4"), ("deflate", "--compressor zstd"), ("zsd", "`zstd`")]
    {
        let error = Compressor::named(name).expect_err("none of the two").to_string();
        assert!(error.contains(name) && error.contains(help), "{error}");
    }
}
