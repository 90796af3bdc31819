import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { http } from '@n17q/contracts';
import { amount, dollars, size } from './amounts.js';
import { COMMANDS, commandsFor } from './advice.js';
import { hasResponse } from './asks.js';
import { runsTable, runText } from './run-text.js';
import { program } from '../program.js';

const zero = { usd_micros: 0, tokens: 0, calls: 0 };
const setup = { providers: '/d/providers.json', credentials: '/d/keys' };
const view: http.RunView = {
  run: 'r1', revision: 4, title: 'T', status: 'active', goal: null, retention: 'standard', world: 'real', constraints: [], tools: [], plan: [], move: { move: 'nobody', words: 'a person: the run waits for an input' }, waits: [], actions: [],
  ended: null, paused: null, blocked: null, failures: { count: 0, retryAt: null, lastCode: null }, requests: [], route: null, segment: { number: 0, route: null }, segments: [], generation: null, unresolved: [], effects: [], approvals: [], findings: [], denials: [], denialsOmitted: 0,
  budget: { granted: { usd_micros: 1_500_000, tokens: 500_000, calls: 100 }, drawn: zero, used: { usd_micros: 54, tokens: 21_004, calls: 8 }, reserved: zero, left: zero, overrun: zero, exhausted: null },
  checkpoint: null, workspace: null, counts: { generations: 0, lineages: 0, inputsWaiting: 0, openCalls: 0, historyOmitted: 0, duplicates: 0, contradictions: 0 },
};
const text = (more: Partial<http.RunView>): string => runText({ ...view, ...more }, setup);

describe('a run on a terminal', () => {
  it.each([
    ['NO_ROUTE', 'profiles', 'no model account that this run may use is configured (NO_ROUTE)', '--key-stdin < KEYFILE adds one to /d/providers.json, and its key to /d/keys;'],
    ['CREDENTIAL_ABSENT', 'person', 'what it says (CREDENTIAL_ABSENT)', '/d/keys/ACCOUNT, then ./n17q resume r1'], // it names no account
    ['CHANGE_NEEDS_REVIEW', 'person', 'what it says (CHANGE_NEEDS_REVIEW)', './n17q resume r1 allows'],
    ['PROTOCOL_STATE_MISSING', 'person', 'what it says (PROTOCOL_STATE_MISSING)', 'goes on from the record'],
    ['SOMETHING_NEW', 'policy', 'what it says (SOMETHING_NEW)', 'Publish another policy'],
    ['SOMETHING_NEW', 'person', 'what it says (SOMETHING_NEW)', './n17q resume r1'],
  ])('says why it stands still (%s), and what to do', (code, waitsFor, why, todo) => {
    const said = text({ blocked: { code, reason: 'what it says', waitsFor } });
    expect(said).toContain(`it stands still: ${why}`);
    expect(said.split('\n').find((l) => l.includes('to do:'))).toContain(todo);
    expect(said).not.toContain('waits for profiles');
  });
  it('names the account whose key is wanted, and says when the key has come since', () => {
    const dir = mkdtempSync(join(tmpdir(), 'n17q-keys-'));
    try {
      const blocked = { code: 'CREDENTIAL_ABSENT', reason: 'there is no usable credential for account mine (ABSENT): give the gateway one and resume the run', waitsFor: 'person' };
      const said = (): string => runText({ ...view, blocked }, { providers: '/d/providers.json', credentials: dir });
      expect(said()).toContain(`to do: Put the key of the account mine, one line, into ${join(dir, 'mine')}, then ./n17q resume r1.`);
      writeFileSync(join(dir, 'mine'), 'a-key');
      expect(said()).toContain(`to do: A key is in ${join(dir, 'mine')} now: ./n17q resume r1 lets the run go on with it.`);
      expect(said()).not.toContain('ACCOUNT');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
  it('says how a paused one goes on, and of one that is paused and blocked says both', () => {
    const said = text({ status: 'paused', paused: { code: 'ASKED', reason: 'lunch' }, blocked: { code: 'NO_ROUTE', reason: '', waitsFor: 'profiles' } });
    expect(said).toMatch(/paused: lunch \(ASKED\)\n {2}to do: \.\/n17q resume r1 lets it go on\.\n {2}it stands still: /u);
  });
  it('[BUD-1] shows money as people read it', () => {
    expect(text({})).toMatch(/dollars +\$1\.50 +\$0\.000054 +\$0\.00 +\$0\.00\n +tokens +500,000 +21,004/u);
    expect([dollars(0), dollars(100), dollars(1_234_567_890), dollars(-20_000), dollars(120_000)]).toEqual(['$0.00', '$0.0001', '$1,234.56789', '-$0.02', '$0.12']);
    expect([amount('tokens', 1200), size(9_999), size(1_234_567)]).toEqual(['1,200', '9,999 bytes', '1,235 kB']);
  });
  it('offers only commands that there are, under their own names', () => {
    const there = new Set(program().commands.map((c) => c.name()));
    for (const commands of Object.values(COMMANDS)) for (const c of commands.split(', ')) expect([c, there.has(c)]).toEqual([c, true]);
    expect(commandsFor(['add_note', 'deliver_receipt', 'change_plan'])).toEqual(['note', 'plan']);
    expect(text({ actions: ['add_note', 'end_run'] })).toContain('note, end   (./n17q COMMAND r1 …)');
  });
  it('lets nothing of the run move the cursor', () => {
    expect(text({ title: 'a\u001b[2Jb', plan: ['x\u009b1A'], denials: [{ revision: 1, of: 'g', code: 'C', reason: 'r\u202e' }] })).not.toMatch(/[\u001b\u009b\u202e]/u); // eslint-disable-line no-control-regex
  });
  it('lists whom each run waits for', () => {
    const row = { run: 'r1', title: 'T', status: 'active', move: 'a model account', segment: 0, model: null, unresolved: 0, revision: 4, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z', tenant: 'local' };
    expect(runsTable([row])).toMatch(/^RUN +STATUS +WAITS FOR +.*\nr1 +active +a model account +- /u);
    expect(runsTable([])).toContain('./n17q run "GOAL"');
  });
  it('knows whether there is a provider response to continue', () => {
    const segment = { segment: 1, route: { account: 'a', provider: 'p', adapter: 'x', model: 'm' }, generations: 0, effects: 0, denials: 0, unknowns: 0, inputTokens: 0, outputTokens: 0 };
    expect([hasResponse({ segments: [] }), hasResponse({ segments: [segment] }), hasResponse({ segments: [{ ...segment, generations: 1 }] })]).toEqual([false, false, true]);
  });
});
