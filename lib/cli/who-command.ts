// `postern who`: who may reach an address, and by which rule, asked of the gateway that runs.

import type { ShownService, WhoAnswer } from '../observe/explain/who-fields.ts';
import { isAddress } from '../kit/validation/texts.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Hints } from './error-words.ts';
import { rulesInWords } from './rule-words.ts';
import type { Command, Outcome } from './run.ts';
import { below, listed } from './screen.ts';
import { readService } from './typed-service.ts';

const HINTS: Hints = {
  destination: 'an address, or a device',
  protocol: 'tcp, tcp/443, udp/53, icmp, or the number of another protocol, such as 47',
  port: 'tcp/443 or udp/53',
};

/** Says who may reach an address. */
export async function whoMayReach(gateway: LocalGateway, command: Command): Promise<Outcome> {
  const { operands, options } = command;
  const [word = '', service = null] = operands;
  const query = new URLSearchParams({
    destination: await addressOf(gateway, word),
    ...(service === null ? {} : readService(service)),
  });
  const path = `/v0/who_may_reach?${query.toString()}`;
  const { data } = (await gateway.ask('GET', path, undefined, HINTS)) as { data: WhoAnswer };
  // Programs get ids, so no rule is asked for.
  if (options.json) return { text: '', data };
  return { ...(await answerInWords(gateway, data, service)), data };
}

async function addressOf(gateway: LocalGateway, word: string): Promise<string> {
  if (isAddress(word)) return word;
  const { id } = await gateway.finds.device(word);
  const { data } = (await gateway.ask('GET', `/v0/devices/${id}`)) as {
    data: { ipv4: string | null; ipv6: string | null };
  };
  return data.ipv4 ?? data.ipv6 ?? word;
}

async function answerInWords(
  gateway: LocalGateway,
  { destination, people, reason, people_left_out: more, other_people_count: others }: WhoAnswer,
  service: string | null,
): Promise<Pick<Outcome, 'text' | 'onScreen'>> {
  const what = service === null ? destination : `${destination} by ${service.toLowerCase()}`;
  const why = reason === null ? '' : `, whatever the rules say (${reason})`;
  const first = more === 0 ? '' : `; the first ${people.length} are listed`;
  const counts = `${people.length + more} may reach ${what}, ${others} may not${why}${first}`;
  if (people.length === 0) return { text: counts };
  const rules = await namesOfRules(gateway, people);
  const rows = people.flatMap((person) =>
    [...person.services, ...leftOut(person.services_left_out)].map((one, i) => [
      i > 0 ? '' : person.email,
      i > 0 ? '' : devicesOf(person),
      typeof one === 'string' ? one : serviceText(one),
      typeof one === 'string' ? '' : (rules.get(one.rule_id ?? '') ?? 'the default action'),
    ]),
  );
  const list = listed(
    [
      ['person', 'text'],
      ['devices', 'text'],
      ['may reach', 'fixed'],
      ['by', 'text'],
    ],
    rows,
  );
  return below(counts, list);
}

async function namesOfRules(
  gateway: LocalGateway,
  people: WhoAnswer['people'],
): Promise<ReadonlyMap<string, string>> {
  const all = people.flatMap(({ services }) => services.map(({ rule_id: id }) => id));
  const ids = [...new Set(all.filter((id) => id !== null))];
  const words = await rulesInWords(gateway, ids);
  return new Map(ids.map((id, i) => [id, words[i] ?? id]));
}

function leftOut(count: number): string[] {
  return count === 0 ? [] : [`and ${count} more ranges`];
}

/** The devices, where a person has others that may not. */
function devicesOf({ devices, other_device_count: others }: WhoAnswer['people'][number]): string {
  return others === 0 ? 'all' : devices.map(({ name }) => name).join(', ');
}

function serviceText({ protocol, port_range: ports }: ShownService): string {
  if (protocol === null) return 'everything';
  if (protocol === 'other') return 'other protocols';
  return ports === null ? protocol : `${protocol} ${ports}`;
}
