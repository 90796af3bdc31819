import { describe, expect, it } from '@jest/globals';
import type { Json } from '@n17q/domain';
import { findCarrier, withoutCarriers } from './carriers.js';

describe('carriers', () => {
  it.each<[string, Json, string]>([
    ['camel case', { parts: [{ text: 'x' }, { thoughtSignature: 'A' }] }, '/parts/1/thoughtSignature'],
    ['snake case', { thought_signature: 'A' }, '/thought_signature'],
    ['other case', { a: { 'Thought-Signature': 1 } }, '/a/Thought-Signature'],
    ['signature', [{ type: 'thinking', signature: 'x' }], '/0/signature'],
    ['encrypted_content', { metadata: { encrypted_content: null } }, '/metadata/encrypted_content'],
    ['reasoning_details', { messages: [{ reasoning_details: [] }] }, '/messages/0/reasoning_details'],
    ['redacted_thinking as a key', { redacted_thinking: {} }, '/redacted_thinking'],
    ['redacted_thinking as a block', { content: [{ type: 'redacted_thinking', data: 'x' }] }, '/content/0/type'],
    ['extra_content.google', { tool_calls: [{ extra_content: { google: {} } }] }, '/tool_calls/0/extra_content/google'],
    ['previous_response_id', { previous_response_id: 'resp_1' }, '/previous_response_id'],
    ['a path that needs escapes', { 'a/b~c': { signature: 1 } }, '/a~1b~0c/signature'],
    ['the first of several', { z: { signature: 1 }, a: { signature: 2 }, signature: 3 }, '/z/signature'],
  ])('[CON-3] names the path of a carrier: %s', (_name, json, path) => {
    expect(findCarrier(json)).toBe(path);
    const { value, removed } = withoutCarriers(json);
    expect(removed.length).toBeGreaterThan(0);
    expect(findCarrier(value)).toBeUndefined();
  });

  it.each<[string, Json]>([
    ['text that looks like one', { text: '{"thoughtSignature":"AAAA"}' }],
    ['a list of names', ['thoughtSignature', 'signature']],
    ['another word', { signatures: 1, signed: true, google: { x: 1 }, extra_content: { other: 1 }, nested: { type: 'thinking', about: 'x' } }],
    ['a scalar', 'signature'],
  ])('[CON-3] lets pass %s', (_name, json) => {
    expect(findCarrier(json)).toBeUndefined();
    expect(withoutCarriers(json)).toEqual({ value: json, removed: [] });
  });

  it('[CON-3] finds a carrier at any depth', () => {
    let deep: Json = { signature: 1 };
    for (let i = 0; i < 50_000; i += 1) deep = [deep];
    expect(findCarrier(deep)).toMatch(/\/signature$/);
  });
});
