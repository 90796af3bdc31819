/**
 * The one Cedar engine of this process: a WebAssembly instance, and a fixed number of places in it for prepared rule sets.
 *
 * It knows nothing of tenants or questions. What goes in and comes out is Cedar's own JSON.
 *
 * E1. An instance that trapped is never asked again: its stack pointer and its locks are wherever the trap left them. A fresh one takes its place.
 * E2. What was prepared lives in memory that the engine cannot give back by name, only write over. So names come from a fixed pool, and the set that was used
 *     longest ago makes room.
 *
 * There is no time limit on one call: Cedar has no loops, and the size and depth of what it is given are bounded before (see policies.ts).
 *
 * Rows: POL-4.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { compileFunction } from 'node:vm';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';

/** How many rule sets stand prepared at once. */
export const PREPARED_MAX = 32;

export interface Prepared {
  /** Of policies and schema together: the same key, the same answers. */
  readonly key: string;
  readonly policies: Cedar.PolicySet;
  readonly schema: Cedar.SchemaJson<string>;
}

/** The engine gave no answer at all: it trapped, or could not be started. */
export class EngineTrap extends Error {
  override readonly name = 'EngineTrap';
}

const require = createRequire(import.meta.url);
const file = require.resolve('@cedar-policy/cedar-wasm/nodejs');
const source = readFileSync(file, 'utf8');

/** The package keeps one instance per loaded module and offers no way to make another, so its module is run anew (keeps E1). */
function startInstance(): typeof Cedar {
  const exports = {};
  compileFunction(source, ['exports', 'require', '__dirname'], { filename: file })(exports, require, dirname(file));
  return exports as typeof Cedar;
}

let instance: typeof Cedar | undefined;
/** Keys by the time of their last use, the oldest first, each with its name in the engine. */
let places = new Map<string, string>();
let started = 0;

/** How many instances this process has started, and how many names hold a rule set in the present one. */
export const instancesStarted = (): number => started;
export const placesTaken = (): number => places.size;

/** Runs `f` on the engine. Throws EngineTrap, and gives the instance up, if anything is thrown inside. */
export function onEngine<T>(f: (cedar: typeof Cedar) => T): T {
  try {
    if (instance === undefined) {
      instance = startInstance();
      places = new Map();
      started += 1;
    }
    return f(instance);
  } catch (e) {
    instance = undefined; // keeps E1
    throw new EngineTrap(e instanceof Error ? `${e.name}: ${e.message}` : String(e), { cause: e });
  }
}

/** The name under which `p` stands prepared; prepares it when it does not. Only inside `onEngine`. */
function placeOf(cedar: typeof Cedar, p: Prepared): string {
  const held = places.get(p.key);
  places.delete(p.key);
  const name = held ?? freeName();
  if (held === undefined) {
    for (const answer of [cedar.preparseSchema(name, p.schema), cedar.preparsePolicySet(name, p.policies)])
      if (answer.type === 'failure') throw new Error(`rules that were admitted cannot be prepared: ${answer.errors[0]?.message ?? 'no reason given'}`);
  }
  places.set(p.key, name);
  return name;
}

function freeName(): string {
  if (places.size < PREPARED_MAX) return `place-${places.size}`;
  const [oldest, name] = places.entries().next().value as [string, string];
  places.delete(oldest); // keeps E2
  return name;
}

export type Call = Omit<Cedar.StatefulAuthorizationCall, 'preparsedSchemaName' | 'preparsedPolicySetId' | 'validateRequest'>;

/** Asks the prepared set. A request that does not fit the schema fails; it is not answered. */
export const askPrepared = (p: Prepared, call: Call): Cedar.AuthorizationAnswer =>
  onEngine((cedar) => {
    const name = placeOf(cedar, p);
    return cedar.statefulIsAuthorized({ ...call, preparsedSchemaName: name, preparsedPolicySetId: name, validateRequest: true });
  });
