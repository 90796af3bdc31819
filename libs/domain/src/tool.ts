/**
 * The tenant's tool registry: which name means which server, schema and contract. A revision of the registry is one event of the tenant's
 * `registry` stream; a request pins the revision under which it was made.
 *
 * Rows: TOOL-1, TOOL-4.
 */
import type { EffectContract } from './contract.js';
import type { Digest } from './ids.js';
import type { Json } from './json.js';

export const CONNECTOR_KINDS = ['http', 'mcp', 'command', 'workspace'] as const;
export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

/** How confidential what a tool gives back is, from the least on. */
export const DATA_CLASSES = ['public', 'internal', 'confidential', 'restricted'] as const;
export type DataClass = (typeof DATA_CLASSES)[number];
export const moreConfidential = (a: DataClass, b: DataClass): DataClass => (DATA_CLASSES.indexOf(a) >= DATA_CLASSES.indexOf(b) ? a : b);

export interface ToolMapping {
  readonly name: string;
  readonly description: string;
  /** Which server answers for this name. The same name from another server is another tool. */
  readonly server: string;
  /** JSON Schema of the arguments. */
  readonly schema: Json;
  readonly schemaDigest: Digest;
  /** Grows with every change of this mapping. */
  readonly mappingRevision: number;
  readonly contract: EffectContract;
  /** Names of arguments that say what in the world is touched; empty: the whole target. */
  readonly scopeFields: readonly string[];
  readonly target: string;
  readonly connector: { readonly kind: ConnectorKind; readonly config: Json };
  readonly timeoutMs: number;
  /** Bytes of the arguments, as canonical JSON. */
  readonly argumentBytesMax: number;
  readonly outputBytesMax: number;
  readonly dataClass: DataClass;
  /** Present where results are sources: what they were retrieved from, as `{argument}` in a text, and whether the run may rely on nothing else in its place. */
  readonly source?: { readonly identity: string; readonly required: boolean };
  /** Cost of one call in the run's budget, beyond the one call. */
  readonly costUsdMicros: number;
}

const inWorkspace = (t: ToolMapping): boolean => t.connector.kind === 'command' || t.connector.kind === 'workspace';

/** Tools that leave a new workspace behind go one after the other: each starts from the state that the one before left. */
export const holdsOf = (t: ToolMapping): 'workspace' | undefined => (inWorkspace(t) && !(t.connector.config as { readonly readOnly?: boolean } | null)?.readOnly ? 'workspace' : undefined);

/** Whether a run offers a tool: its task names it (or none at all), and the run has what the tool works on. */
export const offers = (s: { readonly task: { readonly tools: readonly string[] } | null; readonly workspace: object | null }, t: ToolMapping): boolean =>
  (s.task === null || s.task.tools.length === 0 || s.task.tools.includes(t.name)) && (!inWorkspace(t) || s.workspace !== null);

/** What a request pins. */
export interface PinnedMapping {
  readonly registryRevision: number;
  readonly mappingRevision: number;
  readonly server: string;
  readonly schemaDigest: Digest;
}

export interface Registry {
  readonly revision: number;
  readonly tools: readonly ToolMapping[];
}

export const toolNamed = (r: Registry, name: string): ToolMapping | undefined => r.tools.find((t) => t.name === name);

/** A mapping still stands for a pin only if server and schema are the same (TOOL-4). */
export const stillMapped = (t: ToolMapping | undefined, pin: PinnedMapping): boolean =>
  t !== undefined && t.server === pin.server && t.schemaDigest === pin.schemaDigest;
