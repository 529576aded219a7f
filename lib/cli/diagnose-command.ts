// `postern diagnose`: why a device cannot connect, and the unknown senders, asked of the gateway
// that runs.

import type { Diagnosis, ShownAttempt, ShownSender } from '../observe/diagnosis/fields.ts';
import { endpointInWords } from '../observe/diagnosis/place.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Command, Outcome } from './run.ts';
import { below, listed, type Listed } from './screen.ts';

/** Says why a device cannot connect; without a device, who sends what no device can have sent. */
export async function diagnose(gateway: LocalGateway, { operands }: Command): Promise<Outcome> {
  const [word] = operands;
  if (word === undefined) return listSenders(gateway);
  const { id } = await gateway.finds.device(word);
  const { data } = (await gateway.ask('GET', `/v0/devices/${id}/diagnosis`)) as {
    data: Diagnosis;
  };
  return { ...diagnosisShown(data), data };
}

async function listSenders(gateway: LocalGateway): Promise<Outcome> {
  const { data } = (await gateway.ask('GET', '/v0/unknown_senders')) as {
    data: { keys: ShownSender[]; other_gateway: ShownSender[] };
  };
  const all = [...data.keys, ...data.other_gateway];
  const nobody = 'Nobody unknown has sent a handshake since the gateway was started.';
  return { ...below(all.length === 0 ? nobody : sendersTable(all)), data };
}

function diagnosisShown(diagnosis: Diagnosis): Listed {
  const { code, text, advice, attempts, inside, unknown_senders: senders } = diagnosis;
  return below(
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
  );
}

function attemptsTable(attempts: readonly ShownAttempt[]): Listed {
  return listed(
    [
      ['handshake', 'text'],
      ['begun by', 'fixed'],
      ['device at', 'fixed'],
      ['count', 'fixed'],
      ['first', 'time'],
      ['last', 'time'],
    ],
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

function sendersTable(senders: readonly ShownSender[]): Listed {
  return listed(
    [
      ['key', 'id'],
      ['from', 'fixed'],
      ['count', 'fixed'],
      ['first', 'time'],
      ['last', 'time'],
    ],
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
