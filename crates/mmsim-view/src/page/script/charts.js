const sync = () => ({key: 'time', setSeries: false});
let zooming = false;
function zoom(min, max) {
  if (zooming) return;
  zooming = true;
  for (const u of charts) if (u.mm.sync) u.setScale('x', {min, max});
  zooming = false;
}
const KILLED = '#d55e00';
function marks(phases, acts) {
  return u => {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = ctx.strokeStyle = soft();
    ctx.font = 11 * devicePixelRatio + 'px system-ui';
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    let free = -1e9;
    for (const p of phases) {
      const x = u.valToPos(p.end / 1e9, 'x', true);
      const from = u.valToPos(p.begin / 1e9, 'x', true);
      ctx.globalAlpha = .55;
      ctx.setLineDash([3, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.globalAlpha = 1;
      const at = larger(from, bbox.left) + 4;
      const w = ctx.measureText(p.name).width;
      if (w < x - at && at > free) {
        ctx.fillText(p.name, at, bbox.top + 11 * devicePixelRatio);
        free = at + w + 8;
      }
    }
    ctx.strokeStyle = KILLED;
    ctx.setLineDash([]);
    ctx.globalAlpha = .6;
    for (const [ns, , , , , kills] of acts) {
      if (!kills) continue;
      const x = u.valToPos(ns / 1e9, 'x', true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
}
/* lines: {label, values, colour, dash, stack, unit}. Stacked ones are drawn on one another. */
function chart(host, o) {
  let lines = o.lines.filter(l => l.values && l.values.some(v => v));
  if (!lines.length) return false;
  lines.forEach((l, i) => {
    l.colour = l.colour || colour(i);
    l.dash = o.stack ? '' : dashed(i);
  });
  const raw = lines.map(l => l.values);
  let shown = o.most ? raw.map(v => v.map(x => smaller(x, o.most))) : raw;
  if (o.stack) {
    const base = o.t.map(() => 0);
    shown = raw.map(v => v.map((x, i) => base[i] += x || 0));
  }
  const say = said();
  const box = readable(o.title + ', ' + lines.map(l => l.label + ' up to '
    + num(l.values.reduce((m, v) => v > m ? v : m, 0))).join(', ') + '. Arrow keys read it, plus and minus zoom.');
  const table = () => [['time_s', ...lines.map(l => l.label)],
    ...o.t.map((t, i) => [t, ...raw.map(v => v[i] ?? '')])];
  host.append(el('figure', el('figcaption', piece(o.title), o.more,
    copyButton(table, o.title)), box, say));
  const value = (l, i) => num(raw[l][i]);
  const tell = i => {
    const parts = lines.map((l, k) => explained(el('span', o.stack
      ? swatch(l.colour + (l.pale ? '70' : '')) : stroked({stroke: l.colour, 'stroke-width': 2,
        'stroke-dasharray': l.dash || null}), l.label + ' ', i == null ? '' : bold(value(k, i))),
    l.label, l.about));
    say.replaceChildren(...(i == null ? [] : [piece('at ', bold(time(o.t[i])))]),
      ...parts);
  };
  const order = lines.map((l, i) => i);
  if (o.stack) order.reverse();
  const fill = l => o.stack ? l.colour + (l.pale ? '70' : 'd0') : undefined;
  const steps = o.step ? uPlot.paths.stepped({align: -1}) : undefined;
  const axis = {stroke: soft(), grid: {stroke: css('--line'), width: .6},
    ticks: {stroke: css('--line'), width: .6}};
  const u = new uPlot({
    width: larger(320, host.clientWidth), height: o.height || 170,
    scales: {x: {time: false}, y: {range: (_, min, max) => [0, max > 0 ? max * 1.05 : 1]}},
    axes: [{...axis, values: (_, all) => all.map(v => short(v) + ' s')},
      {...axis, size: 62, values: (_, all) => all.map(short)}],
    series: [{}, ...order.map(i => ({label: lines[i].label, stroke: lines[i].colour,
      width: o.stack ? .5 : 1.4, dash: lines[i].dash ? lines[i].dash.split(' ').map(Number) : undefined, fill: fill(lines[i]), paths: steps,
      spanGaps: false, points: {show: false}}))],
    cursor: {sync: o.alone ? undefined : sync(), y: false, points: {size: 6},
      drag: {x: true, y: false, setScale: true}},
    bands: o.stack ? order.slice(1).map((_, k) => ({series: [k + 1, k + 2]})) : [],
    hooks: {
      draw: [marks(o.phases || [], o.acts || [])],
      setCursor: [u => tell(u.cursor.idx)],
      setScale: [(u, k) => k === 'x' && u.mm && u.mm.sync && !zooming && u.mm.ready
        && zoom(u.scales.x.min, u.scales.x.max)],
    },
  }, [o.t, ...order.map(i => shown[i])], box);
  u.mm = {sync: !o.alone, box, ready: true, at: null};
  box.addEventListener('keydown', e => {
    const {min, max} = u.scales.x, n = o.t.length;
    const step = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10}[e.key];
    const scale = {'+': .5, '-': 2, '=': .5}[e.key];
    if (step) u.mm.at = smaller(n - 1, larger(0, (u.mm.at ?? -1) + step));
    else if (e.key === 'Home') u.mm.at = 0;
    else if (e.key === 'End') u.mm.at = n - 1;
    else if (scale) {
      const mid = u.mm.at == null ? (min + max) / 2 : o.t[u.mm.at], half = (max - min) / 2 * scale;
      const lo = larger(o.t[0], mid - half), hi = smaller(o.t[n - 1], mid + half);
      u.mm.sync ? zoom(lo, hi) : u.setScale('x', {min: lo, max: hi});
    } else if (e.key === '0' || e.key === 'Escape') {
      u.mm.sync ? zoom(o.t[0], o.t[n - 1]) : u.setScale('x', {min: o.t[0], max: o.t[n - 1]});
    } else return;
    e.preventDefault();
    if (u.mm.at != null) u.setCursor({left: u.valToPos(o.t[u.mm.at], 'x'), top: 10});
  });
  tell(null);
  charts.push(u);
  return true;
}
