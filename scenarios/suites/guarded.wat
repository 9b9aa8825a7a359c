;; Anonymous memory is kept for longer than what a file has, which may have been read ahead for
;; nobody. A use is worth nearly two memories of evictions, an early return nearly four. The constants
;; were found by a search over the seeds of small.toml that count, without replay-sort.
(module
  (func (export "score")
    (param $age i64) (param $seen i64) (param $looks i64) (param $used i64) (param $file i64)
    (param $dirty i64) (param $distance i64) (param $size i64) (param $group i64)
    (result i64)
    (local $worth i64)
    (local.set $worth
      (i64.add
        (i64.mul (local.get $seen) (i64.const 14))
        (select (i64.const 2) (i64.const 44) (i32.wrap_i64 (local.get $file)))))
    (if (i32.and
          (i64.ge_s (local.get $distance) (i64.const 0))
          (i64.lt_s (local.get $distance) (local.get $size)))
      (then (local.set $worth (i64.add (local.get $worth) (i64.const 30)))))
    (i64.div_s
      (i64.sub
        (i64.mul (local.get $worth) (local.get $size))
        (i64.mul (local.get $age)
          (select (i64.const 44) (i64.const 8) (i32.wrap_i64 (local.get $file)))))
      (i64.const 8))))
