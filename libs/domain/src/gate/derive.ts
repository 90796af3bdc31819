/**
 * A decision derived again from what it names: the run at the revision that was judged, the tenant's documents at theirs, the time, what was met, and what the
 * hook answered. If the gate was what its code says, the same facts come out.
 *
 * D1. What nobody can know afterwards is taken from the decision and bounded by it: of the tenant's balance, only what the decision itself drew or found missing.
 *
 * Rows: POL-3.
 */
import { minus, most, NOTHING, paid, type Amounts } from '../budget.js';
import { fold } from '../fold.js';
import type { EventEnvelope, Fact, Grounds, HookAnswer } from '../events.js';
import type { Digest, EffectId, StoreTimeMs } from '../ids.js';
import type { Json } from '../json.js';
import type { Rules } from '../rules.js';
import { openEffectOf } from '../effect.js';
import type { RunState } from '../run.js';
import type { TenantRevisions, TenantState } from '../tenant.js';
import { judge } from './judge.js';
import type { GateView } from './judging.js';

/** One append of the gate, and the run as it stood before it. */
export interface Decided { readonly before: RunState; readonly events: readonly EventEnvelope[] }
export interface DerivePorts { readonly digest: (v: Json) => Digest; readonly canonical: (v: unknown) => string; readonly rules: Rules }

const groundsIn = (e: EventEnvelope): Grounds | null => ('grounds' in e.data ? (e.data.grounds as Grounds) : null);
/** The tenant's revisions that a decision names; null: nothing in it was judged under the tenant's documents. */
export const revisionsOf = (d: Decided): TenantRevisions | null => { for (const e of d.events) if ('grounds' in e.data && 'tenant' in e.data) return e.data.tenant as TenantRevisions; return null; };

function viewOf(d: Decided, tenant: TenantState, args: ReadonlyMap<string, Json>): GateView {
  const s = d.before;
  const own: GateView['open'] = Object.values(s.effects).flatMap((e) => { const o = openEffectOf(e); return o === undefined ? [] : [{ ...o, run: s.run }]; });
  const hooked = new Map<EffectId, HookAnswer>();
  let now: StoreTimeMs = d.events[0]?.recordedAt ?? 0;
  let suspect = false;
  const others: GateView['open'][number][] = [];
  for (const e of d.events) {
    const g = groundsIn(e);
    if (g === null) continue;
    now = g.at;
    const effect = 'effect' in e.data ? s.effects[e.data.effect as EffectId] : undefined;
    if (g.hook !== undefined && effect !== undefined) hooked.set(effect.effect, g.hook);
    if (effect !== undefined) for (const m of g.met) if (m.run !== s.run) others.push({ ...m, scope: effect.scope });
    if ('code' in e.data && e.data.code === 'STORE_SUSPECT') suspect = true;
  }
  return { state: s, open: [...own, ...others], tenant, balance: balanceOf(d), windowEndsAt: opensAt(d), suspect, standing: [], now, args, hooked };
}
const PLENTY: Amounts = { usd_micros: 2 ** 50, tokens: 2 ** 50, calls: 2 ** 50 };
/** keeps D1: what the decision drew, and of what it found short no more; of the rest it had enough. */
function balanceOf(d: Decided): Amounts {
  const taken = most(minus(paid(fold(d.before, d.events).budget), paid(d.before.budget)), NOTHING);
  const short = d.events.flatMap((e) => (e.type === 'budget.exhausted' && e.data.of === 'tenant' ? [e.data.dimension] : []));
  return short.length === 0 ? taken : { ...PLENTY, ...Object.fromEntries(short.map((x) => [x, taken[x]])) };
}
const opensAt = (d: Decided): number | null => { for (const e of d.events) { const f = 'facts' in e.data ? (e.data.facts as { readonly opensAt?: number | null } | null) : null; if (typeof f?.opensAt === 'number') return f.opensAt; } return null; };

/** What is made up for a decision, or known to nobody afterwards, is left out of the comparison. */
function comparable(f: Fact): Json {
  const { permit: _p, reservation: _r, grounds, ...rest } = f.data as { readonly permit?: string; readonly reservation?: string; readonly grounds?: Grounds };
  const named = f.type === 'approval.requested' ? { ...rest, approval: '' } : rest;
  return { type: f.type, data: { ...named, ...(grounds === undefined ? {} : { by: [...grounds.by] }) } } as unknown as Json;
}

/** What the gate would have said of the same facts under these documents and rules, were the tenant's balance no matter (nobody knows it afterwards). For dry runs: none of it is ever appended. */
export const judgedUnder = (d: Decided, tenant: TenantState, args: ReadonlyMap<string, Json>, ports: Pick<DerivePorts, 'digest' | 'rules'>): readonly Fact[] =>
  judge({ ...viewOf(d, tenant, args), balance: PLENTY, windowEndsAt: null }, { id: (kind, n) => `${kind}-${n}`, digest: ports.digest, rules: ports.rules });

/** What differs between the decision and its derivation, in words; empty: they are the same. `tenant`: its documents at the revisions that the decision names. */
export function derivedAgain(d: Decided, tenant: TenantState, args: ReadonlyMap<string, Json>, ports: DerivePorts): readonly string[] {
  const again = judge(viewOf(d, tenant, args), { id: (kind, n) => `${kind}-${n}`, digest: ports.digest, rules: ports.rules });
  const text = (f: Fact): string => ports.canonical(comparable(f));
  const was = d.events.map((e) => text(e));
  const is = again.map(text);
  return was.flatMap((w, at) => (w === is[at] ? [] : [`${d.events[at]?.type} at revision ${d.events[at]?.revision} is not what follows from what it names: ${is[at] ?? 'nothing follows'}`])).concat(is.slice(was.length).map((x) => `from what it names follows besides: ${x}`)).map((w) => w.slice(0, 1500));
}
