// The chaining key and the hash of a handshake, against the definitions of the paper (5.4).

import { hmac } from '@noble/hashes/hmac.js';
import { blake2s } from '@noble/hashes/blake2.js';
import test from 'ava';
import { SymmetricState } from '../../../dataplane/noise/symmetric-state.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { concat, counting } from '../../support/dataplane/packets.ts';
import { ikpsk2 } from '../../vectors/noise.ts';

const encoder = new TextEncoder();
const responder = counting(32, 7);

function kdf(ck: Uint8Array, input: Uint8Array): [Uint8Array, Uint8Array, Uint8Array] {
  const secret = hmac(blake2s, ck, input);
  const first = hmac(blake2s, secret, new Uint8Array([1]));
  const second = hmac(blake2s, secret, concat(first, new Uint8Array([2])));
  return [first, second, hmac(blake2s, secret, concat(second, new Uint8Array([3])))];
}

for (const [name, primitives] of implementations) {
  const begun = (): SymmetricState => {
    const state = new SymmetricState(primitives);
    state.initialize(responder);
    return state;
  };

  test(`${name}: it begins with the construction, the identifier and the responder's key`, (t) => {
    const ck = blake2s(encoder.encode('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s'));
    const h = blake2s(concat(ck, encoder.encode('WireGuard v1 zx2c4 Jason@zx2c4.com')));
    const state = begun();
    t.deepEqual(state.ck, ck);
    t.deepEqual(state.h, blake2s(concat(h, responder)));
  });

  test(`${name}: token by token it makes the handshake of a published vector`, (t) => {
    const state = new SymmetricState(primitives);
    const [first, second, there, back] = ikpsk2.messages;
    const shared = new Uint8Array(32);
    const mixSecret = (privateKey: string, publicKey: string, mix: 'mixKey' | 'mixChain'): void => {
      t.true(primitives.sharedSecret(shared, fromHex(privateKey), fromHex(publicKey)));
      state[mix](shared);
    };
    const publicOf = (privateKey: string): string => {
      const out = new Uint8Array(32);
      primitives.publicKey(out, fromHex(privateKey));
      return toHex(out);
    };
    const sealed = (payload: string): string => {
      const out = new Uint8Array(payload.length / 2 + 16);
      state.encryptAndHash(out, fromHex(payload));
      return toHex(out);
    };
    const { initiatorStatic, initiatorEphemeral, responderEphemeral } = ikpsk2;
    const responderStatic = ikpsk2.responderStaticPublic;
    state.ck.set(blake2s(encoder.encode('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s')));
    state.h.set(state.ck);
    state.mixHash(fromHex(ikpsk2.prologue));
    state.mixHash(fromHex(responderStatic));
    // -> e, es, s, ss
    const e = publicOf(initiatorEphemeral);
    state.mixChain(fromHex(e));
    state.mixHash(fromHex(e));
    mixSecret(initiatorEphemeral, responderStatic, 'mixKey');
    const s = sealed(publicOf(initiatorStatic));
    mixSecret(initiatorStatic, responderStatic, 'mixKey');
    t.is(e + s + sealed(first.payload), first.text);
    // <- e, ee, se, psk
    const re = publicOf(responderEphemeral);
    state.mixChain(fromHex(re));
    state.mixHash(fromHex(re));
    mixSecret(responderEphemeral, e, 'mixChain');
    mixSecret(responderEphemeral, publicOf(initiatorStatic), 'mixChain');
    state.mixKeyAndHash(fromHex(ikpsk2.presharedKey));
    t.is(re + sealed(second.payload), second.text);
    const [send, receive] = [new Uint8Array(32), new Uint8Array(32)];
    state.split(send, receive);
    for (const [key, { payload, text }] of [
      [send, there],
      [receive, back],
    ] as const) {
      const out = new Uint8Array(text.length / 2);
      primitives.seal(out, key, new Uint8Array(12), fromHex(payload), new Uint8Array(0));
      t.is(toHex(out), text);
    }
  });

  test(`${name}: mixHash takes data into the hash alone`, (t) => {
    const state = begun();
    const { ck, h } = { ck: state.ck.slice(), h: state.h.slice() };
    state.mixHash(counting(5));
    t.deepEqual(state.h, blake2s(concat(h, counting(5))));
    t.deepEqual(state.ck, ck);
  });

  test(`${name}: mixChain takes data into the chaining key alone`, (t) => {
    const state = begun();
    const { ck, h } = { ck: state.ck.slice(), h: state.h.slice() };
    state.mixChain(counting(32));
    t.deepEqual(state.ck, kdf(ck, counting(32))[0]);
    t.deepEqual(state.h, h);
  });

  test(`${name}: mixKeyAndHash takes the second output into the hash`, (t) => {
    const state = begun();
    const { ck, h } = { ck: state.ck.slice(), h: state.h.slice() };
    state.mixKeyAndHash(counting(32));
    const [first, second] = kdf(ck, counting(32));
    t.deepEqual(state.ck, first);
    t.deepEqual(state.h, blake2s(concat(h, second)));
  });

  test(`${name}: what one side encrypts the other decrypts, and both hash the same`, (t) => {
    const [ours, theirs] = [begun(), begun()];
    ours.mixKey(counting(32));
    theirs.mixKey(counting(32));
    const sealed = new Uint8Array(12 + 16);
    ours.encryptAndHash(sealed, counting(12, 50));
    const opened = new Uint8Array(12);
    t.true(theirs.decryptAndHash(opened, sealed));
    t.deepEqual(opened, counting(12, 50));
    t.deepEqual(ours.h, theirs.h);
  });

  test(`${name}: a text that was tampered with leaves the hash alone`, (t) => {
    const [ours, theirs] = [begun(), begun()];
    ours.mixKey(counting(32));
    theirs.mixKey(counting(32));
    const sealed = new Uint8Array(12 + 16);
    ours.encryptAndHash(sealed, counting(12, 50));
    sealed[3]! ^= 1;
    const before = theirs.h.slice();
    t.false(theirs.decryptAndHash(new Uint8Array(12), sealed));
    t.deepEqual(theirs.h, before);
  });

  test(`${name}: a text belongs to the hash under which it was made`, (t) => {
    const [ours, theirs] = [begun(), begun()];
    ours.mixKey(counting(32));
    theirs.mixKey(counting(32));
    theirs.mixHash(counting(1));
    const sealed = new Uint8Array(16);
    ours.encryptAndHash(sealed, new Uint8Array(0));
    t.false(theirs.decryptAndHash(new Uint8Array(0), sealed));
  });

  test(`${name}: split gives two keys and forgets everything`, (t) => {
    const state = begun();
    const [first, second] = kdf(state.ck, new Uint8Array(0));
    const [a, b] = [new Uint8Array(32), new Uint8Array(32)];
    state.split(a, b);
    t.deepEqual(a, first);
    t.deepEqual(b, second);
    t.true(concat(state.ck, state.h).every((byte) => byte === 0));
  });

  test(`${name}: a copy goes on without the original`, (t) => {
    const state = begun();
    const copy = new SymmetricState(primitives);
    copy.copyFrom(state);
    t.deepEqual([copy.ck, copy.h], [state.ck, state.h]);
    const before = state.ck.slice();
    copy.mixChain(counting(32));
    t.deepEqual(state.ck, before);
  });
}

function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
