/** Appends as a service makes them: a request over NATS to the store's own process, its answer back. */
import { setTimeout as delay } from 'node:timers/promises';
import { CALLERS } from './appends.mjs';
import { quantile } from './figures.mjs';
import { ScriptedRun } from './scripted-run.mjs';
import { storeAs } from './site.mjs';

const WRITERS = ['api', 'policy-gate', 'checkpoint-sealer', 'context-compiler', 'provider-gateway', 'effect-reconciler'];

export async function openWriters(site) {
  return Object.fromEntries(await Promise.all(WRITERS.map(async (w) => [w, await storeAs(site, w)])));
}

async function appendNext(writers, run) {
  const { writer, request } = run.next();
  run.applied(await writers[writer].append(request));
}
async function timed(writers, run) {
  const { writer, request } = run.next();
  const began = performance.now();
  const outcome = await writers[writer].append(request);
  const ms = performance.now() - began;
  run.applied(outcome);
  return ms;
}
const freshRuns = (n, tenant, script, options) => Array.from({ length: n }, () => new ScriptedRun(tenant, script, options));
const warmed = async (writers, runs) => { await Promise.all(runs.map(async (r) => { for (let i = 0; i < 4; i++) await appendNext(writers, r); })); return runs; };

/** Brings a store that has just started up to speed, for \`seconds\`. Services run for weeks; what is measured is not their first second. */
export async function warmUp(writers, tenant, scripts, seconds) {
  for (const script of scripts) await serviceRate(writers, tenant, script, seconds / scripts.length);
}

/** Closed loop of 64 callers on runs of their own. */
export async function serviceRate(writers, tenant, script, seconds, options) {
  const runs = await warmed(writers, freshRuns(CALLERS, tenant, script, options));
  const began = performance.now();
  const until = began + seconds * 1000;
  const latencies = [];
  await Promise.all(runs.map(async (r) => { while (performance.now() < until) latencies.push(await timed(writers, r)); }));
  return { rate: (latencies.length * 1000) / (performance.now() - began), p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/** One caller, one run. */
export async function singleCaller(writers, tenant, script, seconds, options) {
  const [run] = await warmed(writers, freshRuns(1, tenant, script, options));
  const latencies = [];
  for (const until = performance.now() + seconds * 1000; performance.now() < until;) latencies.push(await timed(writers, run));
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), rate: (latencies.length) / seconds };
}

/** Open loop: appends are due at a fixed rate, whether or not the earlier ones were answered; what waits for a free run counts as waiting. */
export async function openLoop(writers, tenant, script, perSecond, seconds, options) {
  const free = await warmed(writers, freshRuns(CALLERS * 4, tenant, script, options));
  const latencies = [];
  const began = performance.now();
  const open = new Set();
  for (let n = 0; ; ) {
    const now = performance.now();
    if (now - began > seconds * 1000) break;
    while (began + (n * 1000) / perSecond <= now && free.length > 0) {
      const due = began + (n++ * 1000) / perSecond;
      const run = free.shift();
      open.add((async () => { await appendNext(writers, run); latencies.push(performance.now() - due); free.push(run); })());
    }
    await delay(1); // no spinning: the callers share the machine's cores with what they measure
  }
  await Promise.all(open);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), rate: (latencies.length * 1000) / (performance.now() - began) };
}

/** Makes this many runs with a few appends each, so that the process has seen them. */
export async function touchRuns(writers, tenant, count, options) {
  for (let at = 0; at < count; at += CALLERS) await warmed(writers, freshRuns(Math.min(CALLERS, count - at), tenant, 'turns', options));
}
