/** The machine's own limits, taken beside every measurement: P, pgbench where there is one, fdatasync. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

async function outputOf(command, args, env = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (c) => { out += c; });
  child.stderr.on('data', (c) => { err += c; });
  const code = await new Promise((resolve, reject) => { child.once('error', reject); child.once('close', resolve); });
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${err.slice(0, 500)}`);
  return out;
}

export async function prepareInserts(url) {
  const c = new pg.Client({ connectionString: url });
  await c.connect();
  await c.query('create table bench_inserts (id bigint generated always as identity primary key, body text not null)');
  await c.end();
}

export const insertsPerSecond = async (url, seconds, connections = 32) => Number(await outputOf(process.execPath, [join(import.meta.dirname, 'inserts.mjs'), url, String(seconds), String(connections)]));

export const hasPgbench = () => spawnSync('pgbench', ['--version']).status === 0;

/** The same insert by pgbench; null when it cannot be had. */
export async function pgbenchPerSecond(url, seconds, dir, clients = 32) {
  const script = join(dir, 'insert.sql');
  writeFileSync(script, `insert into bench_inserts (body) values ('${'x'.repeat(300)}');\n`);
  const u = new URL(url);
  const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', String(Math.min(2, clients)), '-T', String(Math.max(1, Math.round(seconds))), '-f', script, '-h', u.hostname, '-p', u.port, '-U', decodeURIComponent(u.username), u.pathname.slice(1)];
  const out = await outputOf('pgbench', args, { PGPASSWORD: decodeURIComponent(u.password) }).catch(() => '');
  const tps = /tps = ([\d.]+)/.exec(out)?.[1];
  return tps === undefined ? null : Number(tps);
}

/** How often one 8 KB block can be written and forced to disk in a second. */
export function fdatasyncsPerSecond(dir, seconds) {
  const file = join(dir, 'fdatasync');
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(8192, 1);
  writeSync(fd, Buffer.alloc(1 << 20));
  const began = performance.now();
  let count = 0;
  while (performance.now() - began < seconds * 1000) { writeSync(fd, block, 0, block.length, 0); fdatasyncSync(fd); count++; }
  const rate = (count * 1000) / (performance.now() - began);
  closeSync(fd);
  rmSync(file);
  return rate;
}
