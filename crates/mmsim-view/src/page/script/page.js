/* Which views change with a setting, a variant, a seed: 1 all, 2 a setting, 3 not a variant. */
const WITH = {group: [1, 2, 3], variant: [1], seed: [1, 3]};
function draw(what) {
  for (const [id, , make, when] of VIEWS) {
    if (what && what !== id && !(WITH[what] || []).includes(when)) continue;
    const body = $(id).querySelector('.view');
    charts = charts.filter(u => !body.contains(u.root) || u.destroy());
    body.replaceChildren();
    make(body);
  }
  bar();
  cut();
}
/* Tables that are wider than their place say that they scroll. */
function cut() {
  for (const s of document.querySelectorAll('.scroll')) {
    s.classList.toggle('cut', s.scrollWidth > s.clientWidth + 1);
  }
}
/* Words on a figure below it, until the pointer or the focus goes elsewhere, or Escape. */
function tips() {
  const tip = el('div', {id: 'tip', role: 'tooltip', hidden: true});
  let on = null;
  const hide = () => {
    if (on) on.removeAttribute('aria-describedby');
    tip.hidden = true;
    on = null;
  };
  const show = e => {
    const to = e.target.closest('[data-words]');
    if (!to) return e.target.closest('#tip') || hide();
    if (to === on) return;
    hide();
    on = to;
    tip.replaceChildren(...to.dataset.words.split('\n').map(t => el('p', ...coded(t))));
    tip.hidden = false;
    to.setAttribute('aria-describedby', 'tip');
    const r = to.getBoundingClientRect(), t = tip.getBoundingClientRect();
    tip.style.left = larger(8, smaller(r.left, innerWidth - t.width - 8)) + 'px';
    tip.style.top = (r.bottom + t.height + 8 < innerHeight || r.top < t.height ? r.bottom + 4
      : r.top - t.height - 4) + 'px';
  };
  document.addEventListener('pointerover', show);
  document.addEventListener('focusin', show);
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, true);
  document.addEventListener('keydown', e => { if (e.key === 'Escape') hide(); });
  document.body.append(tip);
}
function choice(label, options, at, set) {
  return el('label', label, el('select', {onchange: e => { set(+e.target.value);
    remember(); }}, ...options.map((o, i) => el('option', {value: i, selected: i === at}, o))));
}
function remember() {
  const at = `#g=${S.g}&v=${S.v}&s=${S.seed}`;
  try { history.replaceState(null, '', at); } catch (e) { /* A sandbox has no history. */ }
}
function choices() {
  const g = group(), seeds = variant().runs.map(r => r.seed), parts = [];
  if (D.groups.length > 1) parts.push(['group', choice('Setting', D.groups.map(g => g.heading), S.g,
    i => { S.g = i; S.row = 0; draw('group'); })]);
  if (g.variants.length > 1) parts.push(['variant', choice('Variant', g.variants.map(v => v.name),
    smaller(S.v, g.variants.length - 1), i => { S.v = i; draw('variant'); })]);
  const seed = larger(0, seeds.indexOf(S.seed));
  if (seeds.length > 1) parts.push(['seed', choice('Seed', seeds, seed,
    i => { S.seed = seeds[i]; draw('seed'); })]);
  for (const [what, p] of parts) p.querySelector('select').dataset.what = what;
  return parts;
}
function bar() {
  const focus = document.activeElement && document.activeElement.dataset.what;
  const parts = D.groups ? choices() : [];
  const theme = el('button', {type: 'button', onclick: () => {
    const dark = css('--bg') !== '#fff';
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    draw();
  }}, 'Light / dark');
  $('bar').replaceChildren(...parts.map(p => p[1]), theme, el('nav', {'aria-label': 'Views'},
    ...VIEWS.map(([id, name]) => el('a', {href: '#' + id, onclick: e => {
      e.preventDefault();
      $(id).scrollIntoView();
      $(id).querySelector('h2').focus();
    }}, name))));
  if (focus) {
    const again = $('bar').querySelector(`[data-what=${focus}]`);
    if (again) again.focus();
  }
}
if (VIEWS.length) {
  const said = new URLSearchParams(location.hash.slice(1));
  if (D.groups) {
    S.g = smaller(+said.get('g') || 0, D.groups.length - 1);
    S.v = smaller(+said.get('v') || 0, group().variants.length - 1);
    S.seed = said.has('s') ? +said.get('s') : variant().runs[0].seed;
  }
  $('plain').hidden = true;
  for (const [id, name] of VIEWS) $('views').append(el('section', {id,
    'aria-labelledby': id + '-h'}, el('h2', {id: id + '-h', tabindex: -1}, name),
  el('div.view')));
  tips();
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
