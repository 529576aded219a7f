// When a device was connected, for its page: the latest connections as rows of a table.

import { type ConnectionEnd, readConnections } from '../../../models/index.ts';
import type { Web } from '../kit/web.ts';
import { placeInWords } from './packet-words.ts';

/** Connections that a page shows; the API has the rest. */
const SHOWN = 20;

/** Why a connection ended, in words. */
const REASONS: Readonly<Record<ConnectionEnd, string>> = {
  silent: 'It was silent.',
  elsewhere: 'It went to another gateway.',
  switched_off: 'It was switched off.',
  expired: 'Its end was reached.',
  owner_disabled: 'Its owner was disabled.',
  session_ended: 'The VPN session of its owner ended.',
  key_replaced: 'It got another key.',
  deleted: 'It was deleted.',
  removed: 'It was no longer served.',
  gateway_stopped: 'The gateway stopped.',
  gateway_lost: 'The gateway was killed, or lost its host.',
};

/** A cell of partials/table.eta. */
type Cell = string | { readonly text: string; readonly time?: string };

/** Reads the latest connections of a device. */
export async function connectionRows(web: Web, deviceId: string): Promise<Cell[][]> {
  const connections = await readConnections(web.services.database, deviceId, SHOWN);
  return connections.map(({ connectedAt, disconnectedAt, remoteIp, remotePort, reason }) => [
    timed(connectedAt),
    disconnectedAt === null ? 'now' : timed(disconnectedAt),
    remoteIp === null ? 'unknown' : placeInWords(remoteIp, remotePort),
    reason === null ? '' : REASONS[reason],
  ]);
}

function timed(ms: number): Cell {
  const time = new Date(ms).toISOString();
  return { text: time, time };
}
