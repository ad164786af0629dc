// Draws the plots of a page with D3 and shows what terms and cells mean. All that is drawn stands in the page's tables too.
(() => {
  'use strict';
  const kColours = {learner: [0, 3, 4, 6], rule: [1], scheduler: [5], best: [2], search: [2, 3, 5]};

  // Each name has a colour of its own, as far as they reach.
  function coloursOf(series) {
    const colours = new Map();
    const used = new Set();
    for (const one of series.filter((one) => one.group !== 'paper')) {
      const wanted = /^b\d$/.test(one.group) ? [[0, 2, 3, 4, 5, 6][one.group[1] % 6]] : (kColours[one.group] || [0]);
      const all = [...wanted, 0, 2, 3, 4, 5, 6, 1];
      const colour = all.find((c) => !used.has(c)) ?? wanted[0];
      used.add(colour);
      if (!colours.has(one.name)) colours.set(one.name, 'c' + colour);
    }
    for (const one of series) if (!colours.has(one.name)) colours.set(one.name, 'c5');
    return colours;
  }

  const scaleOf = (axis, range) => (axis.log ? d3.scaleLog() : d3.scaleLinear()).domain(axis.domain).range(range);

  // Ticks that would touch the one before lose their text, never their line.
  function bottomAxis(svg, axis, x, box) {
    const names = new Map(axis.ticks);
    const at = svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${box.bottom})`)
        .call(d3.axisBottom(x).tickValues(axis.ticks.map((tick) => tick[0])).tickFormat((value) => names.get(value)).tickSize(box.top - box.bottom).tickPadding(6));
    let end = -Infinity;
    at.selectAll('.tick text').each(function() {
      const place = this.getBoundingClientRect();
      if (place.left < end + 4) this.remove();
      else end = place.right;
    });
    const label = svg.append('text').attr('class', 'label').attr('y', box.bottom + 34).attr('text-anchor', 'middle').text(axis.label);
    const half = label.node().getComputedTextLength() / 2, width = Number(svg.attr('width'));
    label.attr('x', Math.max(half, Math.min((box.left + box.right) / 2, width - half)));
    if (!axis.log && axis.domain[0] <= 0 && axis.domain[1] >= 0 && axis.label.startsWith('%'))
      svg.append('line').attr('class', 'zero').attr('x1', x(0)).attr('x2', x(0)).attr('y1', box.top).attr('y2', box.bottom);
  }

  // The words of a text in lines that the room holds; what is beyond `most` lines is cut.
  function linesOf(svg, text, room, most) {
    const probe = svg.append('text');
    const lines = [''];
    for (const word of text.split(' ')) {
      const longer = (lines[lines.length - 1] + ' ' + word).trim();
      probe.text(longer);
      if (lines[lines.length - 1] && probe.node().getComputedTextLength() > room) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    probe.remove();
    return lines.length > most ? [...lines.slice(0, most - 1), lines[most - 1] + '…'] : lines;
  }
  function write(at, lines, x, y, anchor) {
    const label = at.append('text').attr('text-anchor', anchor);
    lines.forEach((line, i) => label.append('tspan').attr('x', x).attr('y', y + 4 + 13 * (i - (lines.length - 1) / 2)).text(line));
    return label;
  }

  // Names beside samples of their marks, above the plot, in as many lines as they need.
  function key(svg, items, left, right) {
    let x = left, y = 9;
    for (const item of items) {
      const at = svg.append('g').attr('class', item.style);
      const text = at.append('text').attr('class', 'named').attr('x', 12).attr('y', 4).text(item.name);
      if (item.mark !== undefined) at.append('circle').attr('class', 'mark' + (item.mark ? ' hollow' : '')).attr('cx', 4).attr('r', 4);
      const width = text.node().getComputedTextLength() + 26;
      if (x > left && x + width - 14 > right) [x, y] = [left, y + 16];
      at.attr('transform', `translate(${x},${y})`);
      x += width;
    }
    return y + 12;
  }

  const draw = {
    // A line for each category; under one another the marks of each name: filled ours, hollow the paper's.
    dots(svg, data, width) {
      const names = [...new Set(data.series.map((one) => one.name))];
      const single = data.series.every((one) => one.group === 'paper' || one.name === names[0]) || names.length === 2 && names[1] === 'published';
      const crowd = new Set(data.series.flatMap((one) => one.points.map((point) => one.name + '/' + point[1]))).size;
      const alone = crowd === new Set(data.series.flatMap((one) => one.points.map((point) => point[1]))).size;
      const colours = coloursOf(data.series);
      const categories = data.y.ticks.map((tick) => tick[1]);
      const lanes = single || alone ? 1 : names.length;
      const lane = width < 500 ? 8 : 11;  // between the marks of one line
      const room = Math.min(width * 0.36, 210);
      const labels = categories.map((name) => linesOf(svg, name, room - 2, 3));
      const step = Math.max(20, lane * lanes + (width < 500 ? 5 : 7), 13 * d3.max(labels, (lines) => lines.length) + 3);
      const items = names.map((name) => ({name, style: colours.get(name), mark: data.series.every((one) => one.name !== name || one.group === 'paper')}));
      if (data.series.some((one) => one.group === 'paper') && names.every((name) => data.series.some((one) => one.name === name && one.group !== 'paper')))
        items.push({name: 'published', style: 'c1', mark: true});
      const box = {left: room + 8, right: width - 12, top: names.length > 1 ? key(svg, items, Math.min(room + 8, 60), width) : 4};
      box.bottom = box.top + step * categories.length;
      const x = scaleOf(data.x, [box.left, box.right]);
      categories.forEach((name, i) => {
        const y = box.top + step * i;
        if (i % 2 === 0) svg.append('rect').attr('class', 'band').attr('x', 0).attr('y', y).attr('width', width).attr('height', step);
        write(svg, labels[i], room, y + step / 2, 'end');
      });
      bottomAxis(svg, data.x, x, box);
      const laneOf = (one, i) => box.top + step * i + step / 2 + (lanes === 1 ? 0 : lane * (names.indexOf(one.name) - (lanes - 1) / 2));
      for (const one of data.series) {
        const paper = one.group === 'paper';
        const at = svg.append('g').attr('class', colours.get(one.name));
        const ours = paper && data.series.find((other) => other.name === one.name && other.group !== 'paper');
        one.points.forEach(([value, i], n) => {
          const y = laneOf(one, i);
          const pair = ours && ours.points.find((point) => point[1] === i);
          if (value === null) {  // told on the side where the line has more room, once of ours and the paper's
            if (pair && pair[0] === null) return;
            const places = data.series.flatMap((other) => other.points).filter((p) => p[1] === i && p[0] !== null).map((p) => x(p[0]));
            const left = places.length > 0 && d3.min(places) - box.left > box.right - d3.max(places);
            at.append('text').attr('class', 'named').attr('x', left ? box.left + 4 : box.right).attr('y', y + 4)
                .attr('text-anchor', left ? 'start' : 'end').attr('font-size', 11).text(paper ? 'published: does not fit' : 'does not fit');
            return;
          }
          if (pair && pair[0] !== null) at.append('line').attr('class', 'link').attr('x1', x(value)).attr('x2', x(pair[0])).attr('y1', y).attr('y2', y);
          if (one.low[n] != null && one.high[n] != null)
            at.append('line').attr('class', 'spread').attr('x1', x(one.low[n])).attr('x2', x(one.high[n])).attr('y1', y).attr('y2', y);
          at.append('circle').attr('class', 'mark' + (paper ? ' hollow' : '')).attr('cx', x(value)).attr('cy', y).attr('r', (paper ? 3.6 : 4) - (width < 500 ? 0.6 : 0))
              .append('title').text(`${categories[i]}, ${one.name}${paper ? ' (published)' : ''}: ${d3.format('.3~g')(value)}`);
        });
      }
      svg.selectAll('.mark:not(.hollow)').raise();
      return box.bottom + 42;
    },

    // Stairs or lines on two axes, named where they end.
    steps(svg, data, width) {
      const ends = Math.min(150, width * 0.36);
      const box = {left: 44, right: width - ends, top: 20, bottom: 220};
      const x = scaleOf(data.x, [box.left, box.right]), y = scaleOf(data.y, [box.bottom, box.top]);
      const names = new Map(data.y.ticks);
      bottomAxis(svg, data.x, x, box);
      svg.append('g').attr('class', 'axis').attr('transform', `translate(${box.left},0)`)
          .call(d3.axisLeft(y).tickValues(data.y.ticks.map((tick) => tick[0])).tickFormat((value) => names.get(value)).tickSize(box.left - box.right).tickPadding(5));
      svg.append('text').attr('class', 'label').attr('x', 0).attr('y', 11).text(data.y.label);
      const colours = coloursOf(data.series);
      const shape = d3.line().x((p) => x(p[0])).y((p) => y(p[1]));
      if (data.kind === 'steps') shape.curve(d3.curveStepAfter);
      const labels = [];
      for (const one of data.series) {
        const at = svg.append('g').attr('class', colours.get(one.name));
        const points = one.points.filter((p) => p[0] !== null && p[1] !== null && (!data.x.log || p[0] > 0));
        if (!points.length) continue;
        at.append('path').attr('class', 'line').attr('d', shape(points)).append('title').text(one.name);
        labels.push({at, name: one.name, y: y(points[points.length - 1][1])});
      }
      labels.sort((a, b) => a.y - b.y);
      labels.forEach((label, i) => { if (i) label.y = Math.max(label.y, labels[i - 1].y + 13); });
      const over = labels.length ? labels[labels.length - 1].y - box.bottom - 2 : 0;
      if (over > 0) labels.reduceRight((next, label) => label.y = Math.min(label.y, next - 13), box.bottom + 15);
      for (const label of labels) write(label.at, linesOf(svg, label.name, ends - 6, 1), box.right + 5, label.y, 'start').attr('class', 'named');
      return box.bottom + 42;
    },

    // A lane for each device: when it works, and under it when it sends.
    lanes(svg, data, width) {
      const box = {left: 48, right: width - 14, top: 4, bottom: 4 + 24 * data.devices.length};
      const x = scaleOf(data.x, [box.left, box.right]);
      bottomAxis(svg, data.x, x, box);
      data.devices.forEach(([name, works, sends], i) => {
        const top = box.top + 24 * i;
        svg.append('text').attr('x', box.left - 6).attr('y', top + 12).attr('text-anchor', 'end').text(name);
        for (const [parts, y, height, style] of [[works, top, 12, 'works'], [sends, top + 13, 5, 'sends']]) {
          const slice = (box.right - box.left) / parts.length;
          for (let begin = 0, end = 0; begin < parts.length; begin = end) {
            while (end < parts.length && parts[end] === parts[begin]) ++end;
            if (parts[begin] === 0) continue;
            svg.append('rect').attr('class', style).attr('x', box.left + slice * begin).attr('y', y).attr('width', slice * (end - begin))
                .attr('height', height).attr('opacity', 0.25 + 0.75 * parts[begin]);
          }
        }
      });
      return box.bottom + 42;
    },
  };
  draw.lines = draw.steps;

  // Drawn for the width that there is, again when it changes; what is folded is drawn when it opens.
  function drawIn(target) {
    const width = target.clientWidth;
    if (width < 60 || target.drawn === width) return;
    target.drawn = width;
    const data = JSON.parse(target.dataset.plot);
    const svg = d3.select(target).html('').append('svg').attr('width', width).attr('height', 100).attr('aria-hidden', 'true');
    svg.attr('height', draw[data.kind](svg, data, width));
  }
  const widths = new ResizeObserver((entries) => requestAnimationFrame(() => entries.forEach((entry) => drawIn(entry.target))));
  for (const drawing of document.querySelectorAll('.drawing')) {
    drawIn(drawing);
    widths.observe(drawing);
  }

  // What data-tip says, shown by mouse, touch and keyboard: in a table arrows go from cell to cell.
  const tip = document.getElementById('tip');
  const hide = () => { tip.hidden = true; };
  const show = (at) => {
    tip.textContent = at.dataset.tip;
    tip.hidden = false;
    const place = at.getBoundingClientRect();
    const left = Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = place.bottom + 4 + tip.offsetHeight < innerHeight;
    tip.style.left = Math.max(8, left) + 'px';
    tip.style.top = (below ? place.bottom + 4 : Math.max(4, place.top - tip.offsetHeight - 4)) + 'px';
  };
  for (const [event, told] of [['mouseover', show], ['focusin', show], ['click', show]])
    document.addEventListener(event, (e) => {
      const at = e.target.closest('[data-tip]');
      if (at) told(at);
      else if (event !== 'focusin') hide();
    });
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, true);
  for (const table of document.querySelectorAll('table')) {
    const cells = [...table.querySelectorAll('td[data-tip]')];
    cells.forEach((cell, i) => { cell.tabIndex = i ? -1 : 0; });
    table.addEventListener('keydown', (event) => {
      const cell = event.target.closest('td[data-tip]');
      if (event.key === 'Escape') return hide();
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (!cell || !step) return;
      const row = cell.parentElement.parentElement.rows[cell.parentElement.sectionRowIndex + step[0]];
      const next = row && row.cells[cell.cellIndex + step[1]];
      if (!next || !next.dataset.tip) return;
      event.preventDefault();
      [cell.tabIndex, next.tabIndex] = [-1, 0];
      next.focus();
    });
  }
})();
