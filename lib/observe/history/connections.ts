// The log of connections as it is answered. docs/api.md#connections.

import { type Connection, connectionEnds } from '../../../models/index.ts';
import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { integer, resource } from '../../kit/validation/fields.ts';
import { csvLine } from '../../kit/records/csv.ts';
import { showTime } from '../../kit/records/shown.ts';
import { formatField } from './span.ts';

/** The most connections of an answer; no more of a device are kept for long. */
export const CONNECTIONS_SHOWN_MAX = 1_000;
/** How many are answered if nothing is said. */
export const CONNECTIONS_SHOWN = 100;

/** The parameters of the log. */
export const connectionParameters = resource({
  limit: integer(
    `How many connections are answered, the latest first; ${CONNECTIONS_SHOWN} if it is left out.`,
    1,
    CONNECTIONS_SHOWN_MAX,
  ).default(CONNECTIONS_SHOWN),
  format: formatField,
});

/** A connection. */
export const connectionFields = answerTable({
  connected_at: {
    kind: 'time',
    description: 'When the device connected: its first handshake after a silence.',
  },
  disconnected_at: {
    kind: 'time',
    description: 'When it was connected no more; null: it still is.',
    nullable: true,
  },
  reason: {
    kind: 'choice',
    description: 'Why it ended; null: it lasts.',
    words: connectionEnds,
    nullable: true,
  },
  gateway_id: { kind: 'id', description: 'The gateway.' },
  remote_ip: { kind: 'text', description: 'Where it came from; null: not known.', nullable: true },
  remote_port: { kind: 'count', description: 'The UDP port there.', nullable: true },
});

/** A connection as it is answered. */
export type ShownConnection = AnswerOf<typeof connectionFields>;

/** A connection as it is answered. */
export function showConnection(connection: Connection): ShownConnection {
  const { connectedAt, disconnectedAt, reason, gatewayId, remoteIp, remotePort } = connection;
  return {
    connected_at: showTime(new Date(connectedAt)),
    disconnected_at: disconnectedAt === null ? null : showTime(new Date(disconnectedAt)),
    reason,
    gateway_id: gatewayId,
    remote_ip: remoteIp,
    remote_port: remotePort,
  };
}

/** Connections as a file for spreadsheets. */
export function connectionsCsv(connections: readonly ShownConnection[]): string {
  const head = [
    'connected_at',
    'disconnected_at',
    'reason',
    'gateway_id',
    'remote_ip',
    'remote_port',
  ] as const;
  const lines = connections.map((one) => csvLine(head.map((name) => one[name])));
  return csvLine(head) + lines.join('');
}
