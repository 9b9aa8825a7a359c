function counters(host) {
  const g = group();
  const of = g.variants.map(v => new Map(sameSeed(v).vmstat));
  const names = [...new Set(of.flatMap(m => [...m.keys()]))].sort();
  const body = el('tbody', ...names.map(n => el('tr', el('th', {scope: 'row'},
    explained(piece(n), n)),
    ...of.map(m => el('td', num(m.get(n) ?? 0))))));
  const input = el('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter counters',
    oninput: e => {
      const wanted = e.target.value;
      for (const tr of body.children) tr.hidden = !tr.firstChild.textContent.includes(wanted);
    }});
  const list = () => [['counter', ...g.variants.map(v => v.name)],
    ...names.map(n => [n, ...of.map(m => m.get(n) ?? 0)])];
  host.append(sheet([`Seed ${run().seed} `, input], 'Counters', list, heads(list()[0]), body), el('p.why', 'Counters that stayed zero are left out.'));
}
/* Settings of a variant by name: those of the base unless it has another, or none. */
function settings(v) {
  const all = new Map(D.base);
  for (const n of v.without ?? []) all.delete(n);
  for (const [n, value] of v.set) all.set(n, value);
  return all;
}
function setup(host) {
  const g = group(), of = g.variants.map(settings);
  const value = (m, n) => m.has(n) ? m.get(n) : '-';
  const names = [...new Set(of.flatMap(m => [...m.keys()]))];
  const differing = names.filter(n => new Set(of.map(m => value(m, n))).size > 1);
  if (differing.length) host.append(table(['setting', ...g.variants.map(v => v.name)],
    differing.map(n => [n, ...of.map(m => value(m, n))]), 'Set otherwise'));
  const all = [...settings(variant())];
  host.append(el('details', el('summary', `All ${all.length} settings of `
    + variant().name), table(['setting', 'value'], all, 'Settings')));
}
VIEWS.push(['counters', 'Counters', counters, 3]);
VIEWS.push(['setup', 'Setup', setup, 1]);
