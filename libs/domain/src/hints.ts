/**
 * What a server says about its own tool. Nobody has checked it, so it can take a promise away, and can never give one.
 *
 * Rows: EFF-4, TOOL-4.
 */
import type { EffectContract } from './contract.js';

/** As in the Model Context Protocol. An absent hint says nothing. */
export interface ToolHints {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

const NEITHER: EffectContract = { kind: 'neither' };

/** `declared`, or a stricter contract where the server itself denies what `declared` promises. */
export function strictest(declared: EffectContract, hints: ToolHints): EffectContract {
  const changes = hints.readOnlyHint === false || hints.destructiveHint === true;
  switch (declared.kind) {
    case 'read-only': return changes ? NEITHER : declared;
    // a sandbox of the server's own may be changed; a world outside may not
    case 'contained': return hints.openWorldHint === true || hints.destructiveHint === true ? NEITHER : declared;
    // it can still be asked where it could be asked before
    case 'idempotent': return hints.idempotentHint === false ? (declared.query === undefined ? NEITHER : { kind: 'queryable', query: declared.query }) : declared;
    // a key makes a tool repeatable that is not so by itself, and being asked changes nothing: no hint speaks about either
    case 'keyed': case 'queryable': case 'neither': return declared;
    default: { const never: never = declared.kind; throw new TypeError(`no contract of kind ${String(never)}`); }
  }
}
