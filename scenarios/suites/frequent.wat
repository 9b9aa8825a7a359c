;; How often a folio was found used, held against how long ago: each use is worth a quarter of memory.
;; What returned soon after its eviction counts as used once more.
(module
  (func (export "score")
    (param $age i64) (param $seen i64) (param $looks i64) (param $used i64) (param $file i64)
    (param $dirty i64) (param $distance i64) (param $size i64) (param $group i64)
    (result i64)
    (local $uses i64)
    (local.set $uses (local.get $seen))
    (if (i32.and
          (i64.ge_s (local.get $distance) (i64.const 0))
          (i64.lt_s (local.get $distance) (local.get $size)))
      (then (local.set $uses (i64.add (local.get $uses) (i64.const 1)))))
    (i64.sub
      (i64.div_s (i64.mul (local.get $uses) (local.get $size)) (i64.const 4))
      (local.get $age))))
