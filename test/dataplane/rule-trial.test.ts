// Rules that are tried say what the filter of the workers would say, and keep nothing of what was
// judged.

import test from 'ava';
import type { Amendment, RuleConfig } from '../../dataplane/contract.ts';
import { RuleTrial, type TrialOptions } from '../../dataplane/rule-trial.ts';
import { parseAddress } from '../../dataplane/wire/address.ts';
import { askedPacket } from '../../dataplane/wire/asked-packet.ts';

const options: TrialOptions = {
  ipv4: {
    network: parseAddress('100.64.0.0')!,
    prefixBits: 10,
    address: parseAddress('100.64.0.1')!,
  },
  ipv6: null,
  listenPort: 51_820,
  allowsMetadata: false,
  hostAddresses: { here: [], outside: [] },
  defaultAction: 'drop',
};

function rule(id: string, action: RuleConfig['action'], text: string, port?: number): RuleConfig {
  const [address = '', bits = '32'] = text.split('/');
  const ports = { portFirst: port ?? 0, portLast: port ?? 0 };
  const portType = port === undefined ? null : ('tcp' as const);
  return {
    id,
    action,
    address: parseAddress(address)!,
    prefixBits: Number(bits),
    portType,
    ...ports,
  };
}

function amendment(scope: string, ...rules: RuleConfig[]): Amendment['rules'] {
  return new Map([[scope, Map.groupBy(rules, ({ id }) => id)]]);
}

function packet(destination: string, protocol: 'tcp' | 'udp' | 'icmp', port = 0): Uint8Array {
  const source = destination.includes(':') ? 'fd00::2' : '100.64.0.2';
  const fields = { source, destination, sourcePort: 50_000, destinationPort: port };
  return askedPacket({ ...fields, protocol, begins: true });
}

test('the rules of a scope come before those of everyone, and the default comes last', (t) => {
  const trial = new RuleTrial(options);
  const wiki = packet('10.0.0.5', 'tcp', 443);
  t.deepEqual(trial.judge({ scope: 'alice' }, wiki), { reason: 'default_drop', rule: null });
  trial.amend(amendment('', rule('all', 'accept', '10.0.0.0/8')));
  t.deepEqual(trial.judge({ scope: 'alice' }, wiki), { reason: 'none', rule: 'all' });
  trial.amend(amendment('alice', rule('hers', 'drop', '10.0.0.5')));
  t.deepEqual(trial.judge({ scope: 'alice' }, wiki), { reason: 'rule_drop', rule: 'hers' });
  t.deepEqual(trial.judge({ scope: 'bob' }, wiki), { reason: 'none', rule: 'all' });
  trial.amend(new Map([['alice', new Map([['hers', []]])]]));
  t.deepEqual(trial.judge({ scope: 'alice' }, wiki), { reason: 'none', rule: 'all' });
});

test('ports and protocols count, and both families are known', (t) => {
  const trial = new RuleTrial({ ...options, defaultAction: 'accept' });
  trial.amend(
    amendment('', rule('web', 'drop', '10.0.0.5', 443), rule('six', 'drop', 'fd12::/16')),
  );
  t.deepEqual(trial.judge({ scope: 'a' }, packet('10.0.0.5', 'tcp', 443)), {
    reason: 'rule_drop',
    rule: 'web',
  });
  t.deepEqual(trial.judge({ scope: 'a' }, packet('10.0.0.5', 'udp', 443)), {
    reason: 'none',
    rule: null,
  });
  t.deepEqual(trial.judge({ scope: 'a' }, packet('10.0.0.5', 'icmp')), {
    reason: 'none',
    rule: null,
  });
  t.deepEqual(trial.judge({ scope: 'a' }, packet('fd12::1', 'icmp')), {
    reason: 'rule_drop',
    rule: 'six',
  });
});

test("the gateway's own endpoint is refused at every address of the host", (t) => {
  const here = ['192.0.2.1', '2001:db8::1'].map((text) => parseAddress(text)!);
  const hostAddresses = { here, outside: [parseAddress('192.0.2.9')!] };
  const trial = new RuleTrial({ ...options, hostAddresses, defaultAction: 'accept' });
  const reasonOf = (destination: string, port: number): string =>
    trial.judge({ scope: 'a' }, packet(destination, 'udp', port)).reason;
  t.is(reasonOf('192.0.2.1', 51_820), 'inner_own_endpoint');
  t.is(reasonOf('2001:db8::1', 51_820), 'inner_own_endpoint');
  t.is(reasonOf('192.0.2.1', 51_821), 'none');
  t.is(reasonOf('192.0.2.9', 51_821), 'inner_destination_host');
  t.is(reasonOf('192.0.2.2', 51_820), 'none');
});

test('destinations that no rule can open are refused as packets to them are', (t) => {
  const trial = new RuleTrial(options);
  trial.amend(amendment('', rule('all', 'accept', '0.0.0.0/0')));
  const reasonOf = (destination: string, port = 443): string =>
    trial.judge({ scope: 'a' }, packet(destination, 'udp', port)).reason;
  t.is(reasonOf('127.0.0.1'), 'inner_destination_reserved');
  t.is(reasonOf('168.63.129.16'), 'inner_destination_metadata');
  t.is(reasonOf('100.64.0.1', 51_820), 'inner_own_endpoint');
  t.is(reasonOf('100.64.0.1'), 'none');
  t.is(trial.judge({ scope: 'a' }, packet('127.0.0.1', 'udp', 1)).rule, null);
  t.is(trial.judge({ scope: 'a' }, new Uint8Array(20)).reason, 'inner_malformed');
  const open = new RuleTrial({ ...options, allowsMetadata: true });
  open.amend(amendment('', rule('all', 'accept', '0.0.0.0/0')));
  t.is(open.judge({ scope: 'a' }, packet('168.63.129.16', 'udp', 80)).reason, 'none');
});
