const sweepState = {by: null, down: false, x: 0, y: 1};
function sweep(host) {
  const axes = [...new Set(D.groups.flatMap(g => Object.keys(g.axes)))];
  const labels = [];
  for (const g of D.groups) for (const r of g.rows) {
    if (r.m && !r.l.startsWith(' ') && !labels.includes(r.l)) labels.push(r.l);
  }
  const rows = D.groups.flatMap((g, gi) => g.variants.map((v, k) => ({g: gi, k, v,
    name: axes.length ? '' : g.heading, axes: axes.map(a => g.axes[a] ?? ''),
    m: labels.map(l => { const r = g.rows.find(r => r.l === l); return r && r.m ? r.m[k] : null; }),
    shown: labels.map(l => { const r = g.rows.find(r => r.l === l); return r ? r.v[k] : '-'; })})));
  const settings = axes.length ? axes : ['setting'];
  const point = r => axes.length ? r.axes : [r.name];
  const heads = [...settings, 'variant', ...labels];
  const value = (r, c) => c < settings.length ? point(r)[c] : c === settings.length ? r.v.name
    : r.m[c - settings.length - 1] ? r.m[c - settings.length - 1][0] : null;
  const compareValues = (a, b) => {
    if (a == null || b == null) return (a == null) - (b == null);
    const [x, y] = [parseFloat(a), parseFloat(b)];
    return isNaN(x) || isNaN(y) ? String(a).localeCompare(String(b), 'en') : x - y;
  };
  const body = el('tbody'), head = el('tr');
  const fill = () => {
    const order = rows.slice();
    if (sweepState.by != null) order.sort((a, b) =>
      compareValues(value(a, sweepState.by), value(b, sweepState.by)) * (sweepState.down ? -1 : 1));
    head.replaceChildren(...heads.map((h, c) => el(c <= settings.length ? 'th.l' : 'th', {
      scope: 'col', 'aria-sort': c !== sweepState.by ? 'none'
        : sweepState.down ? 'descending' : 'ascending'},
    el('button', {type: 'button', title: 'Sort', onclick: e => {
      sweepState.down = sweepState.by === c && !sweepState.down;
      sweepState.by = c;
      fill();
      head.children[c].firstChild.focus();
    }}, h + (c !== sweepState.by ? '' : sweepState.down ? ' ▾' : ' ▴')))));
    body.replaceChildren(...order.map(r => el('tr', ...[...point(r), r.v.name].map(t =>
      el('td.l', t)), ...r.shown.map((t, i) => el('td', {title: r.m[i] && r.m[i][1] != null
      ? '±' + num(r.m[i][1]) : null}, t)))));
  };
  fill();
  const list = () => [[...heads.slice(0, settings.length + 1), ...labels.flatMap(l =>
    [l, l + ' ±'])], ...rows.map(r => [...point(r), r.v.name, ...r.m.flatMap(m =>
    m ? [m[0], m[1] ?? ''] : ['', ''])])];
  host.append(sheet([rows.length + ' settings'], 'Settings', list, head, body));
  parallel(host, rows, settings, labels, point);
  front(host, rows, labels, point);
}
function parallel(host, rows, settings, labels, point) {
  const W = 1100, H = 300, top = 40, bottom = H - 30;
  const wanted = labels.map((l, i) => i).filter(i => {
    const all = rows.map(r => r.m[i] && r.m[i][0]).filter(v => v != null);
    return all.length > 1 && larger(...all) > smaller(...all);
  }).slice(0, 6);
  const cols = [...settings.map((s, i) => ({l: s, of: r => point(r)[i], word: true})),
    ...wanted.map(i => ({l: labels[i], of: r => r.m[i] && r.m[i][0]}))];
  if (cols.length < 2 || rows.length > 2000) return;
  const s = drawing(W, H, 11, 'Parallel coordinates of all settings; the table above has the same '
    + 'numbers');
  const xs = cols.map((_, i) => 70 + i * (W - 160) / (cols.length - 1));
  for (const [i, c] of cols.entries()) {
    const all = rows.map(c.of).filter(v => v != null);
    if (c.word) {
      const words = [...new Set(all)];
      c.y = v => bottom - (words.length > 1 ? words.indexOf(v) / (words.length - 1) : .5)
        * (bottom - top);
      for (const w of words.slice(0, 40)) s.append(written(xs[i] - 6, c.y(w) + 4, w, 'end'));
    } else {
      const lo = smaller(...all), hi = larger(...all);
      c.y = v => bottom - (hi > lo ? (v - lo) / (hi - lo) : .5) * (bottom - top);
      s.append(written(xs[i], bottom + 14, short(lo), 'middle'),
        written(xs[i], top - 6, short(hi), 'middle'));
    }
    s.append(svg('path', {d: `M${xs[i]} ${top}V${bottom}`, stroke: 'currentColor',
      'stroke-opacity': .4}), written(xs[i], 16, c.l, 'middle', {'font-weight': 600}));
  }
  for (const r of rows) {
    let d = '';
    cols.forEach((c, i) => { const v = c.of(r); if (v != null) d += (d ? 'L' : 'M') + xs[i] + ' '
      + c.y(v).toFixed(1); });
    s.append(svg('path', {d, fill: 'none', stroke: colour(r.k), 'stroke-opacity': .6,
      'stroke-width': 1.4}, svg('title', [...point(r), r.v.name].join(', '))));
  }
  host.append(el('figure', el('figcaption', piece('Parallel coordinates')),
    s, key([...new Map(rows.map(r => [r.v.name, r.k])).entries()])));
}
/* Settings that no other one beats in both figures. */
function front(host, rows, labels, point) {
  if (labels.length < 2) return;
  const spot = el('div');
  const better = i => labels[i].startsWith('throughput') ? -1 : 1;
  const pick = which => picker(which === 'x' ? 'Across' : 'Up', labels.map((l, i) => [i, l]),
    sweepState[which], i => { sweepState[which] = i; draw(); });
  const tp = labels.findIndex(l => l.startsWith('throughput'));
  if (tp > 0 && sweepState.y === 1) sweepState.y = tp;
  host.append(el('figure', el('figcaption', piece('Pareto front'), pick('x'),
    'against', pick('y')), spot));
  const draw = () => {
    const {x: i, y: j} = sweepState, W = 760, H = 340;
    const pts = rows.filter(r => r.m[i] && r.m[j]).map(r => ({r, a: r.m[i][0], b: r.m[j][0]}));
    const beats = (p, q) => (p.a - q.a) * better(i) <= 0 && (p.b - q.b) * better(j) <= 0
      && (p.a !== q.a || p.b !== q.b);
    const best = pts.filter(p => !pts.some(q => beats(q, p)));
    const [ma, mb] = [larger(...pts.map(p => p.a), 1e-9), larger(...pts.map(p => p.b), 1e-9)];
    const x = v => 70 + v / ma * (W - 110), y = v => H - 40 - v / mb * (H - 60);
    const s = drawing(W, H, 11, best.length + ' settings that no other one beats in both: '
      + best.map(p => [...point(p.r), p.r.v.name].join(' ')).join('; '));
    for (let v = 0; v <= ma; v += nice(ma / 5)) s.append(written(x(v), H - 22, short(v), 'middle'));
    for (let v = 0; v <= mb; v += nice(mb / 5)) s.append(
      written(62, y(v) + 4, short(v), 'end'),
      svg('path', {d: `M70 ${y(v)}H${W - 40}`, stroke: 'currentColor', 'stroke-opacity': .13}));
    s.append(written(W / 2, H - 5, labels[i], 'middle'), written(14, H / 2, labels[j], 'middle',
      {transform: `rotate(-90 14 ${H / 2})`}));
    best.sort((p, q) => p.a - q.a);
    s.append(svg('path', {d: best.map((p, k) => (k ? 'L' : 'M') + x(p.a) + ' ' + y(p.b)).join(''),
      fill: 'none', stroke: 'currentColor', 'stroke-opacity': .35}));
    for (const p of pts) s.append(svg('circle', {cx: x(p.a), cy: y(p.b),
      r: best.includes(p) ? 5.5 : 3.5, fill: colour(p.r.k),
      'fill-opacity': best.includes(p) ? 1 : .5}, svg('title',
      [...point(p.r), p.r.v.name, num(p.a), num(p.b)].join(', '))));
    spot.replaceChildren(s);
  };
  draw();
}
VIEWS.push(['sweep', 'Settings', sweep, 0]);
