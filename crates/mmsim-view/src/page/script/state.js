const S = {g: 0, v: 0, seed: 0, row: 0};
/* Memory has the same colour for the same use in every chart. */
const INK = {anon: '#0072b2', file: '#d55e00', 'page tables': '#7f6a00', slab: '#cc79a7',
  zram: '#6b6b6b', zswap: '#56b4e9', free: '#009e73'};
const group = () => D.groups[S.g];
const variant = () => group().variants[smaller(S.v, group().variants.length - 1)];
const sameSeed = v => v.runs.find(r => r.seed === S.seed) || v.runs[0];
const run = () => sameSeed(variant());
function columns(r) {
  if (!r.series) return null;
  if (!r.cache) {
    r.cache = {t: total(r.series.t).map(t => t / 1e9)};
    for (const [name, d] of r.series.cols) r.cache[name] = total(d);
  }
  return r.cache;
}
/* Per second, over the interval that ends at each point: the first from the start of the run, and
   a last one that is cut short together with the one before it. */
function rate(t, totals, scale) {
  return totals.map((v, i) => {
    const cut = i > 1 && t[i] - t[i - 1] < (t[i - 1] - t[i - 2]) / 2;
    const k = i - (cut ? 2 : 1);
    if (!i) return t[0] > 0 ? v / t[0] * (scale || 1) : null;
    return t[i] > t[k] ? (v - totals[k]) / (t[i] - t[k]) * (scale || 1) : null;
  });
}
function sum(c, names) {
  const have = names.filter(n => c[n]);
  return have.length ? c.t.map((_, i) => have.reduce((s, n) => s + c[n][i], 0)) : null;
}
