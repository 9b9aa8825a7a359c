//! Places of the tables of daemons.

/// The text before the keys of a table, behind the machine's; its path; what its keys need.
pub(super) type Place = (String, &'static str, &'static [(&'static str, &'static str)]);

const RULE: &str = "{ when = \"meminfo.MemFree < 1\", do = { swappiness = \"1\" } }";
const GROUP: &str = "memcg = [{ name = \"a\" }]\n";
const DETECTOR: &str = "[{ plugin = \"swap_free\", threshold = 10 }]";
const OOMD_KILL: &str = "{ plugin = \"kill_by_swap_usage\", among = \"a\" }";
const WHEN: &str = "[[daemon.rule]]\nwhen = \"meminfo.MemFree < 1\"\n";

/// The place of a table with this title.
pub(super) fn place(title: &str) -> Option<Place> {
    let daemon = "[[daemon]]\n";
    Some(match title {
        "[[daemon]]" => (daemon.into(), "daemon[0].", &[("earlyoom", "{}")]),
        "[daemon.earlyoom]" => (format!("{daemon}{title}\n"), "daemon[0].earlyoom.", &[]),
        "[daemon.nohang]" => (format!("{daemon}{title}\n"), "daemon[0].nohang.", &[]),
        "[[daemon.oomd]]" => (
            format!("{GROUP}{daemon}{title}\n"),
            "daemon[0].oomd[0].",
            &[("detector", DETECTOR), ("kill", OOMD_KILL), ("hook", "\"1s\"")],
        ),
        "[[daemon.oomd.detector]]" => (
            format!("{GROUP}{daemon}[[daemon.oomd]]\nkill = {OOMD_KILL}\n{title}\n"),
            "daemon[0].oomd[0].detector[0].",
            &[
                ("plugin", "\"pressure_above\""),
                ("memcg", "\"/\""),
                ("threshold", "60"),
                ("duration", "\"1s\""),
            ],
        ),
        "[daemon.oomd.kill]" => (
            format!("{GROUP}{daemon}[[daemon.oomd]]\ndetector = {DETECTOR}\n{title}\n"),
            "daemon[0].oomd[0].kill.",
            &[("plugin", "\"kill_by_swap_usage\""), ("among", "\"a\"")],
        ),
        "[daemon.lmkd]" => (format!("{daemon}{title}\n"), "daemon[0].lmkd.", &[]),
        "[daemon.systemd-oomd]" => (
            format!("{daemon}{title}\n"),
            "daemon[0].systemd-oomd.",
            &[("watch", "[{ memcg = \"/\", swap = true }]")],
        ),
        "[[daemon.systemd-oomd.watch]]" => (
            format!("{daemon}[daemon.systemd-oomd]\n{title}\n"),
            "daemon[0].systemd-oomd.watch[0].",
            &[("memcg", "\"/\""), ("swap", "true")],
        ),
        "[daemon.kubelet]" => {
            let swap = "swap = { size = \"64MiB\", device = \"zram\" }\n";
            let pod = format!("{swap}[[pod]]\nname = \"a\"\nrequest = \"8MiB\"\n");
            let given = &[
                ("memory-qos", "true"),
                ("eviction-hard", "\"0 pages\""),
                ("eviction-soft", "\"8MiB\""),
                ("eviction-soft-grace", "\"1s\""),
            ];
            (format!("{pod}{daemon}{title}\n"), "daemon[0].kubelet.", given)
        }
        "[[pod]]" => {
            let given = &[("name", "\"a\""), ("limit", "\"1GiB\""), ("request", "\"0 pages\"")];
            (
                format!("{daemon}kubelet = {{ eviction-hard = \"0 pages\" }}\n{title}\n"),
                "pod[0].",
                given,
            )
        }
        "[[pod.container]]" => {
            let given = &[("name", "\"a\""), ("limit", "\"1GiB\""), ("request", "\"0 pages\"")];
            let pod = "[[pod]]\nname = \"p\"\n";
            (
                format!("{daemon}kubelet = {{ eviction-hard = \"0 pages\" }}\n{pod}{title}\n"),
                "pod[0].container[0].",
                given,
            )
        }
        "[daemon.senpai]" => {
            (format!("{GROUP}{daemon}{title}\n"), "daemon[0].senpai.", &[("memcg", "\"a\"")])
        }
        "[[daemon.trigger]]" => (
            format!("{daemon}rule = [{RULE}]\n{title}\n"),
            "daemon[0].trigger[0].",
            &[("memcg", "\"/\""), ("threshold", "\"1ms\"")],
        ),
        "[[daemon.rule]]" => (
            format!("{daemon}{title}\n"),
            "daemon[0].rule[0].",
            &[("when", "\"meminfo.MemFree < 1\""), ("do", "{ swappiness = \"1\" }")],
        ),
        "[daemon.rule.victim]" => (
            format!("{daemon}{WHEN}do = {{ signal = \"SIGKILL\" }}\n{title}\n"),
            "daemon[0].rule[0].victim.",
            &[("among", "\"processes\"")],
        ),
        "[daemon.rule.do]" => (
            format!("{GROUP}{daemon}{WHEN}victim = {{ among = \"a\" }}\n{title}\n"),
            "daemon[0].rule[0].do.",
            &[],
        ),
        _ => return None,
    })
}
