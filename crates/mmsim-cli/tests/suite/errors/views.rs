//! Reports and options of which no picture can be made. Nothing is written then.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::Folder;

#[test]
fn reports_that_cannot_be_viewed() {
    let golden = Golden::of("view");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    let said = f.mmsim(&["run", "x.toml", "-o", "a.json", "--series", "s.csv", "--html", "a.html"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    std::fs::create_dir(f.path("folder")).expect("a folder");
    let (whole, page) = (f.read("a.json"), f.read("a.html"));
    f.write("cut.json", &whole[..whole.find("\"axes\"").expect("axes")]);
    f.write("later.json", whole.replacen("\"schema\": 1", "\"schema\": 2", 1));
    f.write("none.json", format!("{}[] }}", &whole[..whole.find('[').expect("runs")]));
    f.write("empty.json", "");
    let series = f.read("s.csv");
    f.write("cut.csv", &series[..series.len() - 5]);
    let slower = ["run", "x.toml", "--set", "machine.cost.t_hit=999ns", "--series", "other.csv"];
    assert_eq!(f.mmsim(&slower).code, Some(0));
    f.write("v.json", "{ \"mmsim\": \"0.1.0\", \"schema\": 1, \"points\": [], \"summary\": [] }");
    let before = f.names();
    let refused = |name: &str, args: &[&str]| {
        let said = f.mmsim(&[&["view"], args, &["-o", "out.html"]].concat());
        golden.is(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), before.clone()), "{name}");
    };
    refused("view-of-a-page", &["a.html"]);
    refused("view-of-a-folder", &["folder"]);
    refused("view-truncated", &["cut.json"]);
    refused("view-of-another-schema", &["later.json"]);
    refused("view-of-no-run", &["none.json"]);
    refused("view-of-nothing", &["empty.json"]);
    refused("view-of-a-scenario", &["x.toml"]);
    refused("view-second-of-two", &["a.json", "cut.json"]);
    refused("view-series-for-report", &["s.csv"]);
    refused("view-report-for-series", &["a.json", "--series", "a.json"]);
    refused("view-series-cut-off", &["a.json", "--series", "cut.csv"]);
    refused("view-series-of-one-report", &["a.json", "a.json", "--series", "s.csv"]);
    refused("view-series-of-another-report", &["a.json", "--series", "other.csv"]);
    refused("view-of-a-validation", &["v.json"]);
    refused("view-no-such-figure", &["a.json", "--by", "swapins"]);
    golden.is("view-over-input", &f.mmsim(&["view", "a.json", "-o", "a.json"]));
    golden.is("view-of-another-ending", &f.mmsim(&["view", "a.json", "-o", "a.csv"]));
    golden.is("pages-of-no-html", &f.mmsim(&["run", "x.toml", "--html-pages"]));
    golden.is("blocks-of-no-html", &f.mmsim(&["run", "x.toml", "--html-blocks"]));
    golden.is("folded-of-no-why", &f.mmsim(&["run", "x.toml", "--folded", "x.folded"]));
    golden.is("html-of-another-ending", &f.mmsim(&["run", "x.toml", "--html", "a.svg"]));
    golden.is("html-of-a-dry-run", &f.mmsim(&["run", "x.toml", "--dry-run", "--html", "h.html"]));
    golden.is("no-folder-for-html", &f.mmsim(&["run", "x.toml", "--html", "no/such.html"]));
    f.write("two.txt", TWO_TARGETS);
    let heat = ["damon", "heatmap", "two.txt"];
    golden.is("image-of-two-targets", &f.mmsim(&[&heat[..], &["--png", "h.png"]].concat()));
    golden.is("image-of-another-ending", &f.mmsim(&[&heat[..], &["--png", "h.svg"]].concat()));
    golden.is("image-into-nowhere", &f.mmsim(&[&heat[..], &["--svg", "no/h.svg"]].concat()));
    std::fs::remove_file(f.path("two.txt")).expect("it is there");
    assert_eq!((f.names(), f.read("a.json"), f.read("a.html")), (before.clone(), whole, page));
}

/// Two targets, as `perf script` prints them.
const TWO_TARGETS: &str = "\
kdamond.0   75 [000]    10.000000: damon:damon_aggregated: target_id=0 nr_regions=1 0-4096: 1 0
kdamond.0   75 [000]    10.100000: damon:damon_aggregated: target_id=0 nr_regions=1 0-4096: 2 0
kdamond.0   75 [000]    10.100000: damon:damon_aggregated: target_id=1 nr_regions=1 0-4096: 3 0
";
