import { describe, expect, it } from '@jest/globals';
import type { Interpretation } from '../adapter.js';
import { scrubbed } from '../scrub.js';
import { geminiAdapter } from './adapter.js';

const adapter = geminiAdapter();
function read(body: string | Uint8Array, status = 200, headers = {}): Interpretation {
  return adapter.interpret({ kind: 'answered', status, headers, body: Buffer.from(body as string) }, { generation: 'g', newCallId: (i) => `c${i}`, offered: ['f'] });
}
const answer = (parts: string, more = ''): string => `{"candidates":[{"content":{"role":"model","parts":${parts}},"finishReason":"STOP"}]${more}}`;
const piecesOf = (of: Interpretation): string[] => (of.kind === 'accepted' ? of.pieces.map((piece) => `${piece.partIndex} ${piece.placement} ${Buffer.from(piece.bytes).toString()}`) : []);

describe('interpretation', () => {
  it('[CON-1] keeps the token of a signature exactly as it came', () => {
    const read1 = read(answer('[ {"functionCall":{"name":"f","args":{"a":[1,{"thoughtSignature":"no"}]}} , "thoughtSignature" : "A\\/\\u002b=" }, {"functionCall":{"name":"f"}} ]'));
    expect(piecesOf(read1)).toEqual(['0 side "A\\/\\u002b="']);
    expect(read1).toMatchObject({ parts: [{ kind: 'call', callId: 'c0', args: { a: [1, { thoughtSignature: 'no' }] } }, { kind: 'call', args: {} }] });
  });
  it('[CON-1] [RUN-5] keeps thoughts, signed empty text and unknown parts whole, and apart from what is read', () => {
    const of = read(answer('[{ "text":"secret thought" ,"thought":true},{"text":"a","thought":false},{"text":"","thoughtSignature":"QQ=="},{"inlineData":{"data":"AA"}},{"text":""},{"text":"x","brandNew":1}]'));
    expect(of).toMatchObject({ kind: 'accepted', parts: [{ kind: 'opaque' }, { kind: 'text', text: 'a' }, { kind: 'opaque' }, { kind: 'opaque' }, { kind: 'text', text: '' }, { kind: 'opaque' }] });
    expect(piecesOf(of)).toEqual(['0 part { "text":"secret thought" ,"thought":true}', '2 part {"text":"","thoughtSignature":"QQ=="}', '3 part {"inlineData":{"data":"AA"}}', '5 part {"text":"x","brandNew":1}']);
    expect(JSON.stringify({ ...of, pieces: [] })).not.toContain('secret');
  });
  it('takes the last of equal keys, as the parse does', () => {
    expect(piecesOf(read(answer('[{"text":"a","thoughtSignature":"AA==","thoughtSignature":"QQ=="}]')))).toEqual(['0 side "QQ=="']);
  });
  it.each([
    ['not JSON', '{"candidates":', 'INVALID_JSON'], ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'INVALID_JSON'], ['a scalar', '1', 'INVALID_JSON'], ['empty', '', 'INVALID_JSON'],
    ['no candidates', '{}', 'NO_CANDIDATE'], ['an empty list', '{"candidates":[]}', 'NO_CANDIDATE'], ['two candidates', '{"candidates":[{},{}]}', 'SEVERAL_CANDIDATES'],
    ['no finish reason', '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}', 'NO_TERMINAL_MARKER'],
    ['an empty finish reason', '{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":""}]}', 'NO_TERMINAL_MARKER'],
  ])('[EFF-3] says unknown for an answer that is %s', (_name, body, cause) => {
    expect(read(body)).toMatchObject({ kind: 'unknown', cause, status: 200 });
  });
  it.each([
    [400, '{"error":{"code":400,"status":"INVALID_ARGUMENT"}}', 'INVALID_ARGUMENT', 'never-retry-as-is'],
    [400, '[{"error":{"code":400,"status":"FAILED_PRECONDITION"}}]', 'FAILED_PRECONDITION', 'rejected'],
    [400, '{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}', 'CREDENTIAL_REFUSED', 'rejected'],
    [401, '', 'CREDENTIAL_REFUSED', 'rejected'], [403, 'null', 'PERMISSION_DENIED', 'rejected'], [404, '[]', 'NOT_FOUND', 'rejected'],
    [413, '<html>', 'REQUEST_TOO_LARGE', 'never-retry-as-is'], [422, '{"error":"text"}', 'REQUEST_REFUSED', 'never-retry-as-is'],
  ])('[EFF-3] says refused for a %i', (status, body, code, retry) => {
    expect(read(body, status)).toMatchObject({ kind: 'refused', code, class: retry, status, executed: false });
  });
  it.each([
    ['the total tells what is left out', '{"promptTokenCount":1000,"cachedContentTokenCount":600,"toolUsePromptTokenCount":50,"thoughtsTokenCount":200,"totalTokenCount":1250}', { inputTokens: 1050, outputTokens: 200 }],
    ['thoughts are output, cached is input', '{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":100,"thoughtsTokenCount":200}', { inputTokens: 1000, outputTokens: 300 }],
    ['absent is unknown', '{}', {}], ['nonsense is unknown', '{"promptTokenCount":-1,"candidatesTokenCount":"9"}', {}],
  ])('[NAT-1] keeps native counts: %s', (_name, usage, ours) => {
    const of = read(answer('[{"text":"x"}]', `,"usageMetadata":${usage},"responseId":"r-1","modelVersion":"m"`));
    expect(of.kind === 'accepted' && of.usage).toEqual({ native: JSON.parse(usage) as unknown, ...ours });
    expect(of).toMatchObject({ observed: { responseId: 'r-1', modelServed: 'm' } });
  });
  it.each(['9007199254740993', '1e400', '9007199254740993.0', '9007199254740993e0', '-9.007199254740993E15', '90071992547409930e-1', '123456789012345678901234567890'])('refuses a call whose argument %s cannot be kept exactly', (number) => {
    expect(read(answer(`[{"functionCall":{"name":"f","args":{"n":${number}}}}]`))).toMatchObject({ kind: 'refused', code: 'CALL_MALFORMED' });
  });
  it('[CON-1] keeps no echo of a signature or of the credential among native counts, whatever they are called', () => {
    const signature = 'c2lnbmF0dXJlLW9mLWEtdGhvdWdodA==';
    const sent = new Map([['g', [{ partIndex: 0, placement: 'side' as const, bytes: Buffer.from(JSON.stringify(signature)) }]]]);
    for (const echo of [signature, 'key-1', '\ud83d']) {
      const usage = { promptTokenCount: 3, candidatesTokenCount: 2, trafficType: 'ON_DEMAND', note: `of ${echo}`, details: [{ modality: 'TEXT', [echo]: 1 }] };
      const of = adapter.interpret({ kind: 'answered', status: 200, headers: {}, body: Buffer.from(answer('[{"text":"x"}]', `,"usageMetadata":${JSON.stringify(usage)}`)) }, { generation: 'h', newCallId: (i) => `c${i}`, offered: [], sent, credential: 'key-1' });
      expect(of).toMatchObject({ kind: 'accepted', usage: { inputTokens: 3, outputTokens: 2, native: { promptTokenCount: 3, trafficType: 'ON_DEMAND', details: [{ modality: 'TEXT' }] } } });
      const native = JSON.stringify(of.kind === 'accepted' && of.usage.native);
      expect(native).not.toContain(JSON.stringify(echo).slice(1, -1));
    }
  });
  it('[CON-1] bounds and scrubs provider text, and leaves its words', () => {
    expect(scrubbed(`Function call \`default_api:lookup\` is missing a thought_signature in functionCall parts.\u0000\n INVALID_ARGUMENT ${'Zm9vYmFy'.repeat(9)}== abcd-short`, ['abcd-short']))
      .toBe('Function call `default_api:lookup` is missing a thought_signature in functionCall parts. INVALID_ARGUMENT […] […]');
    expect(scrubbed('x '.repeat(5_000)).length).toBeLessThan(520);
  });
});
