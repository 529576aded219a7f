// Updates the lists of the dashboard when device-live.js gets values. All texts are set as text.

import { showInOwnZone } from './postern.js';

const place = document.querySelector('[data-live]');
const base = place.dataset.base;
const shown = new Map();
/** The first steps, which say what is wrong with the endpoint; null where they are put away. */
const steps = document.querySelector('[data-steps]');

place.addEventListener('live', ({ detail }) => {
  for (const name of ['drops', 'others'])
    refill(name, detail[name], ({ reason, words, count }) => [
      explained('th', reason, words),
      text('td', count),
    ]);
  refill('problems', detail.problems, (problem) => [
    linked('td', problem),
    text('td', problem.message),
  ]);
  const wrong = detail.gateway.filter(({ check }) => steps === null || check !== 'endpoint');
  tellGateway(wrong);
  place.querySelector('[data-rows=problems]').hidden = detail.problems.length + wrong.length === 0;
  takeStep('device', detail.devices !== '0');
  takeStep('handshake', detail.handshakes.length > 0);
  refill('handshakes', detail.handshakes, (one) => [
    linked('td', one),
    whole(one.owner),
    timed(one.time),
    whole(one.remote),
  ]);
});

/** What is wrong with this gateway, and how to fix it. */
function tellGateway(problems) {
  const known = JSON.stringify(problems);
  if (shown.get('gateway') === known) return;
  shown.set('gateway', known);
  const list = place.querySelector('[data-gateway]');
  list.hidden = problems.length === 0;
  list.replaceChildren(
    ...problems.map(({ text: said, fix, level, page }) => {
      const line = document.createElement('li');
      line.className = `note ${level}`;
      const [badge, strong] = ['span', 'strong'].map((name) => document.createElement(name));
      badge.className = `badge ${level === 'failed' ? 'bad' : 'warning'}`;
      badge.textContent = level === 'failed' ? 'does not work' : 'look at it';
      strong.textContent = said;
      line.append(badge, ' ', strong, ` ${fix}`);
      if (page !== null) line.append(' ', linkTo(page));
      return line;
    }),
  );
}

/** Marks one of the first steps as done; a step that is done is not taken back. */
function takeStep(name, isDone) {
  const step = steps?.querySelector(`[data-step=${name}]`);
  if (!isDone || !step || step.classList.contains('done')) return;
  step.classList.add('done');
  step.querySelector('.state').textContent = 'done';
}

/** Replaces the rows of a table where they differ; readers of the page are not interrupted. */
function refill(name, rows, cellsOf) {
  const known = JSON.stringify(rows);
  if (shown.get(name) === known) return;
  shown.set(name, known);
  const section = place.querySelector(`[data-rows="${name}"]`);
  section.querySelector('table').hidden = rows.length === 0;
  const none = section.querySelector('.none');
  if (none !== null) none.hidden = rows.length > 0;
  const heads = [...section.querySelectorAll('thead th')].map((head) => head.textContent);
  section.querySelector('tbody').replaceChildren(
    ...rows.map((row) => {
      const line = document.createElement('tr');
      const cells = cellsOf(row);
      for (const [i, cell] of cells.entries()) {
        cell.dataset.label = heads[i];
        if (cell.tagName === 'TH') cell.scope = 'row';
        if (cell.tagName === 'TD' && cells[0].tagName === 'TH') cell.className = 'number';
      }
      line.append(...cells);
      return line;
    }),
  );
}

function text(tag, content) {
  const cell = document.createElement(tag);
  const span = document.createElement('span');
  span.textContent = content;
  cell.append(span);
  return cell;
}

/** An e-mail or an address with its port, which is broken behind the @ or before the port alone. */
function whole(content) {
  const cell = text('td', '');
  cell.firstChild.className = 'whole';
  for (const part of content.split(/(?<=@)|(?=:\d+$)/))
    cell.firstChild.append(part, document.createElement('wbr'));
  return cell;
}

/** A name, and beneath it in small what it means. */
function explained(tag, name, words) {
  const cell = text(tag, `${name} `);
  const small = document.createElement('small');
  small.textContent = words;
  cell.firstChild.append(small);
  return cell;
}

function linked(tag, target) {
  const cell = document.createElement(tag);
  cell.append(linkTo(target));
  return cell;
}

function linkTo({ path, name }) {
  const link = document.createElement('a');
  link.href = base + path;
  link.textContent = name;
  return link;
}

function timed(time) {
  const cell = document.createElement('td');
  const element = document.createElement('time');
  element.dateTime = time;
  showInOwnZone(element);
  cell.append(element);
  return cell;
}
