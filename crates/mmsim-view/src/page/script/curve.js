/* One figure over one axis, or over two as a map. Places on axes come with the data. */
const curveState = {figure: null, variant: 0}, O = D.over;
const plusMinus = m => num(m[0]) + ' ' + margin(m);
function curve(host) {
  curveState.figure ??= larger(0, O.figures.findIndex(f => f.label === store.dataset.figure));
  const pick = picker('Figure', O.figures.map((f, i) => [i, f.label]), curveState.figure, i => {
    curveState.figure = i;
    draw('curve');
  });
  const figure = O.figures[curveState.figure];
  (O.axes.length === 1 ? over : heat)(host, explained(piece(pick), figure.label), figure);
}
function over(host, pick, {label, optimum, at}) {
  const axis = O.axes[0], W = room(host), H = 380, left = 84, right = W - 30, top = 14, bottom = H - 60;
  const where = D.groups.map(g => axis.values.indexOf(g.axes[axis.name]));
  const lines = O.variants.map((name, k) => ({name, points: where.map((i, g) => ({i,
    m: at[g][k]}))}));
  if (optimum) lines.push({name: 'optimum', bound: true, points: where.map((i, g) => ({i,
    m: optimum[g] == null ? null : [optimum[g], null]}))});
  for (const l of lines) l.points.sort((a, b) => axis.places[a.i] - axis.places[b.i]);
  const most = larger(...lines.flatMap(l => l.points.map(p => p.m ? p.m[0] + (p.m[1] || 0) : 0)), 1e-9);
  const x = place => left + 12 + place * (right - left - 24), y = v => bottom - larger(0, v) / most
    * (bottom - top);
  const s = drawing(W, H, 11, `${label} over ${axis.title}: ` + lines.map(l => l.name + ' '
    + l.points.filter(p => p.m).map(p => axis.values[p.i] + ' ' + num(p.m[0])).join(', ')).join('; '));
  for (let v = 0, step = nice(most / 5); v <= most * 1.0001; v += step) s.append(svg('path', {
    d: `M${left} ${y(v)}H${right}`, ...faint(.13)}),
  written(left - 8, y(v) + 4, short(v), 'end'));
  for (const [place, text] of axis.ticks) s.append(svg('path', {d: `M${x(place)} ${bottom}v5`,
    ...faint(.5)}), written(x(place), bottom + 18, text, 'middle'));
  s.append(written((left + right) / 2, bottom + 40, axis.title, 'middle', {'font-size': 12}),
    written(16, (top + bottom) / 2, label, 'middle', {'font-size': 12,
      transform: `rotate(-90 16 ${(top + bottom) / 2})`}));
  const stroke = (l, k) => l.bound ? {...faint(.9),
    'stroke-width': 1.6, 'stroke-dasharray': '2 3'} : {stroke: colour(k), 'stroke-width': 1.8,
    'stroke-dasharray': dashed(k) || null};
  lines.forEach((l, k) => {
    let d = '', pen = 'M';
    for (const p of l.points) {
      if (p.m) d += pen + x(axis.places[p.i]).toFixed(1) + ' ' + y(p.m[0]).toFixed(1);
      pen = p.m ? 'L' : 'M';
    }
    s.append(svg('path', {d, fill: 'none', ...stroke(l, k)}));
    if (!l.bound) for (const p of l.points) if (p.m) {
      const cx = x(axis.places[p.i]), half = p.m[1] || 0;
      s.append(svg('g', svg('title', `${l.name}, ${axis.values[p.i]}: ${plusMinus(p.m)}`),
        svg('path', {d: `M${cx} ${y(p.m[0] - half)}V${y(p.m[0] + half)}`, stroke: colour(k),
          'stroke-width': 3, 'stroke-opacity': .55, 'stroke-linecap': 'round'}),
        svg('circle', {cx, cy: y(p.m[0]), r: 4, fill: colour(k)})));
    }
  });
  const legend = el('div.key', ...lines.map((l, k) => explained(el('span',
    stroked(stroke(l, k)), l.name), l.bound ? 'optimum' : '')));
  const list = () => [[axis.name, ...lines.flatMap(l => [l.name, l.name + ' ±'])],
    ...lines[0].points.map((p, n) => [axis.values[p.i], ...lines.flatMap(l => {
      const m = l.points[n].m;
      return m ? [m[0], m[1] ?? ''] : ['', ''];
    })])];
  host.append(el('figure', el('figcaption', pick, copyButton(list, label)), s,
    legend));
}
/* Two axes: a cell for each pair of values, the darker the more. */
function heat(host, pick, {label, at}) {
  const [down, across] = O.axes, v = smaller(curveState.variant, O.variants.length - 1);
  const value = new Map(D.groups.map((g, i) => [g.axes[down.name] + '\n' + g.axes[across.name],
    at[i][v]]));
  const cell = (r, c) => value.get(down.values[r] + '\n' + across.values[c]);
  const order = a => a.values.map((_, i) => i).sort((i, k) => a.places[i] - a.places[k]);
  const rows = order(down), columns = order(across);
  const all = [...value.values()].filter(Boolean).map(m => m[0]);
  const lo = smaller(...all), hi = larger(...all);
  const longest = larger(...down.values.map(t => t.length));
  const w = larger(62, smaller(110, 600 / columns.length)), h = 30, left = 34 + longest * 7, top = 44;
  const W = larger(left + columns.length * w + 20, 420), H = larger(top + rows.length * h + 10, 170);
  const s = drawing(W, H, 11, `${label} of ${O.variants[v]}: ${down.title} down, ${across.title} across`);
  const middle = top + rows.length * h / 2;
  s.append(written(left, 14, across.title, 'start', {'font-weight': 600}),
    written(14, middle, down.title, 'middle', {'font-weight': 600,
      transform: `rotate(-90 14 ${middle})`}));
  columns.forEach((c, k) => s.append(written(left + (k + .5) * w, top - 8, across.values[c],
    'middle')));
  rows.forEach((r, n) => {
    s.append(written(left - 8, top + (n + .5) * h + 4, down.values[r], 'end'));
    columns.forEach((c, k) => {
      const m = cell(r, c), part = m ? hi > lo ? (m[0] - lo) / (hi - lo) : .5 : 0;
      s.append(svg('g', svg('title', `${down.values[r]}, ${across.values[c]}: `
        + (m ? plusMinus(m) : '-')), svg('rect', {x: left + k * w + 1, y: top + n * h + 1,
        width: w - 2, height: h - 2, fill: '#0072b2', 'fill-opacity': m ? .06 + .9 * part : 0}),
      written(left + (k + .5) * w, top + (n + .5) * h + 4, m ? short(m[0]) : '-', 'middle',
        part > .6 ? {fill: '#fff'} : {})));
    });
  });
  const which = O.variants.length > 1 ? picker('Variant', O.variants.map((n, i) => [i, n]), v, i => {
    curveState.variant = i;
    draw('curve');
  }) : null;
  const list = () => [[down.name, ...columns.map(c => across.values[c])], ...rows.map(r =>
    [down.values[r], ...columns.map(c => (cell(r, c) || [''])[0])])];
  host.append(el('figure', el('figcaption', pick, which, copyButton(list, label)),
    el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': label}, s)));
}
VIEWS.push(['curve', O.axes.length === 1 ? 'Curve' : 'Map', curve, 0]);
