const sweepState = {by: null, down: false, x: 0, y: 1};
function sweep(host) {
  const axes = [...new Set(D.groups.flatMap(g => Object.keys(g.axes)))];
  const labels = [];
  for (const g of D.groups) for (const r of g.rows) {
    if (r.m && !r.l.startsWith(' ') && !labels.includes(r.l)) labels.push(r.l);
  }
  /* A setting where a figure is zero in all variants has no row of it. */
  const over = (l, gi, k) => D.over?.figures.find(f => f.label === l)?.at[gi][k];
  const cells = (g, gi, k) => {
    const all = labels.map(l => g.rows.find(r => r.l === l));
    const m = all.map((r, i) => r ? r.m && r.m[k] : over(labels[i], gi, k));
    return {m, shown: all.map((r, i) => r ? r.v[k] : m[i] ? num(m[i][0]) : '-')};
  };
  const rows = D.groups.flatMap((g, gi) => g.variants.map((v, k) => ({g: gi, k, v,
    name: axes.length ? '' : g.heading, axes: axes.map(a => g.axes[a] ?? ''),
    ...cells(g, gi, k)})));
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
    explained(el('button', {type: 'button', onclick: e => {
      sweepState.down = sweepState.by === c && !sweepState.down;
      sweepState.by = c;
      fill();
      head.children[c].firstChild.focus();
    }}, h + (c !== sweepState.by ? '' : sweepState.down ? ' ▾' : ' ▴')), h))));
    body.replaceChildren(...order.map(r => el('tr', ...[...point(r), r.v.name].map(t =>
      el('td.l', t)), ...r.shown.map((t, i) => el('td', t, r.m[i] && r.m[i][1] != null
      ? el('small', ' ' + margin(r.m[i])) : null)))));
  };
  fill();
  const list = () => [[...heads.slice(0, settings.length + 1), ...labels.flatMap(l =>
    [l, l + ' ±'])], ...rows.map(r => [...point(r), r.v.name, ...r.m.flatMap(m =>
    m ? [m[0], m[1] ?? ''] : ['', ''])])];
  const whole = sheet([rows.length + ' settings'], 'Settings', list, head, body);
  /* The picture comes first: a curve above this table is one. */
  if (D.over) host.append(whole);
  parallel(host, rows, settings, labels, point);
  front(host, rows, labels, point);
  if (!D.over) host.append(whole);
}
function parallel(host, rows, settings, labels, point) {
  const W = 1100, H = 310, top = 50, bottom = H - 30;
  const wanted = labels.map((l, i) => i).filter(i => {
    const all = rows.map(r => r.m[i] && r.m[i][0]).filter(v => v != null);
    return all.length > 1 && larger(...all) > smaller(...all);
  }).slice(0, 6);
  const cols = [...settings.map((s, i) => ({l: s, of: r => point(r)[i], word: true})),
    ...wanted.map(i => ({l: labels[i], of: r => r.m[i] && r.m[i][0]}))];
  if (cols.length < 2 || rows.length > 2000) return;
  const s = drawing(W, H, 11, 'Parallel coordinates of all settings; the table above has the same '
    + 'numbers');
  const longest = larger(0, ...rows.map(r => String(cols[0].of(r)).length));
  const left = smaller(200, larger(30, 12 + longest * 6.6));
  const xs = cols.map((_, i) => left + i * (W - left - 60) / (cols.length - 1));
  /* Texts stand on lines: an edge of the ground's colour keeps them readable. */
  const clear = {stroke: 'var(--bg)', 'stroke-width': 4, 'paint-order': 'stroke'};
  const texts = [], tail = l => settings.filter(s => s.split('.').pop() === l.split('.').pop()).length > 1
    ? l : l.split('.').pop();
  for (const [i, c] of cols.entries()) {
    const all = rows.map(c.of).filter(v => v != null);
    if (c.word) {
      const words = [...new Set(all)];
      c.y = v => bottom - (words.length > 1 ? words.indexOf(v) / (words.length - 1) : .5)
        * (bottom - top);
      for (const w of words.slice(0, 40)) texts.push(written(xs[i] - 6, c.y(w) + 4, w, 'end', clear));
    } else {
      const lo = smaller(...all), hi = larger(...all);
      c.y = v => bottom - (hi > lo ? (v - lo) / (hi - lo) : .5) * (bottom - top);
      texts.push(written(xs[i], bottom + 16, short(lo), 'middle', clear),
        written(xs[i], top - 8, short(hi), 'middle', clear));
    }
    /* Titles lie within the drawing, and on two heights, so that neighbours do not meet. */
    const [x, anchor] = i === 0 ? [0, 'start'] : i === cols.length - 1 ? [W, 'end'] : [xs[i], 'middle'];
    s.append(svg('path', {d: `M${xs[i]} ${top}V${bottom}`, stroke: 'currentColor',
      'stroke-opacity': .4}), written(x, i % 2 ? 28 : 12, c.word ? tail(c.l) : c.l, anchor,
      {'font-weight': 600}));
  }
  for (const r of rows) {
    let d = '';
    cols.forEach((c, i) => { const v = c.of(r); if (v != null) d += (d ? 'L' : 'M') + xs[i] + ' '
      + c.y(v).toFixed(1); });
    s.append(svg('path', {d, fill: 'none', stroke: colour(r.k), 'stroke-opacity': .85,
      'stroke-width': 1.4, 'stroke-dasharray': dashed(r.k) || null},
    svg('title', [...point(r), r.v.name].join(', '))));
  }
  s.append(...texts);
  s.style.minWidth = '760px';
  host.append(el('figure', el('figcaption', piece('Parallel coordinates')), el('div.scroll',
    {tabindex: 0, role: 'region', 'aria-label': 'Parallel coordinates'}, s), el('div.key',
    ...[...new Map(rows.map(r => [r.v.name, r.k])).entries()].map(([n, k]) => el('span',
      stroked({stroke: colour(k), 'stroke-width': 2, 'stroke-dasharray': dashed(k) || null}), n)))));
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
    const {x: i, y: j} = sweepState, W = room(host), H = 340;
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
      svg('path', {d: `M70 ${y(v)}H${W - 40}`, ...faint(.13)}));
    s.append(written(W / 2, H - 5, labels[i], 'middle'), written(14, H / 2, labels[j], 'middle',
      {transform: `rotate(-90 14 ${H / 2})`}));
    best.sort((p, q) => p.a - q.a);
    s.append(svg('path', {d: best.map((p, k) => (k ? 'L' : 'M') + x(p.a) + ' ' + y(p.b)).join(''),
      fill: 'none', ...faint(.35)}));
    for (const p of pts) s.append(svg('circle', {cx: x(p.a), cy: y(p.b),
      r: best.includes(p) ? 5.5 : 3.5, fill: colour(p.r.k),
      'fill-opacity': best.includes(p) ? 1 : .5}, svg('title',
      [...point(p.r), p.r.v.name, num(p.a), num(p.b)].join(', '))));
    spot.replaceChildren(s);
  };
  draw();
}
VIEWS.push(['sweep', 'Settings', sweep, 0]);
