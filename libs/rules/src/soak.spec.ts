import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { compileRules } from './compile.js';
import { ALLOW_ALL, literal } from './first-rules.js';
import { question, rulesFrom, SHOP } from './spec-kit.js';

const MB = 2 ** 20;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** After a forced collection, so that only what is kept counts. */
const resident = (): number => { collect(); collect(); return process.memoryUsage().rss / MB; };

describe('memory', () => {
  it('[POL-4] does not grow with publications or questions: 300 large sets, 20,000 questions', () => {
    const publish = (n: number): void => {
      const large = Array.from({ length: 4 }, (_, i) => `@id("r${i}") permit (principal, action, resource) when { context.dataClass == ${literal(`${n} ${'x'.repeat(10_000)}`)} };\n`).join('');
      const c = compileRules(ALLOW_ALL + large, SHOP);
      expect(c.ok && c.rules(question()).kind).toBe('allow');
    };
    const before = resident();
    for (let n = 0; n < 300; n++) publish(n);
    const published = resident();
    const rules = rulesFrom(ALLOW_ALL);
    for (let n = 0; n < 20_000; n++) if (rules(question({ attempts: n })).kind !== 'allow') throw new Error('not allowed');
    const asked = resident();
    process.stdout.write(`resident at first ${before.toFixed(0)} MB, after 300 ${published.toFixed(0)}, after 20,000 questions ${asked.toFixed(0)}\n`);
    expect(published - before).toBeLessThan(250); // it levels off; that names are used again is held by another test, exactly
    expect(asked - published).toBeLessThan(120);
  }, 240_000);
});
