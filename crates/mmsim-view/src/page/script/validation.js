/* Recorded beside simulated: a point of the plot is a row of the table. */
const V = {by: 12, down: true, only: ['', '', '', ''], which: 'all', at: 0};
const MOST_ROWS = 200;
function validation(host) {
  const {words, rows, columns} = D.validation, spot = el('div');
  const value = (r, c) => c < 6 ? words[r[c]] : c < 10 ? r[c] : c === 10 ? (r[6] ? Math.abs(r[9]
    / r[6] - 1) : -1) : r[c];
  const cell = (r, c) => c < 6 ? words[r[c]] : c < 10 ? num(r[c]) : c === 10
    ? r[6] ? num((r[9] / r[6] - 1) * 100, 1) : '-' : c === 11 ? r[c] ? 'yes' : 'no'
      : r[c] ? 'missed' : '';
  const filters = [0, 2, 3, 5].map((c, i) => {
    const all = [...new Set(rows.map(r => words[r[c]]))].sort();
    return picker(columns[c], [['', 'every ' + columns[c]], ...all.map(w => [w, w])], V.only[i],
      w => { V.only[i] = w; show(); });
  });
  const which = picker('Which values', [['all', 'all values'], ['out', 'outside the recorded range'],
    ['missed', 'that miss a rule']], V.which, v => { V.which = v; show(); });
  const show = () => {
    const some = rows.filter(r => [0, 2, 3, 5].every((c, i) => !V.only[i]
      || words[r[c]] === V.only[i]) && (V.which === 'all' || !r[V.which === 'out' ? 11 : 12] ^
      (V.which === 'missed')));
    const inside = some.filter(r => r[11]).length, missed = some.filter(r => r[12]).length;
    spot.replaceChildren(el('p', `${num(some.length)} values: ${num(inside)} within the recorded `
      + `range, ${num(missed)} miss a rule.`));
    scatter(spot, some, value);
    const order = some.slice().sort((a, b) => {
      const [x, y] = [value(a, V.by), value(b, V.by)];
      return (x < y ? -1 : x > y ? 1 : 0) * (V.down ? -1 : 1) || value(b, 10) - value(a, 10);
    });
    const head = columns.map((h, c) => el(c < 6 ? 'th.l' : 'th', {scope: 'col', 'aria-sort':
      c !== V.by ? 'none' : V.down ? 'descending' : 'ascending'}, el('button', {type: 'button',
      title: 'Sort', 'data-c': c, onclick: () => {
        V.down = V.by === c ? !V.down : c > 5;
        V.by = c;
        show();
        spot.querySelector(`[data-c="${c}"]`).focus();
      }}, h + (c !== V.by ? '' : V.down ? ' ▾' : ' ▴'))));
    const name = order.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${num(order.length)} values; `
      + 'the copy has all' : 'Values';
    spot.append(sheet([name], 'Values', () => [columns, ...order.map(r => columns.map((_, c) =>
      c === 10 ? r[6] ? (r[9] / r[6] - 1) * 100 : '' : c > 5 && c < 10 ? r[c] : cell(r, c)))],
    el('tr', ...head), el('tbody', ...order.slice(0, MOST_ROWS).map(r => el('tr',
      ...columns.map((_, c) => el(c < 6 ? 'td.l' : c > 10 && cell(r, c) !== 'yes' && cell(r, c)
        ? 'td.bad' : 'td', cell(r, c))))))));
  };
  host.append(el('p.key', ...filters, which), spot);
  show();
}
/* Recorded across and simulated up, on logarithmic axes that begin below 1 with 0. */
function scatter(host, some, value) {
  const most = some.reduce((m, r) => larger(m, r[8], r[9]), 10), top = Math.log10(most) + .1;
  const kernels = [...new Set(some.map(r => value(r, 2)))].sort(), W = 560, H = 420;
  const of = v => v < 1 ? 0 : (.04 + .96 * Math.log10(v) / top);
  const side = (w, h) => smaller(w - AXIS, W);
  const x = (v, w) => AXIS + of(v) * side(w), y = (v, h) => h - 22 - of(v) * (h - 30);
  const place = (r, w, h) => [x(r[6], w), y(r[9], h)];
  const paint = (ctx, w, h) => {
    ctx.strokeStyle = css('--line');
    ctx.beginPath();
    ctx.moveTo(AXIS, h - 22);
    ctx.lineTo(AXIS + side(w), 8);
    for (let v = 1; v <= most; v *= 10) {
      ctx.fillText(short(v), 12, y(v, h) + 3);
      ctx.fillText(short(v), x(v, w) - 6, h - 6);
      ctx.moveTo(AXIS, y(v, h));
      ctx.lineTo(AXIS + side(w), y(v, h));
    }
    ctx.stroke();
    ctx.fillText('0', AXIS - 4, h - 6);
    ctx.fillText('recorded', AXIS + side(w) + 4, h - 6);
    for (const r of some) {
      const [px, py] = place(r, w, h), c = colour(kernels.indexOf(value(r, 2)));
      ctx.strokeStyle = ctx.fillStyle = c;
      ctx.globalAlpha = .35;
      ctx.fillRect(x(r[7], w), py - .5, x(r[8], w) - x(r[7], w), 1);
      ctx.globalAlpha = r[12] ? 1 : .5;
      ctx.fillRect(px - 1.5, py - 1.5, 3, 3);
      if (r[12]) ctx.strokeRect(px - 4, py - 4, 8, 8);
    }
    ctx.globalAlpha = 1;
  };
  const at = (px, py, w, h) => {
    let best = null, far = 400;
    for (const r of some) {
      const [a, b] = place(r, w, h), d = (a - px) ** 2 + (b - py) ** 2;
      if (d < far) [best, far] = [r, d];
    }
    return best && [piece([0, 1, 2, 3, 4, 5].map(c => value(best, c)).join(', ')),
      piece('recorded ', bold(num(best[6])), ` (${num(best[7])} to ${num(best[8])})`),
      piece('simulated ', bold(num(best[9])), best[12] ? ', misses a rule' : '')];
  };
  canvas(host, 'Simulated over recorded', H, `${some.length} values, simulated over recorded; the `
    + 'table below has the same numbers. Arrow keys read the nearest.', paint, at);
  host.append(key([...kernels.map((k, i) => [k, i]), ['framed: misses a rule', 'transparent']]),
    el('p.why', 'A line beside a value is the recorded range. On the diagonal both agree.'));
}
VIEWS.push(['validation', 'Recorded and simulated', validation, 0]);
