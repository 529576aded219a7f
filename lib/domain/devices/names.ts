// Names for devices that come without one. They are names of WireGuard configurations too: 1 to 15
// characters of a-z and `-`, so that a client file can be called by it. docs/api.md#devices.

import { randomInt } from 'node:crypto';

// Seven letters and seven, with the hyphen between them, are fifteen.
const QUALITIES =
  'agile amber ample azure blue bold brave breezy bright bronze calm candid cheery clever copper ' +
  'coral cosy crisp curly daring deep early eager easy fair fancy fast fine fleet fond fresh ' +
  'gentle gilded glad golden grand green happy hardy hasty honest humble ivory jolly keen kind ' +
  'lively loyal lucky mellow merry mighty mild modest neat nimble noble olive patient placid ' +
  'polite proud quick quiet rapid ready rosy ruby rustic scarlet serene sharp shiny silent ' +
  'silver simple sleek smart smooth snowy solid spry steady stout sturdy sunny swift tidy ' +
  'tender tranquil upbeat velvet vivid warm wise witty young zesty';
const ANIMALS =
  'badger bear beaver bee bison bobcat camel caribou cat cheetah cicada condor coyote crane ' +
  'cricket crow deer dingo dolphin donkey dove duck eagle egret elk falcon ferret finch firefly ' +
  'fox frog gazelle gecko giraffe goat goose gopher hamster hare hawk hedge heron hippo horse ' +
  'ibex ibis iguana impala jackal jaguar kestrel kiwi koala lark lemur leopard lion lizard llama ' +
  'lynx magpie marmot marten meerkat mole moose moth mouse newt ocelot orca oriole osprey otter ' +
  'owl oyster panda panther parrot pelican penguin pigeon plover pony puffin puma quail rabbit ' +
  'raccoon raven robin salmon seal shrew skunk sloth snail sparrow spider squid stork swan ' +
  'tapir tern thrush tiger toad toucan trout turtle viper vole walrus weasel whale wolf wombat ' +
  'wren yak zebra';

const qualities = QUALITIES.split(' ').filter((word) => word.length <= 7);
const animals = ANIMALS.split(' ').filter((word) => word.length <= 7);

/** So often two words are tried: an owner may have all pairs of them, after an import. */
const PAIRS_TRIED = 64;

/** Makes a name that is not among the given ones. */
export function generateName(taken: ReadonlySet<string>): string {
  for (let tried = 0; ; tried += 1) {
    const name =
      tried < PAIRS_TRIED ? `${pick(qualities)}-${pick(animals)}` : `device-${randomLetters(8)}`;
    if (!taken.has(name)) return name;
  }
}

function randomLetters(count: number): string {
  return Array.from({ length: count }, () => String.fromCodePoint(97 + randomInt(26))).join('');
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] ?? 'device';
}
