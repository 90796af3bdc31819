/**
 * A rule set's text, taken apart: its policies with their names and reasons, or what is wrong with the text.
 *
 * T1. Text is bounded in size, in policies and in depth before anything is kept. What the engine cannot read, however it fails, is a fault and no rules.
 * T2. Every policy has a name of its own; every refusal says why, in words that are shown to people and models.
 *
 * Rows: POL-3, POL-4.
 */
import type { DetailedError, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Mentions } from './argument-type.js';
import { EngineTrap, onEngine } from './engine.js';
import { mentionsOf, nodeDepth } from './expression.js';
import type { RuleFault } from './fault.js';

export const TEXT_BYTES_MAX = 256 * 1024;
export const POLICIES_MAX = 1_000;
export const REASON_CHARS_MAX = 500;
export const FAULTS_MAX = 20;
/** Of a policy's syntax tree as JSON: a chain of some 150 conditions. The engine's stack holds about three times as much. */
export const DEPTH_MAX = 400;
/** Marks and overrides of writing direction: https://www.unicode.org/reports/tr9/ */
const TURNS_TEXT = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

export interface Policy {
  readonly id: string;
  readonly effect: 'permit' | 'forbid';
  readonly reason: string;
  readonly text: string;
  readonly json: PolicyJson;
}

export interface PolicyText {
  /** In the order of the text: policy n of it is what the engine calls `policy<n>`. */
  readonly policies: readonly Policy[];
  readonly mentions: Mentions;
}

export type Parsed = { readonly ok: true; readonly set: PolicyText } | { readonly ok: false; readonly faults: readonly RuleFault[] };

/** `line:column`, both from 1, of a place that the engine gives in bytes of UTF-8. */
export function placeOf(text: string, byte: number): string {
  const before = Buffer.from(text).subarray(0, byte).toString('utf8').split('\n');
  return `${before.length}:${Array.from(before.at(-1) ?? '').length + 1}`;
}

const refused = (rule: string, problem: string): Parsed => ({ ok: false, faults: [{ rule, problem }] });
const startsAt = (e: DetailedError | undefined): number | undefined => e?.sourceLocations?.[0]?.start;

const UNREADABLE = 'The rules are nested too deeply or chained too long for the engine. Split long conditions into several rules.';

/** Takes the text apart. Never throws for what the text says. */
export function parsePolicies(text: string): Parsed {
  if (!text.isWellFormed()) return refused('', 'The text holds half of a surrogate pair, which is no text.');
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) return refused('', `The text has ${Buffer.byteLength(text)} bytes; a rule set may have ${TEXT_BYTES_MAX}.`);
  const turned = TURNS_TEXT.exec(text);
  if (turned) {
    const place = placeOf(text, Buffer.byteLength(text.slice(0, turned.index)));
    return refused(place, `At ${place} stands a character that turns the direction of text, so that the rules read otherwise than they work. Take it out, or write it as \\u{…}.`);
  }
  try {
    return parts(text);
  } catch (e) {
    if (e instanceof EngineTrap) return refused('', UNREADABLE); // keeps T1
    throw e;
  }
}

function parts(text: string): Parsed {
  const split = onEngine((cedar) => cedar.policySetTextToParts(text));
  if (split.type === 'failure') {
    const [e] = split.errors;
    const place = placeOf(text, startsAt(e) ?? 0);
    const expected = e?.sourceLocations?.[0]?.label;
    return refused(place, `The text cannot be read at ${place}: ${e?.message ?? 'no reason given'}${expected ? ` (${expected.slice(0, 200)})` : ''}.`);
  }
  if (split.policy_templates.length > 0) return refused(named(split.policy_templates[0] ?? ''), 'It is a template (it has ?principal or ?resource), and templates are not taken. Write out for whom it is.');
  const count = split.policies.length;
  if (count > POLICIES_MAX) return refused('', `There are ${count} rules; a rule set may have ${POLICIES_MAX}.`);
  // The engine gives the parts in the order of their names as text: policy0, policy1, policy10, policy11, policy2, …
  const order = Array.from({ length: count }, (_, n) => n).sort((a, b) => (`policy${a}` < `policy${b}` ? -1 : 1));
  const policies: Policy[] = [];
  const faults: RuleFault[] = [];
  split.policies.forEach((part, i) => {
    const n = order[i] ?? 0;
    const read = onePolicy(part, n);
    if (read.ok) policies[n] = read.policy;
    else faults.push({ rule: read.rule, problem: read.problem });
  });
  faults.push(...repeated(policies));
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, FAULTS_MAX) };
  return { ok: true, set: { policies, mentions: mentionsOf(policies.map((p) => p.json)) } };
}

const named = (part: string): string => /@id\(\s*"([^"\\]{1,64})"/.exec(part)?.[1] ?? '';

type One = { readonly ok: true; readonly policy: Policy } | { readonly ok: false; readonly rule: string; readonly problem: string };

function onePolicy(part: string, n: number): One {
  const answer = onEngine((cedar) => cedar.policyToJson(part));
  if (answer.type === 'failure') return { ok: false, rule: named(part), problem: answer.errors[0]?.message ?? 'It cannot be read.' };
  const { json } = answer;
  const id = json.annotations?.['id'] ?? '';
  const which = `Rule ${n + 1} of the text`;
  if (id === '') return { ok: false, rule: '', problem: `${which} has no name. Put @id("…") before it.` };
  if (!ID.test(id)) return { ok: false, rule: id.slice(0, 64), problem: `${which} has a name that cannot be used: letters, digits and . _ : - only, 64 at most, a letter or digit first.` };
  const reason = (json.annotations?.['reason'] ?? '').trim();
  if (json.effect === 'forbid' && reason === '') return { ok: false, rule: id, problem: 'It forbids and gives no reason. Put @reason("…") before it: people and models are shown these words.' };
  if (reason.length > REASON_CHARS_MAX) return { ok: false, rule: id, problem: `Its reason has ${reason.length} characters; ${REASON_CHARS_MAX} are allowed.` };
  if (nodeDepth(json.conditions) > DEPTH_MAX) return { ok: false, rule: id, problem: UNREADABLE };
  return { ok: true, policy: { id, effect: json.effect, reason, text: part, json } };
}

function repeated(policies: readonly Policy[]): RuleFault[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const p of policies) if (p !== undefined) (seen.has(p.id) ? twice : seen).add(p.id);
  return [...twice].map((id) => ({ rule: id, problem: 'Its name is used twice. Each rule needs a name of its own.' }));
}
