// The list of gateways at the command line: who runs, who stopped, who is behind.

import test from 'ava';
import { currentRevision, newId, recordHeartbeat, registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

for (const kind of databaseKinds())
  test(`${kind}: each gateway is listed with its state`, async (t) => {
    const database = await openDatabase(t, kind);
    const enter = async (name: string, agoMs: number): Promise<string> => {
      const id = newId();
      await registerGateway(database, { id, name, startedAt: new Date(Date.now() - agoMs) });
      return id;
    };
    const list = () => runTyped(database, 'gateway list');
    t.deepEqual((await list()).data, []);
    await enter('gone', 3_600_000);
    const here = await enter('here', 0);
    await addUser(database);
    const states = async (): Promise<string[]> =>
      (await list()).text
        .split('\n')
        .slice(1)
        .map((line) => line.replace(/^\S+ +(\S+) +\S+ +\S+ +\d{4}-\S+ +/, '$1: '));
    t.deepEqual(await states(), ['gone: stopped', 'here: behind']);
    const appliedRevision = await currentRevision(database);
    await recordHeartbeat(database, here, { seenAt: new Date(), appliedRevision });
    t.deepEqual(await states(), ['gone: stopped', 'here: up to date']);
    const { data } = await list();
    const screen = { width: 80, isColoured: false, widthOf: (text: string) => text.length };
    const shown = (await list()).onScreen?.({ ...screen, nowMs: Date.now() }) ?? '';
    t.deepEqual(
      shown.split('\n').map((line) => line.split(/ {2,}/)[0]),
      ['ID', ...(data as { id: string }[]).map(({ id }) => id.slice(-8))],
    );
    t.true(shown.split('\n').every((line) => line.length <= 80));
    t.like((data as object[])[1], { id: here, name: 'here', running: true, up_to_date: true });
  });
