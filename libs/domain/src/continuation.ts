/**
 * May these opaque pieces be sent with this context? Asked right before the request, from the log alone, by code that has no part in
 * retaining them.
 *
 * V1. Each piece belongs to an output of the lineage that goes on, and its record says the same generation, turn and exact digest.
 * V2. Adapter, endpoint, account and account scope are the ones that issued it, and the lineage's pieces agree on the model that served them.
 * V3. The results that answer it are the ones that it was permitted with, in their order (by the entry's commitment).
 * V4. Where the protocol requires a piece and there is none, nothing is sent.
 *
 * Rows: CON-2, CON-4, CON-5.
 */
import type { RefusedBecause } from './events.js';
import type { Json } from './json.js';
import type { RunState } from './run.js';

export interface Issuer { readonly adapter: string; readonly endpoint: string; readonly account: string; readonly accountScope: string }
type No = RefusedBecause | null;
const no = (code: string, reason: string, facts: Json): No => ({ code, reason, facts });

export function verifyContinuations(s: RunState, now: Issuer, required: readonly { readonly generation: string; readonly partIndex: number }[]): No {
  const g = s.generation;
  const l = s.lineage;
  if (g === null || l === null || l.lineage !== g.lineage) return no('CONTINUATION_OF_ANOTHER_LINEAGE', 'the context belongs to another lineage', {});
  const placed = new Map<string, { generation: string; partIndex: number; exact: string; turn: number; results: string }>();
  l.items.forEach((x, at) => {
    if (x.kind !== 'output') return;
    const next = l.items[at + 1];
    for (const c of x.continuations) placed.set(c.handle, { generation: x.generation, partIndex: c.partIndex, exact: c.exact, turn: x.turn, results: next?.kind === 'said' ? next.entry.commitment : '' });
  });
  if (g.continuations.length !== placed.size) return no('CONTINUATION_SET_DIFFERS', `the permit names ${g.continuations.length} continuations, the lineage has ${placed.size}`, {});
  let order = 0;
  const handles = [...placed.keys()];
  for (const c of g.continuations) {
    const p = placed.get(c.handle);
    const record = l.retained.find((r) => r.handle === c.handle);
    if (p === undefined || handles[order++] !== c.handle) return no('CONTINUATION_OUT_OF_ORDER', `continuation ${c.handle} is not in its place`, { handle: c.handle });
    if (record === undefined || record.exact !== p.exact || record.generation !== p.generation || record.turn !== p.turn) return no('CONTINUATION_WITHOUT_RECORD', `no record of the gateway vouches for continuation ${c.handle} of generation ${p.generation}`, { handle: c.handle, generation: p.generation }); // keeps V1
    if (c.results !== p.results) return no('CONTINUATION_RESULTS_DIFFER', `the results that answer generation ${p.generation} are not the ones that were permitted`, { handle: c.handle, generation: p.generation }); // keeps V3
  }
  if (placed.size > 0) {
    const b = l.binding;
    if (b === null || b === 'mixed') return no('CONTINUATION_BINDING_MIXED', 'the pieces of this lineage were issued to different parties', {});
    for (const k of ['adapter', 'endpoint', 'account', 'accountScope'] as const) if (b[k] !== now[k]) return no('CONTINUATION_FOREIGN', `the pieces were issued to another ${k}`, { was: b[k], is: now[k] }); // keeps V2
  }
  for (const r of required) {
    if (![...placed.values()].some((p) => p.generation === r.generation && p.partIndex === r.partIndex)) return no('PROTOCOL_STATE_MISSING', `the provider requires its opaque piece of generation ${r.generation}, part ${r.partIndex}, and it is not in the store`, { generation: r.generation, partIndex: r.partIndex }); // keeps V4
  }
  return null;
}
