//! Every mistake that a schema of single values can see is one for the schema of `mmsim schema` too.

use super::cases;
use crate::harness::{Names, Validator};

/// Cases that no schema of single values can see: two keys that contradict each other,
/// names and paths that refer to something, sizes in relation, files that are not there,
/// knobs that are described in words.
const BEYOND_A_SCHEMA: &[&str] = &[
    "part_of_a_page",
    "size_too_large",
    "memory_too_small",
    "knob_without_meaning",
    "bad_knob_value",
    "set_what_variants_replace",
    "set_what_an_axis_replaces",
    "unknown_memcg",
    "memcg_without_any",
    "missing_trace",
    "trace_is_a_directory",
    "no_memory",
    "no_end_of_work",
    "two_ends_of_work",
    "no_time_at_all",
    "duplicate_variant",
    "duplicate_task_name",
    "duplicate_memcg",
    "memory_and_zone",
    "memory_and_node",
    "zipf_and_generator",
    "part_of_a_chunk",
    "build_no_end",
    "build_two_ends",
    "build_no_time",
    "build_header",
    "build_anon_min",
    "build_anon_bounds",
    "build_anon_min_above_default",
    "build_anon_max_below_default",
    "build_compute_bounds",
    "build_compute_above_default",
    "build_object_bounds",
    "build_files",
    "build_text_too_large",
    "swappiness_of_old_kernel",
    "swappiness_of_old_variant",
    "not_a_power_of_two",
    "dirty_ratio_and_bytes",
    "sysctl_of_a_later_kernel",
    "sysctl_of_an_earlier_kernel",
    "sysctl_value_of_a_later_kernel",
    "defrag_of_a_later_kernel",
    "later_parameter_of_a_module",
    "reclaim_swappiness_of_old_kernel",
    "os_holds_all",
    "zone_order",
    "zone_free_too_large",
    "zone_watermarks_fall",
    "zone_one_watermark",
    "device_of_two_kinds",
    "rule_and_key",
    "rules_that_contradict",
    "axis_without_key",
    "axis_value_spelled_twice",
    "axis_spelled_twice",
    "axis_beyond_the_list",
    "axis_through_a_value",
    "axis_without_index",
    "axis_bad_value",
    "axis_of_schema",
    "too_many_runs",
    "variant_sets_nonsense",
    "variant_kernel_twice",
    "step_region_unknown",
    "step_beyond_region",
    "step_maps_unmappable",
    "step_reads_anon",
    "step_reads_into_less",
    "step_reads_into_a_file_that_is_not_mapped",
    "step_advice_for_anonymous_memory",
    "region_two_sizes",
    "script_two_sources",
    "theta_of_a_cycle",
    "time_that_does_not_pass",
    "item_of_parts_of_blocks",
    "reads_of_no_index",
    "too_many_items",
    "reader_stale_bounds",
    "apps_interval",
    "apps_launch",
    "apps_too_large",
    "apps_rereads",
    "apps_two_ends",
];

/// Every other mistake in a file is one for the schema of `mmsim schema` as well, by the
/// word of a validator that shares no code with the reader.
#[test]
fn the_schema_refuses_what_it_can_see() {
    let validator = Validator::new(&Names);
    let mut wrong = Vec::new();
    for c in cases().filter(|c| c.sets.is_empty()) {
        let Some(judgement) = validator.judge(c.text) else { continue };
        if judgement.is_ok() != BEYOND_A_SCHEMA.contains(&c.name) {
            wrong.push(c.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for name in BEYOND_A_SCHEMA {
        assert!(cases().any(|c| c.name == *name), "there is no case {name}");
    }
}
