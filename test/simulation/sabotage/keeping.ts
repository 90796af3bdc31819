/** Who forgets, or never comes back. Laws 1, 4, 7 and 10 of the architecture, budgets, waits, and what a checkpoint tells. */
import { canonical, sha256 } from '@n17q/contracts';
import { cutOf, fact, type EventEnvelope, type RunState } from '@n17q/domain';
import { decideAgain, type MemoryEventStore, type StoreAccess } from '@n17q/event-log';
import type { React } from '../processes.js';
import { MEANINGS, type Meaning } from '../tenant.js';
import { accesses, base, deluded, hearing, only, plenty, port, retold, world, type Planned } from './kit.js';

const people = { input: 3, note: 0, pause: 0, resume: 3, continueResponse: 0, end: 0, finding: 2, receipt: 2, approve: 6, revoke: 0, hesitate: 0, changePolicy: 0, changeRoles: 0, changeRegistry: 0, changeAccounts: 0, grant: 0, delegate: 0, raise: 0, review: 0, migrate: 0 };
const busy = { run: 60, deliver: 40, crash: 0, jump: 0.3, sweep: 3, people: 6 };
const opening = { policy: MEANINGS[1] as Meaning, registry: true, profiles: true };

/** A sealer that cuts another run than there is, before a store that takes it for the same. */
const cutting = (change: (s: RunState) => RunState): Pick<Planned['saboteur'], 'react' | 'door' | 'calmStepsMax'> => ({
  calmStepsMax: 400,
  react: (service, own, log): React => (service !== 'checkpoint-sealer' ? own : async (tenant, run) => {
    await decideAgain(log, () => log.state(tenant, run), (s) => s, (s) => {
      if (s.boundary.length === 0) return null;
      const manifest = canonical(cutOf(change(s), canonical, sha256).manifest);
      const checkpoint = `cp-${s.revision}`;
      return { facts: [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], checkpoint: { checkpoint, manifest } };
    });
  }),
  door: deluded(['checkpoint.sealed'], change),
});
const ofEffects = (change: (e: RunState['effects'][string]) => RunState['effects'][string]) => (s: RunState): RunState => ({ ...s, effects: Object.fromEntries(Object.entries(s.effects).map(([k, e]) => [k, change(e)])) });
const rich = retold('run.created', (d) => ({ data: { ...d, budget: plenty } }) as Partial<EventEnvelope>);
const unlimited = (own: StoreAccess): StoreAccess => hearing('policy-gate', retold('policy.published', (d) => ({ data: { ...d, attemptsMax: 1000, looksMax: 1000 } }) as Partial<EventEnvelope>))(own);

export const KEEPING_SABOTEURS: readonly Planned[] = [
  { law: 'EFF-1', title: 'a sealer that tells an unresolved effect without its attempts, before a store that does the same', saboteur: { setting: { ...base, ...world({ 'loses-reply': 1 }) }, ...cutting(ofEffects((e) => ({ ...e, attempts: [] }))) } },
  { law: 'EFF-1', title: 'a sealer that loses receipts, before a store that does the same', saboteur: { setting: { ...base, ...world({ ok: 1, 'loses-reply': 1, late: 2 }), weights: busy, people: { ...people, receipt: 8 } }, ...cutting(ofEffects((e) => ({ ...e, receipts: [] }))) } },
  { law: 'APP-1', title: 'a sealer that leaves out what people decided, before a store that does the same', saboteur: { setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people }, ...cutting((s) => ({ ...s, approvals: {} })) } },
  {
    law: 'SEAL-2', title: 'a store that keeps the event of a checkpoint, and not the checkpoint',
    saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400, port: (own) => port((p) => { (own as MemoryEventStore).held.tenants.get(p.tenant)?.streams.get(p.stream)?.checkpoints.clear(); return p; })(own) },
  },
  {
    law: 'EFF-6', title: 'a store that loses a row of what is unresolved',
    saboteur: { setting: { ...base, ...world({ 'loses-reply': 1 }) }, port: port((p) => ({ ...p, openEffects: { ...p.openEffects, upsert: p.openEffects.upsert.filter((e) => e.stage !== 'unknown'), remove: [...p.openEffects.remove, ...p.openEffects.upsert.filter((e) => e.stage === 'unknown').map((e) => e.effect)] } })) },
  },
  {
    law: 'BUD-2', title: 'a gate that takes a run for richer than it was made, before a store that does the same',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), budget: { usd_micros: 60_000, tokens: 20_000, calls: 2 }, turns: 12, stepsMax: 900 },
      access: accesses(hearing('policy-gate', rich), hearing('checkpoint-sealer', rich)), door: deluded(null, (s) => ({ ...s, budget: { ...s.budget, granted: plenty } })),
    },
  },
  {
    law: 'BUD-3', title: 'a gate that takes a model call of unknown outcome for one that never left',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), model: { ok: 2, 'loses-request': 0, 'loses-reply': 2, busy: 0, refuses: 0, 'not-sent': 0, late: 0, cut: 1 } }, access: hearing('policy-gate', retold('generation.outcome-unknown', () => ({ type: 'generation.not-sent' }) as Partial<EventEnvelope>)) },
  },
  { law: 'SCH-1', title: 'a store that does not write down who comes back to an approval', saboteur: { setting: { ...base, ...world({ ok: 1 }), opening }, port: port((p) => ({ ...p, needs: { ...p.needs, upsert: p.needs.upsert.filter((n) => !n.reason.startsWith('approval:')) } })) } },
  { law: 'SCH-1', title: 'a store that forgets when a claim runs out', saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400, port: port((p) => ({ ...p, needs: { ...p.needs, upsert: p.needs.upsert.filter((n) => n.service !== 'effect-reconciler' || !n.reason.startsWith('lease:')) } })) } },
  { law: 'SCH-1', title: 'a gate that never tires', saboteur: { setting: { ...base, ...world({ 'not-sent': 1 }), stepsMax: 2000, opening: { ...opening, policy: MEANINGS[0] as Meaning }, weights: { ...busy, people: 0, jump: 2 } }, access: accesses(unlimited) } },
  {
    law: 'RUN-4', title: 'a gate that tosses a coin', twice: true,
    saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400, access: only('policy-gate', (own) => ({ decisionView: async (q) => { const v = await own.decisionView(q); return { ...v, now: v.now - Math.floor(Math.random() * 50) }; } })) },
  },
];
