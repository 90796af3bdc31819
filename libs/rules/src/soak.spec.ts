import { describe, expect, it } from '@jest/globals';
import { compileRules } from './compile.js';
import { ALLOW_ALL, literal } from './first-rules.js';
import { question, rulesFrom, SHOP } from './spec-kit.js';

const MB = 2 ** 20;
const resident = (): number => process.memoryUsage().rss / MB;

describe('memory', () => {
  it('[POL-4] does not grow with publications or questions: 300 large sets, 20,000 questions', () => {
    const publish = (n: number): void => {
      const large = Array.from({ length: 4 }, (_, i) => `@id("r${i}") permit (principal, action, resource) when { context.dataClass == ${literal(`${n} ${'x'.repeat(50_000)}`)} };\n`).join('');
      const c = compileRules(ALLOW_ALL + large, SHOP);
      expect(c.ok && c.rules(question()).kind).toBe('allow');
    };
    for (let n = 0; n < 60; n++) publish(n); // beyond the pool: every place has been taken once
    const before = resident();
    for (let n = 60; n < 300; n++) publish(n);
    const published = resident();
    const rules = rulesFrom(ALLOW_ALL);
    for (let n = 0; n < 20_000; n++) if (rules(question({ attempts: n })).kind !== 'allow') throw new Error('not allowed');
    const asked = resident();
    process.stdout.write(`resident after 60 publications ${before.toFixed(0)} MB, after 300 ${published.toFixed(0)}, after 20,000 questions ${asked.toFixed(0)}\n`);
    expect(published - before).toBeLessThan(90); // with a name for each, about 0.8 MB stay behind per set
    expect(asked - published).toBeLessThan(60);
  }, 240_000);
});
