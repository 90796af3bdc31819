/**
 * Which opaque pieces a plan needs for Gemini, and whether those at hand are fit to be sent.
 *
 * G1. The first call of each step of the current turn must be signed: beside the call, or on an opaque part before it.
 * G2. An opaque part without its bytes cannot be rebuilt anywhere in the lineage.
 * G3. Values that switch the provider's check off are never sent: a model produced this history, so its signature exists.
 * G4. Whether a signature belongs to a part is the provider's knowledge; here only its place and form are judged.
 *
 * Rows: CON-1, CON-2, CON-4.
 */
import type { GenerationPlan, LineageEntry, OpaquePiece } from '@n17q/domain';
import type { PieceMap, PiecePlace, ProjectionRefusal } from '../adapter.js';

type Output = Extract<LineageEntry, { kind: 'output' }>;

const BYPASS_VALUES = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);

/** Outputs of the current turn, which starts at the latest input. Oldest first: index + 1 is the step. */
export function currentTurn(plan: GenerationPlan): readonly Output[] {
  const from = plan.entries.findLastIndex((entry) => entry.kind === 'input');
  return plan.entries.slice(from + 1).filter((entry): entry is Output => entry.kind === 'output');
}

/** Where each step of the current turn is signed, or would have to be: at its first call unless a part before it is (G1). */
export function signedPlaces(plan: GenerationPlan, pieces: PieceMap = new Map()): readonly PiecePlace[] {
  return currentTurn(plan).flatMap((output) => {
    const first = output.parts.findIndex((part) => part.kind === 'call');
    return first < 0 ? [] : [{ generation: output.generation, partIndex: signedAt(pieces.get(output.generation) ?? [], first) ?? first }];
  });
}

/** The part that signs a step whose first call is part `first`. */
function signedAt(pieces: readonly OpaquePiece[], first: number): number | undefined {
  const signed = pieces.filter((piece) => (signatureOf(piece) ?? '') !== '');
  return (signed.find((piece) => piece.placement === 'side' && piece.partIndex === first)
    ?? signed.find((piece) => piece.placement === 'part' && piece.partIndex < first))?.partIndex;
}

/** The first thing that is wrong with the pieces of one output, by form and place alone. */
export function pieceFault(output: Output, pieces: readonly OpaquePiece[]): ProjectionRefusal | undefined {
  const refusal = (code: ProjectionRefusal['code'], partIndex: number, message: string): ProjectionRefusal =>
    ({ kind: 'refused', code, generation: output.generation, partIndex, message });
  const seen = new Set<number>();
  for (const piece of pieces) {
    const part = output.parts[piece.partIndex];
    if (part === undefined || (part.kind === 'opaque') !== (piece.placement === 'part')) return refusal('PIECE_MISPLACED', piece.partIndex, 'an opaque piece has no place in this output');
    if (seen.has(piece.partIndex)) return refusal('PIECE_DUPLICATE', piece.partIndex, 'two opaque pieces claim one part');
    seen.add(piece.partIndex);
    const value = parsed(piece);
    if (piece.placement === 'side' ? typeof value !== 'string' : !isObject(value)) return refusal('PIECE_MALFORMED', piece.partIndex, 'an opaque piece is not what the provider sends');
    if (BYPASS_VALUES.has(signatureOf(piece) ?? '')) return refusal('PIECE_BYPASS', piece.partIndex, 'a value that disables the check is never sent');
  }
  const hole = output.parts.findIndex((part, i) => part.kind === 'opaque' && !seen.has(i)); // keeps G2
  return hole < 0 ? undefined : refusal('PIECE_MISSING', hole, 'the bytes of an opaque part are gone');
}

/** The first step of the current turn whose first call nothing signs (G1). */
export function unsignedStep(plan: GenerationPlan, pieces: PieceMap): ProjectionRefusal | undefined {
  for (const [index, output] of currentTurn(plan).entries()) {
    const first = output.parts.findIndex((part) => part.kind === 'call');
    if (first < 0) continue;
    if (signedAt(pieces.get(output.generation) ?? [], first) === undefined) return { kind: 'refused', code: 'PIECE_MISSING', generation: output.generation, partIndex: first, step: index + 1, message: `protocol state missing: the first call of step ${index + 1} has no signature` };
  }
  return undefined;
}

/** The signature that a piece holds, decoded; undefined if it holds none. */
export function signatureOf(piece: OpaquePiece): string | undefined {
  const value = parsed(piece);
  if (piece.placement === 'side') return typeof value === 'string' ? value : undefined;
  if (!isObject(value)) return undefined;
  const signature = value['thoughtSignature'] ?? value['thought_signature'];
  return typeof signature === 'string' ? signature : undefined;
}

export function pieceText(piece: OpaquePiece): string {
  return Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.byteLength).toString('utf8');
}

function parsed(piece: OpaquePiece): unknown {
  try {
    return JSON.parse(pieceText(piece));
  } catch {
    return undefined; // named PIECE_MALFORMED by the caller; the text must not reach a message
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
