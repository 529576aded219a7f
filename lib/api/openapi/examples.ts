// Examples of requests in the document. The tests send every one of them; an id is the id of a
// record that an earlier example made.

/** A record that an example refers to; replace it by a real one before you send the example. */
export const EXAMPLE_ID = '0193a0c0-0000-7000-8000-000000000001';

/** What is sent in the wrapper, by wrapper. */
export const examples: Readonly<Record<string, { create?: object; update?: object }>> = {
  device: {
    create: {
      user_id: EXAMPLE_ID,
      name: 'laptop',
      public_key: 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=',
    },
    update: { description: 'in the office', use_default_mtu: false, mtu: 1400 },
  },
  user: {
    create: { email: 'alice@example.com', role: 'unprivileged' },
    update: { email: 'alice@example.org' },
  },
  rule: {
    create: {
      action: 'accept',
      destination: '10.0.0.0/8',
      port_type: 'tcp',
      port_range: '80 - 90',
    },
    update: { port_range: '443' },
  },
  explain: {
    create: { device_id: EXAMPLE_ID, destination: '10.0.0.6', protocol: 'tcp', port: 443 },
  },
  dry_run: {
    create: {
      method: 'POST',
      path: '/v0/rules',
      body: { rule: { action: 'drop', destination: '10.0.0.6' } },
    },
  },
  policy_test: {
    create: {
      name: 'Alice reaches the wiki',
      user_id: EXAMPLE_ID,
      destination: '10.0.0.5',
      protocol: 'tcp',
      port: 443,
      expect: 'accept',
    },
    update: { expect: 'drop' },
  },
  group: {
    create: { name: 'engineers', description: 'Who looks after the servers.' },
    update: { description: null },
  },
  members: { update: { add: [EXAMPLE_ID], remove: [] } },
  trusted_provider: { update: { trusted: true } },
  relink: { update: { everyone: true } },
  saml_metadata: { update: { refresh: true } },
  enrolment: { create: { hours: 48 } },
  api_token: { create: { name: 'backup', days: 30 } },
  configuration: {
    update: { default_client_dns: ['9.9.9.9'], vpn_session_duration: 86_400 },
  },
};
