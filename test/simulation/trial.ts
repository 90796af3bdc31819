/** One seed, run and judged where it is run: what comes back is what was found and how often things happened, never the history itself. */
import { isDeepStrictEqual } from 'node:util';
import { emptyRun, fold, type EventEnvelope, type RunState } from '@n17q/domain';
import { judgeAll, type Breach } from './judges/index.js';
import { REMEMBERS } from './model.js';
import { normalised } from './replay.js';
import { SABOTEURS } from './saboteurs.js';
import { simulate, type Simulated } from './simulation.js';

/** `saboteur`: its place in the list. */
export type Question = { readonly kind: 'seed'; readonly seed: number } | { readonly kind: 'saboteur'; readonly saboteur: number; readonly seed: number };
export interface Verdict { readonly seed: number; readonly breaches: readonly Breach[]; readonly seen: { readonly [what: string]: number }; readonly steps: number }

/** How often each thing happened by which the laws are tried: by type, and where it says more, by that too. */
function countedIn(s: Simulated): { [what: string]: number } {
  const seen: { [what: string]: number } = {};
  const count = (what: string, n = 1): void => { seen[what] = (seen[what] ?? 0) + n; };
  let offered = new Set<string>();
  const tools = new Map<string, string>();
  for (const { event } of s.store.held.lane) {
    const d = event.data as unknown as { readonly [k: string]: unknown };
    count(event.type);
    for (const k of ['code', 'decision', 'answer', 'by'] as const) if (typeof d[k] === 'string') count(`${event.type} ${d[k]}`);
    if (event.type === 'registry.published') offered = new Set(event.data.tools.map((t) => `${t.name} ${t.server} ${t.schemaDigest}`));
    if (event.type === 'effect.intended') tools.set(event.data.effect, `${event.data.tool} ${event.data.mapping.server} ${event.data.mapping.schemaDigest}`);
    if (event.type === 'look.permitted' && !offered.has(tools.get(event.data.effect) ?? '')) count('look at what is no longer a tool');
    if (event.type === 'approval.decided') count(`decided by ${event.actor.id}`);
    if (event.type === 'effect.permitted' && event.data.approval !== null) count('permit on an approval');
    if (event.type === 'provider.observed' && JSON.stringify(d['observation']).includes(REMEMBERS)) count('provider that remembers');
  }
  count('event', s.store.held.lane.length);
  count('crash', s.crashes);
  count('found by sweep', s.foundBySweep);
  count('model call', s.model.ledger.requests.length);
  for (const x of s.world.ledger.sends) { count('send'); count(`send ${x.kind}`); }
  return seen;
}

/** F1 of the fold: a snapshot and its tail give what the whole gives. */
function halves(run: string, events: readonly EventEnvelope[]): readonly Breach[] {
  const whole = JSON.stringify(fold(emptyRun('acme', run), events));
  return [Math.floor(events.length / 3), Math.floor(events.length / 2), events.length - 1].flatMap((at) => {
    const snapshot = JSON.parse(JSON.stringify(fold(emptyRun('acme', run), events.slice(0, at)))) as RunState;
    return JSON.stringify(fold(snapshot, events.slice(at))) === whole ? [] : [{ law: 'F1', what: `${run}: cut at ${at}, another state than from the whole` }];
  });
}

export async function answer(q: Question): Promise<Verdict> {
  if (q.kind === 'saboteur') {
    const planned = SABOTEURS[q.saboteur];
    if (planned === undefined) throw new RangeError(`there is no saboteur ${q.saboteur}`);
    const s = await simulate(q.seed, planned.saboteur);
    const again = planned.twice === undefined || isDeepStrictEqual(normalised(s), normalised(await simulate(q.seed, planned.saboteur)));
    return { seed: q.seed, breaches: [...judgeAll(s), ...(again ? [] : [{ law: planned.law, what: 'the same seed, and another history' }])], seen: {}, steps: s.steps };
  }
  const s = await simulate(q.seed);
  const runs = [...(s.store.held.tenants.get('acme')?.streams ?? [])].filter(([stream]) => stream.startsWith('run/'));
  return { seed: q.seed, breaches: [...judgeAll(s), ...runs.flatMap(([stream, held]) => halves(stream.slice(4), held.events.map((h) => h.event)))], seen: countedIn(s), steps: s.steps };
}
