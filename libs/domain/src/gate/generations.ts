/** Judging a model call. Rows: POL-1, POL-2, BUD-2, RES-3, RES-4, EFF-7. */
import { compiledSubject } from '../compile.js';
import type { RefusedBecause } from '../events.js';
import type { Json } from '../json.js';
import { heldBack } from '../needs.js';
import type { Route } from '../provider.js';
import { modelOf, sameRoute, tenantRevisions, type TenantState } from '../tenant.js';
import type { Generation } from '../run.js';
import { acting, question, refusedByRules } from './asking.js';
import { denied, groundsOf, no, permitFor, unusable, type Judging } from './judging.js';
import { reserve, shortFacts } from './money.js';

export function eligibleRoute(t: TenantState): Route | null {
  const doc = t.profiles?.document;
  return doc?.preference.find((r) => modelOf(doc, r) !== undefined) ?? null;
}

const deny = (j: Judging, g: Generation, b: RefusedBecause, by: readonly string[] = []): void =>
  j.d.add('generation.denied', { generation: g.generation, ...denied(j, { ...b, facts: { ...(b.facts as { readonly [k: string]: Json }), tenant: { ...tenantRevisions(j.view.tenant) } } }, groundsOf(j, by)) });
const gone = (r: Route): string => `account ${r.account} with model ${r.model} is no longer configured`;

/** The decision-maker changes, and the run's own policy is against it (RES-4). */
function changeForbidden(j: Judging, g: Generation): RefusedBecause | null {
  const s = j.d.state;
  if (s.route === null || sameRoute(s.route, g.route)) return null;
  if (s.task?.changePolicy === 'forbid') return no('CHANGE_FORBIDDEN', 'this run forbids a change of its decision-maker');
  return s.task?.changePolicy === 'review' ? no('CHANGE_NEEDS_REVIEW', 'a person must resume the run before its decision-maker changes') : null;
}

export function judgeGeneration(j: Judging): void {
  const s = j.d.state;
  const g = s.generation;
  if (g === null || g.stage === 'started' || heldBack(s, null) || (g.stage === 'permitted' && g.permit !== null && !unusable(j, g.permit))) return;
  const doc = j.view.tenant.profiles?.document;
  const model = modelOf(doc, g.route);
  const revisions = tenantRevisions(j.view.tenant);
  if (j.view.suspect) return deny(j, g, no('STORE_SUSPECT', 'the store lost acknowledged events of this run: nothing is sent before a person has looked'));
  const forbidden = changeForbidden(j, g);
  if (forbidden !== null) return deny(j, g, forbidden);
  if (model === undefined) {
    const to = eligibleRoute(j.view.tenant);
    if (to === null) return deny(j, g, no('NO_ROUTE', 'no provider account and model is configured that this run may use'));
    return j.d.add('route.decided', { from: s.route, to, reason: gone(g.route), tenant: revisions });
  }
  const subject = compiledSubject(s);
  if (subject === null || j.ports.digest(subject) !== g.subject) return deny(j, g, no('CONTEXT_MISMATCH', 'the compiled context is not what its digest says'));
  const tokens = g.tokensMax.input + g.tokensMax.output;
  const amounts = { usd_micros: Math.ceil((g.tokensMax.input * model.usdMicrosPer1kInput + g.tokensMax.output * model.usdMicrosPer1kOutput) / 1000), tokens, calls: 0 };
  const who = acting(j, null);
  if ('code' in who) return deny(j, g, who);
  const r = refusedByRules(j, question(j, 'generate', who.principal, { kind: 'model', provider: g.route.provider, account: g.route.account, model: g.route.model, storesContent: model.profile.storesContent }, { delegate: who.delegate, attempts: s.failures.count, cost: amounts, ownRequest: true }));
  if (r.because !== null) return deny(j, g, r.because, r.by);
  let reservation = g.reservation !== null && g.reservation in s.budget.reservations ? g.reservation : null;
  if (reservation === null) {
    const got = reserve(j, 'generation', amounts);
    if ('short' in got) {
      j.d.add('budget.exhausted', { dimension: got.short, needed: amounts, of: got.of });
      return deny(j, g, no('BUDGET_EXHAUSTED', `the ${got.of}'s budget of ${got.short} does not cover ${amounts[got.short]}`, { ...shortFacts(j, got, amounts) }), r.by);
    }
    reservation = got.reservation;
  }
  if (s.route === null || !sameRoute(s.route, g.route)) j.d.add('route.decided', { from: s.route, to: g.route, reason: s.route === null ? 'the first eligible route of the tenant' : modelOf(doc, s.route) === undefined ? gone(s.route) : 'the context was compiled for it', tenant: revisions });
  j.d.add('generation.permitted', { generation: g.generation, reservation, ...permitFor(j, g.subject, groundsOf(j, r.by), who.until) });
}
