/** The run's events in words, for who watches. Undefined: not worth a line. */
import type { EventEnvelope } from '@n17q/domain';

export function told(e: EventEnvelope, toolOf: ReadonlyMap<string, string>): string | undefined {
  switch (e.type) {
    case 'run.created': return 'the run is created';
    case 'segment.started': return `segment ${e.data.segment}: ${e.data.to.account}, ${e.data.to.model} (${e.data.reason})`;
    case 'effect.attempt-started': return `  ${toolOf.get(e.data.effect) ?? 'a tool'} is dispatched`;
    case 'effect.observed': return `  ${toolOf.get(e.data.effect) ?? 'a tool'} answered${e.data.ok ? '' : ', reporting failure'}`;
    case 'effect.outcome-unknown': return `  ${toolOf.get(e.data.effect) ?? 'a tool'}: its outcome is UNKNOWN (${e.data.cause})`;
    case 'look.permitted': return '  a look is permitted: asking the world changes nothing in it';
    case 'effect.looked': return `  looked: ${e.data.answer}`;
    case 'effect.reconciled': return `  ${toolOf.get(e.data.effect) ?? 'a tool'}: it ${e.data.as === 'happened' ? 'HAPPENED' : 'did not happen'}, settled by ${e.data.by}`;
    case 'generation.started': return e.data.form === 'reconstructed' ? 'the story is told anew to another model (reconstructed attempt)' : undefined;
    case 'generation.refused': return `the provider refused: ${e.data.code}`;
    case 'generation.outcome-unknown': return `a model call's outcome is unknown: ${e.data.cause}`;
    case 'generation.blocked': case 'context.blocked': case 'generation.denied': case 'effect.denied': return `${e.type}: ${e.data.code}: ${e.data.reason}`;
    case 'run.paused': return `the run is paused: ${e.data.reason}`;
    case 'run.ended': return `the run ended: ${e.data.how}`;
    case 'dead-letter.recorded': return `${e.data.service} gave up on a trigger: ${e.data.code}`;
    default: return undefined;
  }
}
