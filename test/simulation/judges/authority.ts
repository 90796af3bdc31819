/** Laws about who allows what, at the moment at which it is done. Rows: POL-1, POL-2, POL-4, POL-5, APP-2, APP-3, RES-1, SCH-3. */
import { CONSEQUENTIAL, contractsOf, num, of, str, type Event, type Judge } from './record.js';
import { along } from './tenant.js';

const PERMITS = new Set(['effect.permitted', 'generation.permitted', 'look.permitted']);
const STARTS = new Set(['effect.attempt-started', 'generation.started']);
const OPERATOR = 'operator';

/** What starts rests on what the tenant says now: revisions, rules, accounts. What was not there when it was permitted permitted nothing. */
export const current: Judge = (r, say) => {
  const permits = new Map(r.events.filter((e) => PERMITS.has(e.type)).map((e) => [str(e.data['permit']), e]));
  const tools = new Map(r.events.filter((e) => e.type === 'effect.intended').map((e) => [str(e.data['effect']), str(e.data['tool'])]));
  const routes = new Map(r.events.filter((e) => e.type === 'context.compiled').map((e) => [str(e.data['generation']), `${str(of(e.data['route'], 'account'))} ${str(of(e.data['route'], 'model'))}`]));
  along(r, (e, p) => {
    const what = `${e.stream} ${e.revision} (${e.type})`;
    if (e.data['code'] === 'RULES_BROKEN' && p.revisions['policy'] !== 0 && p.revisions['registry'] !== 0) say('POL-1', `${what}: calls rules broken that are whole: ${str(e.data['reason'])}`);
    if (PERMITS.has(e.type)) {
      const needed = e.type === 'generation.permitted' ? ['policy', 'profiles'] : e.type === 'effect.permitted' ? ['policy', 'registry'] : ['policy'];
      for (const topic of needed) if (num(of(e.data['tenant'], topic)) === 0 || p.revisions[topic] === 0) say('POL-4', `${what}: given without any ${topic}`);
      for (const topic of ['policy', 'registry', 'profiles', 'roles']) if (num(of(e.data['tenant'], topic)) > (p.revisions[topic] ?? 0)) say('POL-1', `${what}: names a ${topic} that was not there yet`);
    }
    if (!STARTS.has(e.type)) return;
    const effect = e.type === 'effect.attempt-started';
    for (const topic of effect ? ['policy', 'registry', 'roles'] : ['policy', 'profiles', 'roles']) if (num(of(permits.get(str(e.data['permit']))?.data['tenant'], topic)) !== p.revisions[topic]) say('POL-1', `${what}: rests on another ${topic} than the current one`);
    if (effect && p.meaning.forbid.includes(tools.get(str(e.data['effect'])) ?? '')) say('POL-2', `${what}: the policy forbids ${tools.get(str(e.data['effect']))}`);
    if (!effect && !p.routes.has(routes.get(str(e.data['generation'])) ?? '')) say('POL-1', `${what}: ${routes.get(str(e.data['generation']))} is not configured any more`);
  });
};

/** Who acts for somebody else does so under a delegation that stands, and what people ask of a run is granted to those alone who may ask it. */
export const onBehalf: Judge = (r, say) => {
  const tools = new Map(r.events.filter((e) => e.type === 'effect.intended').map((e) => [str(e.data['effect']), str(e.data['tool'])]));
  const runs = new Map<string, { readonly from: string; readonly to: string }>();
  along(r, (e, p) => {
    if (e.type === 'run.created' && e.data['onBehalfOf'] !== null) runs.set(e.stream, { from: str(e.data['onBehalfOf']), to: str(of(e.raw['actor'], 'id')) });
    if (['budget.raised', 'effect.migrated', 'finding.accepted'].includes(e.type) && !(p.roles.get(str(of(e.data['by'], 'id'))) ?? []).includes(OPERATOR)) say('POL-1', `${e.stream} ${e.revision} (${e.type}): on the word of ${str(of(e.data['by'], 'id'))}, who may not`);
    const acts = runs.get(e.stream);
    if (acts === undefined || !STARTS.has(e.type)) return;
    const tool = e.type === 'generation.started' ? null : (tools.get(str(e.data['effect'])) ?? '');
    if (!p.delegations.some((d) => d.from === acts.from && d.to === acts.to && d.until > e.recordedAt && (tool === null || d.tools.includes('*') || d.tools.includes(tool)))) say('POL-1', `${e.stream} ${e.revision} (${e.type}): ${acts.to} acts for ${acts.from}${tool === null ? '' : ` with ${tool}`}, and nobody delegated that`);
  });
};

/** Nothing consequential begins while a source that the run needs is missing and nobody said that it may. */
export const sources: Judge = (r, say) => {
  const contracts = contractsOf(r);
  for (const [stream, events] of r.runs) {
    const missing = new Map<string, string>(); // what is needed, and its newest observation
    for (const e of events) {
      const identity = str(e.data['identity']);
      if (e.type === 'source.observed') { missing.delete(identity); if (e.data['required'] === true && e.data['gap'] !== null) missing.set(identity, str(e.data['source'])); }
      if (e.type === 'source.reviewed') {
        const about = events.find((x) => x.type === 'source.observed' && x.data['source'] === e.data['source']);
        const newest = events.findLast((x) => x.type === 'source.observed' && x.data['identity'] === about?.data['identity'] && x.revision < e.revision);
        if (about === undefined || newest?.data['source'] !== about.data['source'] || about.data['required'] !== true) continue;
        if (e.data['decision'] === 'approved') missing.delete(str(about.data['identity'])); else missing.set(str(about.data['identity']), str(about.data['source']));
      }
      if (e.type === 'effect.attempt-started' && CONSEQUENTIAL.has(contracts.get(str(e.data['effect']))?.kind ?? '')) for (const [what] of missing) say('SRC-2', `${stream} ${e.revision}: ${str(e.data['effect'])} started, and ${what} is missing`);
    }
  }
};

interface Asked { readonly request: Event; decision?: Event; revoked: boolean; spentBy?: string }
/** Where the policy wants a person, an attempt cites what an authorised person approved: exactly this, unspent by another, unexpired, unrevoked. */
export const approvals: Judge = (r, say) => {
  const contracts = contractsOf(r);
  const tools = new Map(r.events.filter((e) => e.type === 'effect.intended').map((e) => [str(e.data['effect']), str(e.data['tool'])]));
  const asked = new Map<string, Asked>();
  const askers = new Map<string, Set<string>>();
  const permits = new Map<string, Event>();
  along(r, (e, p) => {
    const id = str(e.data['approval']);
    if (e.type === 'run.created' || e.type === 'input.received') askers.set(e.stream, (askers.get(e.stream) ?? new Set()).add(str(of(e.raw['actor'], 'id'))));
    if (e.type === 'approval.requested') asked.set(`${e.stream} ${id}`, { request: e, revoked: false });
    const a = asked.get(`${e.stream} ${id}`);
    if (e.type === 'approval.decided' && a !== undefined) a.decision ??= e;
    if (e.type === 'approval.revoked' && a !== undefined) a.revoked = true;
    if (e.type === 'effect.permitted') permits.set(str(e.data['permit']), e);
    if (e.type !== 'effect.attempt-started') return;
    const effect = str(e.data['effect']);
    const cited = permits.get(str(e.data['permit']))?.data['approval'] ?? null;
    const what = `${e.stream} ${e.revision}: ${tools.get(effect)} (${effect})`;
    if (cited === null) { if (p.meaning.ask.includes(tools.get(effect) ?? '')) say('APP-2', `${what} started, and nobody was asked`); return; }
    const on = asked.get(`${e.stream} ${str(cited)}`);
    const by = str(of(on?.decision?.raw['actor'], 'id'));
    if (on?.decision === undefined) return say('APP-2', `${what} rests on an approval that nobody gave`);
    if (on.request.data['effect'] !== effect || on.request.data['subject'] !== contracts.get(effect)?.subject || on.decision.data['subject'] !== contracts.get(effect)?.subject) say('APP-2', `${what} rests on an approval of something else`);
    if (on.decision.data['decision'] !== 'approved') say('APP-3', `${what} rests on a rejection`);
    if (on.revoked) say('APP-3', `${what} rests on an approval that was revoked`);
    if (e.recordedAt >= num(on.request.data['expiresAt'])) say('APP-3', `${what} rests on an approval that had run out`);
    if (on.spentBy !== undefined && on.spentBy !== effect) say('APP-3', `${what} rests on an approval that ${on.spentBy} had spent`);
    on.spentBy = effect;
    if (!(p.roles.get(by) ?? []).includes(OPERATOR)) say('APP-2', `${what} rests on the word of ${by}, who may not approve`);
    if (p.meaning.fourEyes && askers.get(e.stream)?.has(by)) say('APP-2', `${what} was approved by ${by}, who asked for it`);
  });
};

/** Nobody asks the world about an effect without a permit to look. */
export const looks: Judge = (r, say) => {
  const contracts = contractsOf(r);
  const given = r.events.filter((e) => e.type === 'look.permitted');
  for (const e of given) if (e.data['subject'] !== contracts.get(str(e.data['effect']))?.subject) say('POL-5', `${e.stream} ${e.revision}: a look under another subject than the effect's own`);
  for (const q of r.sim.world.ledger.asked) if (!given.some((e) => e.data['effect'] === q.effect && e.position <= q.storePosition)) say('POL-5', `${q.tool} was asked about ${q.effect} without a permit to look`);
};

/** After a resume, and after any wait, what starts was judged after it, under what the tenant said by then. */
export const judgedAgain: Judge = (r, say) => {
  const contracts = contractsOf(r);
  const permits = new Map<string, Event>();
  const resumed = new Map<string, Event>();
  const waited = new Map<string, { readonly e: Event; readonly revisions: { readonly [topic: string]: number } }>();
  const approvalOf = new Map<string, string>();
  along(r, (e, p) => {
    const effect = str(e.data['effect']);
    if (e.type === 'approval.requested') approvalOf.set(str(e.data['approval']), effect);
    if (e.type === 'effect.permitted' || e.type === 'generation.permitted') permits.set(str(e.data['permit']), e);
    if (e.type === 'run.resumed') resumed.set(e.stream, e);
    if (e.type === 'effect.not-sent' || e.type === 'effect.outcome-unknown' || e.type === 'effect.looked') waited.set(effect, { e, revisions: p.revisions });
    if (e.type === 'approval.decided') waited.set(approvalOf.get(str(e.data['approval'])) ?? '', { e, revisions: p.revisions });
    if (e.type === 'generation.refused' || e.type === 'generation.not-sent' || e.type === 'generation.outcome-unknown') waited.set(e.stream, { e, revisions: p.revisions });
    if (!STARTS.has(e.type)) return;
    const permit = permits.get(str(e.data['permit']));
    if (permit === undefined) return; // another law's matter
    const what = `${e.stream} ${e.revision} (${e.type})`;
    const back = resumed.get(e.stream);
    const consequential = e.type === 'generation.started' || CONSEQUENTIAL.has(contracts.get(effect)?.kind ?? '');
    if (consequential && back !== undefined && permit.position < back.position) say('RES-1', `${what}: permitted at ${permit.revision}, before the run was resumed at ${back.revision}`);
    const w = waited.get(e.type === 'generation.started' ? e.stream : effect);
    if (w === undefined) return;
    if (permit.position < w.e.position) say('SCH-3', `${what}: permitted before the wait after ${w.e.type} of ${w.e.revision}`);
    else for (const [topic, revision] of Object.entries(w.revisions)) if (topic !== 'budget' && num(of(permit.data['tenant'], topic)) < revision) say('SCH-3', `${what}: after ${w.e.type} it was judged under ${topic} ${num(of(permit.data['tenant'], topic))}, and ${revision} was there`);
  });
};

const SETTLES = new Set(['effect.observed', 'effect.refused', 'effect.not-sent', 'effect.reconciled']);
const TELLS = new Set(['effect.looked', 'effect.reconciled', 'effect.needs-person', 'effect.recovery-denied']);
/** After a resume, what was unknown and never asked about is asked about, or named, before anything consequential begins. */
export const lookedFirst: Judge = (r, say) => {
  const contracts = contractsOf(r);
  for (const [stream, events] of r.runs) {
    const queryable = new Set(events.filter((e) => e.type === 'effect.intended' && of(e.data['contract'], 'query') !== undefined).map((e) => str(e.data['effect'])));
    const unknown = new Set<string>();
    const told = new Set<string>();
    let first = new Set<string>();
    for (const e of events) {
      const effect = str(e.data['effect']);
      if (e.type === 'effect.outcome-unknown' && queryable.has(effect)) unknown.add(effect);
      if (TELLS.has(e.type)) { told.add(effect); first.delete(effect); }
      if (SETTLES.has(e.type)) { unknown.delete(effect); first.delete(effect); }
      if (e.type === 'run.resumed') first = new Set([...unknown].filter((u) => !told.has(u)));
      if (STARTS.has(e.type) && (e.type === 'generation.started' || CONSEQUENTIAL.has(contracts.get(effect)?.kind ?? ''))) for (const u of first) say('RES-1', `${stream} ${e.revision} (${e.type}): begun after a resume, and nobody had asked about ${u}`);
    }
  }
};
