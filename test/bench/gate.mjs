/**
 * What the tenant's rules cost a decision: the same calls judged under 200 policies and under the set that permits everything, in turns, in this process.
 * Each question is asked as the gate asks it, and again as if approved where it is refused (`verdictOf`). Times are of the rules alone: no store, no bus.
 */
import { verdictOf } from '@n17q/domain';
import { ALLOW_ALL, compileRules, literal } from '@n17q/rules';
import { median, quantile } from './figures.mjs';

const POLICIES = 200;
const TOOLS = 20;
const schema = { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'number' }, labels: { type: 'array', items: { type: 'string' } } }, required: ['to', 'amount'], additionalProperties: false };
const registry = { tools: Array.from({ length: TOOLS }, (_, n) => ({ name: `tool${n}`, schema })) };

/** Half are about one tool's arguments, half about facts of every call; one in the whole asks for an approval. */
function ruleText(n) {
  const head = (id, reason) => `@id(${literal(id)}) @reason(${literal(reason)}) forbid (principal, `;
  if (n === 0) return `${head('ask', 'large payments need a person')}action == N17Q::Action::"call:tool1", resource) when { context.args.amount.greaterThan(decimal("1000.0")) } unless { context.approved };\n`;
  if (n % 2 === 0) return `${head(`to-${n}`, 'not to them')}action == N17Q::Action::"call:tool${n % TOOLS}", resource) when { context.args.to like "*@blocked-${n}.example" || (context.args has labels && context.args.labels.contains("hold-${n}")) };\n`;
  return `${head(`class-${n}`, 'not with what was read')}action in N17Q::Action::"call", resource) when { context.dataClassRank >= 2 && resource.target == "target-${n}" && !(principal in N17Q::Role::"role-${n}") };\n`;
}

const question = (amount) => ({
  action: 'call', principal: { kind: 'person', id: 'ada', roles: ['buyer', 'operator'] },
  resource: { kind: 'tool', name: 'tool1', server: 'shop', target: 'shop/main', contract: 'keyed', dataClass: 'internal' }, args: { to: 'bob@example.org', amount, labels: ['a', 'b'] },
  approved: false, delegate: null, attempts: 0, cost: { usd_micros: 0, tokens: 0, calls: 1 }, budgetLeft: { usd_micros: 1_000_000, tokens: 100_000, calls: 100 }, dataClass: 'confidential', observed: ['stock', 'price'], ownRequest: false,
});

function compiled(text) {
  const c = compileRules(text, registry);
  if (!c.ok) throw new Error(`the bench's own rules are refused: ${JSON.stringify(c.faults)}`);
  return c.rules;
}

function timed(rules, q, times, expected) {
  const ms = [];
  for (let n = 0; n < times; n++) {
    const from = performance.now();
    const { kind } = verdictOf(rules, q);
    ms.push(performance.now() - from);
    if (kind !== expected) throw new Error(`the bench's rules say ${kind} where ${expected} is due`);
  }
  return ms;
}

/** Per set the median and the 99th percentile in ms: allowed (one question), asked (two); and what compiling the large set took. */
export function gateDecisions({ rounds, times }) {
  const began = performance.now();
  const many = compiled(ALLOW_ALL + Array.from({ length: POLICIES }, (_, n) => ruleText(n)).join(''));
  const compileMs = performance.now() - began;
  const none = compiled(ALLOW_ALL);
  for (const rules of [many, none]) timed(rules, question(10), times, 'allow');
  const taken = { allowed: [], asked: [], empty: [] };
  for (let n = 0; n < rounds; n++) {
    taken.empty.push(...timed(none, question(10), times, 'allow'));
    taken.allowed.push(...timed(many, question(10), times, 'allow'));
    taken.asked.push(...timed(many, question(5000), times, 'ask'));
  }
  return { policies: POLICIES, tools: TOOLS, compileMs, ...Object.fromEntries(Object.entries(taken).map(([name, ms]) => [name, { p50: median(ms), p99: quantile(ms, 0.99) }])) };
}
