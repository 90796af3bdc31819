/** What one seed's world is like: drawn once, so that some seeds are calm, some lose every second answer, some crash all the time. */
import type { OutputPart } from '@n17q/domain';
import type { ModelMode, Script } from './model.js';
import type { Prng } from './prng.js';
import { MEANINGS, TOOLS, type Meaning, type SourceKind } from './tenant.js';
import type { Mode } from './world.js';

export type Action = 'input' | 'note' | 'pause' | 'resume' | 'continueResponse' | 'end' | 'finding' | 'receipt' | 'approve' | 'revoke' | 'hesitate' | 'changePolicy' | 'changeRoles' | 'changeRegistry' | 'changeAccounts' | 'grant' | 'delegate' | 'raise' | 'review' | 'migrate';

export interface Setting {
  readonly runs: number;
  readonly stepsMax: number;
  readonly answerLoss: number;
  readonly innerSteps: number;
  readonly dropTrigger: number;
  readonly duplicateTrigger: number;
  readonly weights: { readonly run: number; readonly deliver: number; readonly crash: number; readonly jump: number; readonly sweep: number; readonly people: number };
  /** What people do, and how often. */
  readonly people: { readonly [a in Action]: number };
  /** What the tenant begins with; the rest comes when somebody publishes it. */
  readonly opening: { readonly policy: Meaning | null; readonly registry: boolean; readonly profiles: boolean };
  readonly world: { readonly [m in Mode]: number };
  readonly model: { readonly [m in ModelMode]: number };
  readonly keyAware: boolean;
  readonly queryWorks: boolean;
  readonly allowance: { readonly usd_micros: number; readonly tokens: number; readonly calls: number };
  readonly budget: { readonly usd_micros: number; readonly tokens: number; readonly calls: number };
  readonly changePolicy: 'allow' | 'review' | 'forbid';
  readonly retention: 'standard' | 'metadata-only';
  readonly whenDone: 'end' | 'await-input';
  readonly turns: number;
  /** For whom Ivan asks; null: for himself. */
  readonly onBehalfOf: string | null;
  readonly wallMs: number | null;
  readonly source: SourceKind;
  /** Tools that the runs name; empty: all. */
  readonly tools: readonly string[];
}

export function settingOf(rng: Prng): Setting {
  const rare = (p: number, v: number): number => (rng.chance(p) ? v : 0);
  const tight = rng.chance(0.15);
  return {
    runs: rng.chance(0.4) ? 2 : 1, stepsMax: rng.whole(250, 1100), answerLoss: rare(0.5, rng.next() * 0.3), innerSteps: rare(0.5, rng.next() * 0.6), dropTrigger: rare(0.5, rng.next() * 0.5), duplicateTrigger: rare(0.5, rng.next() * 0.4),
    weights: { run: 100, deliver: 60, crash: rare(0.7, 0.3 + rng.next() * 3), jump: rare(0.7, rng.next() * 2), sweep: 3, people: 0.5 + rare(0.6, rng.next() * 4) },
    people: { input: 3, note: 1, pause: 2, resume: 5, continueResponse: 1, end: 0.6, finding: 4, receipt: 4, approve: 5, revoke: 1, hesitate: 1, changePolicy: 2, changeRoles: 1.5, changeRegistry: 2, changeAccounts: 1.5, grant: 1, delegate: 1, raise: 1, review: 1.5, migrate: 1 },
    opening: { policy: rng.chance(0.06) ? null : rng.chance(0.5) ? MEANINGS[0] as Meaning : rng.pick(MEANINGS), registry: !rng.chance(0.06), profiles: !rng.chance(0.06) },
    world: { ok: 4, 'reports-failure': rare(0.3, 1), 'loses-reply': rare(0.6, 3), 'loses-request': rare(0.4, 2), refuses: rare(0.3, 1), 'not-sent': rare(0.4, 1), late: rare(0.4, 2), 'slow-arrival': rare(0.5, 2), twice: rare(0.25, 2) },
    model: { ok: 6, 'loses-request': rare(0.3, 1), 'loses-reply': rare(0.4, 1), busy: rare(0.3, 1), refuses: rare(0.2, 0.7), 'not-sent': rare(0.3, 1), late: rare(0.3, 1), cut: rare(0.3, 1) },
    keyAware: rng.chance(0.8), queryWorks: rng.chance(0.8),
    allowance: tight ? { usd_micros: 300_000, tokens: 30_000, calls: 6 } : { usd_micros: 50_000_000, tokens: 5_000_000, calls: 500 },
    budget: rng.chance(0.15) ? { usd_micros: 100_000, tokens: 40_000, calls: 3 } : { usd_micros: 10_000_000, tokens: 1_000_000, calls: 100 },
    changePolicy: rng.weighted({ allow: 8, review: 1, forbid: 1 }), retention: rng.weighted({ standard: 9, 'metadata-only': 1 }), whenDone: rng.weighted({ end: 7, 'await-input': 2 }), turns: rng.whole(2, 6), tools: [],
    onBehalfOf: rng.chance(0.25) ? 'gina' : null, wallMs: rng.chance(0.1) ? 20_000 : null, source: rng.weighted({ none: 6, optional: 2, required: 2 }),
  };
}

/** A model that asks for tools, often for the same thing again in other words, and at last says that it is done. */
export function scriptOf(rng: Prng, turns: number): Script {
  return (turn, offered) => {
    const text: OutputPart = { kind: 'text', text: `turn ${turn}` };
    if (turn >= turns || offered.length === 0) return { parts: [text], finish: rng.chance(0.05) ? 'length' : 'stop' };
    const calls = Array.from({ length: rng.whole(1, 3) }, (): OutputPart => {
      if (rng.chance(0.04)) return { kind: 'call', callId: '', tool: 'no_such_tool', args: {} };
      if (rng.chance(0.04)) return { kind: 'call', callId: '', tool: rng.pick(offered), args: { wrong: true } };
      const tool = rng.chance(0.8) ? rng.pick(offered) : rng.pick(TOOLS).name;
      return { kind: 'call', callId: '', tool, args: { what: rng.pick(['the thing', 'another']), note: `in other words ${turn}` } };
    });
    return { parts: rng.chance(0.5) ? [text, ...calls] : calls, finish: 'stop' };
  };
}
