/* What monitors said of memory, beside what its pages did. */
const SCHEMES = ['#0072b2', '#009e73', '#7b3fa0', '#6b6b6b', '#b3005e'];
/* The colour of a share, between colours at equal distances. */
function shade(ramp, share) {
  const at = larger(0, smaller(1, share)) * (ramp.length - 1), i = smaller(whole(at), ramp.length - 2);
  return `rgb(${ramp[i].map((c, n) => Math.round(c + (ramp[i + 1][n] - c) * (at - i)))})`;
}
const monitor = {nth: 0, scheme: -1};
function damon(host) {
  const all = run().damon;
  if (!all) return host.append(none());
  monitor.nth = smaller(monitor.nth, all.length - 1);
  const d = all[monitor.nth], rows = d.said.length, cols = d.said[0].length;
  const address = i => {
    let left = i * d.column_bytes;
    for (const [a, b] of d.areas) {
      if (left < b - a) return a + left;
      left -= b - a;
    }
    return d.areas[d.areas.length - 1][1];
  };
  const most = [d.said, d.truth || []].flat(2).reduce((m, v) => v > m ? v : m, 1e-9);
  const hex = i => '0x' + address(i).toString(16);
  const end = d.start_ns / 1e9 + rows * d.row_ns / 1e9, begin = d.start_ns / 1e9;
  const place = (px, py, w, h) => [whole((px - AXIS) / (w - AXIS) * rows),
    whole((1 - py / (h - 22)) * cols)];
  const fill = values => (ctx, w, h) => {
    const cw = (w - AXIS) / rows, ch = (h - 22) / cols, k = devicePixelRatio || 1;
    /* Edges on whole pixels leave no seam. */
    const sx = x => Math.round((AXIS + x * cw) * k) / k, sy = y => Math.round((h - 22 - y * ch) * k) / k;
    values.forEach((row, x) => row.forEach((v, y) => {
      if (v == null) return;
      ctx.fillStyle = shade(d.ramp, v / most);
      ctx.fillRect(sx(x), sy(y + 1), sx(x + 1) - sx(x), sy(y) - sy(y + 1));
    }));
    if (values === d.said) for (const [x, y, s] of d.applied) {
      if (monitor.scheme >= 0 && monitor.scheme !== s) continue;
      ctx.strokeStyle = SCHEMES[s % SCHEMES.length];
      ctx.strokeRect(AXIS + x * cw + .8, h - 22 - (y + 1) * ch + .8, larger(1, cw - 1.6),
        larger(1, ch - 1.6));
    }
    upAxis(ctx, h, cols * d.column_bytes / MIB);
    timeAxis(ctx, w, h, end - begin, begin);
  };
  const at = (px, py, w, h) => {
    const [x, y] = place(px, py, w, h);
    if (x < 0 || y < 0 || x >= rows || y >= cols) return null;
    const of = values => values[x][y] == null ? 'not watched' : num(values[x][y], 2);
    const tried = d.applied.filter(a => a[0] === x && a[1] === y);
    return [piece(`${hex(y)}, from `, bold(time(begin + x * d.row_ns / 1e9))),
      piece('said ', bold(of(d.said)), ` of ${d.window}`),
      d.truth ? piece('in truth ', bold(of(d.truth))) : '',
      ...tried.map(a => piece(swatch(SCHEMES[a[2] % SCHEMES.length]), `${d.schemes[a[2]][0]} `, el('b',
        num(a[3] / MIB, 2)), ' MiB'))];
  };
  const list = () => [['begin_ns', 'address', 'nr_accesses', ...(d.truth ? ['truth'] : [])],
    ...d.said.flatMap((row, x) => row.map((v, y) => [d.start_ns + x * d.row_ns, hex(y), v ?? '',
      ...(d.truth ? [d.truth[x][y] ?? ''] : [])]))];
  const which = all.length > 1 ? [picker('Monitor', all.map((m, i) => [i, m.title]), monitor.nth, i => {
    monitor.nth = i;
    draw('damon');
  })] : [];
  const marks = d.schemes.length ? [picker('Schemes', [[-1, 'all schemes'], [-2, 'no scheme'],
    ...d.schemes.map((s, i) => [i, s[0]])], monitor.scheme, i => { monitor.scheme = i; again(); })]
    : [];
  const again = canvas(host, `${d.title}: nr_accesses over time (across) and memory, MiB (up)`, 240,
    `${d.title}: ${num(d.snapshots)} snapshots. Arrow keys read cells.`, fill(d.said), at,
  [...which, ...marks, copyButton(list, 'cells')]);
  host.append(el('div.key', el('span', 'accesses found in a cell: 0 ', el('i.ramp', {style:
    `background:linear-gradient(to right,${d.ramp.map(c => `rgb(${c})`)})`}), ` ${num(most, 1)} of `
    + `${num(d.window)} samples`)));
  if (d.truth) canvas(host, 'What the pages did', 240, 'Samples with an access, had every page been '
    + 'looked at. Arrow keys read cells.', fill(d.truth), at);
  if (d.schemes.length) host.append(key(d.schemes.map((s, i) => [`${s[0]} was applied`,
    SCHEMES[i % SCHEMES.length]])), table(['scheme', 'tried', 'tried, MiB', 'applied', 'applied, MiB',
    'quota used up', 'snapshots'], d.schemes.map(s => [s[0], num(s[1]), num(s[2] / MIB, 1), num(s[3]),
    num(s[4] / MIB, 1), num(s[5]), s[6] === null ? '' : num(s[6])]), 'Schemes'));
  if (d.far) host.append(table(['monitor and truth', ''], d.far.map(([l, v]) => [l,
    num(v)]), 'The truth'));
  note(host, `A cell is ${num(d.column_bytes / 1024)} KiB for ${time(d.row_ns / 1e9)}, and shows the `
    + `mean of nr_accesses, 0 to ${d.window}. Addresses that the monitor did not watch are left out.`
    + (d.truth || !d.process ? '' : ' Set truth = true in [[damon]] to see the accesses of the pages.'));
}
VIEWS.push(['damon', 'DAMON', damon, 1]);
