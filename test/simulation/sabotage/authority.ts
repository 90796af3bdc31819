/** Who goes beyond what was allowed. Laws 3, 5 and 8 of the architecture, and whatever policy, approvals and the registry say. */
import { fact, type EventEnvelope, type RunState } from '@n17q/domain';
import type { MemoryEventStore, PreparedAppend } from '@n17q/event-log';
import { REMEMBERS } from '../model.js';
import type { React } from '../processes.js';
import { MEANINGS, policy, registry, TENANT, TOOLS, type Meaning } from '../tenant.js';
import { accesses, base, believing, deluded, hearing, only, port, retold, world, type Planned } from './kit.js';

const people = { input: 3, note: 0, pause: 0, resume: 3, continueResponse: 0, end: 0, finding: 2, receipt: 2, approve: 6, revoke: 0, hesitate: 0, changePolicy: 0, changeRoles: 0, changeRegistry: 0, changeAccounts: 0, grant: 0, delegate: 0, raise: 0, review: 0, migrate: 0 };
const busy = { run: 60, deliver: 40, crash: 0, jump: 0.3, sweep: 3, people: 6 };
const [, ASKING, EYES, , FORBIDDING] = MEANINGS as readonly Meaning[];
const opening = { policy: ASKING ?? null, registry: true, profiles: true };
const noWalls = port(({ validUntil: _validUntil, ...p }: PreparedAppend) => ({ ...p, requires: [] }) as PreparedAppend);
const approvals = (stage: 'rejected' | 'revoked') => (s: RunState): RunState => ({ ...s, approvals: Object.fromEntries(Object.entries(s.approvals).map(([k, a]) => [k, a.stage === stage ? { ...a, stage: 'approved' as const } : a])) });
const note = { type: 'note.added', data: { text: { commitment: `c1.${'0'.repeat(64)}`, bytes: 1, class: 'note', media: 'text/plain' }, visibility: 'people' } } as unknown as Partial<EventEnvelope>;
/** The tool's mapping is told as it was at first. */
const asItWas = retold('registry.published', () => ({ data: registry() }) as Partial<EventEnvelope>);
/** Whatever is asked about the tenant later, the first answer is given again. */
const remembering = () => only('policy-gate', (own) => {
  const first = new Map<string, EventEnvelope>();
  return {
    decisionView: async (q) => {
      const v = await own.decisionView({ ...q, tenantSeen: {} });
      for (const d of v.tenant) if (d.event !== null && !first.has(d.stream)) first.set(d.stream, d.event);
      return { ...v, tenant: v.tenant.map((d) => { const e = first.get(d.stream); return e === undefined ? d : { ...d, revision: e.revision, event: e }; }) };
    },
  };
});

export const AUTHORITY_SABOTEURS: readonly Planned[] = [
  {
    law: 'POL-1', title: 'a gate that judges by the tenant as it first saw it, before a store that does not compare',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), weights: busy, people: { ...people, changePolicy: 3, changeRoles: 2, changeAccounts: 2 } }, access: remembering(), port: noWalls },
  },
  {
    law: 'POL-1', title: 'a gate for which a delegation, once given, holds for ever and for everything',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: MEANINGS[0] as Meaning }, onBehalfOf: 'gina', weights: busy, people: { ...people, delegate: 4 }, turns: 12 },
      access: hearing('policy-gate', retold('roles.published', (d) => ({ data: { ...d, delegations: [{ delegation: 'for-gina', from: 'gina', to: 'ivan', tools: ['*'], until: null }] } }) as Partial<EventEnvelope>)),
    },
  },
  {
    law: 'SRC-2', title: 'a gate that misses that a source could not be had',
    saboteur: {
      setting: { ...base, ...world({ ok: 1, 'reports-failure': 2 }), opening: { ...opening, policy: MEANINGS[0] as Meaning }, source: 'required', tools: ['read', 'mail'], weights: busy, people: { ...people, finding: 6 }, turns: 12 },
      access: hearing('policy-gate', retold('source.observed', (d) => ({ data: { ...d, gap: null } }) as Partial<EventEnvelope>)),
    },
  },
  {
    law: 'SCH-3', title: 'a gate that goes on after a wait under the rules from before it, before a store that does not compare',
    saboteur: { setting: { ...base, ...world({ ok: 1, 'not-sent': 2 }), weights: busy, people: { ...people, changePolicy: 4, changeRoles: 2 } }, access: remembering(), port: noWalls },
  },
  {
    law: 'POL-2', title: 'a gate that does not read what a new policy forbids',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: FORBIDDING ?? null } }, access: hearing('policy-gate', retold('policy.published', () => ({ data: policy() }) as Partial<EventEnvelope>)) },
  },
  {
    law: 'POL-4', title: 'a gate that makes do without a policy',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: null }, people: { ...people, changePolicy: 0 } },
      access: only('policy-gate', (own) => ({
        decisionView: async (q) => {
          const v = await own.decisionView(q);
          return v.tenant.some((d) => d.stream === 'tenant/policy') ? v : { ...v, tenant: [...v.tenant, { stream: 'tenant/policy', revision: 0, head: '', event: { ...fact('policy.published', policy()), tenant: TENANT, stream: 'tenant/policy', revision: 0, digest: 'none' } as unknown as EventEnvelope }] };
        },
      })),
    },
  },
  {
    law: 'POL-5', title: 'a reconciler that asks the world whenever it likes',
    saboteur: {
      setting: { ...base, ...world({ 'loses-reply': 1 }), queryWorks: true },
      react: (service, own, log, around, owner): React => (service !== 'effect-reconciler' ? own : async (tenant, run) => {
        for (const e of Object.values((await log.state(tenant, run)).effects)) {
          const t = TOOLS.find((x) => x.name === e.tool);
          if (e.stage === 'in-flight' && t !== undefined) void around.world.connector(owner, t).query?.({ effect: e.effect, idempotencyKey: e.key, args: {}, target: t.target, timeoutMs: 100, outputBytesMax: 1000 });
        }
        await own(tenant, run);
      }),
    },
  },
  {
    law: 'APP-2', title: 'a gate that takes everybody for a reviewer',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people },
      access: hearing('policy-gate', retold('roles.published', (d) => ({ data: { ...d, people: d.people.map((p) => ({ ...p, roles: ['operator'] })) } }) as Partial<EventEnvelope>)),
    },
  },
  {
    law: 'APP-2', title: 'a gate that does not ask where the policy wants a person',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), opening }, access: hearing('policy-gate', retold('policy.published', () => ({ data: policy() }) as Partial<EventEnvelope>)) },
  },
  {
    law: 'APP-2', title: 'a gate that lets people approve what they asked for',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: EYES ?? null }, weights: busy, people: { ...people, changeRoles: 4 }, tools: ['mail', 'pay'], turns: 12 },
      access: hearing('policy-gate', retold('policy.published', (d) => ({ data: { ...d, fourEyes: false } }) as Partial<EventEnvelope>)),
    },
  },
  {
    law: 'APP-3', title: 'a gate that hears yes when a person says no, before a store that does the same',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people },
      access: hearing('policy-gate', retold('approval.decided', (d) => ({ data: { ...d, decision: 'approved' } }) as Partial<EventEnvelope>)), door: deluded(['effect.attempt-started'], approvals('rejected')),
    },
  },
  {
    law: 'APP-3', title: 'a gate and a store that are deaf to a revocation',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people: { ...people, approve: 0, hesitate: 8 } },
      access: hearing('policy-gate', retold('approval.revoked', () => note)), door: deluded(['effect.attempt-started'], approvals('revoked')),
    },
  },
  {
    law: 'TOOL-1', title: 'a reconciler that names the first registry, whichever it read',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: MEANINGS[0] as Meaning }, weights: busy, people: { ...people, changeRegistry: 6 }, turns: 12 },
      access: only('effect-reconciler', (own) => ({ append: (r) => own.append({ ...r, events: r.events.map((e) => (e.type === 'effect.intended' ? { ...e, data: { ...e.data, mapping: { ...e.data.mapping, registryRevision: 1 } } } : e)) }) })),
    },
  },
  {
    law: 'TOOL-4', title: 'a gate that knows tools by their names',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people: { ...people, approve: 3, changeRegistry: 6 }, turns: 12, tools: ['mail', 'put'] }, access: hearing('policy-gate', asItWas) },
  },
  {
    law: 'TOOL-5', title: 'a gate and a reconciler that miss the removal of a tool',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), opening, weights: busy, people: { ...people, approve: 3, changeRegistry: 6 }, turns: 12, tools: ['mail', 'put'] }, access: accesses(hearing('policy-gate', asItWas), hearing('effect-reconciler', asItWas)) },
  },
  {
    law: 'RES-1', title: 'a gate that permits first and resumes then, and services and a store that do not mind',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), opening: { ...opening, policy: MEANINGS[0] as Meaning }, weights: busy, people: { ...people, input: 0, resume: 12 }, turns: 12 },
      access: accesses(hearing('effect-reconciler', retold('run.resumed', () => note)), hearing('provider-gateway', retold('run.resumed', () => note)),
        only('policy-gate', (own) => ({ append: (r) => own.append({ ...r, events: [...r.events.filter((e) => e.type !== 'run.resumed'), ...r.events.filter((e) => e.type === 'run.resumed')] }) }))),
      door: deluded(['effect.attempt-started', 'generation.started'], (s) => ({ ...s, authorityRevision: 0 })),
      react: (service, own, _log, { sched }, owner): React => (service !== 'policy-gate' ? own : async (tenant, run) => { await sched.sleep(owner, 'takes its time', 60); await own(tenant, run); }),
    },
  },
  {
    law: 'RES-1', title: 'services and a store that begin after a resume and do not look first',
    saboteur: {
      setting: { ...base, ...world({ 'loses-reply': 1, 'not-sent': 2 }), opening: { ...opening, policy: MEANINGS[0] as Meaning }, weights: busy, people: { ...people, resume: 8, finding: 0, receipt: 0 }, turns: 12, tools: ['file', 'mail'] },
      // the gate means to give looks, and nobody hears of it
      access: only('policy-gate', (own) => ({ append: (r) => {
        const left = r.events.filter((e) => e.type !== 'look.permitted');
        // what is permitted beside them has seen no more than is left
        const events = left.map((e) => (e.type === 'effect.permitted' || e.type === 'generation.permitted' ? { ...e, data: { ...e.data, seenRevision: r.expected + left.length } } : e)) as typeof left;
        return events.length > 0 ? own.append({ ...r, events }) : Promise.resolve({ kind: 'appended' as const, fresh: true, first: r.expected + 1, last: r.expected + 1, head: '', recordedAt: 0, position: '' });
      } })), calmStepsMax: 1500,
      react: believing((s) => ({ ...s, lookFirst: [] })), door: deluded(null, (s) => ({ ...s, lookFirst: [] })),
    },
  },
  {
    law: 'NAT-4', title: 'a gate that believes a provider which says that nothing is open, before a store that looks at no scope',
    saboteur: {
      setting: { ...base, ...world({ ok: 1, 'loses-reply': 3 }), runs: 1, tools: ['mail'], turns: 12 },
      access: only('policy-gate', (own) => {
        let told = false;
        return { decisionView: async (q) => { const v = await own.decisionView(q); told ||= v.tail.some((e) => e.type === 'provider.observed' && JSON.stringify(e.data).includes(REMEMBERS)); return told ? { ...v, openEffects: [] } : v; } };
      }),
      port: port((p) => ({ ...p, scopesFree: [] })),
    },
  },
  {
    law: 'SVC-1', title: 'a store that notes whatever writer a request names',
    saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400, port: (own) => port((p) => {
      const events = (own as MemoryEventStore).held.tenants.get(p.tenant)?.streams.get(p.stream)?.events as { event: EventEnvelope }[] | undefined;
      const at = events?.findIndex((h) => h.event.type === 'effect.permitted') ?? -1;
      const there = events?.[at];
      if (events !== undefined && there !== undefined) events[at] = { ...there, event: { ...there.event, writer: 'effect-reconciler' } };
      return p;
    })(own) },
  },
];
