import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { http } from '@n17q/contracts';
import { allowanceText } from './allowance.js';
import { amount, dollars, microsOf, minutesOf, size, wholeOf } from './amounts.js';
import { decisionText } from './decisions.js';
import { delegationsText, momentOf } from './delegations.js';
import { COMMANDS, commandsFor } from './advice.js';
import { decidedText, evidenceFrom, hasResponse } from './asks.js';
import { moment } from './moments.js';
import { runsTable, runText } from './run-text.js';
import { program } from '../program.js';

const zero = { usd_micros: 0, tokens: 0, calls: 0 };
const setup = { providers: '/d/providers.json', credentials: '/d/keys' };
const view: http.RunView = {
  run: 'r1', revision: 4, title: 'T', status: 'active', goal: null, retention: 'standard', world: 'real', constraints: [], tools: [], plan: [], move: { move: 'nobody', words: 'a person: the run waits for an input' }, waits: [], schedule: [], requester: null, onBehalfOf: null, work: { spentMs: 0, limitMs: null, atWork: false, endsAt: null }, lookFirst: [], sources: { known: 0, omitted: 0, gaps: [] }, raises: [], migrations: [], validations: [], workspaceChanges: [], evidenceErased: false, erasure: null, actions: [],
  ended: null, paused: null, blocked: null, failures: { count: 0, max: 5, retryAt: null, lastCode: null }, requests: [], route: null, segment: { number: 0, route: null }, segments: [], generation: null, unresolved: [], effects: [], approvals: [], findings: [], settled: [], refusals: [], erased: null, denials: [], denialsOmitted: 0,
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
    ['SOMETHING_NEW', 'policy', 'what it says (SOMETHING_NEW)', './n17q policy publish FILE puts another policy in force'],
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
    expect(there.has('migrate')).toBe(true); // the database's, not an effect's
    expect(commandsFor(['add_note', 'resolve_nothing', 'change_plan'])).toEqual(['note', 'plan']);
    expect(text({ actions: ['add_note', 'end_run'] })).toContain('note, end   (./n17q COMMAND r1 …)');
  });
  it('lets nothing of the run move the cursor', () => {
    expect(text({ title: 'a\u001b[2Jb', plan: ['x\u009b1A'], denials: [{ revision: 1, of: 'g', code: 'C', reason: 'r\u202e' }] })).not.toMatch(/[\u001b\u009b\u202e]/u); // eslint-disable-line no-control-regex
  });
  it('[SCH-1] says of each wait what for, who brings it, when, what is reserved, what ends it early and what bounds it', () => {
    const wait = { intent: 'ask a model again', of: '', owner: 'context-compiler', at: '2030-01-31T10:11:12.000Z', clock: 'store', reservation: 'r', reserved: { usd_micros: 20_000, tokens: 5, calls: 1 }, endsEarly: ['the run is paused', 'the run ends'], bound: '5 failures in a row, then a person' };
    expect(text({ schedule: [wait, { ...wait, owner: 'person', at: null, reserved: null, reservation: null, endsEarly: [], bound: 'none: it waits for a person' }] })).toContain('waits:\n  to ask a model again: context-compiler, 2030-01-31T10:11:12Z, $0.02 reserved; earlier if the run is paused, or the run ends; bound: 5 failures in a row, then a person\n  to ask a model again: a person; bound: none');
    expect(text({ failures: { count: 2, max: 5, retryAt: '2030-01-31T10:11:12.000Z', lastCode: 'RATE_LIMITED' } })).toContain('the model gave no output: try 2 of 5 failed (RATE_LIMITED), the next not before 2030-01-31 10:11:12Z');
  });
  it('[SRC-2] [POL-1] [BUD-1] [WSP-1] [EFF-8] says for whom it acts, how long it may, what is missing, what was tested on which state, and what was erased', () => {
    const person = { kind: 'person' as const, id: 'ada' };
    const ref = { commitment: `c1.${'0'.repeat(64)}`, bytes: 1, class: 'tool-result' as const, media: 'text/plain' };
    const tested = { effect: 'e', tool: 'run_tests', tree: 't', ofPresentTree: false, ok: false, text: ref, revision: 3 };
    const said = text({
      onBehalfOf: 'bob', requester: person, work: { spentMs: 90_000, limitMs: 600_000, atWork: true, endsAt: '2030-01-31T10:11:12.000Z' }, sources: { known: 2, omitted: 0, gaps: [{ source: 's', identity: 'page plan', why: 'NOT_RETRIEVED' }] }, validations: [tested],
      raises: [{ raise: 'x', amounts: { usd_micros: 1_500_000, tokens: 0, calls: 3 }, wallMs: 60_000, by: person }], erasure: { reason: 'asked for', by: person }, evidenceErased: true,
    });
    for (const words of ['on behalf of bob, by ada under a delegation', 'at work for 90 s of 10 min, until 2030-01-31 10:11:12Z', 'missing source: page plan (NOT_RETRIEVED); nothing consequential begins before it was retrieved again', 'run_tests FAILED, on an earlier state of the workspace', 'a raise of $1.50, 3 calls, 60 s', 'to be erased: asked for', 'never repeated']) expect(said).toContain(words);
    expect(text({ validations: [{ ...tested, ok: true, ofPresentTree: true }] })).toContain('run_tests succeeded, on the workspace as it is');
  });
  it('[APP-1] says of an approval by whom, until when, and what it covers', () => {
    expect(text({ approvals: [{ approval: 'ap-1', effect: 'e-1', subject: 's', stage: 'approved', by: { kind: 'person', id: 'ada' }, expiresAt: '2030-01-31T10:11:12.000Z', tool: 'pay', target: 'bank', beside: ['e-0'], reasons: ['over 100'], rules: ['large-payments'], note: 'fine by me' }] })).toContain('ap-1  approved by ada, until 2030-01-31T10:11:12, for e-1 alone (pay on bank, exactly as it stands), beside e-0\n    asked because: over 100 (rule large-payments)\n    said with the decision: fine by me');
    const open = { approval: 'approval-019-aaaabbbbcccc', effect: 'eff-00000000111122223333', subject: 's', stage: 'requested', by: null, expiresAt: '2030-01-31T10:11:12.000Z', tool: null, target: null, beside: [], reasons: [], rules: [], note: '' };
    expect(text({ approvals: [open] })).toContain('./n17q output r1 22223333 shows what it would do; ./n17q approve|reject r1 bbbbcccc');
    const over = text({ status: 'ended', approvals: [open] });
    expect([over.includes('nobody decided it before the run ended'), over.includes('approve')]).toEqual([true, false]);
  });
  it('[EFF-8] says who had a run erased, when and why, and what the gate refused', () => {
    const said = text({ evidenceErased: true, erased: { at: '2030-01-31T10:11:12.000Z', revision: 9, reason: 'they asked', by: { kind: 'person', id: 'ada' } }, refusals: [{ revision: 7, at: '2030-01-31T10:11:12.000Z', of: 'migration', effect: 'e-1', code: 'UNKNOWN_TOOL', reason: 'no tool nosuch' }] });
    expect(said).toContain('its contents were erased on request of ada, 2030-01-31 10:11:12Z: they asked; what was unresolved');
    expect(said).toContain('asked for and refused:\n  at 7: the migration for e-1: no tool nosuch (UNKNOWN_TOOL)');
  });
  it('says the day of what is due, where it is not today\'s', () => {
    const now = Date.parse('2030-01-31T23:30:00.000Z');
    expect([moment('2030-01-31T23:59:00.000Z', now), moment('2030-02-01T01:26:57.000Z', now)]).toEqual(['23:59:00Z', '2030-02-01 01:26:57Z']);
    expect(text({ waits: [{ service: 'policy-gate', reason: 'approval', dueAt: '2999-02-01T01:26:57.000Z', waitsFor: null }] })).toContain('policy-gate waits for an approval, due 2999-02-01 01:26:57Z');
  });
  it('[POL-3] says of a decision what it was about, in which words, by which rules and on which revisions', () => {
    const said = decisionText({ revision: 9, at: '2030-01-31T10:11:12.000Z', decision: 'effect.denied', about: { kind: 'effect', id: 'e-1', tool: 'pay' }, code: 'POLICY_FORBIDS', words: ['not here\u001b[2J'], rules: ['no-pay'], hook: null, met: [{ effect: 'e-0', tool: 'pay', run: 'r-0', stage: 'unknown' }], rests: { run: 8, policy: 2, registry: 1, profiles: 1, roles: 3, judgedAt: null }, by: null, raise: null });
    expect(said).toBe('9  2030-01-31T10:11:12Z  effect.denied: effect e-1 (pay)\n  not here<1b>[2J (POLICY_FORBIDS)\n  met e-0 (pay) of run r-0: unknown\n  rules: no-pay\n  rests on run 8, policy 2, registry 1, profiles 1, roles 3');
  });
  it('[BUD-1] says of a raise by how much, and of a delegation that it stands until it is taken back', () => {
    expect(decisionText({ revision: 9, at: '2030-01-31T10:11:12.000Z', decision: 'budget.raised', about: { kind: 'raise', id: 'x', tool: null }, code: null, words: [], rules: [], hook: null, met: [], rests: null, by: { kind: 'person', id: 'ada' }, raise: { amounts: { usd_micros: 1_500_000, tokens: 0, calls: 3 }, wallMs: 60_000 } })).toBe('9  2030-01-31T10:11:12Z  budget.raised: raise x, asked by ada\n  by $1.50, 3 calls, 60 s');
    const d = { delegation: 'd', from: 'ada', to: 'bob', tools: ['pay'], until: null, stands: true };
    expect(delegationsText({ revision: 1, delegations: [d, { ...d, until: '2001-01-31T10:11:12.000Z', stands: false }] }).split('\n').slice(1)).toEqual([expect.stringMatching(/until it is taken back$/u), expect.stringMatching(/2001-01-31T10:11:12Z +is over$/u)]);
  });
  it('[BUD-5] shows what the tenant holds and what runs may draw of it', () => {
    const some = { usd_micros: 2_000_000, tokens: 5, calls: 7 };
    expect(allowanceText({ balance: some, drawable: { ...some, calls: 1 }, limits: [{ everyMs: 1, amounts: some, left: { ...some, calls: 1 }, endsAt: Date.parse('2030-01-31T10:11:12.000Z') }], revision: 1 })).toMatch(/left until 2030-01-31 10:11:12Z\ndollars +\$2\.00 +\$2\.00 +\$2\.00\ntokens +5 +5 +5\ncalls +7 +1 +1\n\.\/n17q allowance grant/u);
  });
  it('[BUD-1] takes amounts as people write them, and refuses what is none', () => {
    expect([microsOf('usd', '1.50'), microsOf('usd', '$2'), microsOf('usd', '0.000001'), microsOf('usd', undefined), wholeOf('calls', '12'), minutesOf('minutes', '1.5')]).toEqual([1_500_000, 2_000_000, 1, undefined, 12, 90_000]);
    for (const wrong of ['', '-1', '1,50', '1.1234567', '1e3', 'NaN', '9999999']) expect(() => microsOf('usd', wrong)).toThrow('--usd is an amount of dollars');
    for (const wrong of ['', '-1', '1.5', '1e3', '99999999999999']) expect(() => wholeOf('calls', wrong)).toThrow('--calls is a whole number');
    for (const wrong of ['', '-1', '1:30', '999999']) expect(() => minutesOf('minutes', wrong)).toThrow('--minutes is a number of minutes');
    expect([momentOf('2030-01-31'), momentOf('2030-01-31T18:00:00+02:00')]).toEqual(['2030-01-31T00:00:00.000Z', '2030-01-31T16:00:00.000Z']);
    for (const wrong of ['tomorrow', '2030-13-01', '31.1.2030', '2030-01-31T18:00']) expect(() => momentOf(wrong)).toThrow('--until is a day or a time');
  });
  it('[APP-1] says in plain words what comes of a decision, and of an approved call that is denied at once where to look', () => {
    const came = (decision: string, code: string | null) => ({ revision: 9, at: '2030-01-31T10:11:12.000Z', decision, about: { kind: 'effect' as const, id: 'e', tool: 'pay' }, code, words: ['a source is missing.'], rules: [], hook: null, met: [], rests: null, by: null, raise: null });
    expect(decidedText('approve', 'r1')).toMatch(/^Approved\. The gate judges the call once more/u);
    expect(decidedText('approve', 'r1', came('effect.permitted', null))).toMatch(/^Approved\. The call is permitted/u);
    expect(decidedText('approve', 'r1', came('effect.denied', 'SOURCE_MISSING'))).toBe('Approved, but the call is not made: a source is missing (SOURCE_MISSING). ./n17q decisions r1 has all of it, ./n17q sources r1 what is missing.');
    expect([decidedText('reject', 'r1'), decidedText('revoke', 'r1')]).toEqual([expect.stringMatching(/^Rejected\. The call is not made/u), expect.stringMatching(/^Taken back\. /u)]);
  });
  it('[EFF-5] takes evidence from a file, and says of one that is too large which, how large, and what to do', () => {
    const dir = mkdtempSync(join(tmpdir(), 'n17q-evidence-'));
    try {
      const file = join(dir, 'log.txt');
      writeFileSync(file, 'x'.repeat(3_000_000));
      expect(() => evidenceFrom(file)).toThrow(`The evidence ${file} has 3,000,000 bytes, and at most 450,000 are taken: give the part that shows it`);
      writeFileSync(file, 'seen');
      expect(evidenceFrom(file)).toBe('seen');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
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
