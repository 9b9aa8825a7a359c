;; The rule of rules.toml as a program.
(module
  (import "mmsim" "read" (func $read (param i64 i32 i32) (result i64)))
  (import "mmsim" "processes" (func $processes (param i64 i64) (result i64)))
  (import "mmsim" "kill" (func $kill (param i64 i32) (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "meminfo.MemAvailable")
  (data (i32.const 32) "memcg(work/b).current")
  (data (i32.const 64) "rss")

  (func $largest (result i64)
    (local $i i64) (local $process i64) (local $rss i64) (local $most i64) (local $found i64)
    (local.set $most (i64.const -1))
    (local.set $found (i64.const -1))
    (loop $each
      (local.set $process (call $processes (i64.const 0) (local.get $i)))
      (if (i64.ge_s (local.get $process) (i64.const 0))
        (then
          (local.set $rss (call $read (local.get $process) (i32.const 64) (i32.const 3)))
          (if (i64.gt_s (local.get $rss) (local.get $most))
            (then
              (local.set $most (local.get $rss))
              (local.set $found (local.get $process))))
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (br $each))))
    (local.get $found))

  (func (export "tick") (param $now i64) (param $trigger i64) (result i64)
    (local $available i64) (local $current i64) (local $victim i64)
    (local.set $available (call $read (i64.const 0) (i32.const 0) (i32.const 20)))
    (local.set $current (call $read (i64.const 0) (i32.const 32) (i32.const 21)))
    (if (i32.and
          (i64.lt_s (local.get $available) (i64.const 16777216))
          (i64.gt_s (local.get $current) (i64.const 8388608)))
      (then
        (local.set $victim (call $largest))
        (if (i64.ge_s (local.get $victim) (i64.const 0))
          (then (drop (call $kill (local.get $victim) (i32.const 9)))))))
    (i64.add (local.get $now) (i64.const 100000))))
