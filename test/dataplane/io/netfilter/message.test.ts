// Messages of netlink: how attributes are written, and what the kernel refuses. The kernel is the
// real one.

import test from 'ava';
import {
  type Attribute,
  find,
  fixOfRefusal,
  type Message,
  native32,
  network16,
  read,
  transact,
} from '../../../../dataplane/io/netfilter/message.ts';
import { inOwnNetwork, withoutRights } from '../../../support/network/rights.ts';

const table = (name: string, attributes: readonly Attribute[] = []): Message => ({
  type: 0,
  flags: 0x400,
  attributes: [[1, name], ...attributes],
  what: `the table ${name}`,
});

test('an attribute is found behind others of odd lengths, and inside a nested one', (t) => {
  const attribute = (type: number, ...value: number[]): number[] => {
    const bytes = Buffer.alloc(4);
    bytes.set(network16(4 + value.length).toReversed());
    bytes.set(network16(type).toReversed(), 2);
    return [...bytes, ...value, ...Array<number>((4 - (value.length % 4)) % 4).fill(0)];
  };
  const bytes = Buffer.from([
    ...attribute(1, 7),
    ...attribute(2, 1, 2, 3, 4, 5),
    ...attribute(0x8003, ...attribute(1, 9, 9)),
  ]);
  t.deepEqual([...find(bytes, 2)], [1, 2, 3, 4, 5]);
  t.deepEqual([...find(find(bytes, 3), 1)], [9, 9]);
  t.is(find(bytes, 4).length, 0);
  t.is(find(Buffer.of(1, 0, 2, 0), 2).length, 0, 'a length that cannot be');
});

test('numbers are in the order of the network, or of this machine', (t) => {
  t.deepEqual([...network16(5_000)], [0x13, 0x88]);
  const view = new Uint32Array(1);
  view[0] = 65;
  t.deepEqual([...native32(65)], [...new Uint8Array(view.buffer)]);
});

test('without rights the kernel says which is missing', async (t) => {
  const script = `module.transact(${JSON.stringify([table('a')])})`;
  const refusal = await withoutRights(t, 'netfilter/message', script);
  if (refusal === null) {
    t.pass();
    return;
  }
  t.like(refusal, { code: 'EPERM' });
  t.regex((refusal as { message: string }).message, /operation not permitted/);
  t.regex(fixOfRefusal(refusal as { code: string; message: string }), /CAP_NET_ADMIN/);
});

test('a transaction is done whole or not at all, and what was refused is named', async (t) => {
  const [good, long] = [table('good'), table('x'.repeat(300))];
  const bad = { ...table('bad'), type: 3, what: 'the chain c' };
  const found = await inOwnNetwork(
    t,
    `[
      message.transact(${JSON.stringify([good, bad, table('other')])}),
      message.transact(${JSON.stringify([long])}),
      message.transact(${JSON.stringify([good])}, 'check'),
      await nft('list', 'tables'),
      message.transact(${JSON.stringify([good, table('other')])}),
      await nft('list', 'tables'),
    ]`,
  );
  if (found === null) {
    t.pass();
    return;
  }
  const [broken, tooLong, checked, none, done, tables] = found as [
    { code: string; message: string },
    { code: string; message: string },
    ...unknown[],
  ];
  t.regex(broken.message, /^the kernel refuses the chain c: /);
  t.regex(tooLong.message, /^the kernel refuses the table xxx/);
  t.deepEqual([checked, none, done], [null, '', null]);
  t.is(tables, 'table inet good\ntable inet other\n');
});

test('what is not there cannot be read', (t) => {
  const answer = read({ ...table('no-such-table'), type: 1, flags: 0 });
  t.true('code' in answer);
  t.not(transact([{ ...table('no-such-table'), type: 2, flags: 0 }], 'check'), null);
});
