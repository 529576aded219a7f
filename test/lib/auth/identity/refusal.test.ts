// Refusals: what people read, and the texts that clients of the original know.

import test from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';

test('a refusal has a word for the log and a sentence for the person', (t) => {
  const refusal = new ProviderRefusal('answer_invalid', 'nonce');
  t.is(refusal.message, 'answer_invalid: nonce');
  t.is(refusal.reason, 'answer_invalid');
  t.regex(refusal.text, /^[A-Z].*\.$/);
  t.false(refusal.text.includes('nonce'));
  t.is(refusal.blamed, 'provider');
});

test('the text for an unknown user is the one of docs/api.md#sign-in', (t) => {
  const { text, blamed } = new ProviderRefusal('user_unknown');
  t.is(
    text,
    'Error signing in: user not found and auto_create_users disabled. That means: nobody here has your e-mail address. Please ask an administrator to add you.',
  );
  t.is(blamed, 'person');
});
