// Published test vectors of the primitives; hexadecimal.

/** RFC 7748, section 5.2: scalar, u-coordinate, result. */
export const x25519 = [
  {
    scalar: 'a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4',
    u: 'e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c',
    result: 'c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552',
  },
  {
    scalar: '4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d',
    u: 'e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493',
    result: '95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957',
  },
] as const;

/** RFC 7748, section 5.2: k and u begin as 9; u := old k, k := X25519(k, u). */
export const x25519Iterated = [
  { times: 1, result: '422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079' },
  { times: 1_000, result: '684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51' },
] as const;

/** RFC 7748, section 6.1: Alice, Bob and their shared secret. */
export const diffieHellman = {
  alicePrivate: '77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a',
  alicePublic: '8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a',
  bobPrivate: '5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb',
  bobPublic: 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f',
  shared: '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742',
} as const;

/**
 * The u-coordinates of low order on Curve25519 and its twist, as 32 bytes: 0, 1, two of order 8,
 * p - 1, and the same modulo p (https://cr.yp.to/ecdh.html, "Validate").
 */
export const lowOrderPoints = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
] as const;

/** RFC 7693, appendix B: BLAKE2s-256 of "abc". */
export const blake2sOfAbc = '508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982';

/** RFC 7693, appendix E: the hash of the hashes of all lengths, unkeyed and keyed. */
export const blake2sSelfTest = {
  digestLengths: [16, 20, 28, 32],
  inputLengths: [0, 3, 64, 65, 255, 1_024],
  result: '6a411f08ce25adcdfb02aba641451cec53c598b24f4fc787fbdc88797f4c1dfe',
} as const;

/** draft-irtf-cfrg-xchacha-03, appendix A.3.1. */
export const xchacha20poly1305 = {
  plaintext:
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
  ad: '50515253c0c1c2c3c4c5c6c7',
  key: '808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f',
  nonce: '404142434445464748494a4b4c4d4e4f5051525354555657',
  sealed:
    'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb' +
    '731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452' +
    '2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9' +
    '21f9664c97637da9768812f615c68b13b52e' +
    'c0875924c1c7987947deafd8780acf49',
} as const;
