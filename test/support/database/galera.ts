// A Galera cluster for tests: Debian's galera-4 under three MariaDB servers on loopback, each with
// its own data and ports. A transaction is certified by all nodes when it commits, so that a writer
// may lose only then, with the error of a deadlock.

import { tmpdir } from 'node:os';
import { freePort } from '../network/free-port.ts';
import { launch, makeData, type Mariadb, stopMariadb } from './mariadb.ts';

const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
/** The state is copied with rsync, which as root would write as nobody. */
const USER = 'mysql';

/** Starts a cluster of so many nodes, each complete before the next begins. */
export async function startGalera(nodes = 3): Promise<Mariadb[]> {
  const ports: number[][] = [];
  for (let i = 0; i < nodes; i += 1)
    ports.push([await freePort(), await freePort(), await freePort(), await freePort()]);
  const cluster = `gcomm://${ports.map(([, group]) => `127.0.0.1:${group}`).join(',')}`;
  const started: Mariadb[] = [];
  try {
    for (const [i, [sql, group, increments, copies]] of ports.entries()) {
      const folder = makeData(tmpdir(), USER);
      const settings = [
        `--user=${USER}`,
        '--innodb-flush-log-at-trx-commit=2',
        '--binlog-format=ROW',
        '--innodb-autoinc-lock-mode=2',
        '--wsrep-on=ON',
        `--wsrep-provider=${PROVIDER}`,
        '--wsrep-cluster-name=postern',
        `--wsrep-cluster-address=${cluster}`,
        `--wsrep-node-name=node${i + 1}`,
        `--wsrep-node-address=127.0.0.1:${group}`,
        '--wsrep-sst-method=rsync',
        `--wsrep-sst-receive-address=127.0.0.1:${copies}`,
        `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${increments};ist.recv_bind=127.0.0.1:${increments};gcache.size=32M`,
      ];
      const node = { url: `mariadb://root@127.0.0.1:${sql}/`, pid: 0, folder, settings };
      const once = i === 0 ? ['--wsrep-new-cluster'] : [];
      started.push(await launch(node, once));
    }
    return started;
  } catch (error) {
    await stopGalera(started);
    throw error;
  }
}

/** Stops all nodes and deletes their data. */
export async function stopGalera(nodes: readonly Mariadb[]): Promise<void> {
  // One by one, and the last one last: a node that leaves tells the others.
  for (const node of nodes.toReversed()) await stopMariadb(node);
}
