import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './stack/places.js';

export const productVersion = (): string => (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
