/**
 * npm run bench [-- --quick] [--profile DIR] [--docs] [--only part,part]; with --from FILE it measures nothing and writes docs/bench.md from an earlier run
 *
 * Measures in one run, on one Postgres and one NATS of its own, beside the machine's own limits, in interleaved rounds: each ratio divides by what the
 * same round gave. Loads go to loopback only and have an end. Writes .data/bench/<time>.json and, with --docs, docs/bench.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fdatasyncsPerSecond, hasPgbench, insertsPerSecond, pgbenchPerSecond, prepareInserts } from './anchors.mjs';
import { batcherRate, grant, guardedRate, openStore } from './appends.mjs';
import { gateDecisions } from './gate.mjs';
import { folderBytes, grown, newBytes, tableSizes } from './bytes.mjs';
import { buildRun, resumeMs } from './resume.mjs';
import { linesOf, markdownOf, tableOf } from './report.mjs';
import { openLoop, openWriters, serviceRate, singleCaller, touchRuns, warmUp } from './service.mjs';
import { closeSite, openSite, residentBytes, startService, startServices, storeAs } from './site.mjs';
import { memoryAfterRuns } from './memory.mjs';
import { appendsPerTurn, breakdown, goRuns, openWorld, REACTORS, turnsPerSecond } from './turn.mjs';

const root = resolve(import.meta.dirname, '../..');
const args = process.argv.slice(2);
const valueOf = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const quick = args.includes('--quick');
const only = valueOf('--only')?.split(',');
const wanted = (part) => only === undefined || only.includes(part);
const profileDir = valueOf('--profile') === undefined ? undefined : resolve(valueOf('--profile'));

const SIZE = quick
  ? { rounds: 1, seconds: 0.8, warmSeconds: 0.4, openSeconds: 1, turns: 6, turnsOfMany: 3, many: 16, resumes: 3, long: 1_500, calls: 12, memoryRuns: 64, decisions: 200, parallelTurns: 4, runsKept: { few: 40, many: 400 } }
  : { rounds: 3, seconds: 2, warmSeconds: 3, openSeconds: 3, turns: 30, turnsOfMany: 10, many: 16, resumes: 9, long: 10_000, calls: 100, memoryRuns: 1_000, decisions: 1_000, parallelTurns: 12, runsKept: { few: 1_000, many: 10_000 } };
const TENANT = 'bench';
const say = (line) => process.stderr.write(`${line}\n`);

async function appendRounds(site, base) {
  const bare = await site.sandbox.database();
  await prepareInserts(bare);
  const batcher = await openStore(base.store);
  await grant(batcher.guarded, TENANT);
  const writers = await openWriters(site);
  const rounds = [];
  for (let n = 0; n < SIZE.rounds; n++) {
    const store = await startService(site, 'event-store', `store-${n}`);
    await warmUp(writers, TENANT, ['short', 'turns'], SIZE.warmSeconds);
    if (n === 0) await guardedRate(batcher, TENANT, 'short', SIZE.warmSeconds);
    const r = { load: loadavg()[0] };
    r.fdatasync = fdatasyncsPerSecond(site.sandbox.dir, SIZE.seconds / 3);
    r.inserts = await insertsPerSecond(bare, SIZE.seconds);
    r.pgbench = hasPgbench() ? await pgbenchPerSecond(bare, SIZE.seconds, site.sandbox.dir) : null;
    for (const script of ['short', 'turns']) {
      r[`batcher ${script}`] = await batcherRate(batcher, TENANT, script, SIZE.seconds);
      r[`guarded ${script}`] = await guardedRate(batcher, TENANT, script, SIZE.seconds);
      r[`service ${script}`] = await serviceRate(writers, TENANT, script, SIZE.seconds);
    }
    r.single = await singleCaller(writers, TENANT, 'short', SIZE.openSeconds / 2);
    r.half = await openLoop(writers, TENANT, 'short', r['service short'].rate / 2, SIZE.openSeconds);
    r.debits = await guardedRate(batcher, TENANT, 'budget', SIZE.seconds, { draws: true });
    r['no debits'] = await guardedRate(batcher, TENANT, 'budget', SIZE.seconds);
    if (n === SIZE.rounds - 1) {
      await touchRuns(writers, TENANT, SIZE.memoryRuns);
      r.residentBytes = residentBytes(store.pid);
    }
    await store.stop();
    say(`round ${n + 1}: P ${r.inserts.toFixed(0)}/s, batcher ${r['batcher short'].rate.toFixed(0)}, guarded ${r['guarded short'].toFixed(0)}, service ${r['service short'].rate.toFixed(0)} (turns: ${r['batcher turns'].rate.toFixed(0)}, ${r['guarded turns'].toFixed(0)}, ${r['service turns'].rate.toFixed(0)})`);
    rounds.push(r);
  }
  await batcher.store.close();
  return rounds;
}

/** Commits of one small row per second by so many clients: what a turn is measured against. */
const commitsPerSecond = async (site, bare, clients) => (hasPgbench() ? await pgbenchPerSecond(bare, SIZE.seconds, site.sandbox.dir, clients) : null) ?? insertsPerSecond(bare, SIZE.seconds, clients);

async function turnParts(site, api) {
  const found = {};
  const bare = await site.sandbox.database();
  await prepareInserts(bare);
  for (const separate of [false, true]) {
    const name = separate ? 'separate' : 'together';
    const services = await startServices(site, REACTORS, separate, `turn-${name}`);
    try {
      const world = await openWorld(site, api, `turn-${name}`, { turns: SIZE.turns });
      const commits = { alone: await commitsPerSecond(site, bare, 1), many: await commitsPerSecond(site, bare, 16) };
      const alone = await goRuns(world, 1, 120_000);
      await world.close();
      const crowd = await openWorld(site, api, `turns-${name}`, { turns: SIZE.turnsOfMany });
      const many = await goRuns(crowd, SIZE.many, 240_000);
      await crowd.close();
      found[name] = { commits, alone: breakdown(alone.events), many: { ...breakdown(many.events), perSecond: turnsPerSecond(many.events), eventsPerSecond: many.events.reduce((n, e) => n + e.length, 0) / many.seconds } };
      say(`turns ${name}: alone ${found[name].alone.turn.toFixed(1)} ms, ${SIZE.many} runs ${found[name].many.perSecond.toFixed(0)}/s`);
    } finally {
      await services.stop();
    }
  }
  return found;
}

/** How many calls of one output are tried beside one. */
const PARALLEL = 8;
async function parallelPart(site, api) {
  const services = await startServices(site, REACTORS, false, 'parallel');
  try {
    const found = { calls: PARALLEL };
    for (const [name, calls] of [['one', 1], ['many', PARALLEL]]) {
      const world = await openWorld(site, api, `parallel-${name}`, { turns: SIZE.parallelTurns, calls });
      found[name] = appendsPerTurn((await goRuns(world, 1, 120_000)).events[0]);
      await world.close();
    }
    say(`appends of a turn: ${found.one.toFixed(1)} with one call, ${found.many.toFixed(1)} with ${PARALLEL}`);
    return found;
  } finally {
    await services.stop();
  }
}

async function memoryPart(site, api) {
  const found = await memoryAfterRuns(site, api, { ...SIZE.runsKept, withinMs: 600_000 });
  for (const [service, m] of Object.entries(found.many)) say(`memory of ${service}: ${(found.few[service].rss / 2 ** 20).toFixed(0)} MiB after ${found.runs.few} runs, ${(m.rss / 2 ** 20).toFixed(0)} after ${found.runs.many}`);
  return found;
}

async function bytesPart(site, api) {
  const services = await startServices(site, REACTORS, false, 'bytes');
  try {
    const world = await openWorld(site, api, 'bytes', { turns: SIZE.calls, resultBytes: 5_000 });
    const [before, filesBefore] = [await tableSizes(site.ownerUrl), folderBytes(site.site.artifactsDir)];
    const { events } = await goRuns(world, 1, 240_000);
    const after = await tableSizes(site.ownerUrl);
    const fresh = newBytes(world.provider);
    const g = grown(before, after);
    const files = folderBytes(site.site.artifactsDir) - filesBefore;
    await world.close();
    say(`bytes: new ${fresh}, logical ${((g.logical + files) / fresh).toFixed(2)}, disk ${((g.disk + files) / fresh).toFixed(2)}`);
    return { calls: SIZE.calls, events: events[0].length, newBytes: fresh, files, ...g };
  } finally {
    await services.stop();
  }
}

async function resumePart(url) {
  const builder = await openStore(url);
  await grant(builder.guarded, 'resume');
  const runs = { short: await buildRun(builder, 'resume', 100), long: await buildRun(builder, 'resume', SIZE.long) };
  await builder.store.close();
  const found = {};
  for (const name of ['short', 'long', 'short', 'long']) found[name] = { events: runs[name].state.revision, snapshotAge: runs[name].state.revision % 64, ...(await resumeMs(url, runs[name], SIZE.resumes)) };
  say(`resume: ${JSON.stringify(found)}`);
  return found;
}

async function main() {
  const began = Date.now();
  if (profileDir !== undefined) mkdirSync(profileDir, { recursive: true });
  const site = await openSite({ profileDir });
  const stop = () => void closeSite(site).then(() => process.exit(130));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    const result = { at: new Date().toISOString(), quick, node: process.version, postgres: site.sandbox.postgres.version, cores: cpus().length, loadBefore: loadavg()[0], size: SIZE };
    if (wanted('bytes') || wanted('turns') || wanted('parallel') || wanted('memory')) {
      const api = await storeAs(site, 'api');
      if (wanted('turns')) result.turns = await turnParts(site, api);
      if (wanted('parallel')) result.parallel = await parallelPart(site, api);
      if (wanted('memory')) result.memory = await memoryPart(site, api);
      if (wanted('bytes')) result.bytes = await bytesPart(site, api);
    }
    if (wanted('gate')) {
      result.gate = gateDecisions({ rounds: SIZE.rounds, times: SIZE.decisions });
      say(`gate: ${result.gate.allowed.p50.toFixed(2)} ms under ${result.gate.policies} policies, ${result.gate.empty.p50.toFixed(2)} ms under none that narrows`);
    }
    if (wanted('resume')) result.resume = await resumePart(site.site.databases.store);
    if (wanted('appends')) result.rounds = await appendRounds(site, site.site.databases);
    result.seconds = (Date.now() - began) / 1000;
    result.lines = linesOf(result);
    const dir = join(root, '.data/bench');
    mkdirSync(dir, { recursive: true });
    const file = join(dir, `${result.at.replaceAll(':', '-')}.json`);
    writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`);
    process.stdout.write(`${tableOf(result)}\n${file}\n`);
    if (args.includes('--docs')) writeFileSync(join(root, 'docs/bench.md'), markdownOf(result));
  } finally {
    await closeSite(site);
  }
}
if (valueOf('--from') === undefined) await main();
else writeFileSync(join(root, 'docs/bench.md'), markdownOf(JSON.parse(readFileSync(valueOf('--from'), 'utf8'))));
