/**
 * Whether the opaque values of a request are there, whole, and where they belong.
 *
 * J1. In the current turn (from the latest user content that is no function response) the first call of every step is
 *     signed: on the call, or on a thought part before it. Unsigned siblings are legal.
 * J2. Every value in the request is one of ours, unchanged, on the part for which it was issued.
 * J3. Beyond that, each by its own switch: issued to this account, by this model, after exactly these contents.
 * J4. The values that turn the check off are refused unless a scenario allows them, and are always noted.
 *
 * Rows: CON-2, CON-4.
 */
import { ERRORS, type ApiError, type Phrasing } from './answers.js';
import { canonical } from './raw-json.js';
import { responsesOf, type ReadRequest, type WirePart } from './request.js';
import { sha256, type Signatures } from './signatures.js';

export interface Strictness {
  readonly account: boolean;
  readonly model: boolean;
  /** The contents before a signed output are, byte for byte, those that it answered; the output has all its parts in order. */
  readonly prefix: boolean;
  /** The system instruction and the tools are those of the request that it answered. */
  readonly frame: boolean;
}
export const LENIENT: Strictness = { account: false, model: false, prefix: false, frame: false };

export interface JudgeOptions {
  readonly signatures: Signatures;
  readonly account: string;
  readonly model: string;
  readonly signaturesRequired: boolean;
  readonly strict: Strictness;
  readonly phrasing: Phrasing;
  readonly bypassAllowed: boolean;
}

const BYPASS = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** What a signature covers of its part. */
export function visibleJson(part: WirePart): string {
  const { text, thought, functionCall: call, functionResponse } = part;
  return canonical({ text: text ?? null, thought: thought ?? false, functionResponse: functionResponse ?? null, functionCall: call === undefined ? null : { ...call, args: call.args ?? {} } });
}

export const partDigest = (part: WirePart): string => sha256(visibleJson(part));

export function outputDigest(parts: readonly WirePart[]): string {
  return sha256(parts.map(partDigest).join('\n'));
}

export function prefixDigest(contentsSource: string, frameSource: string): string {
  return `${sha256(contentsSource)}.${sha256(frameSource)}`;
}

export function judge(request: ReadRequest, options: JudgeOptions): { readonly refused?: ApiError; readonly bypassed: boolean } {
  let bypassed = false;
  const turn = currentTurnStart(request);
  for (const [i, content] of request.contents.entries()) {
    for (const [j, part] of content.parts.entries()) {
      const value = part.thoughtSignature;
      if (value === undefined || value === '') continue;
      if (BYPASS.has(value)) { bypassed = true; if (options.bypassAllowed) continue; }
      else if (!BASE64.test(value)) return { refused: ERRORS.signatureEncoding(i, j), bypassed };
      if (!isOwn(value, part, request, i, options)) return { refused: ERRORS.signatureCorrupted(options.phrasing), bypassed }; // keeps J2, J3, J4
    }
    const first = content.role === 'model' ? content.parts.findIndex((part) => part.functionCall !== undefined) : -1;
    if (!options.signaturesRequired || i < turn || first < 0) continue;
    const signed = content.parts.some((part, j) => (part.thoughtSignature ?? '') !== '' && (j === first || (j < first && part.thought === true))); // keeps J1
    if (!signed) return { refused: ERRORS.signatureMissing(options.phrasing, content.parts[first]?.functionCall?.name ?? '', i + 1), bypassed };
  }
  return { bypassed };
}

function currentTurnStart(request: ReadRequest): number {
  return request.contents.findLastIndex((content) => content.role === 'user' && responsesOf(content).length === 0);
}

function isOwn(value: string, part: WirePart, request: ReadRequest, at: number, { signatures, account, model, strict }: JudgeOptions): boolean {
  const binding = signatures.read(value);
  if (binding === undefined || binding.part !== partDigest(part)) return false;
  const [contents, frame] = binding.prefix.split('.');
  return !(strict.account && binding.account !== account)
    && !(strict.model && binding.model !== model)
    && !(strict.prefix && (contents !== sha256(request.before[at] ?? '') || binding.output !== outputDigest(request.contents[at]?.parts ?? [])))
    && !(strict.frame && frame !== sha256(request.frameSource));
}
