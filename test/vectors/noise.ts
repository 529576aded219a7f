// A published test vector of Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s: the one of that name among the
// vectors of cacophony (https://github.com/centromere/cacophony), which other implementations of
// Noise test with as well. Hexadecimal.

/** Prologue, keys, and the messages in order: both of the handshake, then one each way. */
export const ikpsk2 = {
  prologue: '4a6f686e2047616c74',
  presharedKey: '54686973206973206d7920417573747269616e20706572737065637469766521',
  initiatorStatic: 'e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1',
  initiatorEphemeral: '893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a',
  responderStatic: '4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893',
  responderStaticPublic: '31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62',
  responderEphemeral: 'bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b',
  messages: [
    {
      payload: '4c756477696720766f6e204d69736573',
      text: 'ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944001e21de9f98ddd8e2ad57527207feb56253c9c94a9e496782ecfcb2a75fbcaf1b52948cc48daefe660c62119ab5000980c84831215f2441eba616548e832985464cf17e51ee93109008399a21f7e13f',
    },
    {
      payload: '4d757272617920526f746862617264',
      text: '95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843cb765f2caef0751b8f007572dab0322217755c0632f365717edbf34d33e87a',
    },
    {
      payload: '462e20412e20486179656b',
      text: '8153ca9833bc3c1b91a7e66e5f4d4f5b59bf9e64c2f20d15f0bba7',
    },
    {
      payload: '4361726c204d656e676572',
      text: '07af0c9c86e1b4e80f36b04ff7688d51141af3debd0332f0a705ef',
    },
  ],
} as const;
