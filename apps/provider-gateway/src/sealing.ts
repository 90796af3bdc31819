/**
 * Opaque pieces at rest: AES-256-GCM under a key that only the gateway holds, with the binding as additional data, so that a piece that was moved to
 * another run, lineage, place or issuer does not open.
 *
 * Rows: CON-1, CON-2, RUN-5, SEC-4.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { canonical } from '@n17q/contracts';
import type { Digest } from '@n17q/domain';

export interface Binding { readonly tenant: string; readonly run: string; readonly lineage: string; readonly generation: string; readonly partIndex: number; readonly placement: 'side' | 'part'; readonly adapter: string; readonly account: string; readonly accountScope: string; readonly endpoint: string }
export interface Sealing {
  seal(bytes: Uint8Array, b: Binding): Uint8Array;
  /** Undefined when the bytes were altered or do not belong to this binding. */
  open(sealed: Uint8Array, b: Binding): Uint8Array | undefined;
  /** Proves sameness of exact bytes without showing them. */
  exact(bytes: Uint8Array | string): Digest;
}
const IV = 12;
const TAG = 16;

/** `key`: 32 bytes. Throws RangeError for any other length; there is no default. */
export function sealingWith(key: Uint8Array): Sealing {
  if (key.length !== 32) throw new RangeError('the protocol store key must be 32 bytes');
  const derive = (label: string): Buffer => Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), label, 32));
  const enc = derive('n17q continuation encryption v1');
  const mac = derive('n17q continuation exactness v1');
  const aad = (b: Binding): Buffer => Buffer.from(canonical(b), 'utf8');
  return {
    seal(bytes, b) {
      const iv = randomBytes(IV);
      const c = createCipheriv('aes-256-gcm', enc, iv);
      c.setAAD(aad(b));
      const body = Buffer.concat([c.update(bytes), c.final()]);
      return Buffer.concat([iv, c.getAuthTag(), body]);
    },
    open(sealed, b) {
      if (sealed.length < IV + TAG) return undefined;
      const at = Buffer.from(sealed);
      const d = createDecipheriv('aes-256-gcm', enc, at.subarray(0, IV), { authTagLength: TAG });
      d.setAAD(aad(b));
      d.setAuthTag(at.subarray(IV, IV + TAG));
      try { return Buffer.concat([d.update(at.subarray(IV + TAG)), d.final()]); } catch { return undefined; } // authentication failed: that is the answer
    },
    exact: (bytes) => createHmac('sha256', mac).update(bytes).digest('hex') as Digest,
  };
}
