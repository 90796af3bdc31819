/**
 * A tool's right to hand in a receipt: for one effect of one run of one tenant, and for nothing else. It goes out with the call; who has it needs no token of the API.
 *
 * K1. It is an HMAC-SHA-256 under a secret that the reconciler and the API share. There is no default for the secret.
 * K2. What it is for stands in it and is signed; nothing of it is believed before the signature was compared, in constant time.
 *
 * Rows: EFF-5, SEC-1.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const RECEIPT_KEY_CHARS_MIN = 24;
export interface ReceiptFor { readonly tenant: string; readonly run: string; readonly effect: string }
/** What goes out with a call. */
export interface ReceiptTo { readonly url: string; readonly token: string }

const FORM = /^n17qr1\.([A-Za-z0-9_-]{1,700})\.([A-Za-z0-9_-]{43})$/;
const signed = (key: string, claim: string): string => createHmac('sha256', key).update(`n17q receipt 1\n${claim}`).digest('base64url');

/** Throws for a secret that could be guessed. */
export function receiptKey(key: string): string {
  if (key.length < RECEIPT_KEY_CHARS_MIN) throw new Error(`N17Q_RECEIPT_KEY has ${key.length} characters, at least ${RECEIPT_KEY_CHARS_MIN} are needed`);
  return key;
}

/** The same for every attempt of one effect. */
export function receiptToken(key: string, f: ReceiptFor): string {
  const claim = Buffer.from(JSON.stringify([f.tenant, f.run, f.effect]), 'utf8').toString('base64url');
  return `n17qr1.${claim}.${signed(key, claim)}`;
}

/** What the token is for; undefined: it is not one of ours, or was altered. */
export function receiptFor(key: string, token: string): ReceiptFor | undefined {
  const [, claim, mac] = FORM.exec(token) ?? [];
  if (claim === undefined || mac === undefined) return undefined;
  if (!timingSafeEqual(Buffer.from(signed(key, claim)), Buffer.from(mac))) return undefined; // keeps K2
  const [tenant, run, effect] = JSON.parse(Buffer.from(claim, 'base64url').toString('utf8')) as [string, string, string];
  return { tenant, run, effect };
}

/** As it stands in the header that a mapping names. */
export const receiptHeader = (to: ReceiptTo): string => `<${to.url}>; token="${to.token}"`;
