// When the watch over the host looks: where the kernel tells of a change, while something is missing,
// and each second where the kernel does not tell. With a real host it is tried by
// test/ops/tun-down.test.ts.

import test from 'ava';
import { HostWatch } from '../../../dataplane/host/host-watch.ts';

const HERE = { here: [new Uint8Array([10, 0, 0, 1])], outside: [] };

/** A watch, what it did, and what the kernel tells: of the network, of tables. */
function open(hostProcess: number | null = null) {
  const done: string[] = [];
  const host = { news: [false, false], isSettled: true, addresses: HERE };
  const routes = {
    get isSettled() {
      return host.isSettled;
    },
    look: (here: readonly Uint8Array[], hasNews = true) =>
      void done.push(`look ${here.length}${hasNews ? ' news' : ''}`),
    lookBriefly: () => void done.push('brief'),
  };
  const addon = {
    openEvents: (isNetfilter: boolean) => Number(isNetfilter),
    takeEvents: (fd: number) => host.news[fd]!,
    closeFd: (fd: number) => void done.push(`close ${fd}`),
  };
  const read = () => {
    done.push('read');
    return host.addresses;
  };
  const watch = new HostWatch({ addon, routes, hostProcess, read });
  const look = (): [boolean, ...string[]] => {
    done.length = 0;
    return [watch.look(), ...done];
  };
  return { watch, look, host, done };
}

test('the first look is whole, the next ones look for nothing', (t) => {
  const { look } = open();
  t.deepEqual(look(), [true, 'read', 'look 1 news']);
  t.deepEqual(look(), [false, 'brief']);
});

test('news of the network and of tables make it look', (t) => {
  const { watch, look, host } = open();
  look();
  host.news = [true, false];
  t.deepEqual(look(), [false, 'read', 'look 1 news']);
  host.addresses = { ...HERE, here: [] };
  t.deepEqual(look(), [true, 'read', 'look 0 news']);
  t.is(watch.addresses, host.addresses);
  host.news = [false, true];
  t.deepEqual(look(), [false, 'look 0 news']);
});

test('what is missing is looked for each second', (t) => {
  const { look, host } = open();
  look();
  host.isSettled = false;
  t.deepEqual(look(), [false, 'look 1']);
  t.deepEqual(look(), [false, 'look 1']);
});

test('the addresses of another network are read each second', (t) => {
  const { look } = open(7);
  look();
  t.deepEqual(look(), [false, 'read', 'brief']);
});

test('nothing is heard after the end', (t) => {
  const { watch, look, done } = open();
  look();
  done.length = 0;
  watch.close();
  t.deepEqual(done, ['close 0', 'close 1']);
});
