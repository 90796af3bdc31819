/** Connectors by mapping, made when first needed and kept while the mapping is the same. Rows: TOOL-1, TOOL-4. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { ArtifactStore } from '@n17q/artifacts';
import { digestOf } from '@n17q/contracts';
import type { ToolMapping } from '@n17q/domain';
import { optionalSetting, setting, type Settings } from '@n17q/reactor';
import { connectorFor, probeIsolation, Workspaces, type Connector, type ConnectorSurroundings, type CredentialHeaders, type CredentialSecret } from '@n17q/tools';

/** Read at each use, so that a replaced or removed credential is so at the next call. A name is one file of the folder. */
function secretsFrom(folder: string): CredentialSecret {
  return (name) => {
    if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) throw new Error(`"${name.slice(0, 64)}" names no tool credential`);
    return readFileSync(join(folder, name), 'utf8').trim();
  };
}
const bearer = (secrets: CredentialSecret): CredentialHeaders => (name) => ({ authorization: `Bearer ${secrets(name)}` });

export async function connectors(settings: Settings, artifacts: ArtifactStore): Promise<(t: ToolMapping) => Connector | undefined> {
  const isolation = await probeIsolation();
  const workspaces = new Workspaces(artifacts, setting(settings, 'N17Q_SCRATCH_DIR', 'a folder for sandboxes, which may vanish'));
  const secrets = secretsFrom(setting(settings, 'N17Q_TOOL_CREDENTIALS_DIR', 'the folder with one file per tool credential'));
  const around: ConnectorSurroundings = { workspaces, isolation, credentials: bearer(secrets), secrets, mayStartServers: optionalSetting(settings, 'N17Q_ALLOW_TOOL_SERVERS') === '1' };
  const made = new LRUCache<string, Connector>({ max: 200 });
  return (t) => {
    const key = digestOf({ connector: t.connector, target: t.target, contract: t.contract, schemaDigest: t.schemaDigest });
    let c = made.get(key);
    if (c === undefined) made.set(key, (c = connectorFor(t, around)));
    return c;
  };
}
