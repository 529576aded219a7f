// Writes the icons anew: npm run icons.

import { writeSheet } from './icons.ts';

writeSheet();
