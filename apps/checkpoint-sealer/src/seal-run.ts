/**
 * Seals a run at its unsealed boundary: the cut, its manifest and the event that names it go into one append. Of a run whose erasure was asked for it erases the contents,
 * and what they had outside the store before that is sealed.
 *
 * Rows: SEAL-1, SEAL-2, SEAL-5, SEAL-6, EFF-8, RET-1.
 */
import { v7 as uuidv7 } from 'uuid';
import { canonical, sha256 } from '@n17q/contracts';
import { cutOf, fact, unresolvedOf, type RunId, type TenantId } from '@n17q/domain';
import { decideAgain, type ServiceLog } from '@n17q/event-log';
import { failpoint } from '@n17q/platform';
import type { EraseArtifacts } from './erase-artifacts.js';

export const sealRun = (log: ServiceLog, eraseArtifacts: EraseArtifacts) => async (tenant: TenantId, run: RunId): Promise<void> => {
  const checkpoint = uuidv7();
  const done = await decideAgain(log, async () => {
    const s = await log.state(tenant, run);
    if (s.boundary.length > 0) await eraseArtifacts(s);
    return s;
  }, (s) => s, (s) => {
    if (s.boundary.length === 0) return s.erasure === null || s.status !== 'ended' ? null : { facts: [fact('content.erased', { reason: s.erasure.reason, by: s.erasure.by, unresolved: unresolvedOf(s).map((e) => e.effect) })] };
    const cut = cutOf(s, canonical, sha256);
    const manifest = canonical(cut.manifest);
    failpoint('sealer.before-append');
    return {
      facts: [fact('checkpoint.sealed', { checkpoint, version: 1, cut: s.revision, boundaries: s.boundary, manifest: sha256(manifest), previous: s.checkpoint?.checkpoint ?? null })],
      checkpoint: { checkpoint, manifest }, // the store makes the sections itself, from its own fold
    };
  });
  if (done.kind === 'appended') failpoint('sealer.after-append');
  if (done.kind === 'refused') throw new Error(`the store refused the seal: ${done.outcome.code}: ${done.outcome.message}`);
};
