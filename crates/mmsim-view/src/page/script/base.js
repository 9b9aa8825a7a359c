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

const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#b8850a', '#3a93c9', '#7f6a00',
  '#6b6b6b'];
const colour = i => COLOURS[i % COLOURS.length];
/* Lines differ without colour too. */
const DASHES = ['', '7 3', '2 3', '9 3 2 3', '5 5'];
const dashed = k => DASHES[k % DASHES.length];
const MIB = 1 << 20, PAGE = 4096 / MIB;
const larger = Math.max, smaller = Math.min, whole = Math.floor;

/* Elements: el('p.note', {id: 'x'}, child, ..); attributes may be left out. */
function fill(e, attrs, children) {
  if (attrs instanceof Node || typeof attrs !== 'object') {
    children.unshift(attrs);
    attrs = null;
  }
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.filter(c => c != null));
  return e;
}
function el(tag, attrs, ...children) {
  const [name, ...classes] = tag.split('.');
  const e = document.createElement(name);
  if (classes.length) e.className = classes.join(' ');
  return fill(e, attrs, children);
}
const piece = (...children) => el('span', ...children), bold = text => el('b', text);
const swatch = ink => el('i', {style: 'background:' + ink});
const note = (host, ...children) => host.append(el('p.why', ...children));
/* What can be read by keys, and where it is said. */
const readable = label => el('div.box', {tabindex: 0, role: 'img', 'aria-label': label});
const said = () => el('div.say', {'aria-live': 'polite'}, ' ');
/* Text in which names stand between backticks. */
const coded = text => text.split('`').map((t, i) => i % 2 ? el('code', t) : t);
/* What a figure counts, by its labels: for who points at it or goes to it by keys. */
const WORDS = new Map((D.words || []).flatMap(([labels, text]) => labels.map(l => [l, text])));
function explained(e, ...labels) {
  const text = labels.map(l => WORDS.get(l)).find(t => t);
  if (!text) return e;
  e.dataset.words = text;
  if (e.tagName !== 'BUTTON') e.tabIndex = 0;
  return e;
}
const svg = (tag, attrs, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attrs, children);
const drawing = (W, H, size, label) => svg('svg', {viewBox: `0 0 ${W} ${H}`, width: W, height: H,
  role: 'img', 'font-size': size, fill: 'currentColor', 'aria-label': label});
/* The width of a drawing: text keeps its size in a narrow window. */
const room = host => smaller(760, larger(320, host.clientWidth || 760));
/* Text of a drawing: from x on, around it, or up to it. */
const written = (x, y, text, anchor, more) => svg('text', {x, y, 'text-anchor': anchor, ...more}, text);
/* options: pairs of a value and its text. */
const picker = (label, options, chosen, set) => el('select', {'aria-label': label,
  onchange: e => set(options[e.target.selectedIndex][0])}, ...options.map(([value, text]) =>
  el('option', {value, selected: value === chosen}, text)));
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
const faint = o => ({stroke: 'currentColor', 'stroke-opacity': o});
function copyButton(make, what) {
  const b = el('button', {type: 'button', title: 'Copy ' + what + ' as CSV'}, 'Copy CSV');
  b.addEventListener('click', async () => {
    const text = csv(make());
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch (e) {
      const area = el('textarea', text);
      document.body.append(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
      b.focus();
    }
    b.textContent = done ? 'Copied' : 'Cannot copy here';
    setTimeout(() => b.textContent = 'Copy CSV', 1500);
  });
  return el('span.right', b);
}
/* A mean and half its interval, as precise as the mean. */
const margin = m => m && m[1] != null ? '±' + num(m[1], Math.abs(m[0]) >= 100 ? 0 : 2) : '';
/* Views in their order: id, title, what draws it, and when it is drawn anew. */
const VIEWS = [];
const none = () => el('p.why', 'This run has none.');
/* A figure with a table: its caption, what a copy has, the heads of its columns, and its rows. */
function sheet(caption, name, list, head, body, plain) {
  return el('figure', el('figcaption', piece(...caption), copyButton(list, name)),
    el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': name},
  el(plain ? 'table' : 'table.num', el('thead', head), body)));
}
const heads = names => el('tr', ...names.map(h => el('th', {scope: 'col'}, explained(piece(h), h))));
function table(head, rows, name, plain) {
  return sheet([name], name, () => [head, ...rows], heads(head), el('tbody', ...rows.map(r =>
    el('tr', el(r[0][0] === ' ' ? 'th.in' : 'th', {scope: 'row'},
      explained(piece(r[0].trim()), r[0].trim())),
      ...r.slice(1).map(c => el('td', c))))), plain);
}
function key(names) {
  return el('div.key', ...names.map(([n, k]) => el('span',
    swatch(typeof k === 'string' ? k : colour(k)), n)));
}
/* A piece of a line as charts draw it. */
const stroked = more => svg('svg', {width: 28, height: 9, 'aria-hidden': 'true'},
  svg('path', {d: 'M0 4.5h26', fill: 'none', ...more}));
const soft = () => css('--soft');
let charts = [];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
