// Draws what was carried over time, from the table that the page has. Without scripts the table is
// all there is.

import uPlot from './lib/uplot.js';
import { phrase } from './postern.js';

const HEIGHT = 200;

for (const box of document.querySelectorAll('[data-history]')) drawIn(box);

function drawIn(box) {
  const { labels, data } = read(box);
  const colours = matchMedia('(prefers-color-scheme: dark)');
  const width = () => Math.max(box.clientWidth, 200);
  let plot = null;
  box.hidden = false;
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', box.dataset.title);
  const draw = () => {
    plot?.destroy();
    plot = new uPlot(optionsOf(box, labels, width()), data, box);
  };
  draw();
  new ResizeObserver(() => plot.setSize({ width: width(), height: HEIGHT })).observe(box);
  colours.addEventListener('change', draw);
}

/** Every step has a value; those that the table leaves out are 0. The last one ends at a point. */
function read(box) {
  const [from, to, step] = ['from', 'to', 'step'].map((name) => Number(box.dataset[name]));
  const times = [];
  for (let at = from; at < to; at += step) times.push(at);
  const section = box.closest('section');
  const heads = [...section.querySelectorAll('thead th')].slice(1);
  const drawn = heads.flatMap((head, i) => ('drawn' in head.dataset ? [i] : []));
  const values = drawn.map(() => times.map(() => 0));
  for (const row of section.querySelectorAll('tr[data-at]')) {
    const place = (Number(row.dataset.at) - from) / step;
    const counts = [...row.querySelectorAll('[data-count]')];
    for (const [i, column] of drawn.entries())
      values[i][place] = Number(counts[column].dataset.count);
  }
  times.push(to);
  for (const series of values) series.push(series.at(-1));
  return { labels: drawn.map((column) => heads[column].textContent), data: [times, ...values] };
}

function optionsOf(box, labels, width) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('calm'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  const hasDays = Number(box.dataset.step) >= 86_400;
  const timeOf = (seconds) => (seconds == null ? '–' : timeText(seconds, hasDays));
  return {
    width,
    height: HEIGHT,
    // A label at an end is as wide as it is.
    padding: [null, 40, null, null],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1_000)] } },
    axes: [
      { ...axis, space: 130, values: (_plot, values) => values.map(timeOf) },
      { ...axis, size: 76, values: (_plot, values) => values.map(bytesText) },
    ],
    series: [
      { label: phrase('chart.since'), value: (plot, value) => timeOf(startOf(plot, value)) },
      ...labels.map((label, i) => {
        const name = ['accent', 'warn'][i];
        return {
          label,
          stroke: colour(name),
          width: 2,
          fill: `${colour(name)}22`,
          points: { show: false },
          paths: uPlot.paths.stepped({ align: 1 }),
          value: (_plot, value) => bytesText(value),
        };
      }),
    ],
  };
}

/** When the step of a point begins: the last point is the end of the last step. */
function startOf({ data: [times] }, time) {
  return time != null && time === times.at(-1) ? times.at(-2) : time;
}

/** Days are those of UTC; all else is in the zone of the reader. */
function timeText(seconds, isDay) {
  const time = new Date(seconds * 1_000);
  if (isDay) return time.toLocaleDateString('en', { timeZone: 'UTC' });
  return time.toLocaleString('en', {
    month: 'numeric',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  });
}

function bytesText(bytes) {
  if (bytes == null) return '–';
  for (const [unit, size] of [
    ['TB', 1e12],
    ['GB', 1e9],
    ['MB', 1e6],
    ['kB', 1e3],
  ])
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))}\u00a0${unit}`;
  return `${Math.round(bytes)}\u00a0B`;
}
