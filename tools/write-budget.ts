// Makes what the last `npm run test:all` took the budget of the next ones: npm run budget.

import { resolve } from 'node:path';
import { writeBudget } from '../test/support/report/budget.ts';
import { readRooms } from '../test/support/report/seconds-table.ts';

const SECONDS = resolve(import.meta.dirname, '../test/artefacts/seconds');

writeBudget(readRooms(SECONDS));
