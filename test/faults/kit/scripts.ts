/**
 * What the emulated model says in each run, chosen by the goal's words `script=NAME case=TAG`. `$TAG` in an argument becomes the run's tag, so that
 * each run's tickets and requests can be told apart in shared ledgers.
 */
import type { ScenarioModule, ScenarioRequest, ScriptedReply } from '@n17q/testing';

export type Scripts = Readonly<Record<string, readonly ScriptedReply[]>>;

const PAST_STEP = /^The model of segment \S+ said:/gmu;

/** Outputs in the conversation, and those that a reconstructed conversation tells as text. */
export const positionOf = (r: ScenarioRequest): number => r.outputs + [...r.userText.matchAll(PAST_STEP)].length;

export function scripted(all: Scripts): ScenarioModule {
  return {
    next: (r) => {
      const [, name = '', tag = ''] = /script=([a-z0-9-]+) case=([a-z0-9-]+)/u.exec(r.userText) ?? [];
      const steps = all[name];
      if (steps === undefined) throw new Error(`no script "${name}"`);
      const reply = steps[Math.min(positionOf(r), steps.length - 1)] as ScriptedReply;
      return JSON.parse(JSON.stringify(reply).replaceAll('$TAG', tag)) as ScriptedReply;
    },
  };
}
export const goalOf = (script: string, tag: string): string => `Do what is to be done. script=${script} case=${tag}`;
