import * as z from 'zod';

/** RFC 9110 leaves these open or promises a later change: none of them says that nothing happened. */
const NEVER_FINAL = [408, 409, 423, 425, 429];

/**
 * How one tool is reached over HTTP. Part of the tool's mapping, so a person with the right to change the registry wrote it; it holds no secret.
 */
export const HttpToolConfig = z.strictObject({
  baseUrl: z.url({ protocol: /^https?$/ }),
  method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE', 'GET']),
  /** Joined to baseUrl. `{name}` stands for an argument, percent-encoded; such an argument must be text or a number. */
  path: z.string().startsWith('/'),
  /** The header that carries the idempotency key; absent: the target knows no keys. */
  keyHeader: z.string().regex(/^[A-Za-z0-9-]+$/).optional(),
  /** Sends this argument as a header with which the target compares before it writes (`if-match`), and not in the body. Without it nothing is sent. */
  precondition: z.strictObject({ header: z.string().regex(/^[A-Za-z0-9-]+$/), argument: z.string().min(1) }).optional(),
  /** How to ask what became of a key. `{key}` stands for it, percent-encoded. */
  query: z.strictObject({
    path: z.string().startsWith('/').includes('{key}'),
    /** Answers that mean: the target knows of no such key. */
    notFoundStatuses: z.array(z.int().min(400).max(499)).default([404]),
  }).optional(),
  /** Answers after which it is certain that nothing happened. */
  finalRefusals: z.array(z.int().min(400).max(499).refine((s) => !NEVER_FINAL.includes(s), 'this status never says that nothing happened')).default([]),
  /** The header in which the service is told where, and under which capability, it may hand in a receipt for this call later. */
  receipt: z.strictObject({ header: z.string().regex(/^[A-Za-z0-9-]+$/) }).optional(),
  /** Names the headers to add; resolved by the process that dispatches, never stored. */
  credential: z.string().optional(),
});
export type HttpToolConfig = z.infer<typeof HttpToolConfig>;

/** From a credential's name to its headers. Throws for an unknown name: then nothing is sent. */
export type CredentialHeaders = (credential: string) => Readonly<Record<string, string>>;
