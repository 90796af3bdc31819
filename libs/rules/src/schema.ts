/**
 * The strict schema under which a tenant's rules are written, made from its tool registry: who asks, on what, and which facts every question carries.
 *
 * S1. Every fact is there in every question, so that no condition meets a missing one; what may be missing is typed as optional, and Cedar's strict
 *     validation makes a rule ask for it first.
 * S2. Only calls carry arguments, and each tool's in its own type: a rule over arguments names the tool that has them.
 *
 * Rows: POL-1, POL-4.
 */
import type { ActionType, EntityType, SchemaJson, Type, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs';
import { RULE_ACTIONS, type RegistryDocument, type RuleAction } from '@n17q/domain';
import { argumentsOf, cedarType, type RecordArgument } from './argument-type.js';
import { onEngine } from './engine.js';

export const NAMESPACE = 'N17Q';
export const callOf = (tool: string): string => `call:${tool}`;

type Attributes = { [name: string]: TypeOfAttribute<string> };
const TEXT: Type<string> = { type: 'String' };
const WHOLE: Type<string> = { type: 'Long' };
const YES_NO: Type<string> = { type: 'Boolean' };
const record = (attributes: Attributes): Type<string> => ({ type: 'Record', attributes });
const amounts = record({ usd_micros: WHOLE, tokens: WHOLE, calls: WHOLE });

const ENTITIES: { [name: string]: EntityType<string> } = {
  Role: {},
  Person: { memberOfTypes: ['Role'] },
  Service: { memberOfTypes: ['Role'] },
  Tool: { shape: record({ name: TEXT, server: TEXT, target: TEXT, contract: TEXT, dataClass: TEXT, dataClassRank: WHOLE }) },
  Model: { shape: record({ provider: TEXT, account: TEXT, model: TEXT, storesContent: YES_NO }) },
};

const FACTS: Attributes = {
  approved: YES_NO,
  delegate: { ...TEXT, required: false },
  attempts: WHOLE,
  cost: amounts,
  budgetLeft: amounts,
  dataClass: TEXT,
  dataClassRank: WHOLE,
  observed: { type: 'Set', element: TEXT },
  ownRequest: YES_NO,
};

const RESOURCES: { readonly [A in Exclude<RuleAction, 'call'>]: readonly string[] } = {
  look: ['Tool'], generate: ['Model'], approve: ['Tool'], find: ['Tool'], raise: ['Tool', 'Model'],
};

const action = (resourceTypes: readonly string[], context: Attributes, memberOf: readonly string[] = []): ActionType<string> =>
  ({ memberOf: memberOf.map((id) => ({ id })), appliesTo: { principalTypes: ['Person', 'Service'], resourceTypes: [...resourceTypes], context: record(context) } });

const callAction = (args: RecordArgument): ActionType<string> => action(['Tool'], { ...FACTS, args: cedarType(args), argsComplete: YES_NO }, ['call']);

export interface RuleSchema {
  readonly json: SchemaJson<string>;
  /** The arguments of each registered tool as rules see them. */
  readonly arguments: ReadonlyMap<string, RecordArgument>;
}

/** With no tool registered, a call of none stands in, so that rules about calls in general can be written before the first tool is. */
const NO_TOOL: RecordArgument = { kind: 'record', fields: [] };

export function schemaOf(registry: RegistryDocument): RuleSchema {
  const args = new Map(registry.tools.map((t) => [t.name, argumentsOf(t.schema)]));
  const actions: { [id: string]: ActionType<string> } = { call: {} };
  for (const a of RULE_ACTIONS) if (a !== 'call') actions[a] = action(RESOURCES[a], FACTS);
  for (const [name, type] of args) actions[callOf(name)] = callAction(type);
  if (args.size === 0) actions[callOf('')] = callAction(NO_TOOL);
  return { json: { [NAMESPACE]: { entityTypes: ENTITIES, actions } }, arguments: args };
}

/** The schema as text in Cedar's own language, for people who write rules. The same registry gives the same text. */
export function describeSchema(registry: RegistryDocument): string {
  const answer = onEngine((cedar) => cedar.schemaToText(schemaOf(registry).json));
  if (answer.type === 'failure') throw new Error(`the registry gives no schema: ${answer.errors[0]?.message ?? 'no reason given'}`);
  return answer.text.replaceAll('__cedar::', '');
}
