// The live values of a page about one device or about all. Server-sent events replace the values
// that the page was made with, and a plot shows the traffic of the last minutes. The first event has
// all values and steps, each later one those that are new.

import uPlot from './lib/uplot.js';
import { showInOwnZone } from './postern.js';
import { follow } from './postern.js';
import { phrase } from './postern.js';

/** Seconds that the plot shows. */
const SPAN_SECONDS = 300;
const HEIGHT = 170;

for (const place of document.querySelectorAll('[data-live]')) keepUp(place);

function keepUp(place) {
  const box = place.querySelector('[data-plot]');
  const plot = box === null ? null : makePlot(box, place.querySelector('[data-idle]'));
  let isFirst = true;
  let status = {};
  follow(() => place.dataset.live, {
    // What was missed meanwhile is sent again.
    open: () => (isFirst = true),
    status({ data }) {
      const { chart, ...changed } = JSON.parse(data);
      status = { ...status, ...changed };
      show(place, status);
      if (chart !== undefined) {
        plot?.add(chart, isFirst);
        showRate(place.querySelector('[data-rate]'), chart);
        isFirst = false;
      }
      place.dispatchEvent(new CustomEvent('live', { detail: status }));
    },
  });
}

function show(place, status) {
  for (const element of place.querySelectorAll('[data-value]')) {
    const name = element.dataset.value;
    if (name === 'handshake') {
      if (status.handshake === null || element.dateTime === status.handshake) continue;
      element.dateTime = status.handshake;
      showInOwnZone(element);
    } else if (element.textContent !== status[name]) {
      element.textContent = status[name];
    }
    if (name === 'state') element.className = `badge ${status.badge}`;
  }
}

/** Shows the rate of the latest step of a chart. */
function showRate(element, { down, up }) {
  if (element === null || down.length === 0) return;
  element.textContent = `↓ ${rateOf(down.at(-1))} ↑ ${rateOf(up.at(-1))}`;
}

/** Plots bytes a second, down and up; where there is no traffic, `idle` is there instead. */
function makePlot(box, idle) {
  const times = [];
  const down = [];
  const up = [];
  let plot = null;
  const colours = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    plot?.destroy();
    plot = new uPlot(optionsOf(box), [times, down, up], box);
  };
  const width = () => Math.max(box.clientWidth, 200);
  new ResizeObserver(() => plot?.setSize({ width: width(), height: HEIGHT })).observe(box);
  colours.addEventListener('change', () => plot !== null && draw());
  /** Takes the steps of an event; `isAll`: in the place of those that are there. */
  const take = (chart, isAll) => {
    const first = isAll ? 0 : times.findLastIndex((time) => time < chart.from) + 1;
    for (const series of [times, down, up]) series.length = first;
    times.push(...chart.down.map((_rate, i) => chart.from + i * chart.step));
    down.push(...chart.down);
    up.push(...chart.up);
    const old = times.findIndex((time) => time >= times.at(-1) - SPAN_SECONDS);
    for (const series of [times, down, up]) series.splice(0, old);
  };
  return {
    add(chart, isAll) {
      take(chart, isAll);
      const isIdle = [...down, ...up].every((rate) => rate === 0);
      [idle.hidden, box.hidden] = [!isIdle, isIdle];
      if (isIdle) return;
      box.setAttribute('role', 'img');
      box.setAttribute('aria-label', box.dataset.plot);
      if (plot === null) draw();
      else {
        plot.setData([times, down, up]);
        if (plot.cursor.idx == null) plot.setLegend({ idx: null });
      }
    },
  };
}

function optionsOf(box) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('calm'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  const series = (label, name) => ({
    label,
    stroke: colour(name),
    width: 2,
    fill: `${colour(name)}22`,
    points: { show: false },
    // Without a pointer the legend shows the latest values.
    value: (plot, value, i) => rateOf(value ?? plot.data[i].at(-1)),
  });
  return {
    width: Math.max(box.clientWidth, 200),
    height: HEIGHT,
    // A label at an end is as wide as it is.
    padding: [null, 40, null, null],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: (_plot, _first, last) => [last - SPAN_SECONDS, last] },
      y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1_000)] },
    },
    axes: [
      { ...axis, space: 110, values: (_plot, values) => values.map(timeOf) },
      { ...axis, size: 76, values: (_plot, values) => values.map(rateOf) },
    ],
    series: [
      { label: phrase('chart.time'), value: (plot, value) => timeOf(value ?? plot.data[0].at(-1)) },
      series(phrase('chart.download'), 'accent'),
      series(phrase('chart.upload'), 'warn'),
    ],
  };
}

function timeOf(seconds) {
  return seconds == null ? '–' : new Date(seconds * 1_000).toLocaleTimeString('en');
}

function rateOf(bytes) {
  if (bytes == null) return '–';
  for (const [unit, size] of [
    ['GB/s', 1e9],
    ['MB/s', 1e6],
    ['kB/s', 1e3],
  ])
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))}\u00a0${unit}`;
  return `${Math.round(bytes)}\u00a0B/s`;
}
