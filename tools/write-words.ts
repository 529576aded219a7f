// Takes the files that hold no retired word any more off the list of those that do.

import { writeFileSync } from 'node:fs';
import { filesWithRetiredWords, shortened, WORDS_LEFT, wordsLeft } from './words.ts';

const left = shortened(wordsLeft(), filesWithRetiredWords().keys());
writeFileSync(WORDS_LEFT, left.map((path) => `${path}\n`).join(''));
