/**
 * Listing, reading and writing files of a workspace, on its digest-named state: no folder is involved, so no path can leave one.
 *
 * K1. A path is data from a model: it is checked before it is used, and links are shown, never followed.
 * K2. A write gives a new state; the old one stays as it was. It is stored before it is named (WSP-2).
 * K3. With a checkout, a write first makes sure that the checkout is in the state that the run believes. If not, nothing is written, and what was
 *     found is stored as new input (WSP-3).
 *
 * Rows: WSP-1, WSP-2, WSP-3, CTX-6.
 */
import type { Json } from '@n17q/domain';
import { boundedText } from '../bounded-text.js';
import type { Connector, ConnectorOutcome, DispatchRequest, WorkspaceInput } from '../connector.js';
import { isInsidePath, type Manifest } from './manifest.js';
import { unlessMissing } from './missing.js';
import { WorkspaceToolConfig } from './workspace-check.js';
import { writable, type Workspaces } from './workspaces.js';

const refused = (cause: string, text: string): ConnectorOutcome => ({ kind: 'refused', cause, text });
const said = (ok: boolean, text: string): ConnectorOutcome => ({ kind: 'observed', ok, text });

export class WorkspaceConnector implements Connector {
  readonly kind = 'workspace';
  readonly #operation: WorkspaceToolConfig['operation'];

  constructor(config: Json, readonly workspaces: Workspaces) {
    this.#operation = WorkspaceToolConfig.parse(config).operation;
  }

  dispatch(request: DispatchRequest): Promise<ConnectorOutcome> {
    const at = request.workspace;
    return at ? unlessMissing(this.#dispatch(request, at)) : Promise.resolve({ kind: 'not-sent', cause: 'NO_WORKSPACE' });
  }

  async #dispatch(request: DispatchRequest, at: WorkspaceInput): Promise<ConnectorOutcome> {
    const args = (request.args ?? {}) as { readonly path?: unknown; readonly content?: unknown; readonly prefix?: unknown };
    const manifest = await this.workspaces.manifest(at.tenant, at.at);
    if (this.#operation === 'list') return request.beforeFirstByte() ? list(manifest, args.prefix, request.outputBytesMax) : stopped;
    if (typeof args.path !== 'string' || !isInsidePath(args.path)) return refused('PATH_REFUSED', 'The path must be relative and stay inside the workspace, outside .git.');
    if (this.#operation === 'read') return this.#read(request, at, manifest, args.path);
    if (this.#operation === 'remove') return this.#write(request, at, manifest, args.path, null);
    if (typeof args.content !== 'string') return refused('CONTENT_REFUSED', 'The content must be text.');
    return this.#write(request, at, manifest, args.path, Buffer.from(args.content, 'utf8'));
  }

  async #read(request: DispatchRequest, at: WorkspaceInput, manifest: Manifest, path: string): Promise<ConnectorOutcome> {
    const file = manifest.files.find((f) => f.path === path);
    if (!request.beforeFirstByte()) return stopped;
    if (!file) return said(false, `There is no file ${path} in the workspace.`);
    const bytes = await this.workspaces.artifacts.get(at.tenant, file.content);
    if (file.mode === '120000') return said(true, `${path} is a link to ${bytes.toString('utf8')}`);
    if (!isText(bytes)) return said(true, `${path} is a binary file of ${file.size} bytes.`);
    return said(true, boundedText(bytes.toString('utf8'), request.outputBytesMax));
  }

  async #write(request: DispatchRequest, at: WorkspaceInput, manifest: Manifest, path: string, content: Buffer | null): Promise<ConnectorOutcome> {
    if (content === null && !manifest.files.some((f) => f.path === path)) return said(false, `There is no file ${path} in the workspace.`);
    const problem = content === null ? undefined : writable(manifest, path);
    if (problem) return refused(problem, `${path} cannot be written: a file, folder or link is in the way.`);
    const conflict = at.checkout === undefined ? undefined : await this.workspaces.conflictIn(at.tenant, at.checkout, at.at); // keeps K3
    if (conflict) return { kind: 'refused', cause: 'WORKSPACE_CONFLICT', text: 'The workspace was changed by somebody else. Nothing was written.', conflict };
    if (!request.beforeFirstByte()) return stopped;
    const files = await this.workspaces.withFile(at.tenant, at.at, path, content);
    const late = at.checkout === undefined ? undefined : await this.workspaces.advance(at.tenant, at.checkout, at.at, files.workspace);
    if (late) return { kind: 'refused', cause: 'WORKSPACE_CONFLICT', text: 'The workspace was changed by somebody else. Nothing was written.', conflict: late };
    return { kind: 'observed', ok: true, text: content === null ? `Removed ${path}.` : `Wrote ${content.length} bytes to ${path}.`, files };
  }
}

const stopped: ConnectorOutcome = { kind: 'not-sent', cause: 'STOPPED_BEFORE_FIRST_BYTE' };

function list(manifest: Manifest, prefix: unknown, bytesMax: number): ConnectorOutcome {
  const under = typeof prefix === 'string' ? prefix : '';
  const files = manifest.files.filter((f) => f.path.startsWith(under));
  // one line a file: a line break in a name must not look like another file
  const lines = files.map((f) => `${f.mode === '120000' ? 'link' : String(f.size)}\t${JSON.stringify(f.path).slice(1, -1)}`);
  return said(true, boundedText(files.length === 0 ? 'No files.' : lines.join('\n'), bytesMax));
}

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
