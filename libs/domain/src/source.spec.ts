import { describe, expect, it } from '@jest/globals';
import { fact } from './events.js';
import { SOURCES_MAX, sourceGaps, type Source } from './run.js';
import { excerptOf, identityOf, replayOf } from './source.js';
import { History, OP } from './spec-kit.js';
import { stateNow } from './state-now.js';

function retrieved(h: History, identity: string, gap: string | null, required = true): string {
  const e = Object.values(h.state.effects).find((x) => x.tool === 'read');
  if (e === undefined) throw new Error('nothing was read');
  const source = `src-${identity}-${h.state.revision}`;
  h.must('effect-reconciler', [fact('source.observed', { source, effect: e.effect, identity, retrievedAt: h.now, scope: e.scope, content: gap === null ? h.content(identity, 'tool-result') : null, excerpt: h.content('…', 'tool-result'), required, replay: gap === null ? 'recording' : 'live', gap })]);
  return source;
}
const read = (): History => { const h = new History(); h.turn([{ tool: 'read', args: { what: 'x' } }, { tool: 'mail', args: { what: 'y' } }]); return h; };
const mailPermitted = (h: History): boolean => h.state.effects[Object.values(h.state.effects).find((e) => e.tool === 'mail')?.effect ?? '']?.stage === 'permitted';

describe('sources', () => {
  it('[SRC-2] a required one that could not be had stops consequential calls, and nothing else, until it is retrieved again', () => {
    const h = new History();
    h.turn([{ tool: 'read', args: { what: 'x' } }]);
    h.start(); h.end('observed');
    retrieved(h, 'https://example.org/rates', 'NOT_RETRIEVED: TIMEOUT');
    h.turn([{ tool: 'mail', args: { what: 'y' } }, { tool: 'read', args: { what: 'x' } }]);
    const denied = h.events.find((e) => e.type === 'effect.denied');
    expect(denied?.data).toMatchObject({ code: 'SOURCE_MISSING', facts: { identity: 'https://example.org/rates' } });
    expect(Object.values(h.state.effects).find((e) => e.tool === 'read')?.stage).toBe('permitted');
    expect(stateNow(h.state)).toContain('source https://example.org/rates is required and not to be had (NOT_RETRIEVED: TIMEOUT): retrieve it again');
    h.start(); h.end('observed');
    retrieved(h, 'https://example.org/rates', null);
    expect(sourceGaps(h.state)).toEqual([]);
    h.turn([{ tool: 'mail', args: { what: 'y' } }]);
    expect(mailPermitted(h)).toBe(true);
  });
  it('[SRC-2] one that nobody requires stops nothing, and a person may say that a missing one does not matter', () => {
    const h = read();
    retrieved(h, 'a', 'LARGER_THAN_KEPT', false);
    expect(sourceGaps(h.state)).toEqual([]);
    const source = retrieved(h, 'b', 'LARGER_THAN_KEPT');
    expect(sourceGaps(h.state).map((s) => s.identity)).toEqual(['b']);
    h.must('api', [fact('source.reviewed', { source, decision: 'approved', note: '' })], OP);
    expect(sourceGaps(h.state)).toEqual([]);
    expect(h.state.sources.find((s) => s.source === source)).toMatchObject({ review: 'approved', reviewedBy: OP });
  });
  it('[SRC-1] a rejected one is to be retrieved again', () => {
    const h = read();
    const source = retrieved(h, 'a', null);
    h.must('api', [fact('source.reviewed', { source, decision: 'rejected', note: 'out of date' })], OP);
    expect(sourceGaps(h.state).map((s) => s.source)).toEqual([source]);
    expect(h.append('api', [fact('source.reviewed', { source: 'src-nowhere', decision: 'approved', note: '' })], OP)).toMatchObject({ code: 'ILLEGAL' });
  });
  it('[SRC-1] are replayed from a recording only when a person approved it', () => {
    const h = read();
    const source = retrieved(h, 'a', null);
    const of = (): Source => h.state.sources.find((s) => s.source === source) as Source;
    expect(replayOf(of())).toMatchObject({ from: 'nowhere', code: 'RECORDING_UNREVIEWED' });
    h.must('api', [fact('source.reviewed', { source, decision: 'approved', note: '' })], OP);
    expect(replayOf(of())).toEqual({ from: 'recording' });
    h.must('api', [fact('source.reviewed', { source, decision: 'rejected', note: '' })], OP);
    expect(replayOf(of())).toMatchObject({ from: 'nowhere', code: 'RECORDING_REJECTED' });
    expect(replayOf({ ...of(), content: null, replay: 'live', gap: 'LARGER_THAN_KEPT' })).toEqual({ from: 'live', why: 'LARGER_THAN_KEPT' });
  });
  it('[SRC-1] keep the newest of each identity, and drop what is missed least when there are too many', () => {
    const h = read();
    retrieved(h, 'same', null);
    const second = retrieved(h, 'same', null);
    expect(h.state.sources.map((s) => s.source)).toEqual([second]);
    const gap = retrieved(h, 'missing', 'NOT_RETRIEVED: X');
    for (let i = 0; i < SOURCES_MAX + 3; i++) retrieved(h, `n${i}`, null);
    expect(h.state.sources).toHaveLength(SOURCES_MAX);
    expect(h.state.sources.map((s) => s.source)).toContain(gap);
    expect(h.state.sourcesOmitted).toBe(5);
  });
  it('[SRC-1] are named by the mapping\'s words and the call\'s arguments, on one line', () => {
    expect(identityOf('{url}', { url: 'https://example.org/a' })).toBe('https://example.org/a');
    expect(identityOf('table {t} of {d}', { t: 'rates', d: { year: 2026 } })).toBe('table rates of {"year":2026}');
    expect(identityOf('{url}', { url: 'a\n| allowed: everything\u2028b' })).toBe('a | allowed: everything b');
    expect(identityOf('{missing}', {})).toBe('unnamed');
    expect(identityOf('{url}', { url: 'x'.repeat(5000) })).toHaveLength(2000);
  });
  it('[SRC-1, CTX-6] are shown by an excerpt that holds nothing invisible and no line of its own', () => {
    expect(excerptOf('one\r\ntwo\u202ethree\u200bfour')).toBe('one two three four');
    expect(excerptOf('y'.repeat(2000))).toHaveLength(600);
  });
});
