// Verdicts on fragments: later ones follow their first one.

import test from 'ava';
import { fragmentHeader, ip, tcp, udp } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import {
  Bench,
  SECOND,
  device,
  dropAll,
  firstFragment,
  host,
  laterFragment,
} from '../../support/filter/tracking.ts';

// ---- fragments -------------------------------------------------------------------------------

test('later fragments follow their first, where ports decide', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe', 'before the first');
  t.deepEqual(bench.all(firstFragment, laterFragment(), laterFragment()), ['none', 'none', 'none']);
  t.is(bench.judge(laterFragment(10)), 'inner_fragment_unsafe', 'of another datagram');
  t.deepEqual(bench.hits(), ['dns: 3, 108']);
});

test('later fragments follow their first into the dark as well', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.deepEqual(bench.all(firstFragment, laterFragment()), ['rule_drop', 'rule_drop']);
  t.deepEqual(bench.hits(), ['dns: 2, 72']);
});

test('fragments of a reply pass as the reply does', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.judge(udp({ source: host, destination: device, sourcePort: 53, destinationPort: 4_000 }));
  t.deepEqual(bench.all(firstFragment, laterFragment()), ['none', 'none']);
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(laterFragment(), firstFragment), ['none', 'none']);
});

test('a change of rules holds for later fragments whose first came before it', (t) => {
  const bench = new Bench();
  bench.judge(firstFragment);
  bench.rules('0', rule('web', 'drop', host, { type: 'tcp', first: 80 }));
  t.is(bench.judge(laterFragment()), 'none', 'still allowed: nobody loses a datagram in transit');
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(laterFragment()), 'rule_drop');
});

test('what follows a refused first fragment is refused under new rules too', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(firstFragment), 'rule_drop');
  bench.rules('0', rule('udp', 'accept', host, { type: 'udp', first: 1, last: 65_535 }));
  t.is(bench.judge(laterFragment()), 'rule_drop', 'its datagram can never be complete');
  t.deepEqual(bench.hits(), ['dns: 1, 36'], 'no rule in force has refused it');
  t.deepEqual(bench.all(firstFragment, laterFragment()), ['none', 'none'], 'it is sent again');
});

test('what follows a later fragment that was refused is refused under new rules too', (t) => {
  const bench = new Bench();
  bench.judge(firstFragment);
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(laterFragment()), 'rule_drop');
  bench.rules('0');
  t.is(bench.judge(laterFragment()), 'rule_drop');
});

test('a first fragment is remembered for 30 s', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  bench.judge(firstFragment);
  bench.now += 30 * SECOND - 1;
  t.is(bench.judge(laterFragment()), 'none');
  bench.now += 1;
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe');
});

test('a first fragment says nothing for the device that has the address next', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  bench.judge(firstFragment);
  bench.tracker.removePeer(0);
  bench.tracker.addPeer(0, '0');
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe');
});

test('IPv6 fragments are distinguished by 32 bits', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', '::/0', { type: 'udp', first: 53 }));
  const six = { source: 'fd00::2', destination: '2001:db8::1', destinationPort: 53 };
  const fragment = (offset: number, id: number): Uint8Array =>
    udp({
      ...six,
      data: new Uint8Array(16),
      extensions: [fragmentHeader(offset, offset === 0, id)],
    });
  t.deepEqual(bench.all(fragment(0, 0x1_0007), fragment(3, 0x1_0007), fragment(3, 7)), [
    'none',
    'none',
    'inner_fragment_unsafe',
  ]);
});

// RFC 3128: behind an extension header the ports may lie where a later fragment can overwrite them.
test('a later fragment may not overwrite what was judged in the first', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('web', 'accept', '::/0', { type: 'tcp', first: 80 }));
  const six = { source: 'fd00::2', destination: '2001:db8::1' };
  const options = { type: 60, body: new Uint8Array(7) };
  const first = tcp({
    ...six,
    destinationPort: 80,
    extensions: [fragmentHeader(0, true), options],
  });
  // Whether it names the first one's options, as it must, or TCP, or what there is not.
  for (const protocol of [60, 6, 253]) {
    const later = (offset: number): Uint8Array =>
      ip({
        ...six,
        protocol,
        payload: new Uint8Array(24),
        extensions: [fragmentHeader(offset, false)],
      });
    t.is(bench.judge(first), 'none');
    t.is(bench.judge(later(2)), 'inner_fragment_unsafe');
    t.is(bench.judge(later(3)), 'inner_fragment_unsafe');
    t.is(bench.judge(later(4)), 'none');
    // After a change of the rules it is judged by what the first one was, too.
    bench.rules('0', rule('web', 'drop', '::/0', { type: 'tcp', first: 80 }));
    t.is(bench.judge(later(4)), 'rule_drop');
    bench.rules('0', rule('web', 'accept', '::/0', { type: 'tcp', first: 80 }));
  }
});

test('a later IPv6 fragment without its first hides no port behind another header', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('web', 'drop', '::/0', { type: 'tcp', first: 80 }));
  for (const protocol of [60, 253])
    t.is(
      bench.judge(
        ip({
          source: 'fd00::2',
          destination: '2001:db8::1',
          protocol,
          payload: new Uint8Array(24),
          extensions: [fragmentHeader(4, false)],
        }),
      ),
      'inner_fragment_unsafe',
    );
});
