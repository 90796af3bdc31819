/** Who may read which content. */
import type { ServiceName } from '@n17q/domain';
import type { StoredContent } from './ports.js';
import { StoreFault } from './store-fault.js';

/** Refuses to read on behalf of somebody who may not: continuation bytes are the gateway's alone. */
export function checkReadable(found: readonly StoredContent[], reader: ServiceName): readonly StoredContent[] {
  const sealed = reader === 'provider-gateway' ? undefined : found.find((c) => c.ref.class === 'continuation');
  if (sealed !== undefined) throw new StoreFault('NOT_READABLE', `${reader} may not read ${sealed.ref.commitment}: continuations are the provider gateway's alone.`, false);
  return found;
}
