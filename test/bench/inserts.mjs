// P: single-row prepared inserts of 300 bytes by 32 connections or as many as are given, in this process of its own. node inserts.mjs URL SECONDS [CONNECTIONS]; prints the rate.
import pg from 'pg';

const [url, seconds, connections] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4] ?? 32)];
const body = 'x'.repeat(300);
const clients = await Promise.all(Array.from({ length: connections }, async () => { const c = new pg.Client({ connectionString: url }); await c.connect(); return c; }));
const insert = { name: 'insert', text: 'insert into bench_inserts (body) values ($1)', values: [body] };
await Promise.all(clients.map((c) => c.query(insert))); // prepared
const began = performance.now();
const until = began + seconds * 1000;
let count = 0;
await Promise.all(clients.map(async (c) => { while (performance.now() < until) { await c.query(insert); count++; } }));
process.stdout.write(String((count * 1000) / (performance.now() - began)));
await Promise.all(clients.map((c) => c.end()));
