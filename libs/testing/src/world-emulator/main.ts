/**
 * The ticket service as its own process: `node main.js --ledger FILE [--mode JSON]`, control token in N17Q_WORLD_TOKEN.
 * Prints one line of JSON, `{"url", "port", "pid"}`, when it listens. SIGTERM ends it.
 */
import { parseArgs } from 'node:util';
import { startWorldEmulator, type WorldMode } from './world-emulator.js';

const { values } = parseArgs({ options: { ledger: { type: 'string' }, mode: { type: 'string' } } });
const token = process.env['N17Q_WORLD_TOKEN'];
if (!values.ledger || !token) {
  process.stderr.write('world-emulator: give --ledger FILE and N17Q_WORLD_TOKEN\n');
  process.exit(2);
}
const world = await startWorldEmulator({ ledgerPath: values.ledger, token, mode: values.mode ? (JSON.parse(values.mode) as Partial<WorldMode>) : {} });
process.stdout.write(`${JSON.stringify({ url: world.url, port: world.port, pid: process.pid })}\n`);
process.once('SIGTERM', () => void world.close().then(() => process.exit(0)));
