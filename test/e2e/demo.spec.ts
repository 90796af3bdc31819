import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, type CommandLine, type Ran } from './n17q.js';

interface Events { readonly events: readonly { readonly type: string; readonly revision: number; readonly data: Readonly<Record<string, unknown>> }[]; readonly status: string }

/** The line of the demo's table that begins with these words: its mark and its figure. */
function figure(out: string, what: string): readonly [string, string] {
  const line = out.split('\n').find((l) => l.slice(7).startsWith(what)) ?? '';
  return [line.slice(0, 5).trim(), line.slice(7 + what.length).trim()];
}

describe('the demo', () => {
  let n17q: CommandLine;
  /** The demo's own stack, as its last words say. */
  let its: CommandLine;
  let ran: Ran;
  let run: string;
  beforeAll(async () => {
    n17q = commandLine();
    its = commandLine({ N17Q_DATA_DIR: join(n17q.data, 'demo-stack') });
    ran = await n17q.run(['demo']);
    run = /\.\/n17q show (\S+)/u.exec(ran.out)?.[1] ?? '';
  }, 240_000);
  afterAll(async () => { await its.remove(); await n17q.remove(); }, 60_000);

  it('ends well, shows its progress, and says what to try next', () => {
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toContain('Everything is as it should be.');
    for (const next of ['up', 'status', 'runs', 'show', 'finding', 'down']) expect(ran.out).toContain(`./n17q ${next}`);
    expect(ran.out.indexOf('kill -9 of effect-reconciler')).toBeLessThan(ran.out.indexOf('its outcome is UNKNOWN'));
    expect(ran.out.indexOf('its outcome is UNKNOWN')).toBeLessThan(ran.out.indexOf('settled by query'));
    expect(ran.out.indexOf('settled by query')).toBeLessThan(ran.out.indexOf('kill -9 of provider-gateway'));
  });

  it('[EFF-3] [EFF-5] says unknown after the kill, settles it by a look, and the ticket exists once', () => {
    expect(figure(ran.out, 'tickets in the ledger of the ticket service')).toEqual(['ok', '1']);
    expect(figure(ran.out, 'requests that reached the ticket service')).toEqual(['ok', '1']);
    expect(figure(ran.out, 'repeated tool dispatches')).toEqual(['ok', '0']);
    expect(figure(ran.out, 'the effect was unknown, then settled by a look')).toEqual(['ok', expect.stringMatching(/^unknown at event \d+, happened by query at event \d+$/u)]);
  });

  it('[CON-4] rebuilds the continuation in another process, and the provider accepts it', () => {
    expect(figure(ran.out, 'the continuation was rebuilt by the next gateway and accepted')).toEqual(['ok', expect.stringMatching(/^\d+ continued outputs, refused requests 0$/u)]);
  });

  it('[RES-3] goes on under another account and model with a transition and a reconstructed attempt', () => {
    expect(figure(ran.out, 'generations by form')).toEqual(['ok', expect.stringMatching(/^first 1, continued \d+, reconstructed 1$/u)]);
    expect(figure(ran.out, 'segments')).toEqual(['ok', '2: studio-a/gemini-3-pro-preview -> studio-b/gemini-3-flash-preview']);
  });

  it('[CON-1] [CON-3] finds no continuation bytes in messages, logs, events and API answers', () => {
    expect(figure(ran.out, 'continuation values that the provider issued, found in its own requests')[0]).toBe('ok');
    const zero = ran.out.split('\n').filter((l) => l.slice(7).startsWith('continuation bytes in'));
    expect(zero).toHaveLength(4);
    for (const l of zero) expect(l).toMatch(/^ok .* {2}0$/u);
    expect(ran.out).not.toMatch(/in 0 (bus messages|API answers)/u);
  });

  it('[RUN-2] [SEAL-4] leaves the run readable after everything was stopped and started again', async () => {
    await its.json(['up']);
    const shown = await its.json<Events>(['show', run, '--events']);
    expect(shown.status).toBe('ended');
    const types = shown.events.map((e) => e.type);
    const transitions = shown.events.filter((e) => e.type === 'segment.started');
    expect(transitions.map((e) => (e.data['to'] as { account: string }).account)).toEqual(['studio-a', 'studio-b']);
    // the attempt that was in flight at the kill is the one that became unknown, and no other was made
    const started = shown.events.filter((e) => e.type === 'effect.attempt-started');
    const unknown = shown.events.find((e) => e.type === 'effect.outcome-unknown');
    expect(unknown?.data['cause']).toBe('CLAIM_EXPIRED');
    expect(started.filter((e) => e.data['effect'] === unknown?.data['effect']).map((e) => e.data['attempt'])).toEqual([unknown?.data['attempt']]);
    // each boundary is sealed before the next claim
    for (const [i, type] of types.entries()) if (type === 'effect.attempt-started' || type === 'generation.started') expect(types.slice(0, i).findLast((t) => t === 'checkpoint.sealed' || t === 'generation.accepted' || t === 'effect.observed')).toBe('checkpoint.sealed');
    expect((await its.run(['runs'])).out).toContain(run);
    // what it did, by a short name; and a finding that comes too late hears how the effect was settled
    const short = run.slice(0, 12);
    expect((await its.run(['diff', short])).out).toMatch(/^-.*Math\.trunc\(.*\n\+.*Math\.round\(/mu);
    const output = (await its.run(['output', short])).out;
    expect(output).toMatch(/the model said\n {2}\| calls list_files/u);
    expect(output).toMatch(/file_ticket happened, by query\n {2}\| /u);
    expect((await its.run(['output', short, String(unknown?.revision)])).out).toContain('"cause": "CLAIM_EXPIRED"');
    const late = await its.run(['finding', short, String(unknown?.data['effect']).slice(0, 16), '--happened', '--evidence', join(n17q.data, 'demo-stack', 'tokens.json')]);
    expect([late.code, late.err]).toEqual([1, expect.stringMatching(/^n17q: This effect \(file_ticket\) is settled already: it happened, known at event \d+ by asking the target\. A finding changes nothing\. \(ILLEGAL\)\n$/u)]);
    await its.run(['down']);
  }, 120_000);

  it('keeps its hands off the folder of the sample, and off the data folder of the user\'s own stack', () => {
    expect(figure(ran.out, 'the given repository is as it was')).toEqual(['ok', 'yes']);
    expect(readdirSync(n17q.data).toSorted()).toEqual(['.gitignore', 'demo-stack']); // nothing of the user's own stack was begun or touched
    expect(ran.out).toContain(`export N17Q_DATA_DIR=${join(n17q.data, 'demo-stack')} N17Q_API_PORT=0`);
    expect(existsSync(join(n17q.data, 'demo-stack', 'demo', 'unfinished'))).toBe(false);
  });
});
