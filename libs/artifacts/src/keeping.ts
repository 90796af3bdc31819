/** Where bytes go: small ones beside their event, large ones into the artifact store before any event names them. Rows: SEAL-3, SEAL-7. */
import { contentOf, INLINE_BYTES_MAX, type ContentUpload } from '@n17q/contracts';
import type { ContentClass, ContentRef, RunId, TenantId } from '@n17q/domain';
import type { ArtifactStore } from './store.js';

export interface Kept { readonly ref: ContentRef; /** To be sent beside the append that names it; null: it is stored and registered. */ readonly upload: ContentUpload | null }
/** Tells the store that these bytes are complete outside; returns when the index says so. */
export type Register = (tenant: TenantId, run: RunId, ref: ContentRef) => Promise<void>;
export type Keep = (tenant: TenantId, run: RunId, bytes: string | Uint8Array, cls: ContentClass, media: string) => Promise<Kept>;

export const keeping = (artifacts: ArtifactStore, register: Register): Keep => async (tenant, run, bytes, cls, media) => {
  const body = typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes;
  if (body.length <= INLINE_BYTES_MAX / 2) { const upload = contentOf(body, cls, media); return { ref: upload.ref, upload }; }
  const ref = await artifacts.put(tenant, body, { class: cls, media });
  await register(tenant, run, ref);
  return { ref, upload: null };
};
