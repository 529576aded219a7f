// Prints the bill of materials of what a gateway runs with, in CycloneDX: npm run -s sbom.

import process from 'node:process';
import { billOfMaterials } from './sbom.ts';

process.stdout.write(billOfMaterials());
