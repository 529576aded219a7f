// What an administrator pastes at an identity provider: our addresses for one entry. They contain
// `{id}` while the entry has no id yet.

import type { Config } from '../../../config/index.ts';
import { redirectUriOf } from '../../auth/oidc/sign-in.ts';
import { addressesOf } from '../../auth/saml/service-provider.ts';
import type { OpenidConnectProvider, SamlIdentityProvider } from '../../../models/index.ts';

/** One line: what providers call it, and the text to paste. */
export interface Pasted {
  readonly label: string;
  readonly value: string;
}

type Entry = Partial<OpenidConnectProvider & SamlIdentityProvider>;
type Settings = Pick<Config, 'externalUrl' | 'samlEntityId'>;

const NO_ID = '{id}';

/** Our addresses for an entry of a kind, which may have no id yet. */
export function addressesToPaste(
  kind: 'oidc' | 'saml',
  entry: Entry,
  settings: Settings,
): Pasted[] {
  const lines = kind === 'oidc' ? ofOidc(entry, settings) : ofSaml(entry, settings);
  return lines.map(([label, value]) => ({
    label,
    value: entry.id === undefined ? value.replaceAll(encodeURIComponent(NO_ID), NO_ID) : value,
  }));
}

type Line = readonly [label: string, value: string];

function ofOidc({ id = NO_ID, redirect_uri = null }: Entry, { externalUrl }: Settings): Line[] {
  const provider = { id, redirect_uri };
  return [
    ['Redirect address (redirect URI, callback)', redirectUriOf(provider, externalUrl)],
    ['Post-logout address (post-logout redirect URI)', externalUrl],
    ['Sign-in address (initiate login URI)', `${externalUrl}auth/oidc/${encodeURIComponent(id)}`],
  ];
}

function ofSaml({ id = NO_ID, base_url }: Entry, settings: Settings): Line[] {
  const base = base_url ?? `${settings.externalUrl}auth/saml`;
  const { consume, metadata, logout } = addressesOf({ id, base_url: base });
  return [
    ['Metadata (most providers need this link alone)', metadata],
    ['Entity ID (audience, identifier)', settings.samlEntityId],
    ['ACS (assertion consumer service, reply URL)', consume],
    ['Single logout address', logout],
  ];
}
