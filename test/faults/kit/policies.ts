/** What the suites' tenant has for rules: the one place that knows how rules are written. */
import type { PolicyDocument } from '@n17q/domain';
import { SCENE_POLICY } from './scene.js';

export interface Rules { /** Somebody is asked before these tools. */ readonly ask?: readonly string[]; readonly forbid?: readonly string[] }
export const RULE_WORDS = { ask: 'somebody looks first', forbid: 'not here' } as const;

const rulesFor = (r: Rules): PolicyDocument['rules'] => (['ask', 'forbid'] as const).flatMap((effect) => (r[effect] === undefined ? [] : [{ id: effect, effect, tools: [...r[effect]], reason: RULE_WORDS[effect] }]));
export const policyWith = (rules: Rules, change: Partial<PolicyDocument> = {}): PolicyDocument => ({ ...SCENE_POLICY, ...change, rules: rulesFor(rules) });
