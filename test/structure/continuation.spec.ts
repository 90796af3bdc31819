/** The continuation primitive stays small, and provider words stay where adapter observations are. Each check is shown to fail on a planted breach. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { EVENT_SCHEMAS } from '@n17q/contracts';
import { CONTENT_CLASSES, EVENT_TABLE, SERVICES } from '@n17q/domain';

interface Primitive { readonly eventTypes: readonly string[]; readonly classes: readonly string[]; readonly services: readonly string[]; readonly record: string }
/** What is more than one record type, one content class and no service; or what the decision record does not say. */
function tooLarge(p: Primitive): string[] {
  const words: string[] = [];
  const types = p.eventTypes.filter((t) => t.includes('continuation'));
  if (types.join() !== 'continuation.retained') words.push(`record types: ${types.join(', ')}`);
  if (p.classes.filter((c) => c.includes('continuation')).length !== 1) words.push('content classes');
  if (p.services.length !== 7 || p.services.some((s) => s.includes('continuation'))) words.push(`services: ${p.services.join(', ')}`);
  for (const said of ['**The simpler control that failed.**', '**What it costs.**', '**Reopen when**']) if (!p.record.includes(said)) words.push(`the record does not say ${said}`);
  return words;
}
const now: Primitive = {
  eventTypes: Object.keys(EVENT_TABLE), classes: CONTENT_CLASSES, services: SERVICES,
  record: readFileSync(new URL('../../docs/adr/0010-continuation-is-one-record-type.md', import.meta.url), 'utf8'),
};

/** Names of fields anywhere in a JSON Schema. */
function fieldsOf(schema: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(schema)) for (const s of schema) fieldsOf(s, found);
  else if (schema !== null && typeof schema === 'object') {
    for (const [k, v] of Object.entries(schema)) {
      if (k === 'properties') for (const name of Object.keys(v as object)) found.add(name);
      fieldsOf(v, found);
    }
  }
  return found;
}
const PROVIDER_WORDS = /thought|signature|gemini|openai|anthropic|candidate|responseid|response_id|encrypted|redacted|finishreason|modelversion|usagemetadata|stop_?reason|session/i;
/** Adapter observations with their provenance; everything else is product state. */
const OBSERVATIONS = new Set(['provider.observed', 'provider.disagreed', 'continuation.retained']);
const leaks = (schemas: { readonly [type: string]: z.ZodType }): string[] =>
  Object.entries(schemas).filter(([type]) => !OBSERVATIONS.has(type)).flatMap(([type, s]) => [...fieldsOf(z.toJSONSchema(s, { unrepresentable: 'any' }))].filter((f) => PROVIDER_WORDS.test(f)).map((f) => `${type}.${f}`));

const HOMES = { semantic: ['input.received'], protocol: ['continuation.retained'], physical: ['effect.attempt-started', 'effect.observed', 'effect.receipt-recorded'], task: ['run.created', 'plan.changed'] };
/** What identifies protocol state; it belongs to its own record alone. */
const PROTOCOL_FIELDS = ['handle', 'exact', 'accountScope', 'modelServed', 'lineage'];
const mixed = (schemas: { readonly [type: string]: z.ZodType }): string[] =>
  [...HOMES.semantic, ...HOMES.physical, ...HOMES.task].flatMap((t) => { const has = fieldsOf(z.toJSONSchema(schemas[t] as z.ZodType, { unrepresentable: 'any' })); return PROTOCOL_FIELDS.filter((f) => has.has(f)).map((f) => `${t}.${f}`); });

describe('the continuation primitive', () => {
  it('[CON-6] is one record type, one content class and no service, and its decision record says what failed, what it costs and what would reopen it', () => {
    expect(tooLarge(now)).toEqual([]);
  });
  it('[planted CON-6] a second record type, a service of its own or a silent record is noticed', () => {
    expect(tooLarge({ ...now, eventTypes: [...now.eventTypes, 'continuation.exported'] })).not.toEqual([]);
    expect(tooLarge({ ...now, services: [...SERVICES, 'continuation-keeper'] })).not.toEqual([]);
    expect(tooLarge({ ...now, record: now.record.replace('**What it costs.**', '') })).not.toEqual([]);
  });
  it('[CON-7] semantic, protocol, physical and task continuity have records of their own, and none keeps what is another\'s', () => {
    const all = Object.values(HOMES).flat();
    expect(new Set(all).size).toBe(all.length);
    for (const t of all) expect(EVENT_TABLE).toHaveProperty([t]);
    expect(mixed(EVENT_SCHEMAS)).toEqual([]);
  });
  it('[planted CON-7] a protocol fact in a semantic or physical record is noticed', () => {
    expect(mixed({ ...EVENT_SCHEMAS, 'input.received': z.strictObject({ text: z.string(), handle: z.string() }) })).toEqual(['input.received.handle']);
    expect(mixed({ ...EVENT_SCHEMAS, 'effect.observed': z.strictObject({ accountScope: z.string() }) })).toEqual(['effect.observed.accountScope']);
  });
});

describe('provider words', () => {
  it('[RUN-3] stand in adapter observations only: no field of product state is named after one', () => {
    expect(leaks(EVENT_SCHEMAS)).toEqual([]);
  });
  it('[planted RUN-3] a provider field in plan state is noticed', () => {
    expect(leaks({ ...EVENT_SCHEMAS, 'plan.changed': z.strictObject({ steps: z.array(z.string()), thoughtSignature: z.string() }) })).toEqual(['plan.changed.thoughtSignature']);
  });
});
