import { describe, expect, it } from '@jest/globals';
import { idle } from './budget.js';
import { EVENT_TABLE, EVENT_TYPES, fact, type EventData, type EventType, type Fact } from './events.js';
import { judgeAppend, mayWrite } from './guard.js';
import { SERVICES } from './ids.js';
import { cutOf } from './checkpoint.js';
import { isUnresolved } from './effect.js';
import { History, OP, plain, weakDigest } from './spec-kit.js';
import type { RunState } from './run.js';

const permitted = (tool = 'mail'): History => { const h = new History(); h.turn([{ tool, args: { what: 'a' } }]); return h; };
const effect = (h: History) => { const e = Object.values(h.state.effects)[0]; if (e === undefined) throw new Error('no effect'); return e; };
const attempt = (h: History, over: Partial<EventData['effect.attempt-started']> = {}): Fact =>
  fact('effect.attempt-started', { effect: effect(h).effect, attempt: 'att-x', attemptNumber: effect(h).attempts.length + 1, owner: 'o', permit: effect(h).permit?.permit ?? '', leaseMs: 1000, dispatchBy: 0, ...over });

describe('the guard', () => {
  it('[SVC-1] lets each type be written by its one owner', () => {
    for (const type of EVENT_TYPES) for (const s of SERVICES) expect(mayWrite(type, s)).toBe(EVENT_TABLE[type].writer === 'any' || EVENT_TABLE[type].writer === s);
  });
  it('[SVC-1] refuses an append of somebody else\'s kind and names the owner', () => {
    const h = permitted();
    expect(h.append('api', [attempt(h)])).toMatchObject({ kind: 'refused', code: 'WRONG_OWNER', facts: { owner: 'effect-reconciler' } });
  });
  it('[EFF-2] takes an attempt only on the permit that stands', () => {
    const h = permitted();
    expect(h.append('effect-reconciler', [attempt(h, { permit: 'another' })])).toMatchObject({ code: 'ILLEGAL' });
    expect(h.append('effect-reconciler', [attempt(h)]).kind).toBe('judged');
  });

  const CHANGES: { readonly [T in EventType]?: (h: History) => readonly Fact[] } = {
    'input.received': (h) => [fact('input.received', { text: h.content('x', 'input') })],
    'run.pause-requested': () => [fact('run.pause-requested', { reason: '' })],
    'run.resume-requested': () => [fact('run.resume-requested', { reason: '' })],
    'run.end-requested': () => [fact('run.end-requested', { reason: '' })],
    'provider-response.continue-requested': () => [fact('provider-response.continue-requested', { reason: '' })],
    'receipt.received': (h) => [fact('receipt.received', { effect: effect(h).effect, receipt: h.content('r', 'receipt'), from: 's' })],
  };
  for (const [type, change] of Object.entries(CHANGES)) {
    it(`[EFF-7] refuses an attempt on a permit from before ${type}`, () => {
      const h = permitted();
      const before = attempt(h);
      h.must('api', change(h), OP);
      expect(h.append('effect-reconciler', [before])).toMatchObject({ kind: 'refused', code: 'PERMIT_STALE' });
    });
  }
  it('[EFF-7] lets a permit stand through what carries no authority', () => {
    const h = permitted();
    h.must('api', [fact('note.added', { text: h.content('n', 'note'), visibility: 'people' }), fact('plan.changed', { steps: ['one'] })], OP);
    expect(h.append('effect-reconciler', [attempt(h)]).kind).toBe('judged');
  });
  it('[EFF-7] marks every type that changes what may be done', () => {
    expect(EVENT_TYPES.filter((t) => !EVENT_TABLE[t].authority && EVENT_TABLE[t].writer === 'api')).toEqual(['note.added', 'plan.changed']);
    for (const t of ['checkpoint.sealed', 'context.compiled', 'effect.permitted', 'generation.permitted', 'budget.settled', 'provider.observed'] as const) expect(EVENT_TABLE[t].authority).toBe(false);
    for (const t of ['effect.denied', 'run.paused', 'run.ended', 'effect.outcome-unknown', 'effect.reconciled', 'finding.accepted', 'route.decided'] as const) expect(EVENT_TABLE[t].authority).toBe(true);
  });
  it('[EFF-7] asks the transaction for the tenant\'s revisions, the time and the scope', () => {
    const h = permitted();
    const p = effect(h).permit;
    const j = h.append('effect-reconciler', [attempt(h)]);
    expect(j).toMatchObject({ kind: 'judged', conditions: { requires: [{ stream: 'tenant/policy', revision: 1 }, { stream: 'tenant/registry', revision: 1 }, { stream: 'tenant/roles', revision: 1 }], validUntil: p?.expiresAt, scopesFree: [{ scope: effect(h).scope, except: [effect(h).effect] }] } });
  });
  it('[EFF-6] lists what an attempt leaves unresolved for every gate to see', () => {
    const h = permitted();
    expect(h.append('effect-reconciler', [attempt(h)])).toMatchObject({ openEffects: { upsert: [{ effect: effect(h).effect, stage: 'in-flight', kind: 'neither' }], remove: [] } });
  });

  for (const kind of ['mail', 'file'] as const) {
    it(`[EFF-4] never takes a second attempt of ${kind}, whatever a permit says`, () => {
      const h = permitted(kind);
      h.start(); h.end('unknown'); h.carryOn();
      const e = effect(h);
      const forged: RunState = { ...h.state, boundary: [], effects: { ...h.state.effects, [e.effect]: { ...e, permit: { permit: 'forged', subject: e.subject, seenRevision: h.state.revision, tenant: { policy: 1, registry: 1, profiles: 1, roles: 1 }, expiresAt: 9e9, world: { kind: 'real' }, grounds: { revision: 1, at: 1, by: [], met: [] }, siblings: [], approval: null } } } };
      const events = h.envelopes([attempt(h, { permit: 'forged' })], 'effect-reconciler', { kind: 'service', id: 'x' });
      expect(judgeAppend(forged, 'effect-reconciler', events, { manifest: null, canonical: plain, digest: weakDigest })).toMatchObject({ kind: 'refused', code: 'ILLEGAL' });
    });
  }
  it('[EFF-5] takes absence for an answer only once it is final', () => {
    const h = permitted('file');
    h.start(); h.end('unknown'); h.carryOn();
    const said = (): Fact => fact('effect.reconciled', { effect: effect(h).effect, as: 'did-not-happen', by: 'query', evidence: h.content('404', 'evidence'), text: null });
    expect(h.append('effect-reconciler', [said()])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('not final') });
    h.now += 5500; // the contract, after the half lease in which it may have been sent
    expect(h.append('effect-reconciler', [said()]).kind).toBe('judged');
  });
  it('[EFF-7] takes no permit that claims to have seen what is not there yet: it would outlive every revocation', () => {
    const h = new History();
    h.turn([{ tool: 'mail', args: { what: 'a' } }]);
    const given = h.events.findLast((e) => e.type === 'effect.permitted');
    if (given?.type !== 'effect.permitted') throw new Error('nothing was permitted');
    const permit = (seenRevision: number): Fact => fact('effect.permitted', { ...given.data, permit: 'again', seenRevision });
    expect(h.append('policy-gate', [permit(h.state.revision + 2)])).toMatchObject({ kind: 'refused', code: 'ILLEGAL', facts: { why: 'it claims to have seen what is not there yet' } });
    expect(h.append('policy-gate', [permit(h.state.revision + 1)]).kind).toBe('judged');
  });
  it('[EFF-5] settles nothing without evidence, nor by a finding that was not accepted', () => {
    const h = permitted();
    h.start(); h.end('unknown');
    expect(h.append('effect-reconciler', [fact('effect.reconciled', { effect: effect(h).effect, as: 'happened', by: 'receipt', evidence: null, text: null })])).toMatchObject({ code: 'ILLEGAL' });
    expect(h.append('effect-reconciler', [fact('effect.reconciled', { effect: effect(h).effect, as: 'happened', by: 'finding', evidence: h.content('x', 'evidence'), text: null })])).toMatchObject({ code: 'ILLEGAL' });
  });
  it('[SEAL-6] starts nothing while a boundary is unsealed', () => {
    const h = permitted();
    h.must('policy-gate', [fact('budget.reserved', { reservation: 'r9', for: 'effect', amounts: { usd_micros: 0, tokens: 0, calls: 0 }, drawn: { usd_micros: 0, tokens: 0, calls: 0 } })]);
    const e = effect(h);
    h.must('policy-gate', [fact('effect.permitted', { effect: e.effect, attemptNumber: 1, siblings: [], reservation: 'r9', approval: null, permit: 'p9', subject: e.subject, seenRevision: h.state.revision + 1, tenant: { policy: 1, registry: 1, profiles: 1, roles: 1 }, expiresAt: 9e9, world: { kind: 'real' }, grounds: { revision: 1, at: 1, by: [], met: [] } })]);
    expect(h.append('effect-reconciler', [attempt(h)])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('unsealed') });
    h.seal();
    expect(h.append('effect-reconciler', [attempt(h)]).kind).toBe('judged');
  });
  it('[SEAL-5] seals no checkpoint that leaves out an unresolved effect', () => {
    const h = permitted();
    h.start(); h.end('unknown');
    const without = { ...h.state, effects: Object.fromEntries(Object.entries(h.state.effects).filter(([, e]) => !isUnresolved(e))) };
    const { manifest } = cutOf(without, plain, weakDigest);
    const events = h.envelopes([fact('checkpoint.sealed', { checkpoint: 'c', version: 1, cut: h.state.revision, boundaries: h.state.boundary, manifest: weakDigest(plain(manifest)), previous: h.state.checkpoint?.checkpoint ?? null })], 'checkpoint-sealer', { kind: 'service', id: 'x' });
    expect(judgeAppend(h.state, 'checkpoint-sealer', events, { manifest, canonical: plain, digest: weakDigest })).toMatchObject({ kind: 'refused', code: 'CHECKPOINT_OMITS_EFFECT', facts: { unresolved: [effect(h).effect] } });
  });
  it('[RUN-7, EFF-3] takes in whatever an outcome brings with it after the end of the run', () => {
    const h = new History();
    h.turn([{ tool: 'read', args: { what: 'a' } }]);
    h.seal(); h.start();
    h.must('api', [fact('run.end-requested', { reason: '' })], OP);
    h.carryOn();
    const e = Object.values(h.state.effects)[0];
    expect(h.state.status).toBe('ended');
    const text = h.content('a result', 'tool-result');
    const ids = { effect: e?.effect ?? '', attempt: e?.attempts[0]?.attempt ?? '' };
    expect(h.append('effect-reconciler', [
      fact('effect.observed', { ...ids, ok: true, text, receipt: null }),
      fact('workspace.changed', { effect: ids.effect, workspace: { base: 'b', tree: { ...text, class: 'workspace' } }, previous: null, summary: 's' }),
      fact('source.observed', { source: 'src', effect: ids.effect, identity: 'a document', retrievedAt: h.now, scope: e?.scope ?? { target: '', fields: {} }, content: text, excerpt: text, required: true, replay: 'recording', gap: null }),
      fact('workspace.conflicted', { effect: ids.effect, found: 'another tree' }),
    ])).toMatchObject({ kind: 'judged' });
  });
  it('[RUN-7] ends a run only by saying whether unknowns remain, and lets nothing start after it', () => {
    const h = permitted();
    h.start(); h.end('unknown'); h.carryOn();
    const end = (withUnknowns: boolean): Fact => fact('run.ended', { how: 'by-person', withUnknowns, by: OP, reason: '', returned: idle(h.state.budget) });
    expect(h.append('policy-gate', [end(false)])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('unresolved') });
    h.must('api', [fact('run.end-requested', { reason: '' })], OP);
    h.carryOn();
    expect(h.state).toMatchObject({ status: 'ended', ended: { withUnknowns: true } });
    expect(h.append('api', [fact('input.received', { text: h.content('x', 'input') })], OP)).toMatchObject({ code: 'ILLEGAL' });
    expect(h.append('api', [fact('receipt.received', { effect: effect(h).effect, receipt: h.content('r', 'receipt'), from: 's' })], OP).kind).toBe('judged');
  });
  it('[RES-3, RES-9] starts no generation under another configuration without its transition, nor under another form than it was compiled in', () => {
    const h = new History();
    h.carryOn();
    const g = h.state.generation;
    if (g?.permit == null) throw new Error('no permitted generation');
    const started = (form: 'first' | 'continued'): Fact => fact('generation.started', { generation: g.generation, attempt: 'x', owner: 'o', permit: g.permit?.permit ?? '', form, wire: weakDigest('w'), wirePrefix: { bytes: 1, digest: weakDigest('p') }, leaseMs: 1000 });
    const segment = fact('segment.started', { segment: 1, from: null, to: g.route, reason: 'r', checkpoint: null, manifest: g.manifest });
    expect(h.append('provider-gateway', [started('first')])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('transition') });
    expect(h.append('provider-gateway', [segment, started('continued')])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('compiled as first') });
    expect(h.append('provider-gateway', [segment, started('first')]).kind).toBe('judged');
  });
  it('[SEAL-6] starts no generation over a boundary that an earlier append left, also one of the run\'s state', () => {
    for (const change of ['pause and resume', 'nothing'] as const) {
      const h = new History();
      h.carryOn(); h.generate(); h.seal(); h.answer([{ tool: 'read', args: { what: 'a' } }]); h.carryOn(); h.start(); h.end('observed'); h.carryOn();
      const g = h.state.generation;
      if (g?.permit == null) throw new Error('no permitted generation');
      const started = fact('generation.started', { generation: g.generation, attempt: 'x', owner: 'o', permit: g.permit.permit, form: g.form, wire: weakDigest('w'), wirePrefix: { bytes: 1, digest: weakDigest('p') }, leaseMs: 1000 });
      if (change === 'nothing') { expect(h.append('provider-gateway', [started]).kind).toBe('judged'); continue; }
      (h as { state: RunState }).state = { ...h.state, boundary: ['run-state'] };
      expect(h.append('provider-gateway', [started])).toMatchObject({ code: 'ILLEGAL', message: expect.stringContaining('unsealed') });
    }
  });
  it('[BUD-2] reserves nothing beyond the grant', () => {
    const h = new History({ budget: { usd_micros: 10, tokens: 10, calls: 1 } });
    expect(h.append('policy-gate', [fact('budget.reserved', { reservation: 'r', for: 'effect', amounts: { usd_micros: 11, tokens: 0, calls: 0 }, drawn: { usd_micros: 11, tokens: 0, calls: 0 } })])).toMatchObject({ code: 'ILLEGAL' });
    expect(h.append('policy-gate', [fact('budget.reserved', { reservation: 'r', for: 'effect', amounts: { usd_micros: 5, tokens: 0, calls: 0 }, drawn: { usd_micros: 2, tokens: 0, calls: 0 } })])).toMatchObject({ code: 'ILLEGAL' });
  });
  it('[BUD-5] debits the tenant by what a run draws, and gives back what is idle at its end', () => {
    const h = permitted();
    const before = h.balance;
    h.start(); h.end('observed');
    h.must('api', [fact('run.end-requested', { reason: '' })], OP);
    h.carryOn();
    expect(h.state.status).toBe('ended');
    expect(h.balance.calls).toBeGreaterThan(before.calls - 1);
    expect(h.state.budget.drawn).toEqual(h.state.budget.used);
  });
});
