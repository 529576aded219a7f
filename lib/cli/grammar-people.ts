// A part of the grammar: people: administrators, users, groups, tokens and identity providers.

import type { Entry } from './options.ts';

/** Commands by their words. */
export const peopleCommands = {
  'admin create-or-reset': {
    line: 'Makes an administrator, or lets one in again.',
    usage: 'EMAIL [--password-stdin] [--reset-mfa]',
    sentence:
      'Makes an administrator, or enables one and gives them a new password; prints it unless it came by standard input. Ends the wait after failed sign-ins and switches signing in by password on; --reset-mfa also takes their second factors away.',
    takes: ['email', 'password-stdin', 'reset-mfa', 'json'],
    needs: ['email'],
  },
  'user create': {
    line: 'Makes a user.',
    usage: 'EMAIL [--name N] [--role R] [--password-stdin | --no-password]',
    sentence:
      'Makes a user, unprivileged unless --role admin. Makes up a password and prints it, unless a password came by standard input or the user is to have none.',
    takes: ['email', 'name', 'role', 'password-stdin', 'no-password', 'json'],
    needs: ['email'],
  },
  'user enrol': {
    line: 'Makes one-time links for users.',
    usage:
      '[EMAIL | --file F] [--create-user] [--group G[,G]] [--force] [--hours N] [--mail] [--csv]',
    sentence:
      'Makes a one-time link by which a user chooses a password and adds a device, good for 1 to 336 hours, 72 by default, and prints it. With --create-user a user who is not there is made. With --file (- for standard input) for everybody in a list of e-mails, the first column of a CSV file; users who are not there are made, a column with the heading name says what they are called, and one with the heading groups puts people into these groups, with | between. With --group all of them join a group, or several with commas between; a policy test that would fail holds it up unless --force is given. With --mail the links also go out by e-mail; ends with 1 when one did not.',
    operands: [0, 1],
    takes: ['file', 'create-user', 'group', 'force', 'hours', 'mail', 'csv', 'json'],
  },
  'user list': {
    line: 'Lists users.',
    usage: '',
    sentence:
      'Lists users: id, e-mail, role, whether they are enabled, locked or over their quota, and the last sign-in.',
    takes: ['watch', 'json'],
  },
  'user set-password': {
    line: 'Gives a user a new password.',
    usage: 'EMAIL [--password-stdin]',
    sentence:
      'Gives a user a new password and prints it unless it came by standard input; their sessions end, and so does a wait after wrong passwords.',
    takes: ['email', 'password-stdin', 'json'],
    needs: ['email'],
  },
  'user unlock': {
    line: 'Ends the wait after wrong passwords.',
    usage: 'EMAIL',
    sentence:
      'Ends the wait of a user after wrong passwords (15 minutes) or codes (up to 24 hours).',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'user enable': {
    line: 'Lets a user in again.',
    usage: 'EMAIL',
    sentence: 'Lets a user in again.',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'user disable': {
    line: 'Locks a user out, with all devices.',
    usage: 'EMAIL [--dry-run]',
    sentence:
      'Disables a user: devices pass no packet, tokens are void. --dry-run says what that would end, and disables nobody.',
    takes: ['email', 'dry-run', 'json'],
    needs: ['email'],
  },
  'user limit': {
    line: 'Sets speeds and a quota of a user.',
    usage: 'EMAIL [--down SPEED] [--up SPEED] [--quota AMOUNT] [--dry-run]',
    sentence:
      'Limits what each device of a user gets (--down) and sends (--up), 50Mbit/s or bits per second, and what all of them carry in a calendar month (--quota), 100GB or bytes; `none` removes a limit; then the default applies. --dry-run says which flows a quota would end, and changes nothing.',
    takes: ['email', 'down', 'up', 'quota', 'dry-run', 'json'],
    needs: ['email'],
  },
  'user rename': {
    line: 'Says what a user is called.',
    usage: 'EMAIL NAME',
    sentence:
      'Sets the name of a user, which is shown beside the e-mail; `none` removes it, and then a provider may say it again.',
    takes: ['email', 'name', 'json'],
    needs: ['email', 'name'],
  },
  'user set-role': {
    line: 'Makes a user an administrator, or none.',
    usage: 'EMAIL ROLE',
    sentence: 'Makes a user an administrator (admin), or takes that away (unprivileged).',
    takes: ['email', 'role', 'json'],
    needs: ['email', 'role'],
  },
  'user delete': {
    line: 'Deletes a user for good.',
    usage: 'EMAIL [--dry-run]',
    sentence:
      'Deletes a user, with devices, rules, tokens and sessions, for good. --dry-run says what that would end, and deletes nothing.',
    takes: ['email', 'dry-run', 'json'],
    needs: ['email'],
  },
  'user reset-mfa': {
    line: 'Takes all second factors from a user.',
    usage: 'EMAIL',
    sentence: 'Takes all second factors from a user who lost them, and signs them out.',
    takes: ['email', 'json'],
    needs: ['email'],
  },
  'group list': {
    line: 'Lists groups.',
    usage: '[--email E]',
    sentence: 'Lists groups of users, all of them or those that one user is in.',
    takes: ['email', 'watch', 'json'],
  },
  'group create': {
    line: 'Makes a group.',
    usage: 'NAME [--description D]',
    sentence: 'Makes a group of users, whom rules can name together, and prints its id.',
    takes: ['name', 'description', 'json'],
    needs: ['name'],
  },
  'group update': {
    line: 'Changes name or description of a group.',
    usage: 'GROUP [--name N] [--description D]',
    sentence:
      'Changes the name or the description of a group. Members and rules stay. Entries of identity providers that name the group get the new name.',
    takes: ['group', 'name', 'description', 'json'],
    needs: ['group'],
  },
  'group delete': {
    line: 'Removes a group with its rules.',
    usage: 'GROUP [--dry-run]',
    sentence:
      'Removes a group with its rules; its users stay. A group is named by its id or name. --dry-run says what that would end, and removes nothing.',
    takes: ['group', 'dry-run', 'json'],
    needs: ['group'],
  },
  'group members': {
    line: 'Lists the members of a group.',
    usage: 'GROUP',
    sentence:
      'Lists the members of a group, and who says so: an administrator (manual) or a provider.',
    takes: ['group', 'watch', 'json'],
    needs: ['group'],
  },
  'group add': {
    line: 'Makes users members of a group.',
    usage: 'GROUP USER... [--force] [--dry-run]',
    sentence:
      'Makes users members of a group, all of them or none. A user is called by e-mail or id, and is in 16 groups at most. If a policy test would fail because of it, the command needs --force. --dry-run says what that would end, and changes nothing.',
    takes: ['group', 'force', 'dry-run', 'json'],
    needs: ['group'],
    operands: [1, 1_000],
  },
  'group remove': {
    line: 'Ends memberships in a group.',
    usage: 'GROUP USER... [--dry-run]',
    sentence:
      'Ends the membership of users in a group, of all of them or of none. --dry-run says what that would end, and changes nothing.',
    takes: ['group', 'dry-run', 'json'],
    needs: ['group'],
    operands: [1, 1_000],
  },
  'token create': {
    line: 'Makes an API token.',
    usage: 'EMAIL NAME [--days D] [--scopes S]',
    sentence:
      'Makes an API token of a user and prints it; 1 to 365 days, 90 by default. Scopes: admin (all rights, the default), read (no secrets), metrics, capture; with commas between.',
    takes: ['email', 'name', 'days', 'scopes', 'json'],
    needs: ['email', 'name'],
  },
  'token list': {
    line: 'Lists API tokens.',
    usage: '[--email E]',
    sentence: 'Lists API tokens, never their secret.',
    takes: ['email', 'watch', 'json'],
  },
  'token revoke': {
    line: 'Makes an API token void.',
    usage: 'ID',
    sentence: 'Makes an API token void at the next request.',
    takes: ['json'],
    operand: true,
  },
  'token make-bootstrap': {
    line: 'Makes a value for BOOTSTRAP_API_TOKEN.',
    usage: '',
    sentence:
      'Makes a random token for the setting BOOTSTRAP_API_TOKEN and prints it. It opens nothing before a gateway starts with it.',
    takes: ['json'],
    isAlone: true,
  },
  'provider list': {
    line: 'Lists identity providers.',
    usage: '',
    sentence: 'Lists identity providers, and whose word on e-mail addresses is trusted.',
    takes: ['watch', 'json'],
  },
  'provider trust': {
    line: 'Trusts the e-mail addresses of a provider.',
    usage: 'oidc/ID|saml/ID',
    sentence:
      'Trusts an identity provider with e-mail addresses: by them alone it may be linked to administrators and to users with a password. Only for a provider where nobody can give themselves the address of somebody else.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider distrust': {
    line: 'Trusts them no longer.',
    usage: 'oidc/ID|saml/ID',
    sentence: 'Trusts an identity provider no longer; accounts that are linked stay linked.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider show': {
    line: 'Shows the metadata of a SAML provider.',
    usage: 'saml/ID',
    sentence:
      'Shows what is known of the metadata that are fetched from the address of a SAML provider, and which certificates serve.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider refresh': {
    line: 'Fetches the metadata of a SAML provider.',
    usage: 'saml/ID',
    sentence: 'Fetches the metadata of a SAML provider from its address at once.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider drop-certificate': {
    line: 'Makes old certificates of a provider void.',
    usage: 'saml/ID',
    sentence:
      'Makes certificates void at once that the metadata of a SAML provider no longer hold: for a certificate whose key was stolen. Refresh first.',
    takes: ['id', 'json'],
    needs: ['id'],
  },
  'provider relink': {
    line: 'Lets users be linked anew.',
    usage: 'oidc/ID|saml/ID --email E|--everyone',
    sentence:
      'Lets a user, or everybody who is linked through an identity provider, be linked anew within 7 days by the next sign-in with their e-mail: for a provider that changed its issuer or NameID format. Administrators are left out.',
    takes: ['id', 'email', 'everyone', 'json'],
    needs: ['id'],
  },
} as const satisfies Record<string, Entry>;
