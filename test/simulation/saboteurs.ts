/**
 * One broken part each: what a bug, or somebody who took a part over, would do. The judges must catch every one of them.
 *
 * Where the store would refuse what the broken part wants, its own check is broken too: two walls, and the judges behind both.
 */
import type { AppendOutcome } from '@n17q/contracts';
import { canonical, sha256 } from '@n17q/contracts';
import { cutOf, fact, isUnresolved, type EventEnvelope, type RunState, type StreamId } from '@n17q/domain';
import { decideAgain, type MemoryEventStore } from '@n17q/event-log';
import { projectAnyway } from './model.js';
import type { React } from './processes.js';
import { AUTHORITY_SABOTEURS } from './sabotage/authority.js';
import { KEEPING_SABOTEURS } from './sabotage/keeping.js';
import { base, deluded, only, plenty, port, world, type Planned } from './sabotage/kit.js';
import { TOOLS } from './tenant.js';

const forgetful = (s: RunState): RunState => ({ ...s, effects: Object.fromEntries(Object.entries(s.effects).filter(([, e]) => !isUnresolved(e))) });

export const SABOTEURS: readonly Planned[] = [
  {
    law: 'EFF-10', title: 'a reconciler that dispatches what it finds in flight after a restart',
    saboteur: {
      setting: { ...base, ...world({ ok: 1, 'loses-reply': 2, late: 1 }), weights: { run: 100, deliver: 60, crash: 2, jump: 0.5, sweep: 3, people: 0 } },
      react: (service, own, log, around, owner): React => (service !== 'effect-reconciler' ? own : async (tenant, run) => {
        const s = await log.state(tenant, run);
        for (const e of Object.values(s.effects)) {
          const a = e.attempts.at(-1);
          const t = TOOLS.find((x) => x.name === e.tool);
          if (e.stage !== 'in-flight' || a === undefined || t === undefined || a.owner === owner.name) continue;
          void around.world.connector(owner, t).dispatch({ effect: e.effect, attempt: a.attempt, idempotencyKey: e.key, args: {}, target: t.target, timeoutMs: t.timeoutMs, outputBytesMax: 1000, beforeFirstByte: () => true });
        }
        await own(tenant, run);
      }),
    },
  },
  {
    law: 'EFF-4', title: 'a connector that tries again when no reply comes',
    saboteur: { setting: { ...base, ...world({ ok: 1, 'loses-reply': 2 }) }, connector: (own) => ({ ...own, dispatch: async (r) => { const o = await own.dispatch(r); return o.kind === 'unknown' ? own.dispatch({ ...r, beforeFirstByte: () => true }) : o; } }) },
  },
  {
    law: 'EFF-3', title: 'a connector that calls a lost reply a refusal',
    saboteur: { setting: { ...base, ...world({ ok: 1, 'loses-reply': 3 }) }, connector: (own) => ({ ...own, dispatch: async (r) => { const o = await own.dispatch(r); return o.kind === 'unknown' ? { kind: 'refused', cause: o.cause, text: '' } : o; } }) },
  },
  {
    law: 'EFF-3', title: 'a connector that calls a timeout not sent',
    saboteur: { setting: { ...base, ...world({ ok: 1, 'loses-reply': 3 }) }, connector: (own) => ({ ...own, dispatch: async (r) => { const o = await own.dispatch(r); return o.kind === 'unknown' ? { kind: 'not-sent', cause: o.cause } : o; } }) },
  },
  {
    law: 'EFF-2', title: 'a reconciler that sends before its attempt is written',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400,
      access: only('effect-reconciler', (own) => ({
        append: async (r): Promise<AppendOutcome> => (r.events.some((e) => e.type === 'effect.attempt-started') ? { kind: 'appended', fresh: true, first: r.expected + 1, last: r.expected + r.events.length, head: '', recordedAt: 0, position: '' } : own.append(r)),
      })),
    },
  },
  {
    law: 'EFF-6', title: 'a gate that sees no unresolved effects, before a store that looks at no scope',
    saboteur: {
      setting: { ...base, ...world({ ok: 1, 'loses-reply': 3 }), runs: 2, tools: ['mail'] },
      access: only('policy-gate', (own) => ({ decisionView: async (q) => ({ ...(await own.decisionView(q)), openEffects: [] }) })),
      port: port((p) => ({ ...p, scopesFree: [] })),
    },
  },
  {
    law: 'EFF-7', title: 'a store that lets an attempt start on a permit from before the last policy',
    saboteur: { setting: { ...base, ...world({ ok: 1 }), weights: { run: 40, deliver: 30, crash: 0, jump: 0, sweep: 3, people: 20 } }, port: port(({ validUntil: _validUntil, ...p }) => ({ ...p, requires: [] })) },
  },
  {
    law: 'EFF-5', title: 'a query that finds nothing, whatever is there',
    saboteur: { setting: { ...base, ...world({ 'loses-reply': 1 }), queryWorks: true }, connector: (own) => ({ ...own, ...(own.query === undefined ? {} : { query: async (q) => { const o = await own.query?.(q); return o?.kind === 'happened' ? { kind: 'not-found' } : (o ?? { kind: 'not-found' }); } }) }) },
  },
  {
    law: 'EFF-9', title: 'a query that keeps quiet about the second time',
    saboteur: { setting: { ...base, ...world({ twice: 1 }), queryWorks: true }, connector: (own) => ({ ...own, ...(own.query === undefined ? {} : { query: async (q) => { const o = await own.query?.(q); return o?.kind === 'happened' ? { ...o, count: 1 } : (o ?? { kind: 'not-found' }); } }) }) },
  },
  {
    law: 'SEAL-5', title: 'a sealer that leaves out what is unresolved, before a store that does the same',
    saboteur: {
      setting: { ...base, ...world({ 'loses-reply': 1 }) }, calmStepsMax: 400,
      react: (service, own, log): React => (service !== 'checkpoint-sealer' ? own : async (tenant, run) => {
        await decideAgain(log, () => log.state(tenant, run), (s) => s, (s) => {
          if (s.boundary.length === 0) return null;
          const manifest = canonical(cutOf(forgetful(s), canonical, sha256).manifest);
          const checkpoint = `cp-${s.revision}`;
          return { facts: [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })], checkpoint: { checkpoint, manifest } };
        });
      }),
      door: deluded(['checkpoint.sealed'], forgetful),
    },
  },
  { law: 'SEAL-6', title: 'a sealer that sleeps', saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 400, react: (service, own): React => (service === 'checkpoint-sealer' ? () => Promise.resolve() : own) } },
  {
    law: 'CTX-3', title: 'a compiler that takes unknown for refused',
    saboteur: {
      setting: { ...base, ...world({ 'loses-reply': 1 }) },
      access: only('context-compiler', (own) => {
        const believe = (events: readonly EventEnvelope[]): readonly EventEnvelope[] => events.map((e) => (e.type === 'effect.outcome-unknown' ? ({ ...e, type: 'effect.refused', data: { effect: e.data.effect, attempt: e.data.attempt, cause: 'NO_REPLY', text: null } } as unknown as EventEnvelope) : e));
        return { decisionView: async (q) => { const v = await own.decisionView(q); return { ...v, tail: believe(v.tail) }; }, loadRun: async (t, s: StreamId, after) => { const v = await own.loadRun(t, s, after); return { ...v, tail: believe(v.tail) }; } };
      }),
    },
  },
  { law: 'CON-2', title: 'a gateway whose adapter leaves the pieces away', saboteur: { setting: { ...base, ...world({ ok: 1 }) }, adapter: (own) => ({ ...own, required: () => [], project: (plan, route) => projectAnyway(plan, route, new Map()) }) } },
  {
    law: 'CON-1', title: 'an adapter that lets an opaque piece into the text',
    saboteur: { setting: { ...base, ...world({ ok: 1 }) }, calmStepsMax: 1000, adapter: (own) => ({ ...own, interpret: (o, c) => { const i = own.interpret(o, c); return i.kind === 'accepted' && i.pieces[0] !== undefined ? { ...i, parts: [...i.parts, { kind: 'text', text: Buffer.from(i.pieces[0].bytes).toString('utf8') }] } : i; } }) },
  },
  {
    law: 'BUD-5', title: 'a gate that takes the tenant for rich, before a store that does not count',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }), allowance: { usd_micros: 100, tokens: 100, calls: 1 } },
      access: only('policy-gate', (own) => ({ decisionView: async (q) => ({ ...(await own.decisionView(q)), account: plenty }) })),
      port: port((p) => (p.debit !== null && p.debit.tokens >= 0 && p.stream.startsWith('run/') ? { ...p, debit: null } : p)),
    },
  },
  {
    law: 'RUN-1', title: 'a store that changes what it keeps',
    saboteur: {
      setting: { ...base, ...world({ ok: 1 }) },
      port: (own) => {
        const held = (own as MemoryEventStore).held;
        return port((p) => {
          const events = held.tenants.get(p.tenant)?.streams.get(p.stream)?.events as { event: EventEnvelope }[] | undefined;
          const old = events?.[2];
          if (events !== undefined && old !== undefined) events[2] = { ...old, event: { ...old.event, recordedAt: 1 } };
          return p;
        })(own);
      },
    },
  },
  { law: 'SCH-2', title: 'a store that tells the compiler nothing', saboteur: { setting: { ...base, ...world({ ok: 1 }) }, port: port((p) => ({ ...p, wake: p.wake === 'context-compiler' || p.wake === 'several' ? 'none' : p.wake, needs: { ...p.needs, upsert: p.needs.upsert.filter((n) => n.service !== 'context-compiler') } })) } },
  ...AUTHORITY_SABOTEURS, ...KEEPING_SABOTEURS,
];
