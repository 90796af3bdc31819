/** Laws about what is kept of effects and of what people decided, and what a checkpoint says of it. Rows: EFF-1, APP-1. */
import { CONSEQUENTIAL, contractsOf, of, plainCanonical, str, unresolvedAlong, type Event, type Judge, type Record } from './record.js';

/** The named section of the checkpoint that an event seals, parsed, or undefined when it is not there. */
function section(r: Record, e: Event, name: string): readonly object[] | undefined {
  const tenant = r.held.tenants.get(e.tenant);
  const stored = tenant?.streams.get(e.stream)?.checkpoints.get(Number(e.data['cut']));
  const digest = stored === undefined ? undefined : (JSON.parse(stored.manifest) as { sections: { [name: string]: string } }).sections[name];
  const body = digest === undefined ? undefined : tenant?.sections.get(digest);
  return body === undefined ? undefined : (JSON.parse(body) as readonly object[]);
}

/** Of an unresolved effect a checkpoint tells the intent, every attempt, the receipts, the stage, what may be tried and what may not. */
export const wholeEffects: Judge = (r, say) => {
  const contracts = contractsOf(r);
  for (const e of r.events) {
    if (e.type !== 'effect.intended') continue;
    const body = r.held.tenants.get(e.tenant)?.contents.get(str(of(e.data['args'], 'commitment')))?.body;
    const text = body === undefined || body === null ? null : Buffer.from(body).toString('utf8');
    if (text !== null && plainCanonical(JSON.parse(text)) !== text) say('EFF-1', `${e.stream} ${e.revision}: the arguments of ${str(e.data['effect'])} are not normalised`);
  }
  for (const [stream, events] of r.runs) {
    const open = unresolvedAlong(events);
    for (const e of events) {
      if (e.type !== 'checkpoint.sealed') continue;
      const cut = Number(e.data['cut']);
      if ((open[cut - 1]?.size ?? 0) === 0) continue;
      const upTo = events.slice(0, cut);
      const told = new Map((section(r, e, 'effects') ?? []).map((x) => [str(of(x, 'effect')), x]));
      for (const effect of open[cut - 1] ?? []) {
        const x = told.get(effect);
        if (x === undefined) continue; // SEAL-5's matter
        const mine = upTo.filter((y) => y.data['effect'] === effect);
        const intent = mine.find((y) => y.type === 'effect.intended');
        const attempts = mine.filter((y) => y.type === 'effect.attempt-started').map((y) => y.data['attempt']);
        const missing = (['subject', 'args', 'contract', 'key', 'mapping'] as const).filter((k) => plainCanonical(of(x, k)) !== plainCanonical(intent?.data[k]));
        if (missing.length > 0) say('EFF-1', `${stream} cut ${cut}: of ${effect} it tells another ${missing.join(', ')}`);
        if (plainCanonical((of(x, 'attempts') as readonly object[]).map((a) => of(a, 'attempt'))) !== plainCanonical(attempts)) say('EFF-1', `${stream} cut ${cut}: of ${effect} it does not tell every attempt`);
        const receipts = new Set((of(x, 'receipts') as readonly object[]).map((c) => of(c, 'commitment')));
        for (const y of mine) if (y.type === 'effect.receipt-recorded' && !receipts.has(of(y.data['receipt'], 'commitment'))) say('EFF-1', `${stream} cut ${cut}: of ${effect} a receipt is missing`);
        if (CONSEQUENTIAL.has(contracts.get(effect)?.kind ?? '') && typeof of(x, 'prohibited') !== 'string') say('EFF-1', `${stream} cut ${cut}: of ${effect} it does not say what must not be repeated`);
      }
    }
  }
};

const OVER = new Set(['effect.denied', 'effect.withdrawn', 'effect.observed', 'effect.refused', 'effect.reconciled']);
/** What a person was told to have decided is in the log, as their word, and in every checkpoint while its effect is open. */
export const decisions: Judge = (r, say) => {
  for (const d of r.sim.people.decided) {
    const kept = r.runs.get(`run/${d.run}`)?.some((e) => e.data['approval'] === d.approval && of(e.raw['actor'], 'id') === d.by && (e.type === 'approval.revoked' ? 'revoked' : e.type === 'approval.decided' ? e.data['decision'] : '') === d.decision);
    if (kept !== true) say('APP-1', `run/${d.run}: ${d.by} ${d.decision} ${d.approval}, and the log does not have it`);
  }
  for (const [stream, events] of r.runs) {
    const decided = events.filter((e) => e.type === 'approval.decided');
    for (const e of decided.length === 0 ? [] : events) {
      if (e.type !== 'checkpoint.sealed') continue;
      const cut = Number(e.data['cut']);
      const told = new Map((section(r, e, 'approvals') ?? []).map((x) => [str(of(x, 'approval')), x]));
      for (const d of decided) {
        const effect = events.find((x) => x.type === 'approval.requested' && x.data['approval'] === d.data['approval'])?.data['effect'];
        if (d.revision > cut || events.some((x) => x.revision <= cut && x.data['effect'] === effect && OVER.has(x.type))) continue;
        const x = told.get(str(d.data['approval']));
        if (x === undefined) say('APP-1', `${stream} cut ${cut}: leaves out what ${str(of(d.raw['actor'], 'id'))} decided`);
        else if (of(of(x, 'by'), 'id') !== of(d.raw['actor'], 'id') || of(x, 'stage') === 'requested') say('APP-1', `${stream} cut ${cut}: tells the decision of ${str(d.data['approval'])} otherwise`);
      }
    }
  }
};
