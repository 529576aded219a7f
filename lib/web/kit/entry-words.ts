// What is wrong with an entry of a form, with the entry itself in the sentence. /v0 says only that
// a value is invalid, in texts that programs compare; and it takes host names of numbers alone,
// such as 1.1.1, which people type when they forget a part of an address.

import type { FieldFaults, Faults } from '../../judge/judge.ts';
import { messages } from '../../judge/messages.ts';
import { readCidr } from '../../judge/network.ts';
import { membersOf } from './form.ts';

/** What stands in the fields of a form, by name. */
type Typed = Readonly<Record<string, string>>;

/** What a text of a field is to be. */
interface Kind {
  /** Whether an entry is one. */
  readonly isGood: (entry: string) => boolean;
  /** What it should be, after “It is”. */
  readonly form: string;
}

const NETWORKS: Kind = {
  isGood: (entry) => readCidr(entry) !== null,
  form: 'neither an address nor a network. Write it like 10.0.0.5, 10.0.0.0/8 or fd00::/8. Names are not possible here',
};
const NUMBER: Kind = { isGood: (entry) => /^\d+$/.test(entry), form: 'not a whole number' };
const ADDRESS_4: Kind = { isGood: () => false, form: 'not an IPv4 address, such as 100.64.0.5' };
const ADDRESS_6: Kind = { isGood: () => false, form: 'not an IPv6 address, such as fd00::5' };

/** By the name of the field; those of the settings have the same fields with another name. */
const kinds: Readonly<Record<string, Kind>> = {
  destination: NETWORKS,
  allowed_ips: NETWORKS,
  mtu: NUMBER,
  persistent_keepalive: NUMBER,
  vpn_session_duration: NUMBER,
  ipv4: ADDRESS_4,
  ipv6: ADDRESS_6,
};

/** Fields that take names of hosts. */
const HOSTS = ['dns', 'endpoint'];
const PORT = /:\d+$/;
const OF_NUMBERS = /^\d+(\.\d+)*\.?$/;

/** Faults of a refused form: what is only said to be invalid is quoted, and its form is said. */
export function toldFaults(faults: Faults, typed: Typed): Faults {
  return Object.fromEntries(
    Object.entries(faults).map(([name, texts]) => {
      const kind = kinds[nameOf(name)];
      return [name, kind === undefined ? texts : told(texts, typed[name] ?? '', kind)];
    }),
  );
}

/** What a form refuses beyond the rules of /v0: hosts of numbers that are no address. */
export function hostFaults(typed: Typed): Faults {
  const faults: Record<string, string[]> = {};
  for (const [name, text] of Object.entries(typed)) {
    if (!HOSTS.includes(nameOf(name))) continue;
    const bad = membersOf(text).filter((entry) => isNumbersAlone(entry.replace(PORT, '')));
    if (bad.length > 0)
      faults[name] = bad.map(
        (entry) =>
          `“${entry}” is not an address: an IPv4 address has four numbers from 0 to 255, such as 1.1.1.1`,
      );
  }
  return faults;
}

function isNumbersAlone(host: string): boolean {
  return OF_NUMBERS.test(host) && readCidr(host) === null;
}

function nameOf(name: string): string {
  return name.replace(/^default_client_/, '');
}

function told(texts: FieldFaults, text: string, { isGood, form }: Kind): FieldFaults {
  const bad = membersOf(text).filter((entry) => !isGood(entry));
  if (bad.length === 0) return texts;
  const entries = bad.map((entry) => `“${entry}”`).join(', ');
  return texts.map((one) =>
    one === messages.invalid ? `${entries} ${bad.length === 1 ? 'is' : 'are'} ${form}` : one,
  ) as FieldFaults;
}
