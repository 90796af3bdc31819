// How fast appends are, against the same server's rate of single-row prepared inserts (P) by 32 connections of another process.
// node libs/event-log/bench/append.mjs [seconds] [writers,writers,…]; needs a build. Loopback only, everything is removed at the end.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { digestOf, eventDigest } from '@n17q/contracts';
import { PostgresEventStore, migrate } from '@n17q/event-log';
import { startPostgres } from '@n17q/platform';

const say = (line) => process.stdout.write(`${line}\n`);
const text = 'x'.repeat(260);

/** CPU time of the server, its children living and dead, in ms (Linux): what a busy machine cannot falsify. */
function serverCpuMs(pid) {
  let ticks = 0;
  for (const entry of readdirSync('/proc').filter((e) => /^\d+$/.test(e))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const f = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(entry) === pid) ticks += Number(f[11]) + Number(f[12]) + Number(f[13]) + Number(f[14]);
      else if (Number(f[1]) === pid) ticks += Number(f[11]) + Number(f[12]);
    } catch { /* it ended meanwhile */ continue; }
  }
  return ticks * 10;
}
const usedCpuMs = (since) => { const u = process.cpuUsage(since); return (u.user + u.system) / 1000; };

async function inserts(url, seconds) {
  const until = performance.now() + seconds * 1000;
  let count = 0;
  await Promise.all(Array.from({ length: 32 }, async (_, n) => {
    const c = new pg.Client({ connectionString: url });
    await c.connect();
    const stream = `run/${randomUUID()}`;
    for (let i = 1; performance.now() < until; i++, count++) await c.query({ name: 'i', text: 'insert into bench (tenant, stream, revision, event_id, type, data) values ($1,$2,$3,$4,$5,$6)', values: [`t${n}`, stream, i, randomUUID(), 'plan.changed', text] });
    await c.end();
  }));
  return count / seconds;
}

function prepared(tenant, stream, at, recordedAt, carries) {
  const appendId = randomUUID();
  const bare = { type: 'plan.changed', data: { steps: [text] }, tenant, stream, revision: at.revision + 1, eventId: randomUUID(), schemaVersion: 1, writer: 'api', actor: { kind: 'service', id: 'bench' }, correlation: stream, causation: null, segment: 0, appendId, recordedAt, previous: at.head };
  const row = { ...bare, digest: eventDigest(bare) };
  return {
    tenant, stream, expected: at.revision, appendId, requestDigest: digestOf({ appendId, data: row.data }), rows: [row], contents: [], cites: [], openEffects: { upsert: [], remove: [] },
    needs: { upsert: [{ service: 'policy-gate', reason: `r${at.revision % 2}`, dueAt: recordedAt + 1000, waitsFor: null }], remove: [{ service: 'policy-gate', reason: `r${(at.revision + 1) % 2}` }] },
    releases: [], requires: [], scopesFree: [], debit: null, eraseContents: false, wake: 'policy-gate', ...(row.revision % 64 === 0 ? { snapshot: carries } : {}),
  };
}

async function appends(url, seconds, options) {
  const store = await PostgresEventStore.open({ url, ...options });
  const snapshot = JSON.stringify({ state: 'y'.repeat(4000) });
  const latencies = [];
  const until = performance.now() + seconds * 1000;
  await Promise.all(Array.from({ length: 64 }, async () => {
    const stream = `run/${randomUUID()}`;
    let at = { revision: 0, head: '' };
    while (performance.now() < until) {
      const began = performance.now();
      const o = await store.append(prepared('t', stream, at, store.clock.now(), snapshot));
      if (o.kind !== 'appended') throw new Error(JSON.stringify(o));
      latencies.push(performance.now() - began);
      at = { revision: o.last, head: o.head };
    }
  }));
  await store.close();
  latencies.sort((a, b) => a - b);
  const q = (p) => latencies[Math.floor(latencies.length * p)].toFixed(1);
  return { rate: latencies.length / seconds, p50: q(0.5), p99: q(0.99) };
}

if (process.argv[2] === '--inserts') {
  const rate = await inserts(process.argv[3], Number(process.argv[4]));
  process.stdout.write(JSON.stringify({ rate, clientMs: usedCpuMs() }));
} else {
  const seconds = Number(process.argv[2] ?? 4);
  const writers = (process.argv[3] ?? '1,2').split(',').map(Number);
  const dir = mkdtempSync(join(tmpdir(), 'n17q-bench-'));
  chmodSync(dir, 0o711);
  const postgres = await startPostgres({ dataDir: join(dir, 'pg'), superuserPassword: randomBytes(18).toString('base64url') });
  try {
    const url = postgres.url();
    await migrate(url);
    const c = new pg.Client({ connectionString: url });
    await c.connect();
    await c.query('create table bench (tenant text, stream text, revision integer, event_id text, type text, data text, primary key (tenant, stream, revision))');
    await c.end();
    const rateOfInserts = async () => {
      const child = spawn(process.execPath, [import.meta.filename, '--inserts', url, String(seconds)], { stdio: ['ignore', 'pipe', 'inherit'] });
      let out = '';
      for await (const chunk of child.stdout) out += chunk;
      return JSON.parse(out);
    };
    say(`PostgreSQL ${postgres.version}, ${seconds} s each`);
    for (let round = 0; round < 2; round++) {
      const cpuBefore = serverCpuMs(postgres.pid);
      const { rate: p, clientMs } = await rateOfInserts();
      const insertUs = (1000 * (serverCpuMs(postgres.pid) - cpuBefore + clientMs)) / (p * seconds);
      say(`P (32 connections, single-row inserts): ${p.toFixed(0)}/s, ${insertUs.toFixed(0)} us of CPU each`);
      for (const w of writers) {
        const before = serverCpuMs(postgres.pid);
        const mine = process.cpuUsage();
        const a = await appends(url, seconds, { writers: w });
        const appendUs = (1000 * (serverCpuMs(postgres.pid) - before + usedCpuMs(mine))) / (a.rate * seconds);
        say(`appends, ${w} writer(s): ${a.rate.toFixed(0)}/s, ${(a.rate / p).toFixed(2)} x P, p50 ${a.p50} ms, p99 ${a.p99} ms, ${appendUs.toFixed(0)} us of CPU each: ${(insertUs / appendUs).toFixed(2)} x`);
      }
    }
  } finally {
    await postgres.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}
