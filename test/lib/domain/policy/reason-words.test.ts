// Each reason that a page shows has one sentence, and each sentence has one reason.

import test from 'ava';
import { reasonNames } from '../../../../dataplane/index.ts';
import {
  isOfDevices,
  isOfPackets,
  reasonInWords,
  refusalReasons,
} from '../../../../lib/domain/policy/reason-words.ts';

/** A sentence begins with a capital, ends with a full stop, and holds no name of a counter. */
const SENTENCE = /^[A-Z“](?!.*[a-z]_[a-z]).*[^.]\.$/s;

test('every reason of the data plane has a sentence of its own', (t) => {
  const names = reasonNames.filter((name) => name !== 'none');
  const sentences = names.map(reasonInWords);
  for (const [i, sentence] of sentences.entries()) {
    t.regex(sentence, SENTENCE, names[i]);
    t.true(sentence.split(' ').length > 3, `${names[i]}: ${sentence}`);
    t.not(sentence, `${names[i]?.replaceAll('_', ' ')}.`, 'the name is no sentence');
  }
  t.is(new Set(sentences).size, names.length, 'no two reasons have the same sentence');
});

test('an unknown name is shown as it is', (t) => {
  t.is(reasonInWords('some_new_reason'), 'some new reason.');
  t.is(reasonInWords('toString'), 'toString.');
  t.is(reasonInWords('none'), 'none.');
});

test('packets of strangers and of the host are distinguished from packets of devices', (t) => {
  for (const name of ['inner_tcp_malformed', 'rule_drop', 'default_drop', 'flows_share'])
    t.true(isOfDevices(name), name);
  for (const name of ['no_peer', 'mac1_invalid', 'malformed_message', 'initiation_unknown_peer'])
    t.false(isOfDevices(name), name);
});

test('packets inside the tunnel are refused for reasons of both directions', (t) => {
  for (const name of ['rule_drop', 'no_peer', 'peer_elsewhere', 'staged_expired', 'no_tun'])
    t.true(isOfPackets(name), name);
  for (const name of ['mac1_invalid', 'initiation_unknown_peer', 'tun_read_failed'])
    t.false(isOfPackets(name), name);
});

test('no packet is refused for no reason', (t) => {
  t.true(refusalReasons.length > 50);
  t.false(refusalReasons.includes('none'));
});
