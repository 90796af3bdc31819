/**
 * What the demo claims, counted from the ledgers, the log, the bus and the files; each with what it should be.
 *
 * Rows: RUN-2, SEAL-4, EFF-3, EFF-5, CON-1, CON-3, CON-4, RES-2, RES-3.
 */
import type { EventEnvelope } from '@n17q/domain';
import { all, first } from './watch.js';

export interface Finding { readonly what: string; readonly found: string; readonly ok: boolean }
export interface Facts {
  readonly events: readonly EventEnvelope[];
  readonly ticketsInLedger: number;
  readonly ticketRequests: number;
  readonly providerRefusals: number;
  readonly reconcilerKills: number;
  readonly gatewayKills: number;
  readonly removedAccount: string;
  readonly leaks: { readonly values: number; readonly inRequests: number; readonly messages: number; readonly inMessages: number; readonly inLogs: number; readonly inStore: number; readonly inContents: number; readonly apiAnswers: number; readonly inApi: number };
  readonly repoUntouched: boolean;
}

const counted = (what: string, found: number, wanted: number): Finding => ({ what, found: found === wanted ? String(found) : `${found}, but it should be ${wanted}`, ok: found === wanted });
const held = (what: string, ok: boolean, found: string): Finding => ({ what, found: ok ? found : `NO: ${found}`, ok });

/** Attempts beyond the first, over all effects, and calls for which more than one effect was intended. */
export function repeatedDispatches(events: readonly EventEnvelope[]): number {
  const tally = (keys: readonly string[]): number => { const n = new Map<string, number>(); for (const k of keys) n.set(k, (n.get(k) ?? 0) + 1); return [...n.values()].reduce((sum, x) => sum + x - 1, 0); };
  return tally(all(events, 'effect.attempt-started').map((e) => e.data.effect)) + tally(all(events, 'effect.intended').map((e) => e.data.call));
}

/** Accepted outputs by the form of the attempt that brought them. */
export function formsOf(events: readonly EventEnvelope[]): Readonly<Record<string, number>> {
  const forms: Record<string, number> = {};
  for (const a of all(events, 'generation.accepted')) {
    const form = all(events, 'generation.started').find((s) => s.data.attempt === a.data.attempt)?.data.form ?? 'unknown';
    forms[form] = (forms[form] ?? 0) + 1;
  }
  return forms;
}

/** The zeros below count only if the search finds the values where they belong; a model's last one never goes back. */
const controlWords = (found: number, issued: number): string =>
  `${found} of ${issued}: the search works${found < issued ? `; the other ${issued - found} came last from their model, so they never went back to it` : ''}`;

function continuedBySecondOwner(events: readonly EventEnvelope[]): boolean {
  const starts = all(events, 'generation.started');
  const owner = starts[0]?.data.owner;
  const other = starts.find((s) => s.data.owner !== owner && s.data.form === 'continued');
  return other !== undefined && all(events, 'generation.accepted').some((a) => a.data.attempt === other.data.attempt);
}

export function verdicts(f: Facts): readonly Finding[] {
  const { events, leaks } = f;
  const unknown = first(events, 'effect.outcome-unknown');
  const settled = first(events, 'effect.reconciled', (d) => d.effect === unknown?.data.effect);
  const forms = formsOf(events);
  const segments = all(events, 'segment.started');
  const change = segments[1]?.data;
  const ended = first(events, 'run.ended');
  return [
    counted('tickets in the ledger of the ticket service', f.ticketsInLedger, 1),
    counted('requests that reached the ticket service', f.ticketRequests, 1),
    counted('repeated tool dispatches', repeatedDispatches(events), 0),
    held('the effect was unknown, then settled by a look', settled?.data.as === 'happened' && settled.data.by === 'query', unknown === undefined ? 'never unknown' : settled === undefined ? 'unknown, never settled' : `unknown at event ${unknown.revision}, ${settled.data.as} by ${settled.data.by} at event ${settled.revision}`),
    held('killed with -9', f.reconcilerKills === 1 && f.gatewayKills === 1, `effect-reconciler ${f.reconcilerKills}, provider-gateway ${f.gatewayKills}`),
    held('the continuation was rebuilt by the next gateway and accepted', continuedBySecondOwner(events) && f.providerRefusals === 0, `${forms['continued'] ?? 0} continued outputs, refused requests ${f.providerRefusals}`),
    held('generations by form', forms['first'] === 1 && (forms['continued'] ?? 0) > 0 && forms['reconstructed'] === 1, Object.entries(forms).map(([k, v]) => `${k} ${v}`).join(', ')),
    held('segments', segments.length === 2 && change?.from?.account === f.removedAccount && change.to.account !== f.removedAccount && change.from.model !== change.to.model, segments.length === 2 && change !== undefined ? `2: ${change.from?.account ?? '-'}/${change.from?.model ?? '-'} -> ${change.to.account}/${change.to.model}` : String(segments.length)),
    held('the run ended', ended?.data.how === 'completed' && !ended.data.withUnknowns, ended === undefined ? 'it did not' : `${ended.data.how}, ${ended.data.withUnknowns ? 'with' : 'without'} unknown effects, after ${events.length} events and ${all(events, 'checkpoint.sealed').length} checkpoints`),
    held('continuation values that the provider issued, found in its own requests', leaks.values > 0 && leaks.inRequests > 0, controlWords(leaks.inRequests, leaks.values)),
    counted(`continuation bytes in ${leaks.messages} bus messages`, leaks.inMessages, 0),
    counted('continuation bytes in logs', leaks.inLogs, 0),
    counted('continuation bytes in events, checkpoints and readable contents', leaks.inStore + leaks.inContents, 0),
    counted(`continuation bytes in ${leaks.apiAnswers} API answers`, leaks.inApi, 0),
    held('the given repository is as it was', f.repoUntouched, f.repoUntouched ? 'yes' : 'it changed'),
  ];
}
