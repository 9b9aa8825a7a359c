//! Places of the tables of daemons.

/// The text before the keys of a table, behind the machine's; its path; what its keys need.
type Place = (String, &'static str, &'static [(&'static str, &'static str)]);

const RULE: &str = "{ when = \"meminfo.MemFree < 1\", do = { swappiness = \"1\" } }";
const GROUP: &str = "memcg = [{ name = \"a\" }]\n";
const WHEN: &str = "[[daemon.rule]]\nwhen = \"meminfo.MemFree < 1\"\n";

/// The place of a table with this title.
pub(super) fn place(title: &str) -> Option<Place> {
    let daemon = "[[daemon]]\n";
    Some(match title {
        "[[daemon]]" => (daemon.into(), "daemon[0].", &[("earlyoom", "{}")]),
        "[daemon.earlyoom]" => (format!("{daemon}{title}\n"), "daemon[0].earlyoom.", &[]),
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
