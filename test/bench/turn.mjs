/**
 * Governed tool turns through six real services: a provider emulator that answers at once and an HTTP tool, both in this process, on loopback.
 * Times are the store's own (recordedAt of the events), so that they say when something was durable.
 */
import { createServer } from 'node:http';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { digestOf } from '@n17q/contracts';
import { createRun, FIRST_ALLOWANCE, FIRST_POLICY, geminiAccount, openReader, OPERATOR_ROLES, profilesOf, publishDocuments, startProviderEmulator, until } from '@n17q/testing';
import { mean } from './figures.mjs';

export const MODEL = 'gemini-3-flash-preview';
export const REACTORS = ['event-store', 'checkpoint-sealer', 'policy-gate', 'context-compiler', 'provider-gateway', 'effect-reconciler'];
const RUN_BUDGET = { usd_micros: 1e12, tokens: 1e12, calls: 1e9 };

/** Answers every POST at once with `bytes` of text that does not compress. */
async function startTool(bytes) {
  const server = createServer((req, res) => {
    req.resume();
    req.on('end', () => {
      const body = bytes === 0 ? '{"done":true}' : randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64').slice(0, bytes);
      res.writeHead(201, { 'content-type': bytes === 0 ? 'application/json' : 'text/plain', 'content-length': String(Buffer.byteLength(body)) });
      res.end(body);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }) };
}

/** Emulator, tool and a tenant of their own. `turns`: how many tool turns a run makes before the model ends it; `calls`: how many calls each has, at once. */
export async function openWorld(site, api, tenant, { turns, calls = 1, resultBytes = 0 }) {
  const tool = await startTool(resultBytes);
  const key = randomBytes(16).toString('hex');
  const provider = await startProviderEmulator({ accounts: { main: key }, scenario: { next: ({ outputs, userText }) => (outputs < turns ? { text: `Step ${outputs}.`, calls: Array.from({ length: calls }, (_, n) => ({ tool: 'post', args: { item: `${/\(run (\d+)\)/.exec(userText)?.[1]}-${outputs}-${n}` } })) } : { text: 'That was all.' }) } }); // one item a call: runs that touch the same would wait for one another
  const account = geminiAccount('main', provider.url, [MODEL]);
  writeFileSync(join(site.site.credentialsDir, 'main'), key, { mode: 0o600 });
  const schema = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'], additionalProperties: false };
  const post = {
    name: 'post', description: 'Files an item.', server: 'ledger', schema, schemaDigest: digestOf(schema), mappingRevision: 1, contract: { kind: 'keyed', keyLifeMs: 86_400_000 }, scopeFields: ['item'], target: tool.url,
    connector: { kind: 'http', config: { baseUrl: tool.url, method: 'POST', path: '/items', keyHeader: 'idempotency-key' } }, timeoutMs: 10_000, argumentBytesMax: 100_000, outputBytesMax: 100_000, dataClass: 'internal', costUsdMicros: 0,
  };
  await publishDocuments(api, tenant, { policy: FIRST_POLICY, registry: { tools: [post] }, roles: OPERATOR_ROLES, allowance: FIRST_ALLOWANCE, profiles: profilesOf([account]) });
  const reader = openReader(site.site.databases.reader);
  const watch = new pg.Client({ connectionString: site.site.databases.reader });
  watch.on('error', () => undefined); // the site was closed first
  await watch.connect();
  return { tenant, api, provider, tool, reader, watch, turns, close: async () => { await watch.end(); await reader.close(); await provider.close(); await tool.close(); } };
}

/** Lets `count` runs go at once and returns the events of each, when all have ended. */
export async function goRuns(world, count, withinMs) {
  const began = performance.now();
  const runs = await Promise.all(Array.from({ length: count }, (_, i) => createRun(world.api, world.tenant, { goal: `Make ${world.turns} steps (run ${i}).`, whenDone: 'end', budget: RUN_BUDGET })));
  const streams = runs.map((r) => `run/${r}`);
  // nobody has work on any of them: all have ended, or wait for a person
  await until(async () => (await world.watch.query('select 1 from n17q.needs where tenant = $1 and stream = any($2) limit 1', [world.tenant, streams])).rowCount === 0, { withinMs, what: `${count} runs`, everyMs: 50 });
  const seconds = (performance.now() - began) / 1000;
  const events = await Promise.all(runs.map((r) => world.reader.events(world.tenant, r)));
  for (const e of events) if (!e.some((x) => x.type === 'run.ended')) throw new Error(`a run stopped before its end: ${e.slice(-6).map((x) => `${x.type} ${JSON.stringify(x.data).slice(0, 300)}`).join('; ')}`);
  return { seconds, runs, events };
}
/** The hops of a turn, in order: what each is measured to. Seals count to the hop that follows them under their own name. */
const HOPS = [
  ['accepted → sealed', 'generation.accepted', 'checkpoint.sealed'], ['sealed → intent', 'checkpoint.sealed', 'effect.intended'], ['intent → permit', 'effect.intended', 'effect.permitted'],
  ['permit → sealed', 'effect.permitted', 'checkpoint.sealed'], ['sealed → attempt', 'checkpoint.sealed', 'effect.attempt-started'], ['attempt → observation', 'effect.attempt-started', 'effect.observed'],
  ['observation → sealed', 'effect.observed', 'checkpoint.sealed'], ['sealed → next context', 'checkpoint.sealed', 'context.compiled'],
];
const MODEL_HOPS = [
  ['context → model permit', 'context.compiled', 'generation.permitted'], ['model permit → sealed', 'generation.permitted', 'checkpoint.sealed'], ['sealed → request', 'checkpoint.sealed', 'generation.started'], ['request → accepted', 'generation.started', 'generation.accepted'],
];
export const HOP_NAMES = [...HOPS, ...MODEL_HOPS].map(([n]) => n);

/** Turns of one run: for each, the ms of every hop, and whole: accepted output to the next compiled context; `cycle`: to the next accepted output. */
export function turnsOf(events) {
  const found = [];
  for (const [i, e] of events.entries()) {
    if (e.type !== 'generation.accepted' || e.data.calls.length === 0) continue;
    const hops = {};
    let at = i;
    for (const [name, , to] of [...HOPS, ...MODEL_HOPS]) {
      const next = events.findIndex((x, n) => n > at && x.type === to);
      if (next === -1) { at = -1; break; }
      hops[name] = events[next].recordedAt - events[at].recordedAt;
      if (name === 'sealed → next context') hops.turn = events[next].recordedAt - e.recordedAt;
      at = next;
    }
    if (at !== -1) found.push({ ...hops, cycle: events[at].recordedAt - e.recordedAt });
  }
  return found;
}

/** Means over all turns but each run's first, which opens connections and caches. */
export function breakdown(eventsOfRuns) {
  const all = eventsOfRuns.flatMap((events) => turnsOf(events).slice(1));
  const keys = ['turn', 'cycle', ...HOP_NAMES];
  return { turns: all.length, ...Object.fromEntries(keys.map((k) => [k, mean(all.map((t) => t[k]))])) };
}

/** Appends of each turn but the first: behind one accepted output, up to the next. */
export function appendsPerTurn(events) {
  const accepted = events.flatMap((e, i) => (e.type === 'generation.accepted' ? [i] : []));
  const turns = accepted.slice(1, -1).map((at, n) => new Set(events.slice(at + 1, accepted[n + 2] + 1).map((e) => e.appendId)).size);
  return mean(turns);
}

/** Turns per second while all runs were at work: from the first accepted output to the last compiled context. */
export function turnsPerSecond(eventsOfRuns) {
  const spans = eventsOfRuns.map((events) => { const a = events.filter((e) => e.type === 'generation.accepted'); return { from: a[0].recordedAt, to: a.at(-1).recordedAt, turns: a.length - 1 }; });
  const [from, to] = [Math.min(...spans.map((s) => s.from)), Math.max(...spans.map((s) => s.to))];
  return (spans.reduce((n, s) => n + s.turns, 0) * 1000) / (to - from);
}
