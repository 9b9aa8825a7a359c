/* Pageblocks over time. A cell has the colour of its migratetype, strong where its pages are in
   use; the dark part of it are pages that cannot be moved. */
const filmed = {at: 0, timer: 0};
const TYPES = ['#d55e00', '#0072b2', '#009e73', '#cc79a7', '#b8850a', '#6b6b6b'];
const SCANNERS = [['looks for pages to move', '#7f6a00'], ['looks for free pages', '#b3005e']];
function cells(f) {
  let now = [];
  return f.all = f.all || f.frames.map(({d}) => {
    now = now.slice();
    for (let k = 0, i = 0; k < d.length; k += 5) now[i += d[k]] = d.slice(k + 1, k + 5);
    return now;
  });
}
function film(host) {
  clearInterval(filmed.timer);
  const f = run().film;
  if (!f || !f.frames.length) return host.append(none());
  const all = cells(f), last = all.length - 1, W = 64;
  filmed.at = smaller(filmed.at, last);
  const size = larger(5, smaller(16, whole(host.clientWidth / W)));
  const places = [];
  let y = 0, nth = 0;
  for (const z of f.zones) {
    places.push({z, y: y + 16, nth});
    y += 16 + Math.ceil(z.cells / W) * size + 6;
    nth += z.cells;
  }
  const ink = ([type, free, movable, pinned]) => [TYPES[type],
    .12 + .8 * (movable + pinned) / larger(1, free + movable + pinned)];
  const per = f.cell_blocks;
  const paint = ctx => {
    const frame = f.frames[filmed.at];
    places.forEach(({z, y, nth}, k) => {
      ctx.globalAlpha = 1;
      ctx.fillStyle = soft();
      ctx.fillText(`${z.name}: ${num(z.blocks)} pageblocks`, 0, y - 5);
      for (let i = 0; i < z.cells; i++) {
        const c = all[filmed.at][nth + i], x = i % W * size, top = y + whole(i / W) * size;
        [ctx.fillStyle, ctx.globalAlpha] = ink(c);
        ctx.fillRect(x, top, size - 1, size - 1);
        const part = (size - 1) * Math.sqrt(c[3] / larger(1, c[1] + c[2] + c[3]));
        ctx.globalAlpha = .6;
        ctx.fillStyle = '#000';
        ctx.fillRect(x, top, part, part);
        for (const p of frame.p || []) if (p[0] === k) SCANNERS.forEach(([, col], s) => {
          if (i < whole(p[2 + 2 * s] / per) || i > whole(p[3 + 2 * s] / per)) return;
          ctx.globalAlpha = 1;
          ctx.fillStyle = col;
          ctx.fillRect(x, top + (s ? 0 : size - 3), size - 1, 2);
        });
      }
    });
    ctx.globalAlpha = 1;
  };
  const cell = (c, z, i) => [piece(`${z.name}, pageblock ` + (per > 1
    ? `${i * per} to ${smaller(z.blocks, (i + 1) * per) - 1}` : i) + ', pfn '
    + (z.first + i * per * f.block_pages)), piece(bold(f.types[c[0]])),
  ...['free', 'movable', 'not movable'].map((n, k) => piece(bold(num(c[k + 1])),
    ' ' + n))];
  const at = (px, py) => {
    const x = whole(px / size);
    for (const {z, y, nth} of places) {
      const i = whole((py - y) / size) * W + x;
      if (py >= y && x < W && i >= 0 && i < z.cells) return cell(all[filmed.at][nth + i], z, i);
    }
    return null;
  };
  const now = el('div'), clock = el('span');
  const slider = el('input', {type: 'range', min: 0, max: last, value: filmed.at,
    'aria-label': 'Time', oninput: e => to(+e.target.value)});
  const play = el('button', {type: 'button', onclick: () => {
    if (filmed.timer) return stop();
    play.textContent = 'Stop';
    if (filmed.at === last) to(0);
    filmed.timer = setInterval(() => filmed.at < last ? to(filmed.at + 1) : stop(), 120);
  }}, 'Play');
  const stop = () => {
    filmed.timer = clearInterval(filmed.timer);
    play.textContent = 'Play';
  };
  const list = () => [['time_ns', 'zone', 'first_pageblock', 'migratetype', 'free', 'movable',
    'not_movable'], ...places.flatMap(({z, nth}) => Array.from({length: z.cells}, (_, i) => {
    const [type, ...n] = all[filmed.at][nth + i];
    return [f.frames[filmed.at].t, z.name, i * per, f.types[type], ...n];
  }))];
  const again = canvas(host, 'Pageblocks', y, `${f.zones.map(z => z.name + ': ' + z.blocks
    + ' pageblocks').join('; ')}. Arrow keys read cells.`, paint, at,
  [play, slider, clock, copyButton(list, 'cells')]);
  host.append(key(f.types.map((t, i) => [t, TYPES[i]]).filter(([t], i) =>
    f.frames.some(x => x.types[i])).concat(SCANNERS.map(([t, c]) => ['scanner that ' + t, c]))),
  now);
  course(host, f, all, ink, cell);
  note(host, (per > 1 ? `A cell is ${per} pageblocks side by side, of the type `
    + 'of most of them. ' : '') + `${all.length} looks at memory` + (f.stride > 1
    ? `, one of ${f.stride} samples` : '') + '. Pale cells are free; what is dark cannot be moved.');
  function to(i) {
    filmed.at = i;
    slider.value = i;
    const x = f.frames[i], t = time(x.t / 1e9);
    slider.setAttribute('aria-valuetext', t);
    clock.textContent = 'at ' + t;
    again();
    now.replaceChildren(table(['', ...f.types, ...x.orders.map((n, o) => 'order ' + o)], [['now',
      ...[...x.types, ...x.orders].map(n => num(n))]], 'Pageblocks by type, free blocks by order'),
    el('p.why', x.p ? x.p.map(p => `Since the look before, compaction ended ${p[1]} runs in `
      + `${f.zones[p[0]].name}: its scanners passed pageblocks ${p[2]} to ${p[3]} and ${p[4]} to `
      + `${p[5]}.`).join(' ') : 'No compaction since the look before.'));
  }
  to(filmed.at);
}
/* All looks side by side: scanners are seen to move. */
function course(host, f, all, ink, cell) {
  const total = f.zones.reduce((s, z) => s + z.cells, 0), n = all.length, H = 280;
  const end = f.frames[n - 1].t / 1e9, begin = f.frames[0].t / 1e9;
  const until = i => i + 1 < n ? f.frames[i + 1].t / 1e9 : end + (end - begin) / larger(1, n - 1);
  const span = until(n - 1), x = (t, w) => AXIS + t / span * (w - AXIS);
  const paint = (ctx, w, h) => {
    const room = h - 22, ch = room / total;
    f.frames.forEach((frame, i) => {
      const a = x(frame.t / 1e9, w), b = x(until(i), w);
      all[i].forEach((c, k) => {
        [ctx.fillStyle, ctx.globalAlpha] = ink(c);
        ctx.fillRect(a, k * ch, b - a + .3, ch + .3);
      });
      ctx.globalAlpha = 1;
      for (const p of frame.p || []) SCANNERS.forEach(([, col], s) => {
        const from = f.zones.slice(0, p[0]).reduce((s, z) => s + z.cells, 0);
        const [lo, hi] = [p[2 + 2 * s], p[3 + 2 * s]].map(b => (from + b / f.cell_blocks) * ch);
        ctx.fillStyle = col;
        ctx.fillRect(a + (b - a) * (.3 + .3 * s), lo, larger(1, (b - a) * .2),
          larger(1.5, hi - lo));
      });
    });
    ctx.globalAlpha = 1;
    ctx.fillStyle = soft();
    let from = 0;
    for (const z of f.zones) {
      ctx.fillText(z.name.split(', ')[1], 2, from * ch + 10);
      from += z.cells;
    }
    timeAxis(ctx, w, h, span);
  };
  const at = (px, py, w, h) => {
    const t = (px - AXIS) / (w - AXIS) * span;
    let i = n - 1, k = whole(py / (h - 22) * total);
    while (i > 0 && f.frames[i].t / 1e9 > t) i--;
    if (t < 0 || k < 0 || k >= total) return null;
    const c = all[i][k];
    for (const z of f.zones) {
      if (k < z.cells) return [piece('at ', bold(time(f.frames[i].t / 1e9))),
        ...cell(c, z, k)];
      k -= z.cells;
    }
  };
  canvas(host, 'All looks', H, `Pageblocks over ${n} looks. Arrow keys read cells.`, paint, at);
}
VIEWS.push(['film', 'Pageblocks', film, 1]);
