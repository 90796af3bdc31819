import type { Json, Usage } from '@n17q/domain';
import { withoutCarriers } from '../carriers.js';
import { scrubbed } from '../scrub.js';

const NATIVE_CHARS_MAX = 16 * 1024;
/** A field's name, and no encoded token. */
const FIELD = /^[A-Za-z_]{1,48}$/;

/**
 * The provider's counts, and ours. Ours: input with what tools put into the prompt, output with thoughts; cached input is
 * part of the input and not added again. A number that the provider did not give is absent, never zero.
 * Words among its counts are kept as far as they are no echo of what was sent (`known`), nor look like it.
 */
export function usageOf(metadata: unknown, known: readonly string[] = []): Usage {
  if (metadata === null || typeof metadata !== 'object' || Array.isArray(metadata)) return { native: null };
  const of = metadata as Readonly<Record<string, unknown>>;
  const count = (name: string): number | undefined => (Number.isSafeInteger(of[name]) && (of[name] as number) >= 0 ? of[name] as number : undefined);
  const [prompt, candidates, total] = [count('promptTokenCount'), count('candidatesTokenCount'), count('totalTokenCount')];
  const inputTokens = prompt === undefined ? undefined : prompt + (count('toolUsePromptTokenCount') ?? 0);
  // the wire leaves out zero counts, so an answer of thoughts alone has no candidates: the total still tells
  const outputTokens = candidates !== undefined ? candidates + (count('thoughtsTokenCount') ?? 0)
    : total !== undefined && inputTokens !== undefined && total >= inputTokens ? total - inputTokens : undefined;
  const native = toldOnly(withoutCarriers(metadata as Json).value, known);
  return {
    native: JSON.stringify(native).length <= NATIVE_CHARS_MAX ? native : null,
    ...(inputTokens === undefined ? {} : { inputTokens }), ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}

function toldOnly(v: Json, known: readonly string[]): Json {
  if (typeof v === 'string') return scrubbed(v, known).toWellFormed();
  if (v === null || typeof v !== 'object') return v;
  if (Array.isArray(v)) return v.map((x) => toldOnly(x as Json, known));
  return Object.fromEntries(Object.entries(v).filter(([name]) => FIELD.test(name) && !known.some((secret) => secret !== '' && name.includes(secret))).map(([name, x]) => [name, toldOnly(x as Json, known)]));
}
