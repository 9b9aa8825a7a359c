function lists(host) {
  const r = run(), c = columns(r);
  if (c) {
    const of = (label, n, use, pale) => ({label, colour: INK[use] || '#6b6b6b', pale,
      values: c[n] && c[n].map(v => v * PAGE)});
    const any = chart(host, {title: 'Lists, MiB', t: c.t, stack: true, phases: r.phases,
      height: 220, lines: [of('active anon', 'nr_active_anon', 'anon'),
        of('inactive anon', 'nr_inactive_anon', 'anon', true),
        of('active file', 'nr_active_file', 'file'),
        of('inactive file', 'nr_inactive_file', 'file', true),
        of('unevictable', 'nr_unevictable')]});
    if (!any) note(host, 'This policy keeps no lists that the kernel names.');
  } else if (!r.gens) host.append(none());
  if (r.gens) generations(host, r);
}
function generations(host, r) {
  const g = r.gens, end = r.end / 1e9;
  let most = 1;
  for (const [, all] of g.at) most = larger(most, all.reduce((s, x) => s + x[1] + x[2], 0));
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
          ctx.fillRect(a, y(base + n), larger(.7, b - a), y(base) - y(base + n));
          base += n;
        }
      }
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = soft();
    for (let k = 0; k <= 2; k++) ctx.fillText(short(most * PAGE * k / 2), 2, y(most * k / 2) + 8);
    timeAxis(ctx, w, h, end);
  };
  const at = (px, py, w, h) => {
    const t = (px - AXIS) / (w - AXIS) * end;
    let i = g.at.length - 1;
    while (i > 0 && g.at[i][0] / 1e9 > t) i--;
    if (t < 0) return null;
    return [piece('since ', bold(time(g.at[i][0] / 1e9))),
      ...g.at[i][1].map(([seq, anon, file]) => el('span',
        swatch(colour(seq % 6)), `generation ${seq}: `,
        bold(num(anon)), ' anon, ', bold(num(file)), ' file'))];
  };
  canvas(host, 'Generations, MiB, the oldest below', 220, `Generations of MGLRU at ${g.at.length} `
    + 'instants. Arrow keys read them.', paint, at);
  note(host, g.at_phases ? 'At the ends of phases. Each beginning of a generation '
    + 'is in pages of mmsim run --html.' : 'At each beginning of a generation'
    + (g.stride > 1 ? `, one of ${g.stride}` : '') + '; file pages are paler.');
}
VIEWS.push(['lists', 'Lists', lists, 1]);
