import { describe, expect, it } from '@jest/globals';
import { verdictOf, type RuleAnswer } from '@n17q/domain';
import { compileRules } from './compile.js';
import { instancesStarted, placesTaken, PREPARED_MAX } from './engine.js';
import { ALLOW_ALL, askFor, forbidTools } from './first-rules.js';
import { faultsFrom, MODEL, question, registry, rulesFrom, SHOP, tool } from './spec-kit.js';

const forbidWhen = (condition: string, id = 'stop', reason = 'not so'): string => `@id("${id}") @reason("${reason}")\nforbid (principal, action == N17Q::Action::"call:pay", resource) when { ${condition} };\n`;

describe('what is asked', () => {
  it('[POL-1] permits by a rule that permits, and names it', () => {
    expect(rulesFrom(ALLOW_ALL)(question())).toEqual({ kind: 'allow', by: ['allow'], reasons: [] });
  });

  it('[POL-1] denies when no rule permits, and says so', () => {
    expect(rulesFrom('')(question())).toEqual({ kind: 'deny', by: [], reasons: ['no rule permits it'] });
    expect(rulesFrom(forbidTools(['pay'], 'closed', 'closed'))(question({ resource: { kind: 'tool', name: 'ship', server: 'shop', target: 'shop/main', contract: 'neither', dataClass: 'internal' }, args: {} })))
      .toEqual({ kind: 'deny', by: [], reasons: ['no rule permits it'] });
  });

  it('[POL-2] [POL-3] denies by a rule that forbids, whatever else permits, in the words of the rule', () => {
    const rules = rulesFrom(ALLOW_ALL + forbidTools(['pay'], 'the shop is closed', 'closed') + forbidTools(['*'], 'nothing today', 'all'));
    expect(rules(question())).toEqual({ kind: 'deny', by: ['all', 'closed'], reasons: ['nothing today', 'the shop is closed'] });
    expect(rules(question({ action: 'generate', resource: MODEL, args: null }))).toMatchObject({ kind: 'allow' });
  });

  it('[POL-1] asks where an approval would make the difference, and only there', () => {
    const rules = rulesFrom(ALLOW_ALL + askFor(['pay'], 'payments need a person', 'ask-pay'));
    expect(verdictOf(rules, question())).toEqual({ kind: 'ask', by: ['ask-pay'], reasons: ['payments need a person'] });
    expect(verdictOf(rules, question({ approved: true }))).toEqual({ kind: 'allow', by: ['allow'] });
    expect(verdictOf(rulesFrom(ALLOW_ALL + forbidTools(['pay'], 'never', 'never')), question())).toMatchObject({ kind: 'deny' });
  });

  it.each([
    ['the person', 'principal == N17Q::Person::"ada"'], ['a role', 'principal in N17Q::Role::"buyer"'], ['the target', 'resource.target == "shop/main"'], ['the contract', 'resource.contract == "neither"'],
    ['the class of the tool', 'resource.dataClassRank >= 1'], ['a text', 'context.args.to == "bob"'], ['an amount', 'context.args.amount.greaterThan(decimal("12.4999"))'],
    ['a whole number', 'context.args has copies && context.args.copies == 3'], ['a list', 'context.args has tags && context.args.tags.contains("x")'],
    ['something inside', 'context.args has by.name && context.args.by.name like "c*"'], ['what it costs', 'context.cost.calls == 1'], ['what is left', 'context.budgetLeft.tokens < 2000'],
    ['the class of what was read', 'context.dataClassRank == 1 && context.dataClass == "internal"'], ['what was not observed', '!context.observed.contains("stock")'], ['attempts', 'context.attempts < 1'],
    ['a delegate', 'context has delegate && context.delegate == "eve"'], ['whose request', '!context.ownRequest'], ['that all arguments are seen', 'context.argsComplete'],
  ])('[POL-1] a rule can rest on %s', (_, condition) => {
    const args = { to: 'bob', amount: 12.5, copies: 3, tags: ['x', 'y'], by: { name: 'cy' } };
    expect(rulesFrom(ALLOW_ALL + forbidWhen(condition))(question({ args, delegate: 'eve' }))).toMatchObject({ kind: 'deny', by: ['stop'] });
    expect(rulesFrom(ALLOW_ALL + forbidWhen(`!(${condition})`))(question({ args, delegate: 'eve' }))).toMatchObject({ kind: 'allow' });
  });

  it('[POL-1] looks, generations and what people do have rules of their own, and a look may be at a tool that is gone', () => {
    const rules = rulesFrom(`${ALLOW_ALL}@id("own") @reason("not your own") forbid (principal, action == N17Q::Action::"approve", resource) when { context.ownRequest };
      @id("kept") @reason("it keeps what it reads") forbid (principal, action == N17Q::Action::"generate", resource) when { resource.storesContent && context.dataClassRank >= 2 };`);
    const gone = { kind: 'tool', name: 'gone', server: 's', target: 't', contract: 'queryable', dataClass: 'public' } as const;
    expect(rules(question({ action: 'look', resource: gone, args: null }))).toMatchObject({ kind: 'allow' });
    expect(rules(question({ action: 'call', resource: gone, args: {} }))).toEqual({ kind: 'broken', reason: 'the registry has no such tool to call' });
    expect(rules(question({ action: 'generate', resource: MODEL, args: null, dataClass: 'confidential' }))).toMatchObject({ kind: 'deny', reasons: ['it keeps what it reads'] });
    expect(rules(question({ action: 'approve', args: null, ownRequest: true }))).toMatchObject({ kind: 'deny', by: ['own'] });
    for (const action of ['find', 'raise'] as const) expect(rules(question({ action, args: null }))).toMatchObject({ kind: 'allow' });
    expect(rules(question({ action: 'raise', resource: MODEL, args: null }))).toMatchObject({ kind: 'allow' });
  });
});

describe('the closing rules', () => {
  it('[POL-4] a rule that forbids and cannot be evaluated denies; the engine alone would pass it over', () => {
    const rules = rulesFrom(ALLOW_ALL + forbidWhen('context.cost.usd_micros * 9223372036854775807 > 5'));
    expect(rules(question())).toMatchObject({ kind: 'allow' });
    const answer = rules(question({ cost: { usd_micros: 2, tokens: 0, calls: 1 } }));
    expect(answer).toMatchObject({ kind: 'broken', reason: expect.stringMatching(/^rule stop cannot be evaluated: integer overflow/) });
    expect(verdictOf(rules, question({ cost: { usd_micros: 2, tokens: 0, calls: 1 } }))).toMatchObject({ kind: 'broken' });
  });

  it('[POL-4] a question that does not fit the schema is broken, also where every rule would allow it', () => {
    const rules = rulesFrom(ALLOW_ALL);
    expect(rules(question({ args: { to: 'bob' } }))).toMatchObject({ kind: 'broken' }); // `amount` is required
    expect(rules(question({ action: 'generate', args: null }))).toMatchObject({ kind: 'broken', reason: expect.stringContaining('does not fit') }); // a tool does not generate
    expect(rules(question({ attempts: 1.5 }))).toMatchObject({ kind: 'broken' });
    expect(rules(question({ cost: { usd_micros: 1e300, tokens: 0, calls: 1 } }))).toMatchObject({ kind: 'broken' });
    expect(rules(question({ args: null }))).toEqual({ kind: 'broken', reason: 'the arguments of the call cannot be read' });
    expect(rules(question())).toMatchObject({ kind: 'allow' });
  });

  it('[POL-4] when the engine traps in the middle of a question the answer is broken, and the next question has an engine that works', () => {
    const rules = rulesFrom(ALLOW_ALL + forbidWhen('context.args.to == "eve"'));
    // Deeper and deeper in the stack, until the engine has no room and traps. How deep that is changes while the code warms up.
    const at = (depth: number): RuleAnswer => (depth === 0 ? rules(question()) : at(depth - 1));
    for (let n = 0; n < 3; n++) {
      const before = instancesStarted();
      const answers = new Set<string>();
      try {
        for (let depth = 0; !answers.has('broken'); depth += 20) answers.add(at(depth).kind);
      } catch (e) {
        expect(e).toBeInstanceOf(RangeError); // no room even to ask
      }
      expect([...answers]).toEqual(['allow', 'broken']);
      expect(rules(question())).toMatchObject({ kind: 'allow' });
      expect(rules(question({ args: { to: 'eve', amount: 1 } }))).toMatchObject({ kind: 'deny' });
      expect(instancesStarted()).toBeGreaterThan(before);
    }
  });

  it('[POL-4] text that exhausts the engine is a fault, and later text is read as ever', () => {
    for (const deep of [`${'('.repeat(20_000)}true${')'.repeat(20_000)}`, Array(5_000).fill('context.approved').join(' && '), `${'if context.approved then false else '.repeat(3_000)}true`, `${'!('.repeat(2_000)}true${')'.repeat(2_000)}`]) {
      expect(faultsFrom(forbidWhen(deep)).join()).toMatch(/too deeply|chained too long|Split long conditions/);
      expect(rulesFrom(ALLOW_ALL)(question())).toMatchObject({ kind: 'allow' });
    }
    expect(faultsFrom(forbidWhen(Array(120).fill('context.approved').join(' && ')))).toEqual([]);
  });

  it('[POL-4] a set that was prepared long ago, and has made room since, still answers for itself', () => {
    const sets = Array.from({ length: PREPARED_MAX + 5 }, (_, n) => rulesFrom(n % 2 === 0 ? ALLOW_ALL + forbidTools(['pay'], `closed ${n}`, 'closed') : ALLOW_ALL + `// ${n}`));
    for (let round = 0; round < 2; round++)
      sets.forEach((rules, n) => expect(rules(question())).toMatchObject(n % 2 === 0 ? { kind: 'deny', reasons: [`closed ${n}`] } : { kind: 'allow' }));
    expect(placesTaken()).toBe(PREPARED_MAX);
  });

  it('[POL-3] the same text, registry and question have the same answer, whatever was asked between', () => {
    const text = ALLOW_ALL + Array.from({ length: 30 }, (_, n) => forbidTools(['pay'], `reason ${n}`, `r${n}`)).join('');
    const first = rulesFrom(text)(question());
    for (let n = 0; n < 50; n++) rulesFrom(`${ALLOW_ALL}// ${n}`)(question());
    expect(rulesFrom(text)(question())).toEqual(first);
    expect(first).toMatchObject({ kind: 'deny' });
    expect(first.kind === 'deny' && first.by.length).toBe(20);
  });
});

describe('what is refused at publication', () => {
  it('[POL-4] text that cannot be read, with its place', () => {
    expect(faultsFrom('@id("a") permit (principal, action, resource);\n  permit (principal,, action);')).toEqual([expect.stringMatching(/^2:21: The text cannot be read at 2:21: /)]);
    expect(faultsFrom('@id("ä") permit (principal, action, resource);')).toEqual([expect.stringContaining('a name that cannot be used')]);
    expect(faultsFrom('@id("ä€😀") permit permit')[0]).toMatch(/^1:19: /); // counted in characters
  });

  it('[POL-3] a rule without a name, a name used twice, a refusal without a reason', () => {
    expect(faultsFrom('permit (principal, action, resource);')).toEqual([expect.stringMatching(/^: Rule 1 of the text has no name/)]);
    expect(faultsFrom(ALLOW_ALL + ALLOW_ALL)).toEqual([expect.stringMatching(/^allow: Its name is used twice/)]);
    expect(faultsFrom('@id("no") forbid (principal, action, resource);')).toEqual([expect.stringMatching(/^no: It forbids and gives no reason/)]);
    expect(faultsFrom('@id("no") @reason("  ") forbid (principal, action, resource);')).toEqual([expect.stringMatching(/^no: /)]);
  });

  it('[POL-4] a rule about a tool that does not exist', () => {
    expect(faultsFrom(ALLOW_ALL + forbidTools(['shpi'], 'no', 'typo'))).toEqual([expect.stringMatching(/^typo: It is about calls of the tool shpi \(5:\d+\), which the registry does not have\. Register/)]);
    expect(faultsFrom(`${ALLOW_ALL}@id("t") @reason("r") forbid (principal, action in N17Q::Action::"call", resource == N17Q::Tool::"shpi");`)).toEqual([expect.stringMatching(/^t: .*tool shpi/)]);
    expect(faultsFrom(ALLOW_ALL + forbidTools(['ship'], 'no', 'typo'))).toEqual([]);
  });

  it('[POL-4] a rule over an argument that the tool does not have, or may not have, or of another type', () => {
    expect(faultsFrom(forbidWhen('context.args.amuont.greaterThan(decimal("1.0"))'))).toEqual([expect.stringMatching(/^stop: At 2:73: attribute `args\.amuont` .* not found \(did you mean `amount`\?\)\.$/)]);
    expect(faultsFrom(forbidWhen('context.args.copies > 3'))).toEqual([expect.stringMatching(/^stop: .*optional attribute/)]);
    expect(faultsFrom(forbidWhen('context.args.to > 3'))).toEqual([expect.stringMatching(/^stop: .*unexpected type/)]);
    expect(faultsFrom('@id("x") @reason("r") forbid (principal, action in N17Q::Action::"call", resource) when { context.args.to == "x" };').join()).toMatch(/call:ship/); // not every tool has it
  });

  it('[POL-4] a rule that can never apply', () => {
    expect(faultsFrom(forbidWhen('context.args has amuont'))).toEqual([expect.stringMatching(/^stop: It can never apply \(1:1\)/)]);
    expect(faultsFrom('@id("x") @reason("r") forbid (principal is N17Q::Tool, action, resource);')).toEqual([expect.stringMatching(/^x: It can never apply/)]);
  });

  it('[POL-4] templates, too many rules, too much text, text that reads otherwise than it works', () => {
    expect(faultsFrom('@id("t") permit (principal == ?principal, action, resource);')).toEqual([expect.stringMatching(/^t: It is a template/)]);
    expect(faultsFrom(Array.from({ length: 1_001 }, (_, n) => `@id("r${n}")permit(principal,action,resource);`).join(''))).toEqual([expect.stringContaining('1001 rules')]);
    expect(faultsFrom(`// ${'x'.repeat(256 * 1024)}`)).toEqual([expect.stringContaining('262144')]);
    expect(faultsFrom('// \ud800')).toEqual([expect.stringContaining('surrogate')]);
    expect(faultsFrom(`@id("b") permit (principal, action, resource) when { context.dataClass == "a\u202eb" };`)).toEqual([expect.stringMatching(/^1:77: At 1:77 stands a character that turns the direction/)]);
  });

  it('[POL-1] rules about calls in general stand before the first tool does, and the same text breaks when its tool goes', () => {
    expect(faultsFrom(ALLOW_ALL + askFor(['*'], 'look first', 'ask'), registry())).toEqual([]);
    const text = ALLOW_ALL + forbidWhen('context.args.to == "eve"');
    expect(compileRules(text, SHOP).ok).toBe(true);
    expect(faultsFrom(text, registry(tool('ship')))).toEqual([expect.stringMatching(/^stop: .*tool pay/)]);
  });
});
