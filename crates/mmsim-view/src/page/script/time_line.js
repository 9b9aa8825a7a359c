function timeline(host) {
  const r = run(), c = columns(r);
  if (!c) return host.append(actTable(r), phaseTable(r) || (r.acts ? '' : none()));
  const t = c.t, phases = r.phases, acts = r.acts;
  const sumOf = k => variant().zones.reduce((s, z) => s + z[k], 0) * PAGE;
  const mark = (k, col) => ({label: k, values: t.map(() => sumOf(k)), colour: col});
  const mib = name => c[name] && c[name].map(v => v * PAGE);
  const per = (label, names, col) => {
    const s = sum(c, [].concat(names));
    return {label, values: s && rate(t, s), colour: col};
  };
  const draw = (title, lines, more) => chart(host, {title, t, lines, phases, acts, ...more});
  /* Watermarks would lie at the bottom of a peak of free memory. */
  const free = mib('nr_free_pages') || [], near = 4 * sumOf('high');
  const cut = free.some(v => v > near) && free.some(v => v < near) ? near : 0;
  draw('Free memory and watermarks, MiB' + (cut ? `, cut at ${short(cut)}` : ''), [
    {label: 'free', values: free, colour: INK.free}, mark('high', '#3a93c9'),
    mark('low', '#b8850a'), mark('min', '#d55e00')], {most: cut});
  draw('Reclaimed, pages per s', [per('by kswapd', 'pgsteal_kswapd'),
    per('by direct reclaim', 'pgsteal_direct', '#d55e00')]);
  draw('Scanned, pages per s', [per('by kswapd', 'pgscan_kswapd'),
    per('by direct reclaim', 'pgscan_direct', '#d55e00')], {height: 130});
  draw('Swap, pages per s', [per('in', 'pswpin', '#0072b2'), per('out', 'pswpout', '#d55e00')]);
  /* Without zswap its columns are not there, and then neither are the charts. */
  draw('zswap, pages per s', [per('in', 'zswpin', '#0072b2'), per('out', 'zswpout', '#d55e00'),
    per('written back', 'zswpwb', '#009e73')], {height: 130});
  draw('Pool of zswap, MiB', [{label: 'stored pages', values: mib('zswap_stored_pages'),
    colour: '#0072b2'}, {label: 'frames of the pool', values: mib('zswap_pool_pages'),
    colour: '#d55e00'}], {height: 130});
  draw('Major faults and refaults, per s', [per('major faults', 'pgmajfault'),
    per('refaults of anon', 'workingset_refault_anon', '#d55e00'),
    per('refaults of file', 'workingset_refault_file', '#009e73'),
    per('direct reclaim stalls', ['allocstall_dma', 'allocstall_dma32', 'allocstall_normal',
      'allocstall_movable'], '#cc79a7')]);
  const psi = (label, name, col) => ({label, colour: col,
    values: c[name] && rate(t, c[name], 1e-4)});
  draw('Memory pressure (PSI), % of time', [psi('some', 'sim_pressure_some_us', '#0072b2'),
    psi('full', 'sim_pressure_full_us', '#d55e00')], {height: 130});
  const pages = [['anon', 'nr_anon_pages'], ['file', 'nr_file_pages'],
    ['page tables', 'nr_page_table_pages'], ['slab', 'nr_slab_reclaimable'],
    ['zram', 'nr_zram_store'], ['zswap', 'zswap_pool_pages'], ['free', 'nr_free_pages']];
  draw('Where memory is, MiB', pages.map(([label, n]) => ({label, values: mib(n),
    colour: INK[label]})), {stack: true, step: false});
  /* Lines of a machine without a host are not there, and then neither is the chart. */
  const held = mib('sim_host_held');
  draw('Memory that the host holds, MiB', held ? [{label: 'held by the host', values: held,
    colour: '#0072b2'}, {label: 'free in the guest', values: free, colour: INK.free}] : []);
  draw('Compaction and huge pages, per s', [per('pages moved', 'pgmigrate_success'),
    per('stalls', 'compact_stall'), per('blocks made', 'compact_success'),
    per('huge faults', 'thp_fault_alloc'), per('huge pages split', 'thp_split_page')]);
  const gap = r.series.stride > 1 ? `Each point stands for ${r.series.stride} samples. ` : '';
  note(host, `${gap}${t.length} points. Drag to zoom, double click to go back; `
    + 'with the keyboard arrows, plus, minus and 0.');
  host.append(actTable(r), phaseTable(r));
  overlay(host);
}
function actTable(r) {
  if (!r.acts) return '';
  const rows = r.acts.map(([ns, who, what, target, why]) => [time(ns / 1e9), who, what,
    target || 'the machine', why]);
  return table(['when', 'who', 'act', 'on whom', 'why'], rows, 'Acts of the OOM killer and of '
    + 'daemons: a red line through the charts is a kill');
}
function phaseTable(r) {
  if (!r.phases.length) return '';
  const rows = r.phases.map(p => [p.name, time(p.begin / 1e9), time((p.end - p.begin) / 1e9),
    num(p.some * 100, 2), num(p.full * 100, 2)]);
  return table(['phase', 'begins', 'lasts', 'pressure some, %', 'full, %'], rows, 'Phases');
}
const overlayed = {name: 'pswpin'};
function overlay(host) {
  const all = group().variants.map(v => columns(sameSeed(v)));
  const names = [...new Set(all.flatMap(c => c ? Object.keys(c).filter(n => n !== 't') : []))];
  if (!names.length || all.length < 2) return;
  if (!names.includes(overlayed.name)) overlayed.name = names[0];
  const spot = el('div');
  host.append(el('h3', 'One column, all variants'), spot);
  const select = picker('Column', names.map(n => [n, n]), overlayed.name, n => {
    overlayed.name = n;
    charts = charts.filter(u => !spot.contains(u.root));
    draw(true);
  });
  const draw = focus => {
    spot.replaceChildren();
    const level = /^nr_|^zswap_|^sim_host_held$/.test(overlayed.name);
    const have = all.map((c, i) => [c, i]).filter(([c]) => c && c[overlayed.name]);
    const joined = uPlot.join(have.map(([c]) => [c.t, level ? c[overlayed.name]
      : rate(c.t, c[overlayed.name])]), have.map(() => [2]));
    chart(spot, {title: level ? 'pages' : 'per s', t: joined[0], alone: true, more: select,
      lines: have.map(([, i], k) => ({label: group().variants[i].name, colour: colour(i),
        values: joined[k + 1]}))}) || spot.append(select, el('p.why', 'Nothing happened.'));
    if (focus) select.focus();
  };
  draw(false);
}
VIEWS.push(['time', 'Time line', timeline, 1]);
