import { ArtifactAltered, ArtifactMissing } from '@n17q/artifacts';
import type { ConnectorOutcome } from '../connector.js';
import { WorkspaceTrouble } from './folder-state.js';

/** A state that cannot be rebuilt sends nothing, and the cause names what is missing or altered. Workspaces are read before anything is started. Rows: WSP-2, SEAL-8. */
export async function unlessMissing(outcome: Promise<ConnectorOutcome>): Promise<ConnectorOutcome> {
  try {
    return await outcome;
  } catch (e) {
    if (e instanceof ArtifactMissing || e instanceof ArtifactAltered) return { kind: 'not-sent', cause: `${e.code}: ${e.commitment}` };
    if (e instanceof WorkspaceTrouble) return { kind: 'not-sent', cause: `${e.code}: ${e.message}` };
    throw e;
  }
}
