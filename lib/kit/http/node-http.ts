// Node's HTTP. An `import` of `node:http` reads every member of it, and three of them load what is
// behind `fetch`: 0.05 s of CPU for each command and each start, and most of them fetch nothing.

import process from 'node:process';

/** What is used here of it. */
export const { createServer, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http');
