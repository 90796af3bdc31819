/**
 * Control over a running emulator, for who has its token. Not part of the emulated provider, and not in its ledger.
 *
 * | request | effect |
 * |---|---|
 * | GET /control/ledger | the ledger |
 * | GET /control/requests/N/body | body of request N |
 * | GET /control/issued | every opaque value that was issued |
 * | POST /control/accounts {name, key} · DELETE /control/accounts/NAME | adds, removes |
 * | PUT /control/scenario {steps, …} | what the model says from now on |
 * | PUT /control/strict {account?, model?, prefix?, frame?} | switches |
 * | PUT /control/errors {phrasing?, wrap?} | form of errors |
 * | POST /control/faults {fault, account?} | meets the next requests |
 * | GET /control/held · POST /control/release {order?} | held answers |
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Phrasing } from './answers.js';
import { FAULT_KINDS, json, type Fault } from './faults.js';
import type { Strictness } from './judge.js';
import type { LedgerView } from './ledger.js';
import type { Script } from './scenario.js';
import { sha256 } from './signatures.js';

/** What may be done to a running emulator, over HTTP or in its own process. */
export interface EmulatorControl {
  ledger(): LedgerView;
  requestBody(order: number): string | undefined;
  issued(): readonly string[];
  setScenario(scenario: Script): void;
  setStrict(strict: Partial<Strictness>): void;
  setErrors(form: { readonly phrasing?: Phrasing; readonly wrap?: boolean }): void;
  addAccount(name: string, key: string): void;
  removeAccount(name: string): boolean;
  addFault(fault: Fault, account?: string): void;
  held(): readonly number[];
  release(order?: number): number;
}

export function serveControl(emulator: EmulatorControl, token: string | undefined, req: IncomingMessage, res: ServerResponse, url: URL, body: Buffer): void {
  if (token === undefined || token === '' || !same(req.headers.authorization ?? '', `Bearer ${token}`)) return json(res, 401, { error: 'control token missing or wrong' });
  let order: Readonly<Record<string, unknown>>;
  try {
    order = body.length === 0 ? {} : JSON.parse(body.toString('utf8')) as Readonly<Record<string, unknown>>;
  } catch {
    return json(res, 400, { error: 'the body is not JSON' });
  }
  const answer = obey(emulator, `${req.method} ${url.pathname.slice('/control/'.length)}`, order);
  if (answer === undefined) return json(res, 404, { error: 'no such control, or a field is missing' });
  json(res, 200, answer);
}

function obey(emulator: EmulatorControl, what: string, order: Readonly<Record<string, unknown>>): unknown {
  const body = /^GET requests\/(\d+)\/body$/.exec(what)?.[1];
  if (body !== undefined) return { body: emulator.requestBody(Number(body)) ?? null };
  const removed = /^DELETE accounts\/([a-z0-9._-]+)$/.exec(what)?.[1];
  if (removed !== undefined) return { removed: emulator.removeAccount(removed) };
  switch (what) {
    case 'GET ledger': return emulator.ledger();
    case 'GET issued': return { values: emulator.issued() };
    case 'GET held': return { held: emulator.held() };
    case 'POST release': return { released: emulator.release(order['order'] as number | undefined) };
    case 'POST accounts': {
      if (typeof order['name'] !== 'string' || typeof order['key'] !== 'string') return undefined;
      emulator.addAccount(order['name'], order['key']);
      return { added: order['name'] };
    }
    case 'PUT scenario': {
      if (!Array.isArray(order['steps'])) return undefined;
      emulator.setScenario(order as unknown as Script);
      return { steps: order['steps'].length };
    }
    case 'PUT strict': emulator.setStrict(order as Partial<Strictness>); return { strict: order };
    case 'PUT errors': emulator.setErrors(order as { phrasing?: Phrasing; wrap?: boolean }); return { errors: order };
    case 'POST faults': {
      const fault = order['fault'] as Fault | null | undefined;
      if (fault === null || fault === undefined || !FAULT_KINDS.includes(fault.kind)) return undefined;
      emulator.addFault(fault, order['account'] as string | undefined);
      return { queued: true };
    }
    default: return undefined;
  }
}

/** Digests have one length, so the comparison tells nothing by its time. */
function same(given: string, wanted: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(wanted)));
}
