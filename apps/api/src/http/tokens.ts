/**
 * Who calls is known by the token alone. There is no default token, a short one is refused, and comparing takes the same time whatever was sent.
 *
 * Rows: SEC-1.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';

export interface Caller { readonly tenant: string; readonly person: string }

export const TOKEN_CHARS_MIN = 24;
const entries = z.array(z.strictObject({
  token: z.string().min(TOKEN_CHARS_MIN).max(512).regex(/^[\x21-\x7e]+$/, 'visible ASCII only'),
  tenant: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  person: z.string().min(1).max(200).regex(/^[^\p{Cc}]*$/u),
})).min(1);

const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

export class Tokens {
  readonly #known: readonly { readonly digest: Buffer; readonly caller: Caller }[];
  /** Each tenant that somebody can speak for. */
  readonly tenants: readonly string[];

  /** Throws an error that never quotes a token. */
  constructor(list: unknown) {
    const parsed = entries.safeParse(list);
    if (!parsed.success) throw new Error(`the list of tokens is not usable: ${parsed.error.issues.slice(0, 3).map((i) => `${i.path.join('.') || '(top)'}: ${i.message}`).join('; ')}`);
    if (new Set(parsed.data.map((e) => e.token)).size !== parsed.data.length) throw new Error('two people share one token: each needs their own');
    this.#known = parsed.data.map((e) => ({ digest: digest(e.token), caller: { tenant: e.tenant, person: e.person } }));
    this.tenants = [...new Set(parsed.data.map((e) => e.tenant))];
  }

  /** The caller behind an `Authorization` header, or undefined. */
  callerOf(authorization: string | undefined): Caller | undefined {
    const given = digest(/^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')?.[1] ?? '');
    let found: Caller | undefined;
    for (const k of this.#known) if (timingSafeEqual(k.digest, given)) found = k.caller; // all are compared: no early end
    return found;
  }
}

export async function readTokens(file: string): Promise<Tokens> {
  const text = await readFile(file, 'utf8').catch((e: NodeJS.ErrnoException) => { throw new Error(`N17Q_API_TOKENS_FILE: ${file} cannot be read (${e.code})`); });
  let list: unknown;
  try { list = JSON.parse(text); } catch { throw new Error(`N17Q_API_TOKENS_FILE: ${file} is not JSON`); }
  return new Tokens(list);
}
