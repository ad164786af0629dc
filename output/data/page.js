// What a page draws and lets its reader choose. Needs d3.js before it. All it shows stands in the page as text too, so
// that without scripts nothing is lost but the drawings.
(() => {
  'use strict';
  const kWidth = 420;
  const kStyles = 10;   // of lines in page.css
  const kSymbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolWye];
  const kKinds = {learner: 0, search: 2, scheduler: 3, rule: 4, published: 1};  // of agents: their symbols
  const digits = d3.format('.3~g');
  const short = (value) => {
    const size = Math.abs(value);
    return size >= 1000 ? d3.format('.3~s')(value) : size >= 0.001 || size === 0 ? digits(value) : d3.format('.0e')(value);
  };

  const canvas = (at, height) =>
      at.append('svg').attr('viewBox', `0 0 ${kWidth} ${height}`).attr('aria-hidden', 'true');
  const mark = (at, symbol, style, x, y, size = 34) =>
      at.append('path').attr('class', style).attr('transform', `translate(${x},${y})`)
        .attr('d', d3.symbol().type(kSymbols[symbol % kSymbols.length]).size(size)());

  // Powers of ten of a log scale; of a short one multiples of them by 2 and 5; never more than `most`.
  function logTicks(scale, most) {
    const [low, high] = scale.domain();
    const within = (steps) => {
      const ticks = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
        for (const step of steps) ticks.push(Number(`${step}e${power}`));
      return ticks.filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001);
    };
    let ticks = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]].map(within).filter((some) => some.length <= most).pop();
    if (ticks === undefined) {
      ticks = within([1]);
      const every = Math.ceil(ticks.length / most);
      ticks = ticks.filter((tick, i) => i % every === 0);
    }
    return ticks.length > 1 ? ticks : scale.copy().ticks(3).filter((tick, i, all) => i % Math.ceil(all.length / most) === 0);
  }
  const ticksOf = (scale, most) => scale.base ? logTicks(scale, most) : scale.ticks(most);

  // Axes with a grid behind what is drawn.
  function axes(svg, x, y, labels, box) {
    const axis = (make, scale, most, size) =>
        make(scale).tickValues(ticksOf(scale, most)).tickFormat(labels.format || short).tickSize(size).tickPadding(5);
    svg.append('g').attr('class', 'axis').attr('transform', `translate(0,${box.bottom})`)
        .call(axis(d3.axisBottom, x, labels.x_ticks || 6, box.top - box.bottom));
    svg.append('text').attr('x', (box.left + box.right) / 2).attr('y', box.bottom + 32).attr('text-anchor', 'middle')
        .text(labels.x);
    if (!y) return;
    svg.append('g').attr('class', 'axis').attr('transform', `translate(${box.left},0)`)
        .call(axis(d3.axisLeft, y, 6, box.left - box.right));
    if (labels.y)
      svg.append('text').attr('transform', `translate(11,${(box.top + box.bottom) / 2}) rotate(-90)`)
          .attr('text-anchor', 'middle').text(labels.y);
  }

  function scaleOver(values, log, range) {
    let [low, high] = d3.extent(values);
    if (log && low > 0) {
      if (high < 1.02 * low) [low, high] = [0.98 * low, 1.02 * high];
      return d3.scaleLog().domain([low, high]).range(range);
    }
    if (high === low) [low, high] = [low - 1, high + 1];
    return d3.scaleLinear().domain([low, high]).range(range);
  }

  const draw = {
    // A line for each agent, best first: how many times as long as the best, with the range over seeds; the published
    // number; the proven bound. What is beyond the scale stands at its end as a number.
    dots(at, data) {
      const rows = data.rows.filter((row) => row.value !== null || row.published !== null)
                       .sort((a, b) => (a.value === null) - (b.value === null) || a.value - b.value);
      if (!rows.length) return;
      const ratio = (value) => value / data.base;
      const all = rows.flatMap((row) => [row.value, row.published]).filter((v) => v !== null).map(ratio);
      const low = Math.min(1, ...(data.bound ? [ratio(data.bound)] : []), ...all.filter((v) => v > 0.5)) / 1.03;
      const high = Math.max(1.25, Math.min(4, 1.03 * d3.max(all)));
      const step = 16, names = 158, box = {left: names + 4, right: kWidth - 50, top: 4, bottom: 8 + step * rows.length};
      const x = d3.scaleLog().domain([low, high]).range([box.left, box.right]).clamp(true);
      const svg = canvas(at, box.bottom + 40);
      axes(svg, x, null, {x: data.unit, x_ticks: 7}, box);
      if (data.bound)
        svg.append('line').attr('class', 'bound').attr('x1', x(ratio(data.bound))).attr('x2', x(ratio(data.bound)))
            .attr('y1', box.top).attr('y2', box.bottom);
      rows.forEach((row, i) => {
        const y = box.top + step * (i + 0.5);
        const line = svg.append('g');
        line.append('title').text(row.spoken);
        line.append('text').attr('x', names - 4).attr('y', y + 4).attr('text-anchor', 'end')
            .text(row.name.length > 25 ? row.name.slice(0, 24) + '…' : row.name);
        const point = (value, symbol, style) => {
          const beyond = ratio(value) > high || ratio(value) < low;
          if (!beyond) return mark(line, symbol, style, x(ratio(value)), y);
          const right = ratio(value) > high;
          line.append('path').attr('class', style).attr('transform', `translate(${right ? box.right : box.left},${y})`)
              .attr('d', right ? 'M-5 -4L3 0L-5 4z' : 'M5 -4L-3 0L5 4z');
        };
        if (row.published !== null) point(row.published, kKinds.published, 'published');
        if (row.value !== null) {
          if (row.high > row.low)
            line.append('line').attr('class', 'range ' + row.kind).attr('x1', x(ratio(row.low))).attr('x2', x(ratio(row.high)))
                .attr('y1', y).attr('y2', y);
          point(row.value, kKinds[row.kind], row.kind);
        }
        line.append('text').attr('x', kWidth - 2).attr('y', y + 4).attr('text-anchor', 'end')
            .text(row.value === null ? row.text : d3.format(ratio(row.value) < 10 ? '.2f' : '.3~s')(ratio(row.value)));
      });
    },

    // Stairs: each value holds until the next. What is far above the best is cut off at the top.
    curves(at, data) {
      const box = {left: 46, right: kWidth - 10, top: 6, bottom: 200};
      const svg = canvas(at, box.bottom + 40);
      const points = data.series.flatMap((series) => series.points);
      const x = scaleOver(points.map((p) => p[0]), data.log_x, [box.left, box.right]);
      const y = scaleOver(points.map((p) => p[1]), data.log_x, [box.bottom, box.top]);
      if (y.base) {
        const last = data.series.map((series) => series.points[series.points.length - 1][1]);
        y.domain([y.domain()[0], Math.min(y.domain()[1], 2 * d3.max(last))]).clamp(true);
      }
      axes(svg, x, y, {x: data.x_label, x_ticks: data.log_x ? 5 : 6}, box);
      const stairs = d3.line().x((p) => x(p[0])).y((p) => y(p[1])).curve(d3.curveStepAfter);
      data.series.forEach((series) => {
        svg.append('path').attr('class', 'line l' + series.style % kStyles).attr('d', stairs(series.points))
            .append('title').text(series.name);
      });
    },

    // Marks and lines on two axes.
    points(at, data) {
      const box = {left: 58, right: kWidth - 12, top: 6, bottom: 236};
      const svg = canvas(at, box.bottom + 40);
      const points = data.series.flatMap((series) => series.points);
      const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
      const x = scaleOver(data.diagonal ? xs.concat(ys) : xs, true, [box.left, box.right]);
      let y = scaleOver(data.diagonal ? xs.concat(ys) : ys, true, [box.bottom, box.top]);
      if (data.linear_y) {
        const most = 1.1 * d3.max(ys, Math.abs) || 1;
        y = d3.scaleLinear().domain([-most, most]).range([box.bottom, box.top]);
      }
      axes(svg, x, y, {x: data.x_label, y: data.y_label, x_ticks: 6}, box);
      if (data.diagonal)
        svg.append('line').attr('class', 'bound').attr('x1', box.left).attr('y1', box.bottom).attr('x2', box.right)
            .attr('y2', box.top);
      data.series.forEach((series, s) => {
        if (series.line) {
          svg.append('path').attr('class', 'line l' + s % kStyles)
              .attr('d', d3.line().x((p) => x(p[0])).y((p) => y(p[1]))(series.points));
        } else {
          for (const p of series.points) mark(svg, s, 'p' + s % kSymbols.length, x(p[0]), y(p[1]), 24);
        }
      });
    },

    // A lane for each device: when it works, and under it when it sends; paler where less of the time.
    lanes(at, data) {
      const works = 12, sends = 5, step = 24, box = {left: 48, right: kWidth - 16, top: 4};
      box.bottom = box.top + step * data.lanes.length;
      const svg = canvas(at, box.bottom + 40);
      const x = d3.scaleLinear().domain([0, data.seconds]).range([box.left, box.right]);
      axes(svg, x, null, {x: 'seconds', x_ticks: 4}, box);
      data.lanes.forEach((lane, i) => {
        const y = box.top + step * i;
        svg.append('text').attr('x', box.left - 6).attr('y', y + works - 1).attr('text-anchor', 'end').text(lane.device);
        const strip = (parts, top, height, style) => {
          const slice = (box.right - box.left) / parts.length;
          for (let begin = 0, end = 0; begin < parts.length; begin = end) {
            while (end < parts.length && parts[end] === parts[begin]) ++end;
            if (parts[begin] === 0) continue;
            svg.append('rect').attr('class', style).attr('x', box.left + slice * begin).attr('y', top)
                .attr('width', slice * (end - begin)).attr('height', height).attr('opacity', 0.25 + 0.75 * parts[begin]);
          }
        };
        strip(lane.works, y, works, 'works');
        strip(lane.sends, y + works, sends, 'sends');
      });
    },
  };

  for (const figure of document.querySelectorAll('figure[data-kind]')) {
    const data = JSON.parse(figure.querySelector('script').textContent);
    draw[figure.dataset.kind](d3.select(figure).select('.drawing'), data);
  }
  // Samples in keys: data-mark="learner", data-mark="2" (a series of marks), data-line="3".
  for (const at of document.querySelectorAll('[data-mark], [data-line]')) {
    const svg = d3.select(at).insert('svg', () => at.firstChild).attr('class', 'sample').attr('viewBox', '0 0 28 12')
                    .attr('aria-hidden', 'true');
    if (at.dataset.line !== undefined) {
      svg.append('path').attr('class', 'line l' + at.dataset.line % kStyles).attr('d', 'M0 6H28');
    } else if (at.dataset.mark === 'bound') {
      svg.append('line').attr('class', 'bound').attr('x1', 14).attr('x2', 14).attr('y1', 0).attr('y2', 12);
    } else if (at.dataset.mark in kKinds) {
      mark(svg, kKinds[at.dataset.mark], at.dataset.mark, 14, 6);
    } else {
      mark(svg, Number(at.dataset.mark), 'p' + at.dataset.mark % kSymbols.length, 14, 6);
    }
  }

  // Rows in the order of a column: ascending, descending, as they were.
  function sortable(table) {
    const body = table.tBodies[0];
    const order = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const next = {undefined: 'ascending', ascending: 'descending'}[head.ariaSort || undefined];
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        if (next) head.ariaSort = next;
        const value = (row) => {
          const cell = row.cells[column];
          return cell.dataset.v === undefined ? cell.tagName === 'TH' ? cell.textContent : null : Number(cell.dataset.v);
        };
        const sign = next === 'descending' ? -1 : 1;
        const compare = (a, b) => {
          const [p, q] = [value(a), value(b)];
          if (p === null || q === null) return (p === null) - (q === null);
          return sign * (typeof p === 'string' ? p.localeCompare(q) : p - q);
        };
        body.append(...(next ? [...order].sort(compare) : order));
      });
    });
  }

  function choosable(choice) {
    const table = choice.parentElement.querySelector('table.results');
    choice.hidden = false;
    const show = () => {
      for (const box of choice.querySelectorAll('input')) {
        for (const cell of table.querySelectorAll(`[data-group="${box.value}"]`)) cell.hidden = !box.checked;
      }
      table.style.setProperty('--cells', [...table.tHead.rows[0].cells].filter((cell) => !cell.hidden).length);
    };
    choice.addEventListener('change', show);
    show();  // a browser may keep what was chosen before the page was loaded anew
  }

  // What a cell's title says, shown by mouse, touch and keyboard: arrows go from cell to cell.
  function explained(table) {
    const cells = [...table.querySelectorAll('td[title]')];
    for (const cell of cells) {
      cell.dataset.tip = cell.title;
      cell.removeAttribute('title');
      cell.tabIndex = -1;
    }
    if (!cells.length) return;
    cells.find((cell) => !cell.hidden).tabIndex = 0;
    const tip = document.getElementById('tip');
    const hide = () => { tip.hidden = true; };
    const show = (cell) => {
      tip.textContent = cell.dataset.tip;
      tip.hidden = false;
      const at = cell.getBoundingClientRect();
      const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
      const below = at.bottom + 4 + tip.offsetHeight < innerHeight;
      tip.style.left = Math.max(8, left) + 'px';
      tip.style.top = (below ? at.bottom + 4 : Math.max(4, at.top - tip.offsetHeight - 4)) + 'px';
    };
    table.addEventListener('mouseover', (event) => {
      const cell = event.target.closest('td[data-tip]');
      cell ? show(cell) : hide();
    });
    table.addEventListener('mouseleave', hide);
    table.addEventListener('focusin', (event) => { if (event.target.dataset.tip) show(event.target); });
    table.addEventListener('focusout', hide);
    table.addEventListener('keydown', (event) => {
      const cell = event.target.closest('td[data-tip]');
      if (!cell) return;
      if (event.key === 'Escape') return hide();
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (!step) return;
      event.preventDefault();
      const rows = [...table.tBodies[0].rows];
      let row = rows.indexOf(cell.parentElement), column = cell.cellIndex, next;
      do {
        row += step[0];
        column += step[1];
        next = rows[row] && rows[row].cells[column];
      } while (next && (next.hidden || !next.dataset.tip));
      if (!next) return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }

  for (const table of document.querySelectorAll('table.results')) {
    sortable(table);
    explained(table);
  }
  for (const choice of document.querySelectorAll('.choice')) choosable(choice);
})();
