/* Classes of refaults: below the root what no decision could keep and what one could have, below
   these the classes, below each class where it happened and pages with their lives. */
function why(host) {
  const r = run(), w = r.why;
  if (!w || !w.refaults) return host.append(none());
  const count = c => c.anon + c.file, some = w.classes.filter(count);
  const share = v => num(v / w.refaults * 100, 1) + ' %';
  const levels = [['for want of memory', false], ['by a decision', true]].map(([name, d]) => {
    const below = some.filter(c => c.decision === d);
    return {name, below, n: below.reduce((s, c) => s + count(c), 0)};
  }).filter(l => l.n);
  host.append(icicle(levels, count, share, w.refaults));
  const unread = some.some(c => c.without_device);
  const cells = c => [num(count(c)), share(count(c)), num(c.anon), num(c.file),
    ...unread ? [num(c.without_device)] : [], num(c.device_ns / 1e9, 3)];
  const sums = l => ['anon', 'file', 'without_device', 'device_ns'].reduce((o, k) => ({...o,
    [k]: l.below.reduce((s, c) => s + c[k], 0)}), {});
  const rows = levels.flatMap(l => [[l.name, ...cells(sums(l))],
    ...l.below.map(c => [' ' + c.name, ...cells(c)])]);
  rows.push(['all', ...cells(sums({below: some}))]);
  host.append(table(['why pages came back', 'refaults', 'share', 'anon', 'file',
    ...unread ? ['no device'] : [], 'device, s'], rows, 'Classes'), el('p.why', `The classes sum to ${w.counters.join(' and ')}.`));
  const s = w.swap_outs, all = s.not_wanted + s.needed + s.needless;
  if (all) host.append(el('p', `Of ${num(all)} pages written to swap ${num(s.needless)} were `
    + `needless, ${num(s.needed)} came back for want of memory, and ${num(s.not_wanted)} were not `
    + 'wanted again.'));
  if (w.credit) host.append(el('p', `${num(w.credit)} uses hit that the optimum would have `
    + 'missed.'));
  for (const c of some) {
    const body = el('div');
    host.append(el('details', {ontoggle: e => {
      if (e.target.open && !body.firstChild) within(body, c, r);
    }}, el('summary', `${c.name}: ${num(count(c))} refaults, ${share(count(c))}`), body));
  }
}
function icicle(levels, count, share, all) {
  const W = 1100, H = 118, x = v => v / all * W;
  const s = drawing(W, H, 12, 'Tree of refaults: ' + levels.map(l => `${l.name} ${share(l.n)} (`
    + l.below.map(c => c.name + ' ' + share(count(c))).join(', ') + ')').join('; '));
  const box = (from, n, y, name, fill) => {
    const g = svg('g', svg('title', `${name}: ${num(n)}, ${share(n)}`),
      svg('rect', {x: x(from), y, width: larger(.8, x(n) - 1.5), height: 36, fill,
        'fill-opacity': .35, stroke: fill}));
    [[name, 15], [share(n), 30]].forEach(([t, dy]) => t.length * 6.8 < x(n) - 10
      && g.append(written(x(from) + 6, y + dy, t)));
    s.append(g);
  };
  box(0, all, 0, 'refaults', '#6b6b6b');
  let from = 0, k = 0;
  for (const l of levels) {
    box(from, l.n, 40, l.name, '#6b6b6b');
    for (const c of l.below) {
      box(from, count(c), 80, c.name, colour(k++));
      from += count(c);
    }
  }
  return el('figure', s);
}
function within(host, c, r) {
  for (const [name, list] of c.by) host.append(table([name, 'refaults'], list.slice(0, 12).map(s =>
    [s[0], num(s[1])]), list.length > 12 ? `${name}: the first 12 of ${list.length}` : name));
  for (const e of c.examples) {
    const title = `${e.page} came back at ${time(e.t_ns / 1e9)}`;
    const all = `mmsim why SCENARIO --variant '${variant().name}' --seed ${r.seed} --page ${e.page}`;
    if (!e.life) {
      host.append(el('p', title + '. Its life: ', el('code', all)));
      continue;
    }
    host.append(table(['t, us', 'event', 'decided by', 'facts'], e.life.map(m => [num(m[0] / 1e3, 1),
      m[1] + (m[4] ? ': ' + m[4] : ''), m[2], m[3]]), title, true));
    if (e.left_out) note(host, `${num(e.left_out)} moments between the first and `
      + `the last ${e.life.length / 2} are left out. All: `, el('code', all));
  }
}
VIEWS.push(['why', 'Why', why, 1]);
