/**
 * A command in a fresh copy of the workspace.
 *
 * D1. Each call has a folder of its own, made from a digest and thrown away afterwards; what changed in it comes back as a stored snapshot (WSP-2).
 * D2. With isolation, a limit that stopped the command is an observation: the sandbox was the whole world that it could touch, and it is gone. Without
 *     isolation it is *unknown*.
 * D3. Without isolation the tool's contract is not *contained*: see `contractUnder`. A mapping that says so nevertheless, since it was published elsewhere, starts nothing here.
 * D4. A command is given neither a key nor arguments, so it can be neither *keyed* nor *idempotent*: a mapping that says so starts nothing.
 *
 * Rows: EFF-2, EFF-3, EFF-4, WSP-1, WSP-2.
 */
import { execFile } from 'node:child_process';
import { lchown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EffectContract, Json } from '@n17q/domain';
import type { Connector, ConnectorOutcome, DispatchRequest } from '../connector.js';
import { unlessMissing } from '../workspace/missing.js';
import type { Workspaces } from '../workspace/workspaces.js';
import { commandContractProblem, CommandToolConfig } from './command-check.js';
import { contractUnder, UNPRIVILEGED_ID, type Isolation } from './isolation.js';
import { runContained, type ContainedEnd } from './run-contained.js';

const ready: ConnectorOutcome = { kind: 'not-sent', cause: 'READY' };

export class CommandConnector implements Connector {
  readonly kind = 'command';
  readonly #config: CommandToolConfig;

  /** `contract`: as the mapping declares it. Throws ZodError on a bad configuration. */
  constructor(config: Json, readonly workspaces: Workspaces, readonly isolation: Isolation, readonly contract: EffectContract = { kind: 'neither' }) {
    this.#config = CommandToolConfig.parse(config);
  }

  async dispatch(request: DispatchRequest): Promise<ConnectorOutcome> {
    if (!request.workspace) return { kind: 'not-sent', cause: 'NO_WORKSPACE' };
    if (contractUnder(this.contract.kind, this.isolation) !== this.contract.kind) return { kind: 'not-sent', cause: 'CONTAINED_NOT_POSSIBLE_HERE' }; // keeps D3
    if (commandContractProblem(this.contract) !== undefined) return { kind: 'not-sent', cause: 'CONTRACT_NOT_POSSIBLE' }; // keeps D4
    const { tenant, at } = request.workspace;
    await mkdir(this.workspaces.scratch, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(this.workspaces.scratch, 'command-'));
    try {
      const workspace = join(folder, 'workspace');
      const unmade = await unlessMissing(this.workspaces.materialise(tenant, at, workspace).then(() => ready));
      if (unmade !== ready) return unmade;
      if (this.isolation.isolation === 'namespaces' && this.isolation.as === 'root') await giveAway(workspace);
      const end = await runContained({
        command: this.#config.command, workspace, root: join(folder, 'root'), isolation: this.isolation, env: this.#config.env, mounts: this.#config.mounts,
        timeoutMs: request.timeoutMs, outputBytesMax: request.outputBytesMax, beforeFirstByte: request.beforeFirstByte, ...(request.signal ? { signal: request.signal } : {}),
      });
      if (end.kind === 'not-started') return { kind: 'not-sent', cause: end.cause };
      if (end.stoppedBy !== null && this.isolation.isolation === 'none') return { kind: 'unknown', cause: end.stoppedBy }; // keeps D2
      const change = await this.workspaces.snapshot(tenant, workspace, at);
      return { kind: 'observed', ok: end.exitCode === 0, text: said(end), receipt: this.#receipt(end), ...(change.paths.length > 0 ? { files: change } : {}) };
    } finally {
      await thrownAway(folder);
    }
  }

  #receipt(end: Extract<ContainedEnd, { kind: 'ended' }>): Json {
    return { command: this.#config.command, exitCode: end.exitCode, stoppedBy: end.stoppedBy, outputBytes: end.outputBytes, durationMs: end.durationMs, isolation: this.isolation.isolation };
  }
}

function said(end: Extract<ContainedEnd, { kind: 'ended' }>): string {
  const first = end.stoppedBy === 'TIME_LIMIT' ? `stopped at the time limit after ${end.durationMs} ms`
    : end.stoppedBy === 'OUTPUT_LIMIT' ? `stopped after ${end.outputBytes} bytes of output`
    : end.stoppedBy === 'ABORTED' ? 'stopped on request' : `exit code ${end.exitCode ?? 'none'}`;
  return `${first}\n${end.text}`;
}

/** Makes the copy belong to the account without rights that the command runs under. */
async function giveAway(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) await lchown(join(entry.parentPath, entry.name), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  await lchown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
}

async function thrownAway(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(async () => {
    await promisify(execFile)('chmod', ['-R', 'u+rwx', '--', folder]); // the command locked folders of its own
    await rm(folder, { recursive: true, force: true });
  });
}
