/**
 * One cell: what happened in the world to the effect of one kind of contract, in a run that was disturbed at one place. Judged by the world's
 * ledger; the log is asked only what it claims.
 *
 * Deliberately without: the product's tables on repetition.
 *
 * Rows: EFF-2, EFF-3, EFF-4, EFF-10.
 */
import { CONTRACT_KINDS, type ContractKind, type EventEnvelope } from '@n17q/domain';
import { sendsBetween } from './judges.js';
import { ofType, type Scene, type Started } from './scene.js';
import { CALLS } from './tools.js';

export const KINDS = CONTRACT_KINDS;
export interface Cell {
  /** Done in the world: tickets, writes, reads. For `contained`, whose world is a folder of its own, the states that it left behind. */
  readonly accepted: number;
  /** Requests that the target saw. For `contained`: attempts. */
  readonly arrived: number;
  readonly wrong: readonly string[];
}

const effectsOf = (log: readonly EventEnvelope[], kind: ContractKind): ReadonlySet<string> =>
  new Set(ofType(log, 'effect.intended').filter((e) => e.data.contract.kind === kind && e.data.tool === CALLS[kind].tool).map((e) => e.data.effect as string));

/** `arrivals`: what the target's ledger holds of this run, in order. */
export function cellOf(log: readonly EventEnvelope[], kind: ContractKind, arrivals: readonly { readonly what: string }[]): Cell {
  const effects = effectsOf(log, kind);
  const said = (type: EventEnvelope['type'], also: (d: { readonly [k: string]: unknown }) => boolean = () => true): number => log.filter((e) => e.type === type && effects.has(String((e.data as unknown as { effect: string }).effect)) && also(e.data as never)).length;
  const wrong: string[] = [];
  const done = said('effect.observed') + said('effect.reconciled', (d) => d['as'] === 'happened');
  if (kind === 'contained') {
    const left = said('workspace.changed');
    if (left !== done) wrong.push(`${left} states were left behind, ${done} are said to have been`);
    return { accepted: left, arrived: said('effect.attempt-started'), wrong };
  }
  const accepted = arrivals.filter((e) => e.what === 'accepted' || e.what === 'read').length;
  const { least, most } = sendsBetween(log, 'effect', effects);
  if (arrivals.length < least || arrivals.length > most) wrong.push(`${arrivals.length} requests arrived for ${kind}; by the log between ${least} and ${most} were sent`);
  if (done > 0 && accepted === 0) wrong.push(`${kind} is said to have happened, and did not`);
  if (kind !== 'read-only' && accepted > effects.size) wrong.push(`${kind} happened ${accepted} times for ${effects.size} intents`);
  if (kind !== 'read-only' && said('effect.reconciled', (d) => d['as'] === 'did-not-happen') > 0 && accepted > 0) wrong.push(`${kind} is said not to have happened, and did`);
  return { accepted, arrived: arrivals.length, wrong };
}

export const judgedCell = (scene: Scene, s: Started, log: readonly EventEnvelope[], kind: ContractKind): Cell => cellOf(log, kind, kind === 'contained' ? [] : scene.tickets(kind, s.tag));

/** Failpoint by contract: accepted, and in brackets the requests that arrived where these were more. Of several runs at one place the highest stands. */
export class CellTable {
  readonly #rows = new Map<string, Map<ContractKind, Cell>>();
  constructor(private readonly title: string) {}
  add(place: string, kind: ContractKind, cell: Cell): void {
    const row = this.#rows.get(place) ?? new Map<ContractKind, Cell>();
    const was = row.get(kind);
    row.set(kind, was === undefined || cell.accepted > was.accepted ? cell : was);
    this.#rows.set(place, row);
  }
  /** Cells that nobody filled, as `place × kind`. */
  missing(places: readonly string[]): readonly string[] { return places.flatMap((p) => KINDS.filter((k) => this.#rows.get(p)?.has(k) !== true).map((k) => `${p} × ${k}`)); }
  text(): string {
    const width = Math.max(...[...this.#rows.keys()].map((k) => k.length), 10) + 2;
    const line = (first: string, cells: readonly string[]): string => `${first.padEnd(width)}${cells.map((c) => c.padStart(11)).join('')}`;
    return [this.title, line('', KINDS), ...[...this.#rows].map(([place, row]) => line(place, KINDS.map((k) => { const c = row.get(k); return c === undefined ? '-' : c.arrived > c.accepted ? `${c.accepted} (${c.arrived})` : `${c.accepted}`; })))].join('\n');
  }
}
