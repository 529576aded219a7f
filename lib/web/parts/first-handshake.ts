// The first handshake of a device, for the page of its file: whether it is there, and until then
// what the gateway knows of the reason. Administrators and owners read their own words.

import type { DeviceRow } from '../../../models/index.ts';
import { ownerWords } from '../../observe/diagnosis/words.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { diagnosisView } from './diagnosis.ts';

/** What the page shows. */
export interface FirstHandshake {
  readonly isConnected: boolean;
  readonly text: string;
  readonly advice: string;
}

/** Findings that say only that nothing is there yet. */
const NOT_YET = new Set(['nothing_arrived', 'under_way']);

/** Judges a device from what the gateway saw of it. */
export async function firstHandshake(
  web: Web,
  device: DeviceRow,
  isOwn: boolean,
): Promise<FirstHandshake> {
  const found = device.latest_handshake === null ? await diagnosisView(web, device) : null;
  if (device.latest_handshake !== null || found?.badge === 'good')
    return { isConnected: true, text: say('handshake.connected'), advice: '' };
  // A gateway that does not answer has seen nothing.
  if (found === null) return { isConnected: false, text: say('handshake.waiting'), advice: '' };
  const { text, advice } = isOwn ? ownerWords[found.code] : found;
  return {
    isConnected: false,
    text: NOT_YET.has(found.code) ? say('handshake.waiting') : text,
    advice,
  };
}
