// Writes docs/openapi.json out of the schemas, after a build. A spec of the contracts fails when they differ.
import { writeFileSync } from 'node:fs';
import { http } from '../libs/contracts/dist/index.js';

writeFileSync(new URL('../docs/openapi.json', import.meta.url), http.openApiText());
