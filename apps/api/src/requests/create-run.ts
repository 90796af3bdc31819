/**
 * A new run. A repository is cloned and its tree stored and registered complete before any event names it; the given path is only read.
 *
 * Rows: RUN-1, SEAL-3, WSP-1, BUD-1, POL-1.
 */
import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { http } from '@n17q/contracts';
import { fact, type RunId, type WorkspaceRef } from '@n17q/domain';
import { GitTrouble, WorkspaceTrouble, type Workspaces } from '@n17q/tools';
import type { Asking } from '../http/caller.js';
import { isNoGit, Problem } from '../http/problem.js';
import { idFrom } from './run-log.js';
import type { Delegations } from '../tenant/delegations.js';
import { uploads, type Answer, type RunRequests } from './run-requests.js';

const TITLE_CHARS = 80;
const titleFrom = (goal: string): string => (goal.split('\n').map((l) => l.replaceAll(/\p{Cc}/gu, ' ').trim()).find((l) => l !== '') ?? 'Untitled').slice(0, TITLE_CHARS).toWellFormed();

export class CreateRun {
  constructor(private readonly requests: RunRequests, private readonly workspaces: Workspaces, private readonly delegations: Delegations, private readonly o: { readonly scratchDir: string; readonly allowLocalRepos: boolean }) {}

  create(a: Asking, body: http.NewRunRead): Promise<Answer> {
    if (body.repo !== undefined && !this.o.allowLocalRepos) throw new Problem('LOCAL_REPOS_OFF', 'This server reads no repository of its own machine: start a run without one, or set N17Q_ALLOW_LOCAL_REPOS=1 there.', { path: '/repo' });
    const run: RunId = a.key === null ? uuidv7() : idFrom('run', a.tenant, a.person, a.key);
    const onBehalfOf = body.onBehalfOf === a.person ? null : (body.onBehalfOf ?? null);
    return this.requests.create(a, run, async () => {
      if (onBehalfOf !== null) await this.delegations.require(a, onBehalfOf); // said at once; the gate judges it again at each step (POL-1)
      const goal = await this.requests.kept(a, run, body.goal, 'input', 'text/plain; charset=utf-8');
      const workspace = body.repo === undefined ? null : await this.clone(a, run, body.repo);
      return {
        facts: [fact('run.created', {
          goal: goal.ref, title: body.title ?? titleFrom(body.goal), retention: body.retention, world: { kind: 'real' }, budget: body.budget, constraints: body.constraints, tools: body.tools,
          workspace, whenDone: body.whenDone, changePolicy: body.changePolicy, onBehalfOf, wallMs: body.wallMs ?? null,
        })],
        contents: uploads(goal),
      };
    });
  }

  private async clone(a: Asking, run: RunId, repo: string): Promise<WorkspaceRef> {
    const there = await lstat(repo).catch(() => undefined);
    if (there === undefined || !there.isDirectory()) throw new Problem('REPOSITORY_UNUSABLE', `There is no folder ${repo.slice(0, 300)}: give the path of a git repository on the server's machine.`, { path: '/repo' });
    await mkdir(this.o.scratchDir, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(this.o.scratchDir, 'clone-'));
    try {
      const { workspace } = await this.workspaces.fromRepo(a.tenant, repo, join(folder, 'repo'));
      await this.requests.register(a.tenant, run, workspace.tree);
      return workspace;
    } catch (e) {
      if (isNoGit(e)) throw e;
      if (e instanceof GitTrouble || e instanceof WorkspaceTrouble) throw new Problem('REPOSITORY_UNUSABLE', `${repo.slice(0, 300)} cannot be cloned (${e.message.slice(0, 300)}): give the top folder of a git repository with at least one commit.`, { path: '/repo' });
      throw e;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
