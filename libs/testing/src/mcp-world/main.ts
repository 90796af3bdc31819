/**
 * The ticket service over stdio: `node main.js --ledger FILE [--mode JSON] [--seen FILE] [--stubborn]`.
 *
 * `--seen`: the methods that came, violations, and the names of its environment variables, as JSON, written anew with each. `--stubborn`: neither the end of its input nor SIGTERM ends it,
 * and it keeps a child that would outlive it.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Ledger } from '../world-emulator/ledger.js';
import { NORMAL_MCP, TicketServer, type Line, type McpMode, type Message } from './ticket-server.js';

const { values } = parseArgs({ options: { ledger: { type: 'string' }, mode: { type: 'string' }, seen: { type: 'string' }, stubborn: { type: 'boolean', default: false } } });
if (!values.ledger) {
  process.stderr.write('mcp-world: give --ledger FILE\n');
  process.exit(2);
}
const mode: McpMode = { ...NORMAL_MCP, ...(values.mode ? (JSON.parse(values.mode) as Partial<McpMode>) : {}) };
const tickets = new TicketServer(new Ledger(values.ledger), mode);
const child = values.stubborn ? spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'inherit'] }) : undefined;
const note = (): void => {
  if (values.seen) writeFileSync(values.seen, JSON.stringify({ pid: process.pid, child: child?.pid ?? null, seen: tickets.seen, violations: tickets.violations, environment: Object.keys(process.env).sort() }));
};
if (values.stubborn) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
}
process.stdout.on('error', () => undefined);
const out = process.stdout;
const line: Line = {
  send: (m) => { if (out.writableLength < 1_000_000) out.write(`${JSON.stringify(m)}\n`); },
  raw: (text) => { if (out.writableLength < 1_000_000) out.write(text); },
  half: (m) => { const text = JSON.stringify(m); out.write(text.slice(0, text.length / 2), () => process.exit(1)); },
  cut: () => { note(); process.exit(1); },
};

let rest = '';
process.stderr.write('ticket service up\n');
note();
process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
  rest += chunk;
  if (mode.reply === 'cut-before-reading' && rest.length > 60_000) process.exit(1);
  for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
    const message = JSON.parse(rest.slice(0, end)) as Message;
    rest = rest.slice(end + 1);
    tickets.handle(message, line);
    note();
  }
});
process.stdin.on('end', () => { if (!values.stubborn) process.exit(0); });
