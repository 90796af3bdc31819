import type { FinishReason } from '@n17q/domain';
import type { RefusalCode, RetryClass } from '../adapter.js';

export interface Finish {
  readonly finish: FinishReason;
  /** Absent: the output is good. Present: the output ended badly, and this is how. */
  readonly refusal?: { readonly code: RefusalCode; readonly class: RetryClass };
}

const filtered: Finish = { finish: 'filtered', refusal: { code: 'OUTPUT_FILTERED', class: 'never-retry-as-is' } };
/** What depends on the draw may go well the next time. */
const badDraw = (code: RefusalCode): Finish => ({ finish: 'malformed-call', refusal: { code, class: 'retry-later' } });

/** Every finish reason that we know. One that is not here is FINISH_UNRECOGNISED, never success. */
const FINISHES: Readonly<Record<string, Finish>> = {
  STOP: { finish: 'stop' },
  MAX_TOKENS: { finish: 'length' },
  SAFETY: filtered, RECITATION: filtered, LANGUAGE: filtered, BLOCKLIST: filtered, PROHIBITED_CONTENT: filtered, SPII: filtered, MODEL_ARMOR: filtered,
  IMAGE_SAFETY: filtered, IMAGE_PROHIBITED_CONTENT: filtered, IMAGE_RECITATION: filtered,
  MALFORMED_FUNCTION_CALL: badDraw('FINISH_MALFORMED_CALL'),
  UNEXPECTED_TOOL_CALL: badDraw('FINISH_UNEXPECTED_CALL'),
  TOO_MANY_TOOL_CALLS: badDraw('FINISH_TOO_MANY_CALLS'),
  MALFORMED_RESPONSE: badDraw('FINISH_MALFORMED_RESPONSE'),
  MISSING_THOUGHT_SIGNATURE: { finish: 'malformed-call', refusal: { code: 'FINISH_MISSING_SIGNATURE', class: 'never-retry-as-is' } },
  OTHER: { finish: 'other', refusal: { code: 'FINISH_OTHER', class: 'never-retry-as-is' } },
};

export function finishOf(reason: string): Finish {
  return Object.hasOwn(FINISHES, reason) ? FINISHES[reason] as Finish : { finish: 'other', refusal: { code: 'FINISH_UNRECOGNISED', class: 'never-retry-as-is' } };
}
