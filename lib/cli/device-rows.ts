// The commands that change or delete a device.

import { UsageError } from '../kit/process/usage-error.ts';
import type { CommandName } from './grammar.ts';
import { deviceLimits, LIMIT_HINTS, limitsSaid, speedsInWords, speedsOf } from './limit-fields.ts';
import { idAsTyped } from './naming.ts';
import type { Done, Finds, Row, Sending } from './row.ts';
import type { Options, Outcome } from './run.ts';
import { printable } from './text-table.ts';

/** In place of networks: there are none. */
const NO_ROUTES = 'none';

/** Rows of commands. */
export const deviceRows = {
  'device enable': {
    operation: 'updateDevice',
    sends: ({ options: { id } }, finds) => change(id, finds, { enabled: true }),
    says: switchesSaid,
  },
  'device disable': {
    operation: 'updateDevice',
    sends: ({ options: { id } }, finds) => change(id, finds, { enabled: false }),
    says: switchesSaid,
  },
  'device expire': {
    operation: 'updateDevice',
    sends: ({ options: { id, at = null } }, finds) =>
      change(id, finds, { ends_at: at === null ? null : at.toISOString() }),
    says: (done) => ({ ...switchesSaid(done), ...startOfDayNote(done.command.options) }),
  },
  'device limit': {
    operation: 'updateDevice',
    hints: LIMIT_HINTS,
    sends: ({ options }, finds) => change(options.id, finds, deviceLimits(options)),
    says: ({ answer }) => ({
      ...limitsSaid((inWords) =>
        speedsInWords(answer, nameOf(answer), 'its owner or the settings say', inWords),
      ),
      data: speedsOf(answer),
    }),
  },
  'device route': {
    operation: 'updateDevice',
    sends: ({ options: { id, routes = '' } }, finds) => change(id, finds, routesIn(routes)),
    says({ answer }) {
      const networks = answer['routes'] as readonly string[];
      const text =
        networks.length === 0
          ? `No network is behind ${nameOf(answer)}.`
          : `Behind ${nameOf(answer)}: ${networks.join(', ')}.`;
      return { text, data: { id: answer['id'], routes: networks } };
    },
  },
  'device delete': {
    operation: 'deleteDevice',
    async sends({ options: { id = '' } }, finds) {
      const device = await finds.device(id);
      return { params: { id: device.id }, named: device.name };
    },
    says: ({ sent: { named = '' }, params, command: { options } }) => ({
      text: `${printable(named)} is deleted; it passes no packet any more.`,
      data: { id: idAsTyped(options.id, params['id']), removed: true },
    }),
  },
} as const satisfies Partial<Record<CommandName, Row>>;

/** Networks that were typed, as the API takes them. */
export function routesIn(text: string | undefined): { routes?: string[] } {
  if (text === undefined) return {};
  if (text === NO_ROUTES) return { routes: [] };
  const routes = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  // An unset variable of a shell must not cut off a branch.
  if (routes.length === 0) throw new UsageError('routes is missing; give networks, or none');
  return { routes };
}

function change(id = '', finds: Finds, device: object): Sending {
  return { params: async () => ({ id: (await finds.device(id)).id }), body: { device } };
}

function nameOf(answer: Done['answer']): string {
  return printable(String(answer['name']));
}

function switchesSaid({ answer }: Done): Outcome {
  const { id, enabled, ends_at: text } = answer;
  const end = typeof text === 'string' ? new Date(text) : null;
  return {
    text: `${nameOf(answer)} is switched ${enabled === true ? 'on' : 'off'} and ${endInWords(end)}.`,
    data: { id, enabled, expires_at: end },
  };
}

/** A day ends 24 hours after the time that its date alone means. */
function startOfDayNote({ at, atDay }: Options): Pick<Outcome, 'note'> {
  if (atDay === undefined || at == null || at.getTime() <= Date.now()) return {};
  const all = `--at ${atDay}T23:59:59Z`;
  return { note: `That is the start of ${atDay}, in UTC; for all of that day: ${all}` };
}

function endInWords(end: Date | null): string {
  if (end === null) return 'does not end';
  const time = end.toISOString();
  return end.getTime() <= Date.now() ? `has ended: ${time} is past` : `ends at ${time}`;
}
