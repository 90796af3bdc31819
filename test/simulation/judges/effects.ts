/** Laws about what left for the world. Rows: EFF-2 to EFF-7, EFF-9, EFF-10, NAT-4. */
import { REMEMBERS } from '../model.js';
import { ANSWERED, CONSEQUENTIAL, contractsOf, mayMeet, num, of, str, unresolvedAlong, type Event, type Judge, stillOpen } from './record.js';

const startsOf = (events: readonly Event[]): Map<string, Event> => new Map(events.filter((e) => e.type === 'effect.attempt-started').map((e) => [str(e.data['attempt']), e]));

/** Nothing left without an attempt that was written before, and no attempt left twice. */
export const writtenFirst: Judge = (r, say) => {
  const starts = startsOf(r.events);
  const sent = new Set<string>();
  for (const s of r.sim.world.ledger.sends) {
    const start = starts.get(s.attempt);
    if (start === undefined || start.position > s.storePosition) say('EFF-2', `${s.tool} (${s.effect}) left without an attempt written before`);
    else if (start.data['effect'] !== s.effect) say('EFF-2', `attempt ${s.attempt} is of another effect than what left`);
    if (sent.has(s.attempt)) say('EFF-10', `attempt ${s.attempt} of ${s.tool} left twice`);
    sent.add(s.attempt);
  }
};

/** How often the world was asked, by contract. */
export const onceOnly: Judge = (r, say) => {
  const { sends, happenings } = r.sim.world.ledger;
  const byEffect = new Map<string, typeof sends>();
  for (const s of sends) byEffect.set(s.effect, [...(byEffect.get(s.effect) ?? []), s]);
  for (const [effect, mine] of byEffect) {
    const kind = mine[0]?.kind ?? '';
    if ((kind === 'neither' || kind === 'queryable') && mine.length > 1) say('EFF-4', `${kind} effect ${effect} left ${mine.length} times`);
    if (kind === 'keyed' && new Set(mine.map((s) => s.key)).size > 1) say('EFF-4', `keyed effect ${effect} went under two keys`);
    const happened = happenings.filter((h) => h.effect === effect);
    if (kind === 'idempotent' && happened.length > 1) say('EFF-4', `idempotent effect ${effect} happened ${happened.length} times at a target that compares`);
    if (kind === 'keyed' && r.sim.setting.keyAware && happened.length > 1) say('EFF-4', `keyed effect ${effect} happened ${happened.length} times at a target that knows keys`);
  }
  const contracts = contractsOf(r);
  const unknown = new Set<string>();
  for (const e of r.events) {
    const effect = str(e.data['effect']);
    if (e.type === 'effect.attempt-started' && unknown.has(effect) && ['neither', 'queryable'].includes(contracts.get(effect)?.kind ?? '')) say('EFF-4', `effect ${effect} of unknown outcome got another attempt`);
    if (e.type === 'effect.outcome-unknown') unknown.add(effect);
  }
};

/** Every attempt rests on one permit of the gate: same subject, unspent, unexpired, nothing changed since in the run or the tenant. */
export const permits: Judge = (r, say) => {
  const AUTHORITY = new Set([
    'run.created', 'input.received', 'run.pause-requested', 'run.resume-requested', 'provider-response.continue-requested', 'run.end-requested', 'approval.decided', 'approval.revoked', 'effect.finding-submitted', 'receipt.received', 'generation.denied',
    'route.decided', 'run.paused', 'run.resumed', 'run.ended', 'effect.denied', 'effect.withdrawn', 'finding.accepted', 'budget.exhausted', 'generation.blocked', 'generation.accepted', 'effect.outcome-unknown', 'effect.reconciled', 'effect.duplicated', 'effect.contradicted', 'workspace.conflicted', 'effect.migration-requested', 'effect.migrated', 'budget.raise-requested', 'budget.raised', 'source.reviewed',
  ]);
  const contracts = contractsOf(r);
  const revisions: { [topic: string]: number } = { policy: 0, registry: 0, profiles: 0, roles: 0 };
  const given = new Map<string, Event>();
  const changed = new Map<string, number>();
  const subjects = new Map<string, string>();
  const spent = new Set<string>();
  for (const e of r.events) {
    if (e.stream.startsWith('tenant/')) revisions[e.stream.slice(7)] = e.revision;
    if (AUTHORITY.has(e.type)) changed.set(e.stream, e.revision);
    if (e.type === 'context.compiled') subjects.set(str(e.data['generation']), str(e.data['subject']));
    if (e.type === 'effect.permitted' || e.type === 'generation.permitted') given.set(str(e.data['permit']), e);
    if (e.type !== 'effect.attempt-started' && e.type !== 'generation.started') continue;
    const p = given.get(str(e.data['permit']));
    const what = `${e.stream} ${e.revision} (${e.type})`;
    if (p === undefined || p.writer !== 'policy-gate' || p.stream !== e.stream) { say('EFF-7', `${what}: no permit of the gate`); continue; }
    const effect = e.type === 'effect.attempt-started';
    if (p.data[effect ? 'effect' : 'generation'] !== e.data[effect ? 'effect' : 'generation']) say('EFF-7', `${what}: the permit is for something else`);
    if (p.data['subject'] !== (effect ? contracts.get(str(e.data['effect']))?.subject : subjects.get(str(e.data['generation'])))) say('EFF-7', `${what}: the permit names another subject`);
    if (spent.has(str(e.data['permit']))) say('EFF-7', `${what}: the permit was spent before`);
    spent.add(str(e.data['permit']));
    if (e.recordedAt >= num(p.data['expiresAt'])) say('EFF-7', `${what}: the permit had expired`);
    if ((changed.get(e.stream) ?? 0) > p.revision) say('EFF-7', `${what}: authority changed at ${changed.get(e.stream)} after the permit of ${p.revision}`);
    for (const topic of effect ? ['policy', 'registry', 'roles'] : ['policy', 'profiles', 'roles']) if (num(of(p.data['tenant'], topic)) !== revisions[topic]) say('EFF-7', `${what}: ${topic} is at ${revisions[topic]}, the permit saw ${num(of(p.data['tenant'], topic))}`);
  }
};

/** At the moment an attempt starts, nothing unresolved of another output shares its scope, in any run of the tenant. */
export const scopes: Judge = (r, say) => {
  const contracts = contractsOf(r);
  const open = new Set<string>();
  const stays = stillOpen();
  const approved = new Set(r.events.filter((e) => e.type === 'effect.permitted' && e.data['approval'] !== null).map((e) => str(e.data['permit'])));
  for (const e of r.events) {
    const effect = str(e.data['effect']);
    if (!stays(e) && (ANSWERED.has(e.type) || e.type === 'effect.reconciled')) open.delete(effect);
    if (e.type !== 'effect.attempt-started') continue;
    const mine = contracts.get(effect);
    for (const o of open) {
      const other = contracts.get(o);
      if (o === effect || mine === undefined || other === undefined || !mayMeet(mine.scope, other.scope) || !CONSEQUENTIAL.has(mine.kind) || !CONSEQUENTIAL.has(other.kind)) continue;
      if (mine.stream === other.stream && mine.generation === other.generation) continue;
      if (mine.kind === 'idempotent' && other.kind === 'idempotent' && approved.has(str(e.data['permit']))) continue; // a person was asked about this very pair
      say('EFF-6', `${e.stream} ${e.revision}: ${effect} started while ${o} of the same scope was unresolved`);
      if (r.runs.get(e.stream)?.some((x) => x.type === 'provider.observed' && x.position < e.position && str(of(x.data['observation'], 'responseId')).endsWith(REMEMBERS))) say('NAT-4', `${e.stream} ${e.revision}: ${effect} started after a provider said that nothing is open, and ${o} was`);
    }
    open.add(effect);
  }
};

/** What the log says of an attempt is what the world's ledger says. */
export const truth: Judge = (r, say) => {
  const { sends, happenings } = r.sim.world.ledger;
  const happened = (effect: string): boolean => happenings.some((h) => h.effect === effect);
  for (const [stream, events] of r.runs) {
    for (const e of events) {
      const effect = str(e.data['effect']);
      const mine = sends.filter((s) => s.attempt === str(e.data['attempt']));
      const at = `${stream} ${e.revision}`;
      if (e.type === 'effect.not-sent' && mine.length > 0) say('EFF-3', `${at}: says not sent, it left`);
      if (e.type === 'effect.refused' && mine.some((s) => s.state !== 'refused')) say('EFF-3', `${at}: says refused, the world says ${mine.map((s) => s.state).join()}`);
      if (e.type === 'effect.observed' && !happened(effect)) say('EFF-3', `${at}: says observed, nothing happened`);
      if (e.type === 'effect.reconciled' && e.data['as'] === 'happened' && !happened(effect)) say('EFF-5', `${at}: says that it happened, nothing happened`);
    }
    // the last word on each effect
    const word = new Map<string, Event>();
    for (const e of events) if (e.type === 'effect.reconciled') word.set(str(e.data['effect']), e);
    for (const [effect, e] of word) if (e.data['as'] === 'did-not-happen' && happened(effect)) say('EFF-5', `${stream} ${e.revision}: says that ${effect} did not happen, it did`);
  }
};

/** An unresolved effect leaves that set only by an answer of its own attempt, or by evidence. */
export const evidence: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const along = unresolvedAlong(events);
    events.forEach((e, i) => {
      const effect = str(e.data['effect']);
      const before = along[i - 1] ?? new Set<string>();
      if (e.type === 'effect.reconciled' && before.has(effect) && e.data['by'] !== 'finding' && e.data['evidence'] === null) say('EFF-5', `${stream} ${e.revision}: settled by ${str(e.data['by'])} without evidence`);
      if (e.type === 'effect.reconciled' && before.has(effect) && e.data['by'] === 'finding' && !events.slice(0, i).some((x) => x.type === 'finding.accepted' && x.data['effect'] === effect && x.writer === 'policy-gate' && x.data['verdict'] === e.data['as'])) say('EFF-5', `${stream} ${e.revision}: settled by a finding that the gate did not accept`);
      if (ANSWERED.has(e.type) && !events.slice(0, i).some((x) => x.type === 'effect.attempt-started' && x.data['attempt'] === e.data['attempt'])) say('EFF-2', `${stream} ${e.revision}: an answer to no attempt`);
    });
  }
};

/** Where the world says that it happened twice, the log names it. */
export const duplicates: Judge = (r, say) => {
  const contracts = contractsOf(r);
  for (const e of r.events) {
    if (e.type !== 'effect.reconciled' || e.data['by'] !== 'query' || e.data['as'] !== 'happened') continue;
    const effect = str(e.data['effect']);
    const twice = r.sim.world.ledger.happenings.some((h) => h.effect === effect && h.count > 1);
    if (twice && !r.events.some((x) => x.type === 'effect.duplicated' && x.data['effect'] === effect)) say('EFF-9', `${effect} (${contracts.get(effect)?.kind}) happened twice and nobody names it`);
  }
};
