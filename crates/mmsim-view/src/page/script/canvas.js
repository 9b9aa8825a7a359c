/* A canvas with a readout: draw(ctx, w, h), at(x, y) says what is there. */
function canvas(host, title, height, label, paint, at, more) {
  const say = said();
  const box = readable(label);
  const c = el('canvas');
  box.append(c);
  host.append(el('figure', el('figcaption', piece(title), ...(more || [])), box,
    say));
  const w = larger(320, host.clientWidth), k = devicePixelRatio || 1;
  c.width = w * k;
  c.height = height * k;
  c.style.width = w + 'px';
  c.style.height = height + 'px';
  const ctx = c.getContext('2d');
  const again = () => {
    ctx.setTransform(k, 0, 0, k, 0, 0);
    ctx.clearRect(0, 0, w, height);
    ctx.font = '11px system-ui';
    ctx.fillStyle = soft();
    paint(ctx, w, height);
  };
  again();
  let px = w / 2, py = height / 2;
  const tell = () => {
    const parts = at(px, py, w, height);
    say.replaceChildren(...(parts || [' ']));
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
    px = smaller(w - 5, larger(AXIS, px + d[0]));
    py = smaller(height - 20, larger(0, py + d[1]));
    tell();
  });
  return again;
}
const AXIS = 62;
function timeAxis(ctx, w, h, end, from) {
  const step = nice(end / larger(2, w / 130));
  from = from || 0;
  for (let t = Math.ceil(from / step) * step; t <= from + end; t += step) {
    const x = AXIS + (t - from) / end * (w - AXIS);
    ctx.fillText(short(t) + ' s', smaller(x, w - 30), h - 4);
    ctx.fillRect(x, h - 18, .6, 4);
  }
}
function nice(raw) {
  const m = 10 ** whole(Math.log10(raw || 1));
  return [1, 2, 5, 10].map(k => k * m).find(s => s >= raw);
}
/* Round numbers up the left side. */
function upAxis(ctx, h, most) {
  ctx.fillStyle = soft();
  const step = nice(most / larger(2, h / 45));
  for (let v = 0; v <= most; v += step) {
    ctx.fillText(short(v), 2, larger(9, (h - 22) * (1 - v / most)));
    ctx.fillRect(AXIS - 4, (h - 22) * (1 - v / most), 4, .6);
  }
}
