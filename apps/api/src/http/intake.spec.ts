import { describe, expect, it } from '@jest/globals';
import { CARRIER_FIELDS } from '@n17q/providers';
import { bodyFlaw, DEPTH_MAX } from './intake.js';

const nested = (field: string, value: unknown): unknown => field.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

describe('what a body may hold', () => {
  it.each(CARRIER_FIELDS)('[CON-3] refuses %s at any depth and says where', (field) => {
    const at = `/${field.split('.').join('/')}`;
    expect(bodyFlaw(nested(field, 'x'))).toMatchObject({ code: 'CARRIER_FIELD', facts: { path: at } });
    expect(bodyFlaw({ a: [{ b: nested(field, { deeper: 1 }) }] })).toMatchObject({ code: 'CARRIER_FIELD', facts: { path: `/a/0/b${at}` } });
  });

  it('[CON-3] never looks into text, and lets ordinary fields pass', () => {
    for (const body of [{ text: JSON.stringify({ thoughtSignature: 'x' }) }, { signatures: 1, type: 'thinking' }, { goal: 'signature' }, ['previous_response_id'], 'encrypted_content', null]) expect(bodyFlaw(body)).toBeUndefined();
  });

  it('bounds the depth before anything recursive sees it, and refuses half characters in texts and names', () => {
    const deep = (n: number): unknown => Array.from({ length: n }).reduce<unknown>((inner) => [inner], 1);
    expect(bodyFlaw(deep(DEPTH_MAX))).toBeUndefined();
    expect(bodyFlaw(deep(DEPTH_MAX + 1))).toMatchObject({ code: 'MALFORMED' });
    expect(bodyFlaw(deep(100_000))).toMatchObject({ code: 'MALFORMED' });
    expect(bodyFlaw({ 'a/b~': ['\udc00'] })).toMatchObject({ code: 'MALFORMED', facts: { path: '/a~1b~0/0' } });
    expect(bodyFlaw({ ['\ud800']: 1 })).toMatchObject({ code: 'MALFORMED' });
  });
});
