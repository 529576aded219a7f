// The first handshake of a device, for the page of its file: whether it is there, and until then
// what the gateway knows of the reason. Administrators and owners read their own words.

import type { DeviceRow } from '../../../models/index.ts';
import type { Web } from '../kit/web.ts';
import { diagnosisView, ownDiagnosisView } from './diagnosis.ts';

/** What the page shows. */
export interface FirstHandshake {
  readonly isConnected: boolean;
  readonly text: string;
  readonly advice: string;
}

/** Findings that say only that nothing is there yet. */
const NOT_YET = new Set(['nothing_arrived', 'under_way']);

const WAITING = 'Waiting for the first handshake. Import the file and switch the tunnel on.';

/** Judges a device from what the gateway saw of it. */
export async function firstHandshake(
  web: Web,
  device: DeviceRow,
  isOwn: boolean,
): Promise<FirstHandshake> {
  const found = await diagnosisView(web, device);
  if (device.latest_handshake !== null || found?.badge === 'good')
    return { isConnected: true, text: 'Connected: the device has made a handshake.', advice: '' };
  // A gateway that does not answer has seen nothing.
  if (found === null) return { isConnected: false, text: WAITING, advice: '' };
  const { text, advice } = isOwn ? ((await ownDiagnosisView(web, device)) ?? found) : found;
  return {
    isConnected: false,
    text: NOT_YET.has(found.code) ? WAITING : text,
    advice,
  };
}
