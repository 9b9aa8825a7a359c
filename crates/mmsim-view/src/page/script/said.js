/* The conclusion: what differs beyond the noise between seeds, and where. */
function conclusion(host) {
  const g = group(), several = D.groups.length > 1;
  for (const s of D.said) host.append(el('p.lead', ...coded(s)));
  // A sentence on seeds is of all settings, also where some have nothing to compare.
  const alike = D.groups.every(o => String(o.said) === String(g.said)
    || String(o.said).startsWith('No variant had'));
  if (several && g.said.length && !alike) note(host, `At ${g.heading}:`);
  for (const s of g.said) host.append(el(several ? 'p' : 'p.lead', ...coded(s)));
}
if (D.said.length || D.groups.some(g => g.said.length)) VIEWS.push(['said', 'Conclusion', conclusion, 2]);
