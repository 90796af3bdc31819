/** What saboteurs are made of: a setting in which their law is tried, and ways to break one part. */
import type { EventData, EventEnvelope, EventType, RunState } from '@n17q/domain';
import { GuardedStore, isRefusal, parseAppend, prepareAppend, type EventStorePort, type PreparedAppend, type StoreAccess } from '@n17q/event-log';
import type { Saboteur } from '../simulation.js';
import type { Setting } from '../setting.js';

const MODES = { ok: 0, 'reports-failure': 0, 'loses-reply': 0, 'loses-request': 0, refuses: 0, 'not-sent': 0, late: 0, 'slow-arrival': 0, twice: 0 };
export const world = (some: Partial<Setting['world']>): Partial<Setting> => ({ world: { ...MODES, ...some } });
export const plenty = { usd_micros: 50_000_000, tokens: 5_000_000, calls: 500 };
export const base: Partial<Setting> = { allowance: plenty, budget: plenty, retention: 'standard', onBehalfOf: null, wallMs: null, source: 'none', model: { ok: 1, 'loses-request': 0, 'loses-reply': 0, busy: 0, refuses: 0, 'not-sent': 0, late: 0, cut: 0 }, turns: 6 };

/** The store with one of its own checks or duties left out. */
export const port = (change: (p: PreparedAppend) => PreparedAppend) => (own: EventStorePort): EventStorePort =>
  new Proxy(own, { get: (t, name, self) => (name === 'append' ? (p: PreparedAppend) => t.append(change(p)) : typeof Reflect.get(t, name, self) === 'function' ? (Reflect.get(t, name, self) as (...a: unknown[]) => unknown).bind(t) : Reflect.get(t, name, self) as unknown) });
export const only = (service: StoreAccess['service'], change: (a: StoreAccess) => Partial<StoreAccess>) => (own: StoreAccess): StoreAccess => (own.service === service ? { ...own, ...change(own) } : own);
/** What a service reads, told otherwise: of its run and of its tenant. */
export const hearing = (service: StoreAccess['service'], told: (e: EventEnvelope) => EventEnvelope) => only(service, (own) => ({
  loadRun: async (t, s, after) => { const v = await own.loadRun(t, s, after ?? 0); return { ...v, tail: v.tail.map(told) }; },
  decisionView: async (q) => { const v = await own.decisionView({ ...q, afterRevision: q.afterRevision ?? 0 }); return { ...v, tail: v.tail.map(told), tenant: v.tenant.map((d) => (d.event === null ? d : { ...d, event: told(d.event) })) }; },
}));
/** The same event with other data, or another one in its place. */
export const retold = <T extends EventType>(type: T, as: (d: EventData[T], e: EventEnvelope) => Partial<EventEnvelope> | null) => (e: EventEnvelope): EventEnvelope => (e.type === type ? ({ ...e, ...as(e.data as EventData[T], e) } as EventEnvelope) : e);
export const accesses = (...all: readonly ((own: StoreAccess) => StoreAccess)[]) => (own: StoreAccess): StoreAccess => all.reduce((x, f) => f(x), own);

/** Services that take a run for another than it is, whenever they look at it. */
export const believing = (change: (s: RunState) => RunState): NonNullable<Saboteur['react']> => (_service, own, log) => {
  const [view, state] = [log.view.bind(log), log.state.bind(log)];
  Object.assign(log, { view: async (...a: Parameters<typeof view>) => { const v = await view(...a); return { ...v, state: change(v.state) }; }, state: async (...a: Parameters<typeof state>) => change(await state(...a)) });
  return own;
};

/** The store's guard, which takes a run for another than it is when it judges these events; null: whatever comes. */
export const deluded = (types: readonly EventType[] | null, change: (s: RunState) => RunState): NonNullable<Saboteur['door']> => (p, clock) => {
  const guard = new GuardedStore(p, { clock });
  return {
    append: async (raw, writer, bytes) => {
      if (!raw.stream.startsWith('run/') || (types !== null && !raw.events.some((e) => types.includes(e.type)))) return guard.append(raw, writer, bytes);
      const parsed = parseAppend(raw, writer, bytes);
      const state = await guard.state(raw.tenant, raw.stream);
      if (isRefusal(parsed)) return parsed;
      if (state.revision !== raw.expected) return guard.append(raw, writer, bytes);
      const prepared = prepareAppend(parsed, writer, { kind: 'run', state: change(state) }, clock.now());
      return isRefusal(prepared) ? prepared : p.append(prepared.append);
    },
  };
};
export interface Planned { readonly law: string; readonly title: string; readonly saboteur: Saboteur; /** What is caught by running the seed twice. */ readonly twice?: true }
