// What tests send and what comes back: what the test gateway gives everybody.

export * from '../../../lib/testing/requests.ts';
