/**
 * How an effect stands, in words, for a person whose finding on it was refused: read from the run's events, in their order.
 *
 * Rows: EFF-5.
 */
import type { EventEnvelope } from '@n17q/domain';

const BY = { receipt: 'a receipt', query: 'asking the target', finding: 'a person\'s finding', 'late-reply': 'a late reply' } as const;

/** What one event says about the effect, or undefined. */
function told(e: EventEnvelope, effect: string): string | undefined {
  if (!('effect' in e.data) || e.data.effect !== effect) return undefined;
  const at = `at event ${e.revision}`;
  switch (e.type) {
    case 'effect.intended': case 'effect.not-sent': return 'was not sent, so there is nothing to find out about it yet';
    case 'effect.attempt-started': return `is under way since event ${e.revision}: its outcome is not unknown. Wait for its answer, or until its claim has run out`;
    case 'effect.outcome-unknown': return `has an unknown outcome ${at}, and something changed just now. Look at the run and ask again`;
    case 'effect.observed': return `is settled already: the tool answered ${at}${e.data.ok ? '' : ', reporting failure'}. A finding changes nothing`;
    case 'effect.refused': return `is settled already: the tool refused it ${at}, so it did not happen. A finding changes nothing`;
    case 'effect.denied': return `is settled already: the policy gate denied it ${at} (${e.data.code}), so it was not sent. A finding changes nothing`;
    case 'effect.withdrawn': return `is settled already: it was withdrawn ${at} before it was sent. A finding changes nothing`;
    case 'effect.reconciled': return `is settled already: it ${e.data.as === 'happened' ? 'happened' : 'did not happen'}, known ${at} by ${BY[e.data.by]}. A finding changes nothing`;
    default: return undefined;
  }
}

/** `events`: of the run, oldest first. Undefined when they never name the effect. */
export function standingOf(events: Iterable<EventEnvelope>, effect: string): string | undefined {
  let tool = '';
  let words: string | undefined;
  for (const e of events) {
    if (e.type === 'effect.intended' && e.data.effect === effect) tool = ` (${e.data.tool})`;
    words = told(e, effect) ?? words;
  }
  return words === undefined ? undefined : `This effect${tool} ${words}.`;
}
