// Loaded before the program: it then knows one more migration than it has, as a later version does,
// so that an upgrade can be tested while there is one schema.

import { type Migration, migrations } from '../../../models/migrations/index.ts';
import { createTable } from '../../../models/migrations/schema.ts';

(migrations as Migration[]).push({
  name: '9999-later',
  up: (database) => createTable(database, 'later', { columns: { id: { type: 'INTEGER' } } }),
});
