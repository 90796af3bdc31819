/** Laws about waiting: whoever waits has somebody who will come, a time for it, and a bound. Row: SCH-1. */
import { ATTEMPTS_MAX, LOOKS_MAX } from '../tenant.js';
import { BOUNDARY } from './log.js';
import { num, of, str, type Event, type Judge } from './record.js';

const FAILURES_MAX = 5;
interface Waiting { sealing: boolean; status: string; readonly attempts: Map<string, number>; generation: number | null; readonly approvals: Map<string, { readonly effect: string; readonly until: number }>; resumed: boolean; retryAt: number | null }

function move(w: Waiting, e: Event): void {
  const effect = str(e.data['effect']);
  if (BOUNDARY.has(e.type)) w.sealing = true;
  w.retryAt = null;
  switch (e.type) {
    case 'checkpoint.sealed': w.sealing = false; break;
    case 'run.created': w.status = 'active'; break;
    case 'run.resumed': w.status = 'active'; w.resumed = true; break;
    case 'run.paused': w.status = 'paused'; break;
    case 'run.ended': w.status = 'ended'; break;
    case 'effect.attempt-started': w.attempts.set(effect, e.recordedAt + num(e.data['leaseMs'])); break;
    case 'effect.observed': case 'effect.refused': case 'effect.not-sent': case 'effect.outcome-unknown': w.attempts.delete(effect); break;
    case 'generation.started': w.generation = e.recordedAt + num(e.data['leaseMs']); break;
    case 'generation.accepted': case 'generation.not-sent': case 'generation.outcome-unknown': w.generation = null; break;
    case 'generation.refused': w.generation = null; if (e.data['class'] === 'retry-later') w.retryAt = e.recordedAt + num(e.data['retryAfterMs'] ?? 1000); break;
    case 'approval.requested': for (const [id, a] of w.approvals) if (a.effect === effect) w.approvals.delete(id); w.approvals.set(str(e.data['approval']), { effect, until: num(e.data['expiresAt']) }); break;
    case 'approval.decided': case 'approval.revoked': w.approvals.delete(str(e.data['approval'])); break;
    case 'effect.permitted': case 'effect.denied': case 'effect.withdrawn': for (const [id, a] of w.approvals) if (a.effect === effect) w.approvals.delete(id); break;
    default: break;
  }
}

/** After every append, the store's own rows say who comes back to each wait, and when. */
export const durable: Judge = (r, say) => {
  const rows = new Map(r.sim.waits.map((w) => [`${w.stream} ${w.revision}`, w.needs]));
  for (const [stream, events] of r.runs) {
    const w: Waiting = { sealing: false, status: 'new', attempts: new Map(), generation: null, approvals: new Map(), resumed: false, retryAt: null };
    for (const e of events) {
      move(w, e);
      const needs = rows.get(`${stream} ${e.revision}`);
      if (needs === undefined) continue; // in the middle of an append
      const who = (service: string, dueAt: number): boolean => needs.some((n) => n.service === service && n.dueAt === dueAt);
      for (const [effect, end] of w.attempts) if (!who('effect-reconciler', end)) say('SCH-1', `${stream} ${e.revision}: nobody looks at ${effect} when its claim runs out at ${end}`);
      if (w.generation !== null && !who('provider-gateway', w.generation)) say('SCH-1', `${stream} ${e.revision}: nobody looks at the model call when its claim runs out`);
      if (w.sealing && !needs.some((n) => n.service === 'checkpoint-sealer')) say('SCH-1', `${stream} ${e.revision}: nobody seals`);
      if (w.sealing || w.status !== 'active') continue;
      // after a resume everything may wait for a look, or for the end of an attempt that was under way, and its row stands for what waits behind it
      const looking = w.attempts.size > 0 || needs.some((n) => n.reason.startsWith('look:') || n.reason.startsWith('recover:'));
      for (const [id, a] of w.approvals) if (!who('policy-gate', a.until) && !(looking && w.resumed)) say('SCH-1', `${stream} ${e.revision}: nobody comes back to approval ${id} at ${a.until}`);
      const { retryAt } = w;
      if (retryAt !== null && needs.some((n) => n.service === 'context-compiler' && n.dueAt < retryAt)) say('SCH-1', `${stream} ${e.revision}: the provider is asked again before the time that it named`);
    }
  }
};

/** No attempt, look or model call is repeated beyond its bound without a person. */
export const bounded: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const counts = new Map<string, number>();
    let failures = 0;
    for (const e of events) {
      const key = `${e.type} ${str(e.data['effect'])}`;
      if (e.type === 'effect.attempt-started' || e.type === 'effect.looked') counts.set(key, (counts.get(key) ?? 0) + 1);
      if (e.type === 'generation.refused' || e.type === 'generation.not-sent' || e.type === 'generation.outcome-unknown') failures += 1;
      if (e.type === 'generation.accepted' || e.type === 'run.resumed') failures = 0;
      if (e.type === 'generation.started' && failures > FAILURES_MAX) say('SCH-1', `${stream} ${e.revision}: the model is called after ${failures} failures in a row`);
    }
    for (const [key, n] of counts) if (n > (key.startsWith('effect.looked') ? LOOKS_MAX : ATTEMPTS_MAX)) say('SCH-1', `${stream}: ${n} times ${key}`);
    for (const e of events) if (e.type === 'effect.attempt-started' && of(e.data, 'dispatchBy') === undefined) say('SCH-1', `${stream} ${e.revision}: an attempt without a deadline`);
  }
};
