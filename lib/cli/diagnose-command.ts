// `postern diagnose`: why a device cannot connect, and the unknown senders, asked of the gateway
// that runs.

import type { Diagnosis, ShownAttempt, ShownSender } from '../observe/diagnosis/fields.ts';
import { endpointInWords } from '../observe/diagnosis/place.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Command, Outcome } from './run.ts';
import { table } from './text-table.ts';

/** Says why a device cannot connect; without a device, who sends what no device can have sent. */
export async function diagnose(gateway: LocalGateway, { operands }: Command): Promise<Outcome> {
  const [word] = operands;
  if (word === undefined) return listSenders(gateway);
  const { id } = await gateway.finds.device(word);
  const { data } = (await gateway.ask('GET', `/v0/devices/${id}/diagnosis`)) as {
    data: Diagnosis;
  };
  return { text: diagnosisText(data), data };
}

async function listSenders(gateway: LocalGateway): Promise<Outcome> {
  const { data } = (await gateway.ask('GET', '/v0/unknown_senders')) as {
    data: { keys: ShownSender[]; other_gateway: ShownSender[] };
  };
  const all = [...data.keys, ...data.other_gateway];
  const text =
    all.length === 0
      ? 'Nobody unknown has sent a handshake since the gateway was started.'
      : sendersTable(all);
  return { text, data };
}

function diagnosisText(diagnosis: Diagnosis): string {
  const { code, text, advice, attempts, inside, unknown_senders: senders } = diagnosis;
  return [
    `${code}: ${text}`,
    advice,
    ...(diagnosis.connected_since === null
      ? []
      : [`connected since: ${diagnosis.connected_since}`]),
    ...(inside?.passed_at == null ? [] : [`last packet inside: ${inside.passed_at}`]),
    ...(attempts.length === 0 ? [] : ['', attemptsTable(attempts)]),
    ...(senders.length === 0
      ? []
      : ['', 'Unknown senders of the last minutes:', sendersTable(senders)]),
  ].join('\n');
}

function attemptsTable(attempts: readonly ShownAttempt[]): string {
  return table(
    ['handshake', 'begun by', 'device at', 'count', 'first', 'last'],
    attempts.map((one) => [
      one.reason === null ? one.outcome : `${one.outcome}: ${one.reason}`,
      one.begun_by,
      placeIn(one),
      String(one.count),
      one.first_at,
      one.last_at,
    ]),
  );
}

function sendersTable(senders: readonly ShownSender[]): string {
  return table(
    ['key', 'from', 'count', 'first', 'last'],
    senders.map((one) => [keyIn(one), placeIn(one), String(one.count), one.first_at, one.last_at]),
  );
}

function keyIn({ public_key: key, device_id: id }: ShownSender): string {
  if (key === null) return '(for another gateway)';
  return id === null ? key : `${key} (device ${id}, not served)`;
}

function placeIn(one: {
  readonly remote_ip: string | null;
  readonly remote_port: number | null;
}): string {
  const { remote_ip: address, remote_port: port } = one;
  return endpointInWords(address === null || port === null ? null : { address, port });
}
