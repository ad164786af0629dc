// What a page of one placement draws: the timeline on a canvas, the graph as boxes that open. Its numbers stand in the
// element #run (problem/explain/page_data.h says which). All it says stands in the tables of the page too.
(() => {
  'use strict';
  const run = JSON.parse(document.getElementById('run').textContent);
  const kColours = 10;
  const short = d3.format('.4~r');
  const upTo = (end) => [...Array(end).keys()];
  const sum = (list, value) => list.reduce((all, one) => all + value(one), 0);

  // ---- words --------------------------------------------------------------------------------------

  function timeText(us) {
    for (const [unit, size] of [['s', 1e6], ['ms', 1e3], ['us', 1]]) {
      if (Math.abs(us) >= size) return short(us / size) + ' ' + unit;
    }
    return us === 0 ? '0 us' : short(us * 1000) + ' ns';
  }
  function bytesText(bytes) {
    let unit = 0;
    for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
    return d3.format('.3~r')(bytes) + ' ' + ['B', 'kB', 'MB', 'GB', 'TB'][unit];
  }
  const tickText = (ticks) => timeText(ticks * run.us / run.ticks);
  const count = d3.format(',');
  const nodes = run.nodes;
  const labelOf = (node) => run.labels[nodes.label[node]];
  function fullName(node) {
    const parts = [];
    for (let at = node; at > 0; at = nodes.parent[at]) if (!nodes.made_up[at]) parts.unshift(labelOf(at));
    return parts.join(run.separator) || run.graph;
  }
  const briefName = (node) => fullName(node).split(run.separator).slice(-2).join(run.separator);
  const nameOf = (node) => node < 0 ? '' : nodes.type[node] < 0 ? 'an op of ' + fullName(node) : fullName(node);

  // ---- colours of the page, or of paper -------------------------------------------------------------

  let onPaper = false;
  function palette() {
    const at = document.createElement('span');
    at.hidden = true;
    if (onPaper) at.className = 'on-paper';
    document.body.append(at);
    const style = getComputedStyle(at);
    const colours = {};
    for (const name of ['ink', 'soft', 'paper', 'band', 'rule', 'bad']) colours[name] = style.getPropertyValue('--' + name).trim();
    colours.device = upTo(kColours).map((i) => style.getPropertyValue('--d' + i).trim());
    at.remove();
    return colours;
  }

  const tip = document.getElementById('tip');
  function showTip(text, x, y) {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) return;
    const width = document.documentElement.clientWidth;
    tip.style.left = Math.max(4, Math.min(x + 12, width - tip.offsetWidth - 6)) + 'px';
    tip.style.top = (y + 14 + tip.offsetHeight < innerHeight ? y + 14 : Math.max(4, y - tip.offsetHeight - 10)) + 'px';
  }

  // ---- timeline -------------------------------------------------------------------------------------

  const kPath = ['op', 'transfer', 'dispatch', 'waiting', 'collective'];

  function timeline(root) {
    const canvas = root.querySelector('canvas');
    const range = root.querySelector('output');
    const context = canvas.getContext('2d');
    const rows = makeRows();
    let from = 0, to = run.ticks, width = 0, gutter = 0, colours = palette();
    let chosen = -1, chosenSlice = -1;

    // Starts are written as differences.
    function unpack(lane) {
      if (!lane.d) return lane;
      let at = 0;
      lane.s = lane.s.map((step) => at += step);
      return lane;
    }

    function makeRows() {
      const made = [];
      const add = (row) => made.push(row);
      if (run.path) add({kind: 'path', name: 'critical path', brief: 'crit. path', height: 14, lane: unpack(run.path)});
      const lanes = run.lanes.map(unpack);
      const hosts = new Map(lanes.filter((lane) => lane.kind === 'host').map((lane) => [lane.device, lane]));
      if (hosts.has(-1)) add({kind: 'host', name: 'host thread', height: 8, lane: hosts.get(-1)});
      run.devices.forEach((device, d) => {
        const ops = lanes.find((lane) => lane.kind === 'device' && lane.device === d);
        const memory = run.memory[d];
        if (!ops && !memory.peak) return;
        if (ops) add({kind: 'device', name: device, height: 20 + 8 * Math.min(3, (ops.tracks || 1) - 1), lane: ops, device: d, gap: 10});
        if (hosts.has(d)) add({kind: 'host', name: 'host thread', height: 6, lane: hosts.get(d), small: true});
        for (const channel of lanes.filter((lane) => lane.kind === 'channel' && lane.device === d))
          add({kind: 'link', name: channel.name, height: 9, lane: channel, small: true});
        if (memory.t.length) add({kind: 'memory', name: 'memory, peak ' + bytesText(memory.peak), brief: 'mem ' + bytesText(memory.peak), height: 30, memory, device: d, small: true, gap: 3});
      });
      lanes.filter((lane) => lane.kind === 'link')
          .forEach((lane, i) => add({kind: 'link', name: lane.name, height: 11, lane, small: true, gap: i ? 3 : 12}));
      let y = 22;
      for (const row of made) {
        y += row.gap || 2;
        row.y = y;
        y += row.height;
      }
      made.height = y + 4;
      return made;
    }

    const x = (ticks) => gutter + (ticks - from) / (to - from) * (width - gutter);
    const ticksAt = (pixels) => from + (pixels - gutter) / (width - gutter) * (to - from);

    function cut(text, room) {
      if (context.measureText(text).width <= room) return text;
      let end = Math.max(1, Math.floor(text.length * room / context.measureText(text).width) - 1);
      while (end > 1 && context.measureText(text.slice(0, end) + '…').width > room) --end;
      return text.slice(0, end) + '…';
    }

    function draw() {
      const ratio = devicePixelRatio || 1;
      width = canvas.clientWidth;
      gutter = Math.min(170, Math.max(74, width * 0.13));
      canvas.style.height = rows.height + 'px';
      canvas.width = width * ratio;
      canvas.height = rows.height * ratio;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.fillStyle = colours.paper;
      context.fillRect(0, 0, width, rows.height);
      drawAxis();
      rows.forEach(drawRow);
      range.textContent = from === 0 && to === run.ticks ? `whole step, ${tickText(run.ticks)}` :
          `${tickText(from)} to ${tickText(to)} of ${tickText(run.ticks)}`;
    }

    function drawAxis() {
      const us = run.us / run.ticks;
      const scale = d3.scaleLinear().domain([from * us, to * us]).range([gutter, width]);
      context.font = '11px system-ui, sans-serif';
      context.textAlign = 'center';
      const ticks = scale.ticks(Math.max(2, Math.floor((width - gutter) / 110)));
      const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
      const [unit, size] = [['s', 1e6], ['ms', 1e3], ['us', 1], ['ns', 1e-3]].find((u) => to * us >= u[1]) || ['ns', 1e-3];
      const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / size) + 1e-9)));
      for (const tick of ticks) {
        context.strokeStyle = colours.rule;
        context.beginPath();
        context.moveTo(scale(tick), 18);
        context.lineTo(scale(tick), rows.height);
        context.stroke();
        context.fillStyle = colours.soft;
        const text = (tick / size).toFixed(digits) + ' ' + unit;
        const half = context.measureText(text).width / 2;
        context.fillText(text, Math.min(scale(tick), width - half - 1), 12);
      }
    }

    function drawRow(row, index) {
      context.fillStyle = colours.band;
      context.fillRect(gutter, row.y, width - gutter, row.height);
      context.fillStyle = row.small ? colours.soft : colours.ink;
      context.font = (row.small ? '11px' : '600 12px') + ' system-ui, sans-serif';
      context.textAlign = 'left';
      context.textBaseline = 'middle';
      context.fillText(cut(gutter < 120 && row.brief || row.name, gutter - 8), 2, row.y + row.height / 2);
      context.textBaseline = 'alphabetic';
      context.save();
      context.beginPath();
      context.rect(gutter, row.y, width - gutter, row.height);
      context.clip();
      if (row.kind === 'memory') {
        drawMemory(row);
      } else if (row.lane.busy) {
        drawBins(row);
      } else {
        drawSlices(row);
      }
      context.restore();
      if (index === chosen) {
        context.strokeStyle = colours.ink;
        context.lineWidth = 2;
        context.strokeRect(gutter, row.y - 1, width - gutter - 1, row.height + 2);
        context.lineWidth = 1;
      }
    }

    function colourOf(row, i) {
      const lane = row.lane;
      if (row.kind === 'device') return colours.device[row.device % kColours];
      if (row.kind === 'host') return colours.soft;
      if (row.kind === 'link') return colours.device[(lane.d ? run.transfers.from[lane.i[i]] : lane.device) % kColours] || colours.soft;
      const kind = kPath[lane.k[i]];
      if (kind === 'op') return colours.device[lane.v[i] % kColours];
      return kind === 'transfer' || kind === 'collective' ? colours.ink : kind === 'dispatch' ? colours.soft : colours.rule;
    }

    function drawSlices(row) {
      const {s, d, t, i: items, c} = row.lane;
      const tracks = row.lane.tracks || 1;
      const height = row.height / tracks;
      for (let i = 0; i < s.length && s[i] < to; ++i) {
        if (s[i] + d[i] < from) continue;
        const left = Math.max(x(s[i]), gutter - 2), right = Math.min(x(s[i] + d[i]), width + 2);
        const size = right - left;
        context.fillStyle = colourOf(row, i);
        context.globalAlpha = c && !c[i] ? 0.5 : 1;
        const y = row.y + (t ? t[i] : 0) * height;
        context.fillRect(left, y, Math.max(0.6, size > 3 ? size - 0.7 : size), Math.max(0.6, height - (tracks > 1 && height > 3 ? 1 : 0)));
        context.globalAlpha = 1;
        if (size > 34 && height > 10 && row.kind !== 'host' && items[i] >= 0) {
          context.fillStyle = colours.paper;
          context.font = '11px system-ui, sans-serif';
          const node = row.kind === 'link' || (row.kind === 'path' && row.lane.k[i] === 1) ? run.transfers.node[items[i]] : items[i];
          if (c && !c[i]) context.fillStyle = colours.ink;
          context.fillText(cut(briefName(node), size - 8), left + 4, y + height / 2 + 4);
        }
      }
    }

    function drawBins(row) {
      const bins = row.lane.busy.length;
      const step = run.ticks / bins;
      for (let b = Math.max(0, Math.floor(from / step)); b < bins && b * step < to; ++b) {
        const part = row.lane.busy[b] / 100;
        if (!part) continue;
        context.fillStyle = colourOf(row, b);
        const left = x(b * step);
        context.fillRect(left, row.y + row.height * (1 - part), x((b + 1) * step) - left + 0.3, row.height * part);
      }
    }

    function drawMemory(row) {
      const {t, b, capacity, peak} = row.memory;
      const most = 1.06 * Math.max(capacity && peak > 0.25 * capacity ? capacity : 0, peak, 1);
      const y = (bytes) => row.y + row.height * (1 - bytes / most);
      context.beginPath();
      context.moveTo(x(0), y(0));
      for (let i = 0; i < t.length; ++i) {
        context.lineTo(x(t[i]), y(i ? b[i - 1] : 0));
        context.lineTo(x(t[i]), y(b[i]));
      }
      context.lineTo(x(run.ticks), y(b[b.length - 1]));
      context.lineTo(x(run.ticks), y(0));
      context.fillStyle = peak > capacity ? colours.bad : colours.device[row.device % kColours];
      context.globalAlpha = 0.6;
      context.fill();
      context.globalAlpha = 1;
      if (capacity <= most) {
        context.strokeStyle = peak > capacity ? colours.bad : colours.ink;
        context.setLineDash([5, 3]);
        context.beginPath();
        context.moveTo(gutter, y(capacity));
        context.lineTo(width, y(capacity));
        context.stroke();
        context.setLineDash([]);
      }
    }

    // ---- what stands where

    function sliceText(row, i) {
      const lane = row.lane;
      const when = `${tickText(lane.s[i])} to ${tickText(lane.s[i] + lane.d[i])}, ${tickText(lane.d[i])}`;
      const kind = row.kind === 'path' ? kPath[lane.k[i]] : {device: 'op', host: 'dispatch', link: 'transfer'}[row.kind];
      if (lane.i[i] < 0) return `${kind === 'op' ? 'ops on ' + run.devices[lane.v[i]] : kind}\n${when}`;
      if (kind === 'transfer') {
        const at = lane.i[i], sent = run.transfers;
        return `${nameOf(sent.node[at])}\n${bytesText(sent.bytes[at])} from ${run.devices[sent.from[at]]} to ${run.devices[sent.to[at]]}\n` +
            `${when}; waited ${tickText(sent.wait[at])} for the link`;
      }
      const node = lane.i[i];
      const type = nodes.type[node] < 0 ? '' : `, ${run.types[nodes.type[node]]}`;
      return `${kind === 'dispatch' ? 'dispatch of ' : ''}${nameOf(node)}${type}\n${run.devices[nodes.device[node]] || ''} ${when}` +
          (lane.c && lane.c[i] ? '\non the critical path' : '');
    }

    function textAt(row, ticks) {
      if (row.kind === 'memory') {
        const {t, b, capacity} = row.memory;
        const i = d3.bisector((time) => time).right(t, ticks) - 1;
        return `${run.devices[row.device]}: ${bytesText(i < 0 ? 0 : b[i])} of ${bytesText(capacity)}\nat ${tickText(ticks)}`;
      }
      if (row.lane.busy) {
        const bin = Math.min(row.lane.busy.length - 1, Math.floor(ticks / run.ticks * row.lane.busy.length));
        if (!row.lane.busy[bin]) return '';
        return `${row.lane.busy[bin]} % busy around ${tickText(ticks)}\nlongest: ${nameOf(row.lane.i[bin])}`;
      }
      return '';
    }

    function sliceAt(row, ticks, y) {
      const {s, d, t} = row.lane;
      const tracks = row.lane.tracks || 1;
      const track = Math.floor((y - row.y) / row.height * tracks);
      const near = (to - from) / (width - gutter) * 2;
      let best = -1, nearest = near;
      for (let i = 0; i < s.length && s[i] <= ticks + near; ++i) {
        if (!d[i] || (t && t[i] !== track)) continue;
        const away = Math.max(0, s[i] - ticks, ticks - s[i] - d[i]);
        if (away < nearest || (away === 0 && nearest === 0)) [best, nearest] = [i, away];
      }
      return best;
    }

    function tell(event) {
      const at = canvas.getBoundingClientRect();
      const [px, py] = [event.clientX - at.left, event.clientY - at.top];
      const row = rows.find((r) => py >= r.y && py <= r.y + r.height);
      if (!row) return showTip('');
      if (px < gutter) return showTip(row.name, event.clientX, event.clientY);
      const ticks = ticksAt(px);
      let text = '';
      if (row.kind === 'memory' || row.lane.busy) {
        text = textAt(row, ticks);
      } else {
        const i = sliceAt(row, ticks, py);
        if (i >= 0) text = sliceText(row, i);
      }
      showTip(text, event.clientX, event.clientY);
    }

    // ---- moving

    function show(low, high) {
      const size = Math.min(run.ticks, Math.max(20, high - low));
      from = Math.max(0, Math.min(run.ticks - size, low));
      to = from + size;
      draw();
    }
    function zoom(factor, around = (from + to) / 2) {
      show(around - (around - from) / factor, around + (to - around) / factor);
    }
    const pan = (part) => show(from + part * (to - from), to + part * (to - from));

    // With the keyboard a row is chosen, then one after another of what it did.
    function chooseRow(step) {
      chosen = (chosen + step + rows.length) % rows.length;
      chosenSlice = -1;
      draw();
      told(rows[chosen].name);
    }
    function chooseSlice(step) {
      const row = rows[chosen];
      if (!row || !row.lane || row.lane.busy) return;
      const {s, d} = row.lane;
      let i = chosenSlice < 0 ? d3.bisector((time) => time).left(s, from) - (step < 0 ? 0 : 1) : chosenSlice;
      do i += step; while (d[i] === 0);
      if (s[i] === undefined) return;
      chosenSlice = i;
      if (s[i] < from || s[i] + d[i] > to) show(s[i] + d[i] / 2 - (to - from) / 2, s[i] + d[i] / 2 + (to - from) / 2);
      const at = canvas.getBoundingClientRect();
      showTip(sliceText(row, i), at.left + x(s[i]), at.top + row.y + row.height);
      told(sliceText(row, i));
    }
    function told(text) {
      root.querySelector('[aria-live]').textContent = text;
    }

    canvas.addEventListener('keydown', (event) => {
      const moves = {ArrowLeft: () => event.shiftKey ? chooseSlice(-1) : pan(-0.25), ArrowRight: () => event.shiftKey ? chooseSlice(1) : pan(0.25),
                     ArrowUp: () => chooseRow(-1), ArrowDown: () => chooseRow(1), '+': () => zoom(2), '=': () => zoom(2),
                     '-': () => zoom(0.5), Home: () => show(0, run.ticks), '0': () => show(0, run.ticks), Escape: () => showTip('')};
      if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      moves[event.key]();
    });
    canvas.addEventListener('blur', () => { chosen = -1; showTip(''); draw(); });
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, from, to};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!drag || event.buttons === 0) return tell(event);
      const moved = (drag.x - event.clientX) / (width - gutter) * (drag.to - drag.from);
      showTip('');
      show(drag.from + moved, drag.to + moved);
    });
    canvas.addEventListener('pointerup', (event) => { drag = null; tell(event); });
    canvas.addEventListener('pointerleave', () => showTip(''));
    canvas.addEventListener('dblclick', (event) => zoom(4, ticksAt(event.clientX - canvas.getBoundingClientRect().left)));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      zoom((event.deltaY || event.deltaX) < 0 ? 1.3 : 1 / 1.3, ticksAt(event.clientX - canvas.getBoundingClientRect().left));
    }, {passive: false});
    const buttons = {'zoom-in': () => zoom(2), 'zoom-out': () => zoom(0.5), earlier: () => pan(-0.5), later: () => pan(0.5), whole: () => show(0, run.ticks)};
    for (const [name, act] of Object.entries(buttons)) root.querySelector(`[data-act=${name}]`).addEventListener('click', act);
    const redraw = () => { colours = palette(); draw(); };
    new ResizeObserver(redraw).observe(canvas.parentElement);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
    addEventListener('beforeprint', () => { onPaper = true; redraw(); });
    addEventListener('afterprint', () => { onPaper = false; redraw(); });
    draw();
  }

  // ---- graph ------------------------------------------------------------------------------------------

  const kMostBoxes = 150;

  function graph(root) {
    const layers = root.querySelector('.layers');
    const told = root.querySelector('.told');
    const crumbs = root.querySelector('.crumbs');
    const total = nodes.parent.length;
    const devices = run.devices.length;
    const children = upTo(total).map(() => []);
    for (let node = 1; node < total; ++node) children[nodes.parent[node]].push(node);

    // Of each node: its ops and their time on each device, the mean depth of its ops.
    const ops = new Float64Array(total * devices), time = new Float64Array(total * devices);
    const depth = new Float64Array(total), size = new Float64Array(total);
    for (let node = total - 1; node >= 0; --node) {
      if (nodes.device[node] >= 0) {
        ops[node * devices + nodes.device[node]] = 1;
        time[node * devices + nodes.device[node]] = nodes.time[node];
        depth[node] = nodes.depth[node];
        size[node] = 1;
      }
      for (const [device, many, spent] of run.merged[node] || []) {
        ops[node * devices + device] = many;
        time[node * devices + device] = spent;
        depth[node] += nodes.depth[node] * many;
        size[node] += many;
      }
      if (node === 0) break;
      for (let d = 0; d < devices; ++d) {
        ops[nodes.parent[node] * devices + d] += ops[node * devices + d];
        time[nodes.parent[node] * devices + d] += time[node * devices + d];
      }
      depth[nodes.parent[node]] += depth[node];
      size[nodes.parent[node]] += size[node];
    }
    const mainDevice = (node) => {
      let best = 0;
      for (let d = 1; d < devices; ++d) if (ops[node * devices + d] > ops[node * devices + best]) best = d;
      return best;
    };

    let inside = 0;  // the scope whose parts are shown

    // The children of a scope; then, as long as all boxes have room, those of its largest scopes in their place.
    function visibleIn(scope) {
      let shown = children[scope].slice();
      // What is small beside the scope stays closed, and so does what would crowd out the rest: the steps of a layer.
      const least = size[scope] > kMostBoxes ? size[scope] / 20 : 0;
      const opens = (node) => children[node].length && size[node] >= least && (children[node].length <= 20 || shown.length < 4);
      for (;;) {
        const scopes = shown.filter(opens);
        const largest = d3.max(scopes, (node) => size[node]);
        const open = new Set(scopes.filter((node) => size[node] >= largest / 2));
        const next = shown.flatMap((node) => open.has(node) ? children[node] : [node]);
        if (!open.size || next.length > kMostBoxes) return shown;
        shown = next;
      }
    }

    // Edges between boxes, and how much comes from and goes to the rest of the graph.
    function edgesOf(shown) {
      const box = new Int32Array(total).fill(-1);
      shown.forEach((node, i) => { box[node] = i; });
      for (let node = 1; node < total; ++node) if (box[node] < 0) box[node] = box[nodes.parent[node]];
      const edges = new Map();
      const outside = {in: 0, out: 0};
      for (let e = 0; e < run.edges.from.length; ++e) {
        const [a, b] = [run.edges.from[e], run.edges.to[e]];
        const [p, q] = [box[a], box[b]];
        if (p === q) continue;
        if (p < 0 || q < 0) {
          outside[p < 0 ? 'in' : 'out'] += 1;
          continue;
        }
        const key = p * kMostBoxes * 8 + q;
        const edge = edges.get(key) || {p, q, bytes: 0, crossing: 0, many: 0};
        edge.bytes += run.edges.bytes[e];
        edge.many += 1;
        if (mainDeviceOf[a] !== mainDeviceOf[b]) edge.crossing += run.edges.bytes[e];
        edges.set(key, edge);
      }
      return {edges: [...edges.values()], outside};
    }
    const mainDeviceOf = upTo(total).map(mainDevice);

    // Each box below those that it reads from; what would lead back up, in a scope whose ops run at two times, is dashed.
    function layersOf(shown, edges) {
      const order = upTo(shown.length).sort((a, b) => depth[shown[a]] / size[shown[a]] - depth[shown[b]] / size[shown[b]] || a - b);
      const rank = [];
      order.forEach((box, i) => { rank[box] = i; });
      const layer = new Array(shown.length).fill(0);
      const into = upTo(shown.length).map(() => []);
      for (const edge of edges) {
        edge.back = rank[edge.p] > rank[edge.q];
        if (!edge.back) into[edge.q].push(edge.p);
      }
      for (const box of order) for (const p of into[box]) layer[box] = Math.max(layer[box], layer[p] + 1);
      // What reads nothing stands just above its first reader.
      const first = new Array(shown.length).fill(Infinity);
      for (const edge of edges) if (!edge.back) first[edge.p] = Math.min(first[edge.p], layer[edge.q]);
      for (const box of order) if (!into[box].length && first[box] < Infinity) layer[box] = Math.max(0, first[box] - 1);
      const rows = [];
      for (const box of order) (rows[layer[box]] = rows[layer[box]] || []).push(box);
      return {rows, into};
    }

    function place({rows, into}, room) {
      const width = Math.min(168, Math.floor(room / 2) - 14), height = 38, gap = 10;
      const perRow = Math.max(1, Math.floor((room - gap) / (width + gap)));
      const at = [];
      let y = 10;
      for (const row of rows) {
        const centre = (box) => into[box].length ? sum(into[box], (p) => at[p].x) / into[box].length : room / 2;
        row.sort((a, b) => centre(a) - centre(b) || a - b);
        for (let first = 0; first < row.length; first += perRow) {
          const line = row.slice(first, first + perRow);
          const span = line.length * (width + gap) - gap;
          line.forEach((box, i) => { at[box] = {x: (room - span) / 2 + i * (width + gap), y}; });
          y += height + (first + perRow < row.length ? 8 : 0);
        }
        y += 20;
      }
      return {at, width, height, tall: y};
    }

    function describe(node) {
      const parts = [];
      for (let d = 0; d < devices; ++d) {
        const many = ops[node * devices + d];
        if (many) parts.push(`${run.devices[d]}: ${count(many)} ${many === 1 ? 'op' : 'ops'}, ${tickText(time[node * devices + d])}`);
      }
      const type = nodes.type[node] >= 0 ? ` (${run.types[nodes.type[node]]})` : '';
      return `${nodes.made_up[node] ? labelOf(node) : fullName(node)}${type}. ${parts.join('; ')}`;
    }
    function smallText(node) {
      const used = upTo(devices).filter((d) => ops[node * devices + d]);
      const main = mainDeviceOf[node];
      const where = run.devices[main] + (used.length > 1 ? ` +${used.length - 1}` : '');
      return `${where}, ${tickText(sum(used, (d) => time[node * devices + d]))}`;
    }

    function draw(focus = -1) {
      const shown = visibleIn(inside);
      const {edges, outside} = edgesOf(shown);
      const made = layersOf(shown, edges);
      const room = Math.max(240, root.querySelector('.graph').clientWidth - 4);
      const {at, width, height, tall} = place(made, room);
      layers.textContent = '';
      layers.style.width = room + 'px';
      layers.style.height = tall + 'px';
      const svg = d3.select(layers).append('svg').attr('aria-hidden', 'true').attr('viewBox', `0 0 ${room} ${tall}`);
      for (const edge of edges) {
        const [a, b] = [at[edge.p], at[edge.q]];
        const [x1, y1, x2, y2] = [a.x + width / 2, a.y + height, b.x + width / 2, b.y];
        const bend = Math.max(14, Math.abs(y2 - y1) * 0.4);
        edge.path = svg.append('path').attr('d', edge.back ? `M${x1} ${y1}C${x1} ${y1 + 30} ${x2} ${y2 - 30} ${x2} ${y2}` :
            `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`)
            .attr('class', (edge.crossing ? 'crosses' : '') + (edge.back ? ' back' : ''))
            .attr('stroke-width', 0.7 + Math.min(2.5, Math.log10(1 + edge.bytes / 1e4) / 1.6))
            .attr('stroke-opacity', (edges.length > 250 ? 0.5 : 0.8) * (y2 - y1 > 200 ? 0.4 : 1));
      }
      const boxes = shown.map((node, i) => {
        const box = document.createElement(children[node].length ? 'button' : 'div');
        if (children[node].length) box.type = 'button';
        else box.tabIndex = 0;
        box.className = 'box';
        box.style.cssText = `left:${at[i].x}px;top:${at[i].y}px;width:${width}px;height:${height}px`;
        box.textContent = boxLabel(node, Math.floor((width - 14) / 7.6));
        const small = document.createElement('small');
        small.textContent = smallText(node);
        box.append(small);
        let left = 0;
        for (let d = 0; d < devices; ++d) {
          const part = 100 * ops[node * devices + d] / size[node];
          if (!part) continue;
          const bar = document.createElement('i');
          bar.style.cssText = `left:${left}%;width:${part}%;background:var(--d${d % kColours})`;
          box.append(bar);
          left += part;
        }
        const mine = edges.filter((edge) => edge.p === i || edge.q === i);
        const light = (on) => {
          for (const edge of mine) edge.path.classed('shown', on);
          if (!on) return;
          const moved = sum(mine, (edge) => edge.crossing);
          told.textContent = describe(node) + `. ${mine.length} ${mine.length === 1 ? 'edge' : 'edges'} to other boxes` +
              (moved ? `, ${bytesText(moved)} of it between devices.` : ', none between devices.') + (children[node].length ? ' Enter opens it.' : '');
        };
        for (const [event, on] of [['mouseenter', true], ['focus', true], ['mouseleave', false], ['blur', false]])
          box.addEventListener(event, () => light(on));
        if (children[node].length) box.addEventListener('click', () => open(node, true));
        layers.append(box);
        return box;
      });
      drawCrumbs(shown.length, outside);
      const target = shown.indexOf(focus);
      if (target >= 0) {
        boxes[target].classList.add('found');
        boxes[target].focus();
        boxes[target].scrollIntoView({block: 'nearest'});
      }
      return boxes;
    }

    // The scopes between the one that is shown and the box are part of its name.
    function boxLabel(node, room) {
      const parts = [];
      for (let at = node; at !== inside && at > 0; at = nodes.parent[at]) if (at === node || !nodes.made_up[at]) parts.unshift(labelOf(at));
      const text = parts.join(run.separator);
      return text.length > room ? '…' + text.slice(1 - room) : text;
    }

    function drawCrumbs(boxes, outside) {
      crumbs.textContent = '';
      const chain = [];
      for (let at = inside; at >= 0; at = at ? nodes.parent[at] : -1) chain.unshift(at);
      for (const node of chain) {
        const last = node === inside;
        const part = document.createElement(last ? 'b' : 'button');
        part.textContent = node ? labelOf(node) : run.graph;
        if (last) part.setAttribute('aria-current', 'location');
        else part.addEventListener('click', () => open(node, false));
        crumbs.append(part);
        if (!last) crumbs.append(' / ');
      }
      const text = document.createElement('output');
      text.textContent = ` ${count(size[inside])} ops in ${boxes} boxes` +
          (outside.in + outside.out ? `; ${count(outside.in)} edges come in, ${count(outside.out)} go out` : '');
      crumbs.append(text);
    }

    function open(node, byBox) {
      inside = node;
      const boxes = draw();
      if (byBox && boxes.length) boxes[0].focus({preventScroll: true});
      else crumbs.querySelector('b').scrollIntoView({block: 'nearest'});
    }

    const finder = root.querySelector('form');
    finder.addEventListener('submit', (event) => {
      event.preventDefault();
      const wanted = finder.querySelector('input').value.trim().toLowerCase();
      if (!wanted) return;
      let best = 0;  // the shortest name that has it
      for (let node = 1; node < total; ++node) {
        if (children[node].length || !fullName(node).toLowerCase().includes(wanted)) continue;
        if (!best || fullName(node).length < fullName(best).length) best = node;
      }
      if (best) {
        inside = nodes.parent[best];
        draw(best);
        return;
      }
      told.textContent = `No op's name has "${wanted}" in it.`;
    });
    let last = 0;
    new ResizeObserver(() => {
      const now = root.querySelector('.graph').clientWidth;
      if (Math.abs(now - last) > 20) { last = now; draw(); }
    }).observe(root.querySelector('.graph'));
    last = root.querySelector('.graph').clientWidth;
    draw();
  }

  for (const root of document.querySelectorAll('[data-view=timeline]')) { root.hidden = false; timeline(root); }
  for (const root of document.querySelectorAll('[data-view=graph]')) { root.hidden = false; graph(root); }
})();
