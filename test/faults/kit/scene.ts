/** A stack of processes with its outside: the model's emulator and one ticket service per class. Shared by the runs of a suite; each run has a tag. */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { contentOf } from '@n17q/contracts';
import { fact, runStream, type ContentRef, type EventEnvelope, type EventType, type Fact, type PolicyDocument, type RunId, type ServiceName, type WorkspaceRef } from '@n17q/domain';
import { makeFixtureRepo, startProviderEmulator, startWorldEmulator, until, type LedgerView, type ProviderEmulator, type WorldEmulator } from '@n17q/testing';
import { FIRST_POLICY, geminiAccount, startStack, type NewRun, type Stack, type StartStackOptions } from '@n17q/testing';
import { goalOf, scripted, type Scripts } from './scripts.js';
import { CLASSES, toolsFor, WORLD_CLASSES, type WorldClass } from './tools.js';

export const SERVICES: readonly ServiceName[] = ['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler'];
export const REACTING = SERVICES.slice(1);
export const LEASE_MS = 2_000;
export const GENERATION_TIMEOUT_MS = 2_500;
export const SCENE_POLICY: PolicyDocument = { ...FIRST_POLICY, leaseMs: LEASE_MS, permitLifeMs: 10_000, attemptsMax: 3 };

export interface Started { readonly run: RunId; readonly tag: string }
export interface Scene {
  readonly stack: Stack;
  readonly emulator: ProviderEmulator;
  readonly worlds: { readonly [C in WorldClass]: WorldEmulator };
  readonly workspace: WorkspaceRef;
  start(script: string, run?: Partial<NewRun>): Promise<Started>;
  /** As the `api` user, for this person; tries again when another was faster. */
  say(run: RunId, facts: readonly Fact[], contents?: readonly ReturnType<typeof contentOf>[], person?: string): Promise<void>;
  finding(run: RunId, effect: string, verdict: 'happened' | 'did-not-happen', evidence: string): Promise<string>;
  /** Model requests of one run, in order of arrival: by their bodies. */
  wire(tag: string): readonly { readonly order: number; readonly body: string; readonly executed: boolean; readonly refused: number | undefined; readonly account: string | undefined; readonly model: string | undefined }[];
  /** Tickets of one run at one service. */
  tickets(c: WorldClass, tag: string): LedgerView['entries'];
  ended(run: RunId, withinMs?: number): Promise<readonly EventEnvelope[]>;
  /** Reads as the owner of the database: what no service may do. */
  owner<T extends object>(sql: string, values?: readonly unknown[]): Promise<readonly T[]>;
  close(): Promise<void>;
}

export interface SceneOptions { readonly scripts: Scripts; readonly stack?: Partial<StartStackOptions>; readonly models?: { readonly a?: string; readonly b?: string } }

/** After the last event of `type` there is one of each that it brings about, in whatever order. False while there is none of `type`. */
export const settledAfter = (events: readonly EventEnvelope[], type: EventType, ...brings: readonly EventType[]): boolean => {
  const at = events.findLastIndex((e) => e.type === type);
  return at !== -1 && brings.every((b) => events.slice(at + 1).some((e) => e.type === b));
};
export const isOver = (events: readonly EventEnvelope[]): boolean => {
  const end = events.findLastIndex((e) => e.type === 'run.ended');
  return end >= 0 && events.slice(end).some((e) => e.type === 'checkpoint.sealed');
};

export async function openScene(o: SceneOptions): Promise<Scene> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => { for (const c of closers.splice(0).toReversed()) await c(); };
  try {
    const emulator = await startProviderEmulator({ accounts: { 'acct-a': 'key-a', 'acct-b': 'key-b' }, strict: { account: true, model: true, prefix: true, frame: true }, scenario: scripted(o.scripts) });
    closers.push(() => emulator.close());
    const ledgers = join((process.env['TMPDIR'] ?? '/tmp'), `n17q-worlds-${randomBytes(6).toString('hex')}`);
    const { mkdirSync, rmSync } = await import('node:fs');
    mkdirSync(ledgers);
    closers.push(async () => { rmSync(ledgers, { recursive: true, force: true }); });
    const worlds = {} as Record<WorldClass, WorldEmulator>;
    for (const c of WORLD_CLASSES) {
      worlds[c] = await startWorldEmulator({ ledgerPath: join(ledgers, `${c}.jsonl`), token: 'control', mode: CLASSES[c].world });
      closers.push(() => worlds[c].close());
    }
    const urls = Object.fromEntries(WORLD_CLASSES.map((c) => [c, worlds[c].url])) as { [C in WorldClass]: string };
    const account = (name: string, key: string, model: string) => ({ ...geminiAccount(name, emulator.url, [model]), key });
    const stack = await startStack({
      separate: true, services: SERVICES, sweepMs: 200, tools: toolsFor(urls),
      accounts: [account('acct-a', 'key-a', o.models?.a ?? 'gemini-3-pro-preview'), account('acct-b', 'key-b', o.models?.b ?? 'gemini-3-flash-preview')],
      ...o.stack,
      policy: { ...SCENE_POLICY, ...o.stack?.policy },
      settings: { N17Q_GENERATION_TIMEOUT_MS: String(GENERATION_TIMEOUT_MS), N17Q_RELAY_LEASE_MS: '1500', ...o.stack?.settings },
    });
    closers.push(() => stack.close());
    const repo = join(stack.sandbox.dir, 'repo');
    await makeFixtureRepo(repo);
    const { workspace } = await stack.workspaces.fromRepo(stack.tenant, repo, join(stack.sandbox.dir, 'clone'));
    return sceneOf(stack, emulator, worlds, workspace, close);
  } catch (error) {
    await close();
    throw error;
  }
}

function sceneOf(stack: Stack, emulator: ProviderEmulator, worlds: Scene['worlds'], workspace: WorkspaceRef, close: () => Promise<void>): Scene {
  const say: Scene['say'] = async (run, facts, contents = [], person = 'operator') => {
    const appendOnce = async (): Promise<{ readonly refused: string | null } | undefined> => {
      const { head } = await stack.store.loadRun(stack.tenant, runStream(run));
      const outcome = await stack.store.append({
        tenant: stack.tenant, stream: runStream(run), expected: head.revision, appendId: randomUUID(), actor: { kind: 'person', id: person }, correlation: run, causation: null,
        events: facts.map((f) => ({ ...f, eventId: randomUUID() })),
        contents: contents.map((c) => ({ ref: c.ref, salt: Buffer.from(c.salt).toString('base64'), body: Buffer.from(c.body).toString('base64') })),
      });
      if (outcome.kind === 'refused') return { refused: `${facts.map((f) => f.type).join(', ')} was refused: ${outcome.code}: ${outcome.message}` };
      return outcome.kind === 'appended' ? { refused: null } : undefined;
    };
    const { refused } = await until(appendOnce, { withinMs: 10_000, everyMs: 10, what: 'a free moment of the run' });
    if (refused !== null) throw new Error(refused);
  };
  return {
    stack, emulator, worlds, workspace, say, close,
    start: async (script, run = {}) => {
      const tag = `${script}-${randomBytes(4).toString('hex')}`;
      return { tag, run: await stack.createRun({ goal: goalOf(script, tag), title: tag, workspace, ...run }) };
    },
    finding: async (run, effect, verdict, evidence) => {
      const content = contentOf(evidence, 'evidence');
      const finding = randomUUID();
      await say(run, [fact('effect.finding-submitted', { finding, effect, verdict, evidence: content.ref as ContentRef })], [content]);
      return finding;
    },
    wire: (tag) => emulator.ledger().entries.flatMap((e) => {
      const body = emulator.requestBody(e.order) ?? '';
      return body.includes(`case=${tag}`) ? [{ order: e.order, body, executed: e.executed, refused: e.refusal?.code, account: e.account, model: e.model }] : [];
    }),
    tickets: (c, tag) => worlds[c].ledger().entries.filter((e) => JSON.stringify(e.body).includes(tag)),
    ended: (run, withinMs = 30_000) => stack.waitFor(run, isOver, 'the end of the run', withinMs),
    owner: async <T extends object>(sql: string, values: readonly unknown[] = []) => {
      const client = new pg.Client({ connectionString: stack.sandbox.postgres.url(undefined, undefined, new URL(stack.site.databases.reader).pathname.slice(1)) });
      await client.connect();
      try { return (await client.query<T>(sql, [...values])).rows; } finally { await client.end(); }
    },
  };
}

export const ofType = <T extends EventEnvelope['type']>(events: readonly EventEnvelope[], type: T): readonly Extract<EventEnvelope, { type: T }>[] =>
  events.filter((e): e is Extract<EventEnvelope, { type: T }> => e.type === type);
