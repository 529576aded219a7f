// What a supervisor receives, over real sockets of both kinds.

import { notify } from '../../../dataplane/io/notify.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { SupervisorSocket } from '../../support/gateway/supervisor-socket.ts';

nativeTest('a supervisor hears lines at a path and under an abstract name', async (t) => {
  for (const name of [undefined, `@postern-${process.pid}`]) {
    const receiver = await new SupervisorSocket(name).ready();
    t.teardown(() => receiver.close());
    notify(receiver.path, ['READY=1', 'STATUS=well']);
    t.is(await receiver.message(() => true), 'READY=1\nSTATUS=well');
  }
});

nativeTest('where nobody listens, or a path is too long, that is said', (t) => {
  t.throws(() => notify('/nonexistent/notify', ['READY=1']), { code: 'ENOENT' });
  t.throws(() => notify(`/${'x'.repeat(200)}`, ['READY=1']), { code: 'EINVAL' });
  t.throws(() => notify('', ['READY=1']), { code: 'EINVAL' });
});
