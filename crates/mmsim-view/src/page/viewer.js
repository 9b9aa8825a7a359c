'use strict';
/* Views of a page of mmsim. All numbers come from the data of the page; the script only
   subtracts running totals, divides by time, and formats. */
(async () => {
const $ = id => document.getElementById(id);
const store = $('data');
const packed = Uint8Array.from(atob(store.textContent.replace(/\s/g, '')), c => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
const D = JSON.parse(await new Response(stream).text());
window.mmsim = D;

const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f6a00',
  '#6b6b6b'];
const colour = i => COLOURS[i % COLOURS.length];
const PAGE = 4096 / (1 << 20);

/* Elements: el('p.note', {id: 'x'}, child, ..). */
function el(tag, attrs, ...children) {
  const [name, ...classes] = tag.split('.');
  const e = document.createElement(name);
  if (classes.length) e.className = classes.join(' ');
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.filter(c => c != null));
  return e;
}
function svg(tag, attrs, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
/* As tables of mmsim print numbers. */
function num(v, digits) {
  if (v == null || !isFinite(v)) return '-';
  const d = digits ?? (Math.abs(v) >= 100 || Number.isInteger(v) ? 0 : 2);
  return v.toLocaleString('en-US', {minimumFractionDigits: d, maximumFractionDigits: d});
}
function short(v) {
  const a = Math.abs(v);
  const s = (x, u) => +x.toPrecision(3) + u;
  return a >= 1e9 ? s(v / 1e9, 'G') : a >= 1e6 ? s(v / 1e6, 'M') : a >= 1e4 ? s(v / 1e3, 'k')
    : '' + +v.toPrecision(4);
}
const time = s => s >= 1 ? num(s, 3) + ' s' : s >= 1e-3 ? num(s * 1e3, 3) + ' ms'
  : num(s * 1e6, 1) + ' us';
function total(list) {
  let t = 0;
  return list.map(d => t += d);
}
function csv(rows) {
  const cell = c => /[",\n]/.test(c) ? '"' + String(c).replace(/"/g, '""') + '"' : String(c ?? '');
  return rows.map(r => r.map(cell).join(',')).join('\n') + '\n';
}
function copyButton(make, what) {
  const b = el('button', {type: 'button', title: 'Copy ' + what + ' as CSV'}, 'Copy CSV');
  b.addEventListener('click', async () => {
    const text = csv(make());
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch (e) {
      const area = el('textarea', {}, text);
      document.body.append(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
      b.focus();
    }
    b.textContent = done ? 'Copied' : 'Cannot copy here';
    setTimeout(() => b.textContent = 'Copy CSV', 1500);
  });
  return b;
}
function need(what, how) {
  return el('p.why', {}, what + ' is not in this page: record it with ', el('code', {}, how), '.');
}

/* ---- what is looked at ---- */

const S = {g: 0, v: 0, seed: 0, row: 0};
const group = () => D.groups[S.g];
const variant = () => group().variants[Math.min(S.v, group().variants.length - 1)];
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

/* ---- charts over time, by uPlot ---- */

let charts = [];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sync = () => ({key: 'time', setSeries: false});
let zooming = false;
function zoom(min, max) {
  if (zooming) return;
  zooming = true;
  for (const u of charts) if (u.mm.sync) u.setScale('x', {min, max});
  zooming = false;
}
function marks(phases, zones) {
  return u => {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = ctx.strokeStyle = css('--soft');
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
      const at = Math.max(from, bbox.left) + 4;
      const w = ctx.measureText(p.name).width;
      if (w < x - at && at > free) {
        ctx.fillText(p.name, at, bbox.top + 11 * devicePixelRatio);
        free = at + w + 8;
      }
    }
    ctx.restore();
  };
}
/* lines: {label, values, colour, dash, stack, unit}. Stacked ones are drawn on one another. */
function chart(host, o) {
  let lines = o.lines.filter(l => l.values && l.values.some(v => v));
  if (!lines.length) return false;
  lines.forEach((l, i) => l.colour = l.colour || colour(i));
  const raw = lines.map(l => l.values);
  let shown = raw;
  if (o.stack) {
    const base = o.t.map(() => 0);
    shown = raw.map(v => v.map((x, i) => base[i] += x || 0));
  }
  const say = el('div.say', {'aria-live': 'polite'});
  const box = el('div.box', {tabindex: 0, role: 'img', 'aria-label': o.title + ', '
    + lines.map(l => l.label + ' up to ' + num(l.values.reduce((m, v) => v > m ? v : m, 0)))
      .join(', ') + '. Arrow keys read it, plus and minus zoom.'});
  const table = () => [['time_s', ...lines.map(l => l.label)],
    ...o.t.map((t, i) => [t, ...raw.map(v => v[i] ?? '')])];
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, o.title), o.more,
    el('span.right', {}, copyButton(table, o.title))), box, say));
  const value = (l, i) => num(raw[l][i]);
  const tell = i => {
    const parts = lines.map((l, k) => el('span', {},
      el('i', {style: 'background:' + l.colour + (l.pale ? '70' : '')}), l.label + ' ',
      i == null ? '' : el('b', {}, value(k, i))));
    say.replaceChildren(...(i == null ? [] : [el('span', {}, 'at ', el('b', {}, time(o.t[i])))]),
      ...parts);
  };
  const order = lines.map((l, i) => i);
  if (o.stack) order.reverse();
  const fill = l => o.stack ? l.colour + (l.pale ? '70' : 'd0') : undefined;
  const steps = o.step ? uPlot.paths.stepped({align: -1}) : undefined;
  const axis = {stroke: css('--soft'), grid: {stroke: css('--line'), width: .6},
    ticks: {stroke: css('--line'), width: .6}};
  const u = new uPlot({
    width: Math.max(320, host.clientWidth), height: o.height || 170,
    scales: {x: {time: false}, y: {range: (_, min, max) => [0, max > 0 ? max * 1.05 : 1]}},
    axes: [{...axis, values: (_, all) => all.map(v => short(v) + ' s')},
      {...axis, size: 62, values: (_, all) => all.map(short)}],
    series: [{}, ...order.map(i => ({label: lines[i].label, stroke: lines[i].colour,
      width: o.stack ? .5 : 1.4, dash: lines[i].dash, fill: fill(lines[i]), paths: steps,
      spanGaps: false, points: {show: false}}))],
    cursor: {sync: o.alone ? undefined : sync(), y: false, points: {size: 6},
      drag: {x: true, y: false, setScale: true}},
    bands: o.stack ? order.slice(1).map((_, k) => ({series: [k + 1, k + 2]})) : [],
    hooks: {
      draw: [marks(o.phases || [])],
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
    if (step) u.mm.at = Math.min(n - 1, Math.max(0, (u.mm.at ?? -1) + step));
    else if (e.key === 'Home') u.mm.at = 0;
    else if (e.key === 'End') u.mm.at = n - 1;
    else if (scale) {
      const mid = u.mm.at == null ? (min + max) / 2 : o.t[u.mm.at], half = (max - min) / 2 * scale;
      const lo = Math.max(o.t[0], mid - half), hi = Math.min(o.t[n - 1], mid + half);
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

/* ---- variants side by side ---- */

const main = rows => rows.filter(r => r.m);
function pickRow(label) {
  const rows = group().rows;
  const at = rows.findIndex(r => r.m && r.l === label);
  return at >= 0 ? at : Math.max(0, rows.findIndex(r => r.m));
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
  const row = g.rows[i], W = 760, H = 30 * g.variants.length + 62;
  const longest = Math.max(...g.variants.map(v => v.name.length));
  const left = Math.max(90, Math.min(40, longest) * 7.6 + 24), right = W - 120;
  let most = 0;
  row.m.forEach(m => m && (most = Math.max(most, m[0] + (m[1] || 0))));
  row.s.forEach(s => s.forEach(p => most = Math.max(most, p[1])));
  most = most || 1;
  const x = v => left + Math.max(0, v) / most * (right - left);
  const title = fullLabel(g.rows, i);
  const s = svg('svg', {viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: 'img',
    'font-size': 13, fill: 'currentColor', 'aria-label': title + ': ' + g.variants.map((v, k) =>
      v.name + ' ' + row.v[k]).join(', ')});
  s.append(svg('text', {x: 0, y: 18, 'font-weight': 600}, title));
  for (let v = 0, step = nice(most / 5); v <= most; v += step) {
    s.append(svg('path', {d: `M${x(v)} 30V${H - 26}`, stroke: 'currentColor',
      'stroke-opacity': .13}));
    s.append(svg('text', {x: x(v), y: H - 10, 'text-anchor': 'middle', 'font-size': 11,
      'fill-opacity': .75}, short(v)));
  }
  g.variants.forEach((v, k) => {
    const y = 46 + 30 * k, m = row.m[k], c = colour(k);
    const name = v.name.length > 40 ? v.name.slice(0, 39) + '…' : v.name;
    s.append(svg('text', {x: left - 10, y: y + 4.5, 'text-anchor': 'end'}, name));
    if (!m) {
      s.append(svg('text', {x: left, y: y + 4.5}, '-'));
      return;
    }
    const half = m[1] || 0;
    const words = num(m[0]) + (m[1] != null ? ' ±' + num(m[1]) : '');
    const node = svg('g', {}, svg('title', {}, v.name + ': ' + words),
      svg('path', {d: `M${x(m[0] - half)} ${y}H${x(m[0] + half)}`, stroke: c, 'stroke-width': 4,
        'stroke-opacity': .5, 'stroke-linecap': 'round'}));
    row.s[k].forEach(p => node.append(svg('circle', {cx: x(p[1]), cy: y, r: 3, fill: 'none',
      stroke: c}, svg('title', {}, 'seed ' + p[0] + ': ' + num(p[1])))));
    node.append(svg('circle', {cx: x(m[0]), cy: y, r: 5, fill: c}));
    s.append(node, svg('text', {x: x(m[0] + half) + 10, y: y + 4, 'font-size': 11,
      'fill-opacity': .8}, words));
  });
  return s;
}
function compare(host) {
  const g = group(), several = g.variants.length > 1;
  const picture = el('figure', {});
  const body = el('tbody', {});
  const show = i => {
    S.row = i;
    for (const tr of body.children) tr.classList.toggle('on', +tr.dataset.i === i);
    picture.replaceChildren(dots(g, i));
  };
  g.rows.forEach((r, i) => {
    const inner = r.l.startsWith(' ') ? '.in' : '';
    const name = r.m ? el('button', {type: 'button', title: 'Draw it', onclick: () => show(i)},
      r.l.trim()) : r.l.trim();
    const cells = [];
    g.variants.forEach((v, k) => {
      const m = r.m && r.m[k];
      const title = m && m[1] != null ? num(m[0]) + ' ±' + num(m[1]) + ' over ' + r.s[k].length
        + ' seeds' : null;
      cells.push(el('td', {title}, r.v[k]));
      if (k) cells.push(el(sure(r.d && r.d[k]) ? 'td.ch.sure' : 'td.ch', {}, r.c[k]));
    });
    body.append(el('tr', {'data-i': i}, el('th' + inner, {scope: 'row'}, name), ...cells));
  });
  const head = [el('th', {scope: 'col'}, el('span', {}, ''))];
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
  const seeds = Math.max(...g.variants.map(v => v.runs.length));
  host.append(el('p.why', {}, seeds > 1
    ? `Means over ${seeds} seeds` + (several ? '; changes are means over pairs of equal seeds '
      + '± 95 % confidence, bold where the interval leaves out zero.' : '.')
    : 'One seed: no interval.', ' '), picture,
  el('figure', {}, el('figcaption', {}, el('span.right', {}, copyButton(table, 'the table'))),
    el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Table of variants'},
      el('table.num', {}, el('thead', {}, el('tr', {}, ...head)), body))));
  for (const s of g.said) host.append(el('p', {}, s));
  if (main(g.rows).length) show(S.row && g.rows[S.row] && g.rows[S.row].m ? S.row
    : pickRow(store.dataset.figure));
}

/* ---- time line ---- */

function timeline(host) {
  const r = run(), c = columns(r);
  if (!c) return host.append(need('What happened over time', 'mmsim run SCENARIO --html FILE'),
    el('p.why', {}, 'Of a report that is there already: ',
      el('code', {}, 'mmsim view REPORT --series FILE'), '.'), phaseTable(r));
  const t = c.t, phases = r.phases;
  const mark = (k, label, col) => {
    const pages = variant().zones.reduce((s, z) => s + z[k], 0);
    return {label, values: t.map(() => pages * PAGE), colour: col, dash: [6, 4]};
  };
  const mib = name => c[name] && c[name].map(v => v * PAGE);
  const per = (label, names, col) => {
    const s = sum(c, [].concat(names));
    return {label, values: s && rate(t, s), colour: col};
  };
  const draw = (title, lines, more) => chart(host, {title, t, lines, phases, ...more});
  draw('Free memory and watermarks, MiB', [{label: 'free', values: mib('nr_free_pages')},
    mark('high', 'high', '#009e73'), mark('low', 'low', '#e69f00'), mark('min', 'min', '#d55e00')]);
  draw('Reclaimed, pages per s', [per('by kswapd', 'pgsteal_kswapd'),
    per('by direct reclaim', 'pgsteal_direct', '#d55e00')]);
  draw('Scanned, pages per s', [per('by kswapd', 'pgscan_kswapd'),
    per('by direct reclaim', 'pgscan_direct', '#d55e00')], {height: 130});
  draw('Swap, pages per s', [per('in', 'pswpin'), per('out', 'pswpout', '#d55e00')]);
  draw('Major faults and refaults, per s', [per('major faults', 'pgmajfault'),
    per('refaults of anon', 'workingset_refault_anon', '#d55e00'),
    per('refaults of file', 'workingset_refault_file', '#009e73'),
    per('direct reclaim stalls', ['allocstall_dma', 'allocstall_dma32', 'allocstall_normal',
      'allocstall_movable'], '#cc79a7')]);
  const psi = (label, name, col) => ({label, colour: col,
    values: c[name] && rate(t, c[name], 1e-4)});
  draw('Memory pressure (PSI), % of time', [psi('some', 'sim_pressure_some_us', '#e69f00'),
    psi('full', 'sim_pressure_full_us', '#d55e00')], {height: 130});
  const pages = [['anon', 'nr_anon_pages'], ['file', 'nr_file_pages'],
    ['page tables', 'nr_page_table_pages'], ['slab', 'nr_slab_reclaimable'],
    ['zram', 'nr_zram_store'], ['free', 'nr_free_pages']];
  draw('Where memory is, MiB', pages.map(([label, n]) => ({label, values: mib(n)})),
    {stack: true, step: false});
  draw('Compaction and huge pages, per s', [per('pages moved', 'pgmigrate_success'),
    per('stalls', 'compact_stall'), per('blocks made', 'compact_success'),
    per('huge faults', 'thp_fault_alloc'), per('huge pages split', 'thp_split_page')]);
  const gap = r.series.stride > 1 ? `Each point stands for ${r.series.stride} samples. ` : '';
  host.append(el('p.why', {}, `${gap}${t.length} points. Drag to zoom, double click to go back; `
    + 'with the keyboard arrows, plus, minus and 0.'), phaseTable(r));
  overlay(host);
}
function phaseTable(r) {
  if (!r.phases.length) return '';
  const rows = r.phases.map(p => [p.name, time(p.begin / 1e9), time((p.end - p.begin) / 1e9),
    num(p.some * 100, 2), num(p.full * 100, 2)]);
  return table(['phase', 'begins', 'lasts', 'pressure some, %', 'full, %'], rows, 'Phases');
}
function table(head, rows, name) {
  return el('figure', {}, el('figcaption', {}, el('span', {}, name), el('span.right', {},
    copyButton(() => [head, ...rows], name))), el('div.scroll', {tabindex: 0, role: 'region',
    'aria-label': name}, el('table.num', {}, el('thead', {}, el('tr', {},
    ...head.map(h => el('th', {scope: 'col'}, h)))), el('tbody', {}, ...rows.map(r =>
    el('tr', {}, el('th', {scope: 'row'}, r[0]), ...r.slice(1).map(c => el('td', {}, c))))))));
}
const overlayed = {name: 'pswpin'};
function overlay(host) {
  const all = group().variants.map(v => columns(sameSeed(v)));
  const names = [...new Set(all.flatMap(c => c ? Object.keys(c).filter(n => n !== 't') : []))];
  if (!names.length || all.length < 2) return;
  if (!names.includes(overlayed.name)) overlayed.name = names[0];
  const spot = el('div', {});
  host.append(el('h3', {}, 'One column, all variants'), spot);
  const select = el('select', {'aria-label': 'Column', onchange: e => {
    overlayed.name = e.target.value;
    charts = charts.filter(u => !spot.contains(u.root));
    draw(true);
  }}, ...names.map(n => el('option', {value: n, selected: n === overlayed.name}, n)));
  const draw = focus => {
    spot.replaceChildren();
    const level = overlayed.name.startsWith('nr_');
    const have = all.map((c, i) => [c, i]).filter(([c]) => c && c[overlayed.name]);
    const joined = uPlot.join(have.map(([c]) => [c.t, level ? c[overlayed.name]
      : rate(c.t, c[overlayed.name])]), have.map(() => [2]));
    chart(spot, {title: level ? 'pages' : 'per s', t: joined[0], alone: true, more: select,
      lines: have.map(([, i], k) => ({label: group().variants[i].name, colour: colour(i),
        values: joined[k + 1]}))}) || spot.append(select, el('p.why', {}, 'Nothing happened.'));
    if (focus) select.focus();
  };
  draw(false);
}

/* ---- lists and generations ---- */

/* A canvas with a readout: draw(ctx, w, h), at(x, y) says what is there. */
function canvas(host, title, height, label, paint, at, more) {
  const say = el('div.say', {'aria-live': 'polite'}, ' ');
  const box = el('div.box', {tabindex: 0, role: 'img', 'aria-label': label});
  const c = el('canvas', {});
  box.append(c);
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, title), ...(more || [])), box,
    say));
  const w = Math.max(320, host.clientWidth), k = devicePixelRatio || 1;
  c.width = w * k;
  c.height = height * k;
  c.style.width = w + 'px';
  c.style.height = height + 'px';
  const ctx = c.getContext('2d');
  const again = () => {
    ctx.setTransform(k, 0, 0, k, 0, 0);
    ctx.clearRect(0, 0, w, height);
    ctx.font = '11px system-ui';
    ctx.fillStyle = css('--soft');
    paint(ctx, w, height);
  };
  again();
  let px = w / 2, py = height / 2;
  const tell = () => {
    const said = at(px, py, w, height);
    say.replaceChildren(...(said ? [].concat(said) : [' ']));
    again();
    ctx.strokeStyle = css('--fg');
    ctx.globalAlpha = .6;
    ctx.beginPath();
    ctx.moveTo(px, 0);
    ctx.lineTo(px, height - 18);
    ctx.stroke();
    ctx.globalAlpha = 1;
  };
  box.addEventListener('pointermove', e => {
    const r = c.getBoundingClientRect();
    px = e.clientX - r.left;
    py = e.clientY - r.top;
    tell();
  });
  box.addEventListener('pointerleave', () => { say.textContent = ' '; again(); });
  box.addEventListener('keydown', e => {
    const d = {ArrowLeft: [-6, 0], ArrowRight: [6, 0], ArrowUp: [0, -6], ArrowDown: [0, 6]}[e.key];
    if (!d) return;
    e.preventDefault();
    px = Math.min(w - 5, Math.max(AXIS, px + d[0]));
    py = Math.min(height - 20, Math.max(0, py + d[1]));
    tell();
  });
  return again;
}
const AXIS = 62;
function timeAxis(ctx, w, h, end) {
  const step = nice(end / Math.max(2, w / 130));
  for (let t = 0; t <= end; t += step) {
    const x = AXIS + t / end * (w - AXIS);
    ctx.fillText(short(t) + ' s', Math.min(x, w - 30), h - 4);
    ctx.fillRect(x, h - 18, .6, 4);
  }
}
function nice(raw) {
  const m = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map(k => k * m).find(s => s >= raw);
}
function lists(host) {
  const r = run(), c = columns(r);
  if (c) {
    const of = (label, n, col, pale) => ({label, colour: col, pale,
      values: c[n] && c[n].map(v => v * PAGE)});
    const any = chart(host, {title: 'Lists, MiB', t: c.t, stack: true, phases: r.phases,
      height: 220, lines: [of('active anon', 'nr_active_anon', '#0072b2'),
        of('inactive anon', 'nr_inactive_anon', '#0072b2', true),
        of('active file', 'nr_active_file', '#d55e00'),
        of('inactive file', 'nr_inactive_file', '#d55e00', true),
        of('unevictable', 'nr_unevictable', '#6b6b6b')]});
    if (!any) host.append(el('p.why', {}, 'This policy keeps no lists that the kernel names.'));
  } else host.append(need('The size of lists over time', 'mmsim run SCENARIO --html FILE'));
  if (r.gens) generations(host, r);
}
function generations(host, r) {
  const g = r.gens, end = r.end / 1e9;
  let most = 1;
  for (const [, all] of g.at) most = Math.max(most, all.reduce((s, x) => s + x[1] + x[2], 0));
  const until = i => i + 1 < g.at.length ? g.at[i + 1][0] / 1e9 : end;
  const x = (t, w) => AXIS + t / end * (w - AXIS);
  const paint = (ctx, w, h) => {
    const room = h - 22, y = v => room - v / most * (room - 6);
    for (let i = 0; i < g.at.length; i++) {
      const [ns, all] = g.at[i];
      const a = x(ns / 1e9, w), b = x(until(i), w);
      let base = 0;
      for (const [seq, anon, file] of all) {
        ctx.fillStyle = colour(seq % 6);
        for (const [n, alpha] of [[anon, .9], [file, .5]]) {
          ctx.globalAlpha = alpha;
          ctx.fillRect(a, y(base + n), Math.max(.7, b - a), y(base) - y(base + n));
          base += n;
        }
      }
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = css('--soft');
    for (let k = 0; k <= 2; k++) ctx.fillText(short(most * PAGE * k / 2), 2, y(most * k / 2) + 8);
    timeAxis(ctx, w, h, end);
  };
  const at = (px, py, w, h) => {
    const t = (px - AXIS) / (w - AXIS) * end;
    let i = g.at.length - 1;
    while (i > 0 && g.at[i][0] / 1e9 > t) i--;
    if (t < 0) return null;
    return [el('span', {}, 'since ', el('b', {}, time(g.at[i][0] / 1e9))),
      ...g.at[i][1].map(([seq, anon, file]) => el('span', {},
        el('i', {style: 'background:' + colour(seq % 6)}), `generation ${seq}: `,
        el('b', {}, num(anon)), ' anon, ', el('b', {}, num(file)), ' file'))];
  };
  canvas(host, 'Generations, MiB, the oldest below', 220, `Generations of MGLRU at ${g.at.length} `
    + 'instants. Arrow keys read them.', paint, at);
  host.append(el('p.why', {}, g.at_phases ? 'At the ends of phases. Each beginning of a generation '
    + 'is in pages of mmsim run --html.' : 'At each beginning of a generation'
    + (g.stride > 1 ? `, one of ${g.stride}` : '') + '; file pages are paler.'));
}

/* ---- pages over time ---- */

const heat = {what: 'both'};
function pages(host) {
  const r = run(), g = r.pages;
  if (!g) return host.append(need('Which pages were evicted and wanted again',
    'mmsim run SCENARIO --html FILE --html-pages'));
  if (!g.across) return host.append(el('p.why', {}, 'No page was evicted.'));
  /* Nine of ten cells with anything lie below full colour. */
  const much = k => {
    const all = g[k].filter(v => v).sort((a, b) => a - b);
    return all[Math.floor(all.length * .9)] || 1;
  };
  const [me, mr] = [much('evictions'), much('refaults')];
  const span = g.across * g.cell_ns / 1e9;
  const cell = (px, py, w, h) => [Math.floor((px - AXIS) / (w - AXIS) * g.across),
    Math.floor((1 - py / (h - 22)) * g.down)];
  const paint = (ctx, w, h) => {
    const dark = css('--bg') !== '#fff';
    const cw = (w - AXIS) / g.across, ch = (h - 22) / g.down;
    for (let y = 0; y < g.down; y++) for (let x = 0; x < g.across; x++) {
      const e = heat.what === 'refaults' ? 0 : g.evictions[y * g.across + x] / me;
      const f = heat.what === 'evictions' ? 0 : g.refaults[y * g.across + x] / mr;
      if (!e && !f) continue;
      const [a, b] = [e, f].map(v => v && .15 + .85 * Math.min(1, v));
      const mix = dark ? [20 + 220 * b, 23 + 100 * a + 80 * b, 27 + 225 * a]
        : [255 - 240 * a, 255 - 140 * a - 115 * b, 255 - 235 * b];
      ctx.fillStyle = `rgb(${mix.map(v => Math.max(0, Math.min(255, v | 0)))})`;
      ctx.fillRect(AXIS + x * cw, h - 22 - (y + 1) * ch, cw + .4, ch + .4);
    }
    ctx.fillStyle = css('--soft');
    const top = g.down * g.cell_pages;
    for (let k = 0; k <= 4; k++) ctx.fillText(short(top * k / 4), 2,
      Math.max(9, (h - 22) * (1 - k / 4)));
    timeAxis(ctx, w, h, span);
  };
  const at = (px, py, w, h) => {
    const [x, y] = cell(px, py, w, h);
    if (x < 0 || y < 0 || x >= g.across || y >= g.down) return null;
    const i = y * g.across + x, p = y * g.cell_pages;
    return [el('span', {}, `pages ${p}-${p + g.cell_pages - 1}, from `,
      el('b', {}, time(x * g.cell_ns / 1e9)), ' for ', time(g.cell_ns / 1e9)),
    el('span', {}, el('b', {}, num(g.evictions[i])), ' evictions'),
    el('span', {}, el('b', {}, num(g.refaults[i])), ' refaults')];
  };
  const select = el('select', {'aria-label': 'What is drawn', onchange: e => {
    heat.what = e.target.value;
    again();
  }}, ...[['both', 'evictions and refaults'], ['evictions', 'evictions'],
    ['refaults', 'refaults']].map(([v, l]) => el('option', {value: v,
    selected: v === heat.what}, l)));
  const list = () => [['begin_ns', 'first_page', 'evictions', 'refaults'],
    ...g.evictions.map((e, i) => [i % g.across * g.cell_ns,
      Math.floor(i / g.across) * g.cell_pages, e, g.refaults[i]]).filter(c => c[2] || c[3])];
  const sumOf = k => num(g[k].reduce((s, v) => s + v, 0));
  const again = canvas(host, 'Page numbers over time', 360, `${sumOf('evictions')} evictions and `
    + `${sumOf('refaults')} refaults over pages and time. Arrow keys read cells.`, paint, at,
  [select, el('span.right', {}, copyButton(list, 'cells'))]);
  host.append(el('p.why', {}, `Each cell counts ${num(g.cell_pages)} pages for `
    + `${time(g.cell_ns / 1e9)}: ${sumOf('evictions')} evictions and ${sumOf('refaults')} refaults`
    + (g.elsewhere ? `, and ${num(g.elsewhere)} evictions of folios without a page number` : '')
    + '. Strong colour is many: evictions blue, refaults orange. '
    + 'To follow one page: mmsim run --events FILE --events-filter pages=A-B.'));
}

/* ---- settings of a sweep ---- */

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
  const body = el('tbody', {}), head = el('tr', {});
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
    body.replaceChildren(...order.map(r => el('tr', {}, ...[...point(r), r.v.name].map(t =>
      el('td.l', {}, t)), ...r.shown.map((t, i) => el('td', {title: r.m[i] && r.m[i][1] != null
      ? '±' + num(r.m[i][1]) : null}, t)))));
  };
  fill();
  const list = () => [[...heads.slice(0, settings.length + 1), ...labels.flatMap(l =>
    [l, l + ' ±'])], ...rows.map(r => [...point(r), r.v.name, ...r.m.flatMap(m =>
    m ? [m[0], m[1] ?? ''] : ['', ''])])];
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, rows.length + ' settings'),
    el('span.right', {}, copyButton(list, 'the table'))), el('div.scroll', {tabindex: 0,
    role: 'region', 'aria-label': 'Settings'}, el('table.num', {}, el('thead', {}, head), body))));
  parallel(host, rows, settings, labels, point);
  front(host, rows, labels, point);
}
function parallel(host, rows, settings, labels, point) {
  const W = 1100, H = 300, top = 40, bottom = H - 30;
  const wanted = labels.map((l, i) => i).filter(i => {
    const all = rows.map(r => r.m[i] && r.m[i][0]).filter(v => v != null);
    return all.length > 1 && Math.max(...all) > Math.min(...all);
  }).slice(0, 6);
  const cols = [...settings.map((s, i) => ({l: s, of: r => point(r)[i], word: true})),
    ...wanted.map(i => ({l: labels[i], of: r => r.m[i] && r.m[i][0]}))];
  if (cols.length < 2 || rows.length > 2000) return;
  const s = svg('svg', {viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: 'img',
    'font-size': 11, fill: 'currentColor', 'aria-label': 'Parallel coordinates of all settings; '
    + 'the table above has the same numbers'});
  const xs = cols.map((_, i) => 70 + i * (W - 160) / (cols.length - 1));
  for (const [i, c] of cols.entries()) {
    const all = rows.map(c.of).filter(v => v != null);
    if (c.word) {
      const words = [...new Set(all)];
      c.y = v => bottom - (words.length > 1 ? words.indexOf(v) / (words.length - 1) : .5)
        * (bottom - top);
      for (const w of words.slice(0, 40)) s.append(svg('text', {x: xs[i] - 6, y: c.y(w) + 4,
        'text-anchor': 'end'}, w));
    } else {
      const lo = Math.min(...all), hi = Math.max(...all);
      c.y = v => bottom - (hi > lo ? (v - lo) / (hi - lo) : .5) * (bottom - top);
      s.append(svg('text', {x: xs[i], y: bottom + 14, 'text-anchor': 'middle'}, short(lo)),
        svg('text', {x: xs[i], y: top - 6, 'text-anchor': 'middle'}, short(hi)));
    }
    s.append(svg('path', {d: `M${xs[i]} ${top}V${bottom}`, stroke: 'currentColor',
      'stroke-opacity': .4}), svg('text', {x: xs[i], y: 16, 'text-anchor': 'middle',
      'font-weight': 600}, c.l));
  }
  for (const r of rows) {
    let d = '';
    cols.forEach((c, i) => { const v = c.of(r); if (v != null) d += (d ? 'L' : 'M') + xs[i] + ' '
      + c.y(v).toFixed(1); });
    s.append(svg('path', {d, fill: 'none', stroke: colour(r.k), 'stroke-opacity': .6,
      'stroke-width': 1.4}, svg('title', {}, [...point(r), r.v.name].join(', '))));
  }
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, 'Parallel coordinates')),
    s, key([...new Map(rows.map(r => [r.v.name, r.k])).entries()])));
}
function key(names) {
  return el('div.key', {}, ...names.map(([n, k]) => el('span', {},
    el('i', {style: 'background:' + colour(k)}), n)));
}
/* Settings that no other one beats in both figures. */
function front(host, rows, labels, point) {
  if (labels.length < 2) return;
  const spot = el('div', {});
  const better = i => labels[i].startsWith('throughput') ? -1 : 1;
  const pick = which => el('select', {'aria-label': which === 'x' ? 'Across' : 'Up',
    onchange: e => { sweepState[which] = +e.target.value; draw(); }},
  ...labels.map((l, i) => el('option', {value: i, selected: i === sweepState[which]}, l)));
  const tp = labels.findIndex(l => l.startsWith('throughput'));
  if (tp > 0 && sweepState.y === 1) sweepState.y = tp;
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, 'Pareto front'), pick('x'),
    'against', pick('y')), spot));
  const draw = () => {
    const {x: i, y: j} = sweepState, W = 760, H = 340;
    const pts = rows.filter(r => r.m[i] && r.m[j]).map(r => ({r, a: r.m[i][0], b: r.m[j][0]}));
    const beats = (p, q) => (p.a - q.a) * better(i) <= 0 && (p.b - q.b) * better(j) <= 0
      && (p.a !== q.a || p.b !== q.b);
    const best = pts.filter(p => !pts.some(q => beats(q, p)));
    const [ma, mb] = [Math.max(...pts.map(p => p.a), 1e-9), Math.max(...pts.map(p => p.b), 1e-9)];
    const x = v => 70 + v / ma * (W - 110), y = v => H - 40 - v / mb * (H - 60);
    const s = svg('svg', {viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: 'img',
      'font-size': 11, fill: 'currentColor', 'aria-label': best.length + ' settings that no other '
      + 'one beats in both: ' + best.map(p => [...point(p.r), p.r.v.name].join(' ')).join('; ')});
    for (let v = 0; v <= ma; v += nice(ma / 5)) s.append(svg('text', {x: x(v), y: H - 22,
      'text-anchor': 'middle'}, short(v)));
    for (let v = 0; v <= mb; v += nice(mb / 5)) s.append(
      svg('text', {x: 62, y: y(v) + 4, 'text-anchor': 'end'}, short(v)),
      svg('path', {d: `M70 ${y(v)}H${W - 40}`, stroke: 'currentColor', 'stroke-opacity': .13}));
    s.append(svg('text', {x: W / 2, y: H - 5, 'text-anchor': 'middle'}, labels[i]),
      svg('text', {x: 14, y: H / 2, transform: `rotate(-90 14 ${H / 2})`,
        'text-anchor': 'middle'}, labels[j]));
    best.sort((p, q) => p.a - q.a);
    s.append(svg('path', {d: best.map((p, k) => (k ? 'L' : 'M') + x(p.a) + ' ' + y(p.b)).join(''),
      fill: 'none', stroke: 'currentColor', 'stroke-opacity': .35}));
    for (const p of pts) s.append(svg('circle', {cx: x(p.a), cy: y(p.b),
      r: best.includes(p) ? 5.5 : 3.5, fill: colour(p.r.k),
      'fill-opacity': best.includes(p) ? 1 : .5}, svg('title', {},
      [...point(p.r), p.r.v.name, num(p.a), num(p.b)].join(', '))));
    spot.replaceChildren(s);
  };
  draw();
}

/* ---- counters and settings ---- */

function counters(host) {
  const g = group();
  const of = g.variants.map(v => new Map(sameSeed(v).vmstat));
  const names = [...new Set(of.flatMap(m => [...m.keys()]))].sort();
  const body = el('tbody', {}, ...names.map(n => el('tr', {}, el('th', {scope: 'row'}, n),
    ...of.map(m => el('td', {}, num(m.get(n) ?? 0))))));
  const input = el('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter counters',
    oninput: e => {
      const wanted = e.target.value;
      for (const tr of body.children) tr.hidden = !tr.firstChild.textContent.includes(wanted);
    }});
  const list = () => [['counter', ...g.variants.map(v => v.name)],
    ...names.map(n => [n, ...of.map(m => m.get(n) ?? 0)])];
  host.append(el('figure', {}, el('figcaption', {}, el('span', {}, `Seed ${run().seed}`), input,
    el('span.right', {}, copyButton(list, 'counters'))), el('div.scroll', {tabindex: 0,
    role: 'region', 'aria-label': 'Counters'}, el('table.num', {}, el('thead', {}, el('tr', {},
    el('th', {scope: 'col'}, 'counter'), ...g.variants.map(v => el('th', {scope: 'col'},
      v.name)))), body))), el('p.why', {}, 'Counters that stayed zero are left out.'));
}
function setup(host) {
  const g = group(), names = [...new Set(g.variants.flatMap(v => v.set.map(s => s[0])))];
  const base = new Map(D.base);
  const of = g.variants.map(v => new Map(v.set));
  const value = (m, n) => m.has(n) ? m.get(n) : base.get(n) ?? '';
  const differing = names.filter(n => new Set(of.map(m => value(m, n))).size > 1);
  if (differing.length) host.append(table(['setting', ...g.variants.map(v => v.name)],
    differing.map(n => [n, ...of.map(m => value(m, n))]), 'Set otherwise'));
  const m = new Map(variant().set);
  const all = [...new Set([...base.keys(), ...m.keys()])].map(n => [n, value(m, n)]);
  host.append(el('details', {}, el('summary', {}, `All ${all.length} settings of `
    + variant().name), table(['setting', 'value'], all, 'Settings')));
}

/* ---- the page ---- */

const VIEWS = [['compare', 'Variants', compare], ['time', 'Time line', timeline],
  ['lists', 'Lists', lists], ['pages', 'Pages', pages], ['sweep', 'Settings', sweep],
  ['counters', 'Counters', counters], ['setup', 'Setup', setup]];
function views() {
  return VIEWS.filter(v => v[0] !== 'sweep' || D.groups.length > 1);
}
function draw(only) {
  for (const [id, , make] of views()) {
    if (only && !only.includes(id)) continue;
    const body = $(id).querySelector('.view');
    charts = charts.filter(u => !body.contains(u.root) || u.destroy());
    body.replaceChildren();
    make(body);
  }
  bar();
}
function choice(label, options, at, set) {
  return el('label', {}, label, el('select', {onchange: e => { set(+e.target.value);
    remember(); }}, ...options.map((o, i) => el('option', {value: i, selected: i === at}, o))));
}
function remember() {
  const at = `#g=${S.g}&v=${S.v}&s=${S.seed}`;
  try { history.replaceState(null, '', at); } catch (e) { /* A sandbox has no history. */ }
}
function bar() {
  const g = group(), focus = document.activeElement && document.activeElement.dataset.what;
  const seeds = variant().runs.map(r => r.seed);
  const parts = [], one = ['time', 'lists', 'pages', 'setup'];
  if (D.groups.length > 1) parts.push(['group', choice('Setting', D.groups.map(g => g.heading), S.g,
    i => { S.g = i; S.row = 0; draw(['compare', ...one, 'counters']); })]);
  if (g.variants.length > 1) parts.push(['variant', choice('Variant', g.variants.map(v => v.name),
    Math.min(S.v, g.variants.length - 1), i => { S.v = i; draw(one); })]);
  const seed = Math.max(0, seeds.indexOf(S.seed));
  if (seeds.length > 1) parts.push(['seed', choice('Seed', seeds, seed,
    i => { S.seed = seeds[i]; draw([...one, 'counters']); })]);
  for (const [what, p] of parts) p.querySelector('select').dataset.what = what;
  const theme = el('button', {type: 'button', onclick: () => {
    const dark = css('--bg') !== '#fff';
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    draw();
  }}, 'Light / dark');
  $('bar').replaceChildren(...parts.map(p => p[1]), theme, el('nav', {'aria-label': 'Views'},
    ...views().map(([id, name]) => el('a', {href: '#' + id, onclick: e => {
      e.preventDefault();
      $(id).scrollIntoView();
      $(id).querySelector('h2').focus();
    }}, name))));
  if (focus) {
    const again = $('bar').querySelector(`[data-what=${focus}]`);
    if (again) again.focus();
  }
}
if (D.groups.length) {
  const said = new URLSearchParams(location.hash.slice(1));
  S.g = Math.min(+said.get('g') || 0, D.groups.length - 1);
  S.v = Math.min(+said.get('v') || 0, group().variants.length - 1);
  S.seed = said.has('s') ? +said.get('s') : variant().runs[0].seed;
  $('plain').hidden = true;
  for (const [id, name] of views()) $('views').append(el('section', {id,
    'aria-labelledby': id + '-h'}, el('h2', {id: id + '-h', tabindex: -1}, name),
  el('div.view', {})));
  draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
  let width = innerWidth, wait;
  addEventListener('resize', () => {
    clearTimeout(wait);
    wait = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; draw(); } }, 200);
  });
}
document.documentElement.dataset.ready = 'yes';
})();
