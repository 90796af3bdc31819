import { optionalSetting, startReactor, type ServiceStart } from '@n17q/reactor';
import { askHook } from './hook.js';
import { judgeRun } from './judge-run.js';
import { RuleSets } from './rule-sets.js';

export const start: ServiceStart = (settings) => startReactor({
  service: 'policy-gate',
  build: ({ log }) => judgeRun(log, { ruleSets: new RuleSets(), hook: askHook(optionalSetting(settings, 'N17Q_HOOK_CREDENTIALS_DIR') ?? null) }),
}, settings);
