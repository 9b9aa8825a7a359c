const inCells = {what: 'both'};
function pages(host) {
  const r = run(), g = r.pages;
  if (!g || !g.across) return host.append(none());
  /* Nine of ten cells with anything lie below full colour. */
  const much = k => {
    const all = g[k].filter(v => v).sort((a, b) => a - b);
    return all[whole(all.length * .9)] || 1;
  };
  const kinds = ['evictions', 'refaults'], [me, mr] = kinds.map(much);
  const span = g.across * g.cell_ns / 1e9;
  const cell = (px, py, w, h) => [whole((px - AXIS) / (w - AXIS) * g.across),
    whole((1 - py / (h - 22)) * g.down)];
  const paint = (ctx, w, h) => {
    const dark = css('--bg') !== '#fff';
    const cw = (w - AXIS) / g.across, ch = (h - 22) / g.down;
    ctx.fillStyle = dark ? '#4a4a44' : '#dcdad2';
    for (const l of g.locked) {
      const k = cw / g.cell_ns, n = ch / g.cell_pages, x = l.from_ns * k;
      ctx.fillRect(AXIS + x, h - 22 - (l.page + l.pages) * n,
        larger(.7, (l.until_ns || span * 1e9) * k - x), larger(.7, l.pages * n));
    }
    for (let y = 0; y < g.down; y++) for (let x = 0; x < g.across; x++) {
      const e = inCells.what === 'refaults' ? 0 : g.evictions[y * g.across + x] / me;
      const f = inCells.what === 'evictions' ? 0 : g.refaults[y * g.across + x] / mr;
      if (!e && !f) continue;
      const [a, b] = [e, f].map(v => v && .15 + .85 * smaller(1, v));
      const mix = dark ? [20 + 220 * b, 23 + 100 * a + 80 * b, 27 + 225 * a]
        : [255 - 240 * a, 255 - 140 * a - 115 * b, 255 - 235 * b];
      ctx.fillStyle = `rgb(${mix.map(v => larger(0, smaller(255, v | 0)))})`;
      ctx.fillRect(AXIS + x * cw, h - 22 - (y + 1) * ch, cw + .4, ch + .4);
    }
    upAxis(ctx, h, g.down * g.cell_pages);
    timeAxis(ctx, w, h, span);
  };
  const at = (px, py, w, h) => {
    const [x, y] = cell(px, py, w, h);
    if (x < 0 || y < 0 || x >= g.across || y >= g.down) return null;
    const i = y * g.across + x, p = y * g.cell_pages;
    return [piece(`pages ${p}-${p + g.cell_pages - 1}, from `,
      bold(time(x * g.cell_ns / 1e9)), ' for ', time(g.cell_ns / 1e9)),
    ...kinds.map(k => piece(bold(num(g[k][i])), ' ' + k))];
  };
  const select = picker('What is drawn', [['both', kinds.join(' and ')],
    ...kinds.map(k => [k, k])], inCells.what, v => {
    inCells.what = v;
    again();
  });
  const list = () => [['begin_ns', 'first_page', 'evictions', 'refaults'],
    ...g.evictions.map((e, i) => [i % g.across * g.cell_ns,
      whole(i / g.across) * g.cell_pages, e, g.refaults[i]]).filter(c => c[2] || c[3])];
  const sums = kinds.map(k => `${num(g[k].reduce((s, v) => s + v, 0))} ${k}`).join(' and ');
  const again = canvas(host, 'Page numbers over time', 360,
    sums + ' over pages and time. Arrow keys read cells.', paint, at,
  [select, copyButton(list, 'cells')]);
  note(host, `Each cell counts ${num(g.cell_pages)} pages for ${time(g.cell_ns / 1e9)}: ${sums}`
    + (g.elsewhere ? `, and ${num(g.elsewhere)} evictions of folios without a page number` : '')
    + '. Strong colour is many: evictions blue, refaults orange. '
    + (g.locked.length ? 'Grey pages are locked. ' : '')
    + (g.more_locked ? `${num(g.more_locked)} more locks are left out. ` : '')
    + 'The life of a page: mmsim why SCENARIO --page NUMBER.');
}
VIEWS.push(['pages', 'Pages', pages, 1]);
