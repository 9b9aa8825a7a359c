;; Least recently used: what was not found used for the longest time goes first.
(module
  (func (export "score")
    (param $age i64) (param $seen i64) (param $looks i64) (param $used i64) (param $file i64)
    (param $dirty i64) (param $distance i64) (param $size i64) (param $group i64)
    (result i64)
    (i64.sub (i64.const 0) (local.get $age))))
