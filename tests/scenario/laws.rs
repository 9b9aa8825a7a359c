//! Laws in scenarios: what they do to a run.

use crate::harness;
use mmsim::report::RunReport;

/// One client that reads one block after the other, each from the disk: the data is far larger
/// than memory. `rest` ends the task.
fn reader(read: &str, rest: &str) -> RunReport {
    let text = format!(
        "[machine]\nmemory = \"8MiB\"\n\
         file-device = {{ name = \"disk\", read = \"{read}\", write = \"100us\" }}\n\
         [[task]]\nworkload = \"reader\"\nitems = 400000\nitem = \"4KiB\"\nblock = \"4KiB\"\n{rest}\n"
    );
    harness::report(&text).runs.remove(0)
}

/// The median time of a transaction, in microseconds, and transactions per second.
fn figures(run: &RunReport) -> (f64, f64) {
    let record = run.tasks[0].record.as_ref().expect("transactions have a latency");
    (record.latency.p50_ns as f64 / 1e3, run.throughput.records_per_s)
}

const OPEN: &str = "arrival = { law = \"exponential\", mean = \"300us\" }";

/// A disk that becomes slower. A client of a closed loop asks for the next block when it has the
/// last one. It slows down with the disk, and its waits are those of the disk. Requests of an open
/// loop come as before. While the disk keeps up, as many are served; when it does not, each waits
/// for all before it, so the wait grows with the length of the run.
#[test]
fn open_loops_queue_where_closed_loops_slow_down() {
    let closed = |read: &str, n: u32| figures(&reader(read, &format!("records = {n}")));
    let open = |read: &str, n: u32| figures(&reader(read, &format!("records = {n}\n{OPEN}")));
    // 100 us against 300 us between arrivals, then 200 us, then 400 us.
    let [fast, slow, late] = ["100us", "200us", "400us"].map(|read| closed(read, 4000));
    assert!(slow.1 < fast.1 * 0.6 && late.1 < fast.1 * 0.3, "{fast:?} {slow:?} {late:?}");
    assert!(slow.0 > fast.0 * 1.7 && slow.0 < fast.0 * 2.3, "{fast:?} {slow:?}");
    assert!(late.0 > fast.0 * 3.4 && late.0 < fast.0 * 4.6, "{fast:?} {late:?}");
    let twice = closed("400us", 8000);
    assert!((twice.0 / late.0 - 1.0).abs() < 0.05, "{late:?} {twice:?}");

    let [fast, slow, late] = ["100us", "200us", "400us"].map(|read| open(read, 4000));
    assert!((slow.1 / fast.1 - 1.0).abs() < 0.02, "all are served: {fast:?} {slow:?}");
    assert!(late.1 < fast.1 * 0.85, "the disk's own speed: {fast:?} {late:?}");
    assert!(slow.0 > fast.0 * 2.3, "they wait for one another: {fast:?} {slow:?}");
    assert!(late.0 > fast.0 * 100.0, "{fast:?} {late:?}");
    let twice = open("400us", 8000);
    assert!(twice.0 > late.0 * 1.6, "{late:?} {twice:?}");
}

/// One server, exponential times between arrivals, and a service that always takes the same time.
/// Erlang (1909): a wait of at most `t`, below one service, has the probability
/// (1 - rho) exp(rho t), in services. So the median wait is ln(0.5 / (1 - rho)) / rho, or nothing
/// where more than half do not wait at all. Quantiles are upper edges of sixteenths.
#[test]
fn waits_are_those_of_the_queue_that_it_is() {
    let service = 1e6 / figures(&reader("100us", "records = 4000")).1;
    for rho in [0.4_f64, 0.6, 0.7] {
        let law = format!("{{ law = \"exponential\", mean = \"{:.0}ns\" }}", service * 1e3 / rho);
        let run = reader("100us", &format!("records = 60000\narrival = {law}"));
        let wait = ((0.5 / (1.0 - rho)).ln() / rho).max(0.0);
        let (found, known) = (figures(&run).0, service * (1.0 + wait));
        assert!(found > known * 0.97 && found < known * 1.09, "at {rho}: {found}, not {known} us");
    }
}

/// Reports say which law a run had, and a plain value is what it was.
#[test]
fn reports_say_the_law() {
    let run = reader("100us", &format!("records = 10\n{OPEN}"));
    let of = |key: &str| run.setup.get(key).map(String::as_str);
    assert_eq!(of("task[0].arrival.law"), Some("exponential"));
    assert_eq!(of("task[0].arrival.mean"), Some("300us"));
    assert_eq!(of("task[0].index-reads"), Some("0"));
    let plain = reader("100us", "records = 10\narrival = \"300us\"");
    assert_eq!(plain.setup.get("task[0].arrival").map(String::as_str), Some("300us"));
}
