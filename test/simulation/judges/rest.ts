/** What may be left when everything has come to rest: nobody waits without somebody who knows. Rows: SCH-2, RUN-7, EFF-5. */
import { str, unresolvedAlong, type Event, type Judge } from './record.js';

const LASTING = ['run.paused', 'context.blocked', 'generation.denied', 'generation.blocked'];
const FREED = ['run.resumed', 'route.decided'];

function waitsFor(events: readonly Event[]): string | null {
  const last = (types: readonly string[]): number => events.findLastIndex((e) => types.includes(e.type));
  if (last(['run.ended']) >= 0) return 'ended';
  const named = last(LASTING);
  if (named > last(FREED) && str(events[named]?.data['code']).length > 0) return `${events[named]?.type} ${str(events[named]?.data['code'])}`;
  const accepted = events.findLast((e) => e.type === 'generation.accepted');
  const input = last(['input.received']);
  const compiled = last(['context.compiled']);
  if (accepted !== undefined && (accepted.data['calls'] as unknown[]).length === 0 && input < compiled) return 'the next input of a person';
  const asked = events.findLastIndex((e) => e.type === 'approval.requested' && !events.some((x) => (x.type === 'approval.decided' && x.data['approval'] === e.data['approval']) || (['effect.denied', 'effect.permitted', 'effect.withdrawn'].includes(x.type) && x.revision > e.revision && x.data['effect'] === e.data['effect'])));
  if (asked >= 0) return 'an approval';
  return null;
}

export const nobodyForgotten: Judge = (r, say) => {
  for (const what of r.sim.stuck) say('SCH-2', what);
  if (r.sim.stuck.length > 0) return;
  for (const [stream, events] of r.runs) {
    if (waitsFor(events) === null) say('SCH-2', `${stream}: rests at ${events.at(-1)?.type} and nobody knows why; last: ${events.slice(-8).map((e) => e.type).join(' ')}`);
    for (const effect of unresolvedAlong(events).at(-1) ?? []) {
      const word = events.findLast((e) => e.data['effect'] === effect && ['effect.needs-person', 'effect.recovery-denied', 'effect.attempt-started', 'effect.outcome-unknown'].includes(e.type));
      const paused = events.findLastIndex((e) => e.type === 'run.paused') > events.findLastIndex((e) => e.type === 'run.resumed');
      if (word?.type === 'effect.attempt-started') say('EFF-3', `${stream}: ${effect} is still in flight at rest`);
      if (word?.type === 'effect.outcome-unknown' && !paused) say('EFF-5', `${stream}: ${effect} is unknown and nobody is asked`);
    }
  }
};

export const endings: Judge = (r, say) => {
  for (const [stream, events] of r.runs) {
    const at = events.findIndex((e) => e.type === 'run.ended');
    if (at < 0) continue;
    const open = unresolvedAlong(events)[at]?.size ?? 0;
    if (events[at]?.data['withUnknowns'] !== open > 0) say('RUN-7', `${stream}: ended with ${open} unresolved effects and says ${str(events[at]?.data['withUnknowns'])}`);
    for (const e of events.slice(at + 1)) if (['effect.attempt-started', 'generation.started', 'effect.permitted', 'context.compiled', 'input.received'].includes(e.type)) say('RUN-7', `${stream}: ${e.type} after the end`);
  }
};

/** No service of ours proposes what the law forbids: at the state that it saw it must have known better. */
export const lawful: Judge = (r, say) => {
  for (const x of r.sim.store.refusals) if (x.writer !== 'api' && !['REQUIREMENT_FAILED', 'BUDGET_SHORT', 'SCOPE_BUSY', 'PERMIT_EXPIRED'].includes(x.code)) say('RUN-1', `${x.writer} proposed ${x.types.join(' ')}: ${x.code} ${x.message}`);
  for (const t of r.sim.troubles) if (!/did not answer|were not taken in/u.test(t.message)) say('RUN-4', `${t.who.split('/')[0]} in trouble with ${t.what}: ${t.message}`);
};
