// The names of identity providers: their labels, also where only the id is known.

import test from 'ava';
import { providerNames } from '../../../../lib/web/parts/provider-names.ts';

test('a provider has its label, by its method, and by its id where no other has it', async (t) => {
  const configuration = {
    openid_connect_providers: [
      { id: 'okta', label: 'Example Sign-In' },
      { id: 'both', label: 'One' },
    ],
    saml_identity_providers: [{ id: 'both', label: 'Other' }],
  };
  const recall = { refresh: async () => undefined, configuration: async () => configuration };
  const nameOf = await providerNames({ recall } as never);
  const methods = ['oidc/okta', 'okta', 'saml/okta', 'oidc/both', 'saml/both', 'both', 'gone'];
  t.deepEqual(methods.map(nameOf), [
    'Example Sign-In',
    'Example Sign-In',
    'okta',
    'One',
    'Other',
    'both',
    'gone',
  ]);
});
