/**
 * What the judges read: the stored events, the contents, the ledgers of world and model. Nothing here or beside it uses the product's domain: the
 * laws are told a second time, in the plainest way, so that an error in the first telling shows.
 */
import { createHash } from 'node:crypto';
import type { HeldStore } from '@n17q/event-log';
import type { Simulated } from '../simulation.js';

export interface Event {
  readonly type: string; readonly data: { readonly [k: string]: unknown }; readonly tenant: string; readonly stream: string; readonly revision: number; readonly position: number; readonly writer: string;
  readonly recordedAt: number; readonly previous: string; readonly digest: string; readonly segment: number; readonly raw: { readonly [k: string]: unknown };
}
export interface Record { readonly events: readonly Event[]; readonly runs: ReadonlyMap<string, readonly Event[]>; readonly sim: Simulated; readonly held: HeldStore }
export type Say = (law: string, what: string) => void;
export type Judge = (r: Record, say: Say) => void;

export const str = (v: unknown): string => String(v);
export const num = (v: unknown): number => Number(v);
export const of = (v: unknown, k: string): unknown => (v as { readonly [k: string]: unknown } | null)?.[k];

export function recordOf(sim: Simulated): Record {
  // each stream's own copy: what readers of a run get
  const kept = [...sim.store.held.tenants.values()].flatMap((t) => [...t.streams.values()].flatMap((s) => s.events)).sort((a, b) => a.position - b.position);
  const events = kept.map((h): Event => ({ ...(h.event as unknown as Event), position: h.position, raw: h.event as unknown as Event['raw'] }));
  const runs = new Map<string, Event[]>();
  for (const e of events) if (e.stream.startsWith('run/')) runs.set(e.stream, [...(runs.get(e.stream) ?? []), e]);
  return { events, runs, sim, held: sim.store.held };
}

/** Canonical JSON for values without odd numbers: keys sorted, nothing else. */
export function plainCanonical(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map(plainCanonical).join(',')}]`;
  if (v !== null && typeof v === 'object') return `{${Object.keys(v).filter((k) => of(v, k) !== undefined).sort().map((k) => `${JSON.stringify(k)}:${plainCanonical(of(v, k))}`).join(',')}}`;
  return JSON.stringify(v);
}
export const hash = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

export const CONSEQUENTIAL = new Set(['idempotent', 'keyed', 'queryable', 'neither']);
/** Ends an attempt's uncertainty with an answer. */
export const ANSWERED = new Set(['effect.observed', 'effect.refused', 'effect.not-sent']);
/** A target and the fields of it that are named. */
export interface Of { readonly target: string; readonly fields: { readonly [name: string]: unknown } }
const scopeIn = (scope: unknown): Of => ({ target: str(of(scope, 'target')), fields: (of(scope, 'fields') ?? {}) as Of['fields'] });
/** Whether two may be about the same thing: nothing that both name tells them apart. */
export const mayMeet = (a: Of, b: Of): boolean => a.target === b.target && Object.keys(a.fields).filter((k) => k in b.fields).every((k) => JSON.stringify(a.fields[k]) === JSON.stringify(b.fields[k]));
/** The contract of an effect, from its intent. */
export const contractsOf = (r: Record): Map<string, { kind: string; scope: Of; generation: string; stream: string; subject: string }> =>
  new Map(r.events.filter((e) => e.type === 'effect.intended').map((e) => [str(e.data['effect']), { kind: str(of(e.data['contract'], 'kind')), scope: scopeIn(e.data['scope']), generation: str(e.data['generation']), stream: e.stream, subject: str(e.data['subject']) }]));

/** Tells of each answer whether it leaves its effect unresolved: a later attempt's refusal says nothing about an earlier one of unknown outcome. */
export function stillOpen(): (e: Event) => boolean {
  const kinds = new Map<string, string>();
  const uncertain = new Set<string>();
  return (e) => {
    const effect = str(e.data['effect']);
    if (e.type === 'effect.intended') kinds.set(effect, str(of(e.data['contract'], 'kind')));
    if (e.type === 'effect.outcome-unknown') uncertain.add(effect);
    return (e.type === 'effect.refused' || e.type === 'effect.not-sent') && uncertain.has(effect) && CONSEQUENTIAL.has(kinds.get(effect) ?? '');
  };
}

/** The unresolved effects of a run after each of its events, told from attempts and evidence alone. */
export function unresolvedAlong(events: readonly Event[]): readonly ReadonlySet<string>[] {
  let open = new Set<string>();
  const stays = stillOpen();
  return events.map((e) => {
    const effect = str(e.data['effect']);
    if (stays(e)) return open;
    if (e.type === 'effect.attempt-started') open = new Set([...open, effect]);
    else if (ANSWERED.has(e.type) || e.type === 'effect.reconciled') { open = new Set(open); open.delete(effect); }
    return open;
  });
}
