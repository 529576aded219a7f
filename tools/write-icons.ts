// Writes the sprite of icons anew: npm run icons.

import { writeSprite } from './icons.ts';

writeSprite();
