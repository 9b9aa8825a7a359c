const main = rows => rows.filter(r => r.m);
function pickRow(label) {
  const rows = group().rows;
  const at = rows.findIndex(r => r.m && r.l === label);
  return at >= 0 ? at : larger(0, rows.findIndex(r => r.m));
}
function sure(d) {
  return d && d[1] != null && Math.abs(d[0]) > d[1];
}
function fullLabel(rows, i) {
  if (!rows[i].l.startsWith(' ')) return rows[i].l;
  for (let k = i; k >= 0; k--) if (!rows[k].l.startsWith(' ')) return rows[k].l + ': '
    + rows[i].l.trim();
  return rows[i].l.trim();
}
function dots(g, i) {
  const row = g.rows[i], W = room($('compare')), H = 30 * g.variants.length + 62;
  const longest = larger(...g.variants.map(v => v.name.length));
  const left = larger(90, smaller(40, longest) * 7.6 + 24), right = W - 110;
  let most = 0;
  row.m.forEach(m => m && (most = larger(most, m[0] + (m[1] || 0))));
  row.s.forEach(s => s.forEach(p => most = larger(most, p[1])));
  most = most || 1;
  const x = v => left + larger(0, v) / most * (right - left);
  const title = fullLabel(g.rows, i);
  const s = drawing(W, H, 13, title + ': ' + g.variants.map((v, k) => v.name + ' ' + row.v[k]).join(', '));
  s.append(written(0, 18, title, 'start', {'font-weight': 600}));
  for (let v = 0, step = nice(most / 5); v <= most; v += step) {
    s.append(svg('path', {d: `M${x(v)} 30V${H - 26}`, stroke: 'currentColor',
      'stroke-opacity': .13}));
    s.append(written(x(v), H - 10, short(v), 'middle', {'font-size': 11}));
  }
  g.variants.forEach((v, k) => {
    const y = 46 + 30 * k, m = row.m[k], c = colour(k);
    const name = v.name.length > 40 ? v.name.slice(0, 39) + '…' : v.name;
    s.append(written(left - 10, y + 4.5, name, 'end'));
    if (!m) {
      s.append(written(left, y + 4.5, '-'));
      return;
    }
    const half = m[1] || 0;
    const words = num(m[0]) + ' ' + margin(m);
    const node = svg('g', svg('title', v.name + ': ' + words),
      svg('path', {d: `M${x(m[0] - half)} ${y}H${x(m[0] + half)}`, stroke: c, 'stroke-width': 4,
        'stroke-opacity': .5, 'stroke-linecap': 'round'}));
    row.s[k].forEach(p => node.append(svg('circle', {cx: x(p[1]), cy: y, r: 3, fill: 'none',
      stroke: c}, svg('title', 'seed ' + p[0] + ': ' + num(p[1])))));
    node.append(svg('circle', {cx: x(m[0]), cy: y, r: 5, fill: c}));
    s.append(node, written(x(m[0] + half) + 10, y + 4, words, 'start', {'font-size': 11}));
  });
  return s;
}
function compare(host) {
  const g = group(), several = g.variants.length > 1;
  const picture = el('figure');
  const body = el('tbody');
  const show = i => {
    S.row = i;
    for (const tr of body.children) tr.classList.toggle('on', +tr.dataset.i === i);
    picture.replaceChildren(dots(g, i));
  };
  g.rows.forEach((r, i) => {
    const inner = r.l.startsWith(' ') ? '.in' : '';
    const words = [r.l.trim(), fullLabel(g.rows, i).split(': ')[0]];
    const name = explained(r.m ? el('button', {type: 'button', onclick: () => show(i)}, r.l.trim())
      : piece(r.l.trim()), ...words);
    const cells = [];
    g.variants.forEach((v, k) => {
      const m = r.m && r.m[k];
      const title = m && m[1] != null ? num(m[0]) + ' ±' + num(m[1]) + ' over ' + r.s[k].length
        + ' seeds' : null;
      cells.push(el('td', {title}, r.v[k], m && m[1] != null ? el('small', ' ' + margin(m)) : null));
      if (k) cells.push(el(sure(r.d && r.d[k]) ? 'td.ch.sure' : 'td.ch', r.c[k]));
    });
    body.append(el('tr', {'data-i': i}, el('th' + inner, {scope: 'row'}, name), ...cells));
  });
  const head = [el('th', {scope: 'col'}, piece(''))];
  g.variants.forEach((v, k) => {
    head.push(el('th', {scope: 'col', title: v.policy + ' on ' + v.kernel}, v.name));
    if (k) head.push(el('th', {scope: 'col'}, 'change'));
  });
  const table = () => [['figure', ...g.variants.flatMap((v, k) => [v.name, v.name + ' ±',
    ...(k ? [v.name + ' change %', v.name + ' change ±'] : [])])],
  ...g.rows.map((r, i) => [fullLabel(g.rows, i), ...g.variants.flatMap((v, k) => {
    const m = r.m && r.m[k], d = r.d && r.d[k];
    return [m ? m[0] : r.m ? '' : r.v[k], m ? m[1] : '', ...(k ? [d ? d[0] : '', d ? d[1] : '']
      : [])];
  })])];
  const seeds = larger(...g.variants.map(v => v.runs.length));
  note(host, seeds > 1
    ? `Means over ${seeds} seeds` + (several ? '; changes are means over pairs of equal seeds '
      + '± 95 % confidence, bold where the interval leaves out zero.' : '.')
    : 'One seed: no interval.', ' ');
  host.append(picture, sheet([''], 'Table of variants', table, el('tr', ...head), body));
  if (main(g.rows).length) show(S.row && g.rows[S.row] && g.rows[S.row].m ? S.row
    : pickRow(store.dataset.figure));
}
VIEWS.push(['compare', 'Variants', compare, 2]);
