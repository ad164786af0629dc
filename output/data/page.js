// What a page draws. Needs d3.js before it. All it shows stands in the page as text too, so
// that without scripts nothing is lost but the drawings.
(() => {
  'use strict';
  const kWidth = 420;
  const kStyles = 10;   // of lines in page.css
  const kSymbols = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolWye];
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

  // Of a log scale powers of ten, of a short one multiples of them by 2 and 5, of one shorter still even steps; at least three where
  // there is room, never more than `most`.
  function ticksOf(scale, most) {
    if (!scale.base) return {values: scale.ticks(most), format: short};
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
    if (ticks.length > 2) return {values: ticks, format: short};
    const even = d3.scaleLinear().domain([low, high]);
    return {values: even.ticks(most - 1), format: even.tickFormat(most - 1)};
  }

  // Axes with a grid behind what is drawn.
  function axes(svg, x, y, labels, box) {
    const axis = (make, scale, most, size) => {
      const ticks = ticksOf(scale, most);
      return make(scale).tickValues(ticks.values).tickFormat(labels.format || ticks.format).tickSize(size).tickPadding(5);
    };
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
    // Stairs: each value holds until the next. What is far above the best is cut off at the top.
    curves(at, data) {
      const box = {left: 62, right: kWidth - 10, top: 6, bottom: 200};
      const svg = canvas(at, box.bottom + 40);
      const points = data.series.flatMap((series) => series.points);
      const x = scaleOver(points.map((p) => p[0]), data.log_x, [box.left, box.right]);
      const y = scaleOver(points.map((p) => p[1]), data.log_x, [box.bottom, box.top]);
      if (y.base) {
        const last = data.series.map((series) => series.points[series.points.length - 1][1]);
        y.domain([y.domain()[0], Math.min(y.domain()[1], 2 * d3.max(last))]).clamp(true);
      }
      axes(svg, x, y, {x: data.x_label, y: data.y_label, x_ticks: data.log_x ? 5 : 6}, box);
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
    } else {
      mark(svg, Number(at.dataset.mark), 'p' + at.dataset.mark % kSymbols.length, 14, 6);
    }
  }
})();
