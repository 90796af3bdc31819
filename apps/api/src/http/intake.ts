/**
 * What every request passes before Nest routes it, in this order: who calls, then the body's size and form, then what no caller may bring.
 *
 * I1. Nothing of a body is read before the caller is known.
 * I2. A reserved field anywhere in a body is refused by its path, before any other judgement of the body (CON-3). Text is never looked into.
 * I4. A tool's capability lets it to one path, and to no other; a person's token does not let there. What is wrong with a capability is not told, nor what there is behind it.
 * I3. Depth is bounded before anything recursive sees the body.
 *
 * Rows: CON-3, SEC-1.
 */
import express, { type NextFunction, type Request, type RequestHandler, type Response, type ErrorRequestHandler } from 'express';
import { http } from '@n17q/contracts';
import type { Json } from '@n17q/domain';
import { findCarrier } from '@n17q/providers';
import { receiptFor, type ReceiptFor } from '@n17q/tools';
import { Problem, problemOf, sendProblem } from './problem.js';
import type { Caller, Tokens } from './tokens.js';

export const DEPTH_MAX = 64;
export type KnownRequest = Request & { caller?: Caller; /** Of a tool that hands in a receipt: the one effect that it may. */ receiptFor?: ReceiptFor };
/** Here a tool's capability is what lets in; nowhere else. */
export const RECEIPTS_PATH = '/v1/receipts';

const OPEN = new Set(http.HTTP_ROUTES.filter((r) => r.open).map((r) => r.path));

const capabilityOf = (key: string | undefined, authorization: string | undefined): ReceiptFor | undefined => (key === undefined ? undefined : receiptFor(key, /^Bearer ([\x21-\x7e]{1,1000})$/i.exec(authorization ?? '')?.[1] ?? ''));

const authenticate = (tokens: Tokens, receipts: string | undefined): RequestHandler => (req: KnownRequest, res, next) => {
  if (isReceipts(req)) { // keeps I4
    const known = capabilityOf(receipts, req.headers.authorization);
    if (known === undefined) return sendProblem(res, new Problem('UNAUTHENTICATED', 'Send the capability that came with the call as "Authorization: Bearer …".'));
    req.receiptFor = known;
    return next();
  }
  const caller = tokens.callerOf(req.headers.authorization);
  if (caller !== undefined) req.caller = caller;
  else if (!OPEN.has(req.path)) return sendProblem(res, new Problem('UNAUTHENTICATED', 'Send a token as "Authorization: Bearer …".'));
  next();
};

/** Why a body cannot be taken in, or undefined. */
export function bodyFlaw(body: unknown): Problem | undefined {
  const open: { readonly value: unknown; readonly path: string; readonly depth: number }[] = [{ value: body, path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    if (typeof value === 'string' && !value.isWellFormed()) return new Problem('MALFORMED', 'A text holds half a character (a lone surrogate).', { path });
    if (value === null || typeof value !== 'object') continue;
    if (depth >= DEPTH_MAX) return new Problem('MALFORMED', `The body is nested deeper than ${DEPTH_MAX}.`, { path: path.slice(0, 200) }); // keeps I3
    for (const [key, member] of Object.entries(value)) {
      if (!key.isWellFormed()) return new Problem('MALFORMED', 'A field\'s name holds half a character (a lone surrogate).', { path });
      open.push({ value: member, path: `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, depth: depth + 1 });
    }
  }
  const carrier = findCarrier(body as Json); // keeps I2
  return carrier === undefined ? undefined : new Problem('CARRIER_FIELD', 'This field is reserved for what providers hand out and expect back; nobody else can bring it.', { path: carrier });
}

const wholesome: RequestHandler = (req, res, next) => {
  const flaw = req.body === undefined ? undefined : bodyFlaw(req.body);
  if (flaw !== undefined) return sendProblem(res, flaw);
  next();
};
const onlyJson: RequestHandler = (req, res, next) => {
  const hasBody = req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0';
  if (hasBody && !req.is('application/json')) return sendProblem(res, new Problem('UNSUPPORTED_MEDIA', 'Send application/json.'));
  next();
};
const unreadable: ErrorRequestHandler = (e: unknown, _req: Request, res: Response, _next: NextFunction) => sendProblem(res, problemOf(e));

const isReceipts = (req: Request): boolean => req.path.toLowerCase().replace(/\/+$/, '') === RECEIPTS_PATH; // as the router reads it
const bodies = express.json({ limit: http.HTTP_BODY_BYTES_MAX, inflate: false, strict: true });
const receiptBodies = express.json({ limit: http.RECEIPT_BYTES_MAX, inflate: false, strict: true });
const parsed: RequestHandler = (req, res, next) => (isReceipts(req) ? receiptBodies : bodies)(req, res, next);

/** `receipts`: the secret behind capabilities; undefined: none is valid. */
export const intake = (tokens: Tokens, receipts?: string): readonly (RequestHandler | ErrorRequestHandler)[] => [authenticate(tokens, receipts), onlyJson, parsed, unreadable, wholesome];
