import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonical, digestOf, eventDigest } from './digest.js';

/** Also what JSON.stringify would drop or rewrite, and texts that have no canonical form. */
const anything = fc.anything({ withDate: true, withBoxedValues: true, withNullPrototype: true, maxDepth: 4, key: fc.oneof(fc.string(), fc.constantFrom('toJSON', '\u20ac', '\r', '1', 'b', 'a')), values: [fc.string({ unit: 'binary' }), fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant(undefined), fc.constant('\ud800')] });
const outcome = (f: () => unknown): unknown => { try { return f() ?? 'none'; } catch { return 'refused'; } };

describe('canonical JSON', () => {
  it('[SEAL-8] is the text of the library for every value, or is refused where the library refuses', () => {
    fc.assert(fc.property(anything, (v) => { expect(outcome(() => canonical(v))).toBe(outcome(() => canonicalize(v) ?? (() => { throw new Error(); })())); }), { numRuns: 3000 });
  });
  it('[SEAL-8] orders members by UTF-16 code units and writes numbers as RFC 8785 says', () => {
    expect(canonical({ '\u20ac': 'Euro', '\r': 'CR', '\ufb33': 'Dalet', '1': 'One', '\ud83d\ude00': 'Smile', '\u0080': 'Control', '\u00f6': 'ö' })).toBe('{"\\r":"CR","1":"One","\u0080":"Control","ö":"ö","€":"Euro","\ud83d\ude00":"Smile","\ufb33":"Dalet"}');
    expect(canonical([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0])).toBe('[333333333.3333333,1e+30,4.5,0.002,1e-27,0]');
  });
  it('[RUN-1, SEAL-8] an event is digested over the canonical text of all that it says', () => {
    const e = { tenant: 't', stream: 'run/r', revision: 3, eventId: 'e', type: 'plan.changed', schemaVersion: 1, data: { steps: ['b', 'ä"\\'] }, writer: 'api', actor: { kind: 'person', id: 'ann' }, correlation: 'c', causation: null, segment: 0, appendId: 'a', recordedAt: 5, previous: '' };
    expect(eventDigest(e as never)).toBe(digestOf({ v: 1, ...e }));
  });
});
