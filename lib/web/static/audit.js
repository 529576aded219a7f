// Groups the audit log by the days of the reader's time zone; without it they are those of UTC.

const log = document.querySelector('[data-days]');
const dayOf = (date) => date.toLocaleDateString('en', { dateStyle: 'full' });
const days = new Map();
for (const line of log?.querySelectorAll('section > ol > li') ?? []) {
  const day = dayOf(new Date(line.querySelector('time').dateTime));
  days.set(day, [...(days.get(day) ?? []), line]);
}
log?.replaceChildren(
  ...[...days].map(([day, lines]) => {
    const section = document.createElement('section');
    const head = document.createElement('h2');
    head.textContent = day;
    const list = document.createElement('ol');
    list.className = 'entries';
    list.append(...lines);
    section.append(head, list);
    return section;
  }),
);
