// Lets a plain Node import the projects' TypeScript as it stands, as the tests' own loader does: nothing of an older build is ever simulated.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';

const root = join(import.meta.dirname, '..', '..');
const OWN = /^@n17q\/([a-z-]+)$/;
const options = {
  module: { type: 'es6' }, sourceMaps: 'inline',
  jsc: { target: 'es2023', keepClassNames: true, parser: { syntax: 'typescript', decorators: true }, transform: { legacyDecorator: true, decoratorMetadata: true } },
};

registerHooks({
  resolve(specifier, context, next) {
    const project = OWN.exec(specifier)?.[1];
    if (project !== undefined) return { url: pathToFileURL(join(root, 'libs', project, 'src', 'index.ts')).href, shortCircuit: true };
    if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
      const source = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL);
      if (existsSync(source)) return { url: source.href, shortCircuit: true };
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!url.endsWith('.ts')) return next(url, context);
    const path = fileURLToPath(url);
    return { format: 'module', source: transformSync(readFileSync(path, 'utf8'), { ...options, filename: path, swcrc: false }).code, shortCircuit: true };
  },
});
