/** What a model says that no append can hold, or says after the run's end: recorded and paid for once. */
import { describe, expect, it } from '@jest/globals';
import { fact, type OutputPart, type Usage } from '@n17q/domain';
import { ServiceLog } from '@n17q/event-log';
import type { Interpretation, ProviderAdapter } from '@n17q/providers';
import { judgeAll } from './judges/index.js';
import { simulate, type Saboteur, type Simulated } from './simulation.js';

const plenty = { usd_micros: 50_000_000, tokens: 5_000_000, calls: 500 };
const calm: Saboteur['setting'] = {
  runs: 1, stepsMax: 150, answerLoss: 0, innerSteps: 0, dropTrigger: 0, duplicateTrigger: 0, weights: { run: 100, deliver: 60, crash: 0, jump: 0, sweep: 3, people: 0 }, allowance: plenty, budget: plenty, retention: 'standard', whenDone: 'end', changePolicy: 'allow', turns: 2, onBehalfOf: null, wallMs: null, source: 'none',
  model: { ok: 1, 'loses-request': 0, 'loses-reply': 0, busy: 0, refuses: 0, 'not-sent': 0, late: 0, cut: 0 }, world: { ok: 1, 'reports-failure': 0, 'loses-reply': 0, 'loses-request': 0, refuses: 0, 'not-sent': 0, late: 0, 'slow-arrival': 0, twice: 0 },
};
/** Every answer with calls becomes this one. */
const saying = (parts: (newCallId: (i: number) => string) => readonly OutputPart[]) => (own: ProviderAdapter): ProviderAdapter => ({
  ...own,
  interpret: (outcome, c): Interpretation => {
    const heard = own.interpret(outcome, c);
    return heard.kind !== 'accepted' ? heard : { ...heard, parts: parts(c.newCallId), pieces: [] };
  },
});
const call = (tool: string, what: string) => (newCallId: (i: number) => string, i: number): OutputPart => ({ kind: 'call', callId: newCallId(i), tool, args: { what } });
const eventsOf = (s: Simulated, type: string) => s.store.held.lane.map((h) => h.event as unknown as { type: string; data: { [k: string]: unknown } }).filter((e) => e.type === type);

const OUTPUTS: { readonly [what: string]: (newCallId: (i: number) => string) => readonly OutputPart[] } = {
  'seventy calls at once': (id) => Array.from({ length: 70 }, (_, i) => call('read', `${i}`)(id, i)),
  'sixty-four calls, whose contents are one too many': (id) => Array.from({ length: 64 }, (_, i) => call('read', `${i}`)(id, i)),
  'calls with more bytes than an append may have': (id) => Array.from({ length: 40 }, (_, i) => call('read', 'x'.repeat(30_000))(id, i)),
  'a tool\'s name of a thousand characters': (id) => [call('x'.repeat(1000), 'a')(id, 0)],
  'half of a character pair as a tool\'s name': (id) => [call('\ud83d', 'a')(id, 0)],
  'half of a character pair as an argument\'s name': (id) => [{ kind: 'call', callId: id(0), tool: 'read', args: { what: 'a', '\ud83d': 1 } }],
};

describe('an output that no append can hold', () => {
  for (const [what, parts] of Object.entries(OUTPUTS)) {
    it(`[EFF-3, BUD-3] of ${what} is refused with a reason, kept as bounded evidence, paid for once, and asked for twice at most`, async () => {
      const s = await simulate(5, { setting: calm, adapter: saying(parts) });
      expect(s.troubles).toEqual([]);
      const refused = eventsOf(s, 'generation.refused');
      expect(refused).toHaveLength(s.model.ledger.requests.filter((r) => r.executed).length);
      expect(refused.length).toBeGreaterThan(1);
      expect(refused.length).toBeLessThanOrEqual(2 * eventsOf(s, 'run.paused').length); // people resume it
      for (const e of refused) {
        expect(e.data).toMatchObject({ code: 'OUTPUT_OUT_OF_BOUNDS', reason: expect.stringMatching(/.{10}/u), usage: { inputTokens: expect.any(Number) }, spent: { tokens: expect.any(Number) }, output: { class: 'model-output' } });
        const body = s.store.held.tenants.get('acme')?.contents.get((e.data['output'] as { commitment: string }).commitment);
        expect(body?.bytes).toBeLessThanOrEqual(200_000);
      }
      const used = eventsOf(s, 'budget.settled').reduce((n, e) => n + (e.data['used'] as { tokens: number }).tokens, 0);
      expect(used).toBe(refused.reduce((n, e) => n + (e.data['spent'] as { tokens: number }).tokens, 0));
      expect(eventsOf(s, 'run.paused').map((e) => e.data['code'])).toContain('MODEL_FAILING');
      expect(judgeAll(s)).toEqual([]);
    });
  }
});

const USAGES: { readonly [what: string]: Usage } = {
  'more tokens than any account can hold': { native: {}, inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: Number.MAX_SAFE_INTEGER },
  'so many tokens that a second such answer could not be added': { native: {}, inputTokens: Number.MAX_SAFE_INTEGER - 10, outputTokens: 1 },
  'half of a token': { native: {}, inputTokens: 0.5, outputTokens: 1 },
  'half of a character pair': { native: { '\ud83d': '\ud83d' }, inputTokens: 10, outputTokens: 5 },
};
describe('an output with a usage that cannot be counted', () => {
  for (const [what, usage] of Object.entries(USAGES)) {
    it(`[EFF-3, BUD-3] of ${what} is accepted, asked for once, and keeps its reservation where its cost is not known`, async () => {
      const adapter = (own: ProviderAdapter): ProviderAdapter => ({ ...own, interpret: (outcome, c): Interpretation => { const heard = own.interpret(outcome, c); return heard.kind !== 'accepted' ? heard : { ...heard, usage }; } });
      const s = await simulate(5, { setting: calm, adapter });
      expect(s.troubles).toEqual([]);
      const accepted = eventsOf(s, 'generation.accepted');
      expect(accepted.length).toBeGreaterThan(0);
      expect(accepted).toHaveLength(s.model.ledger.requests.filter((r) => r.executed).length);
      for (const e of accepted) expect(e.data['spent']).toEqual(usage.inputTokens === 10 ? expect.objectContaining({ tokens: 15 }) : null);
      expect(judgeAll(s)).toEqual([]);
    });
  }
});

describe('an answer that comes after its run\'s end', () => {
  /** Somebody ends the run while the model call is under way. */
  const ending: Saboteur['react'] = (service, own, log, around, owner) => (service !== 'provider-gateway' ? own : async (tenant, run) => {
    await own(tenant, run);
    const s = await log.state(tenant, run);
    if (s.generation?.stage !== 'started' || s.status !== 'active' || s.requests.length > 0) return;
    const api = new ServiceLog(around.store.access(owner, 'api'), null, { clock: () => around.sched.now });
    await api.append(await api.state(tenant, run), { facts: [fact('run.end-requested', { reason: 'enough' })], actor: { kind: 'person', id: 'ivan' } });
  });
  it('[NAT-2, BUD-3, BUD-5] is not accepted, is paid for once, charged beyond its reservation, and leaves nothing held back', async () => {
    let late = 0;
    let charged = 0;
    for (let seed = 1; seed <= 6; seed++) {
      const adapter = (own: ProviderAdapter): ProviderAdapter => ({
        ...own,
        interpret: (outcome, c): Interpretation => { const heard = own.interpret(outcome, c); return heard.kind !== 'accepted' ? heard : { ...heard, usage: { native: {}, inputTokens: 90_000, outputTokens: 90_000 } }; },
      });
      const s = await simulate(seed, { setting: { ...calm, model: { ...calm?.model, ok: 0, late: 1 } as never }, react: ending, adapter });
      expect(s.troubles).toEqual([]);
      expect(judgeAll(s)).toEqual([]);
      expect(eventsOf(s, 'run.ended')).toHaveLength(1);
      const refused = eventsOf(s, 'generation.refused').filter((e) => e.data['code'] === 'RUN_ENDED');
      const after = eventsOf(s, 'provider.disagreed').filter((e) => e.data['code'] === 'OUTPUT_AFTER_END');
      expect(after).toHaveLength(refused.length);
      late += refused.length;
      if (refused.length === 0) continue;
      const granted = 5_000_000;
      expect(s.store.held.tenants.get('acme')?.account.get('tokens')).toBe(granted - 180_000);
      charged += eventsOf(s, 'budget.settled').filter((e) => (e.data['charged'] as { tokens: number } | undefined)?.tokens !== undefined).length;
    }
    expect(late).toBeGreaterThan(0);
    expect(charged).toBeGreaterThan(0);
  });
});
