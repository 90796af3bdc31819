/**
 * What the emulated model says.
 *
 * C1. The step is chosen by the conversation in the request, not by counting requests: a repeated request meets the same step.
 * C2. Position = outputs in the conversation + past steps that a reconstructed conversation tells as text (`pastStep`).
 * C3. A step with `when` answers any request that it matches; the others answer at their own position.
 */
import type { Fault } from './faults.js';
import { responsesOf, type ReadRequest, type WireContent } from './request.js';

export interface ScriptedCall { readonly tool: string; readonly args?: Readonly<Record<string, unknown>>; /** `null`: none is sent. */ readonly id?: string | null }

export interface ScriptedReply {
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Parts as they are, instead of the three above; a `thoughtSignature` of `$SIGN` is replaced by a real one. */
  readonly parts?: readonly Readonly<Record<string, unknown>>[];
  readonly signature?: { readonly placement?: 'first-call' | 'last-part' | 'empty-text' | 'thought' | 'none'; readonly large?: boolean };
  /** STOP if absent; `null`: the answer has none. */
  readonly finish?: string | null;
  readonly finishMessage?: string;
  /** No candidates, and this reason. */
  readonly blockReason?: string;
  readonly usage?: Readonly<Record<string, number>>;
  readonly fault?: Fault;
}

/** All that are given must hold. */
export interface When {
  /** In the latest user content: its texts and results. */
  readonly contains?: string;
  /** In any user content. */
  readonly anywhere?: string;
  /** The latest user content answers a call of this tool. */
  readonly resultOf?: string;
  readonly position?: number;
  readonly model?: string;
}

export interface Step { readonly when?: When; readonly reply: ScriptedReply }
export interface Script {
  readonly steps: readonly Step[];
  /** Regular expression, `^` at any line; each match in the texts of user contents is one past step. */
  readonly pastStep?: string;
  readonly otherwise?: ScriptedReply;
}

export interface ScenarioRequest {
  readonly account: string;
  readonly model: string;
  readonly system: string;
  readonly tools: readonly string[];
  readonly contents: readonly WireContent[];
  /** All texts of user contents, joined by line ends. */
  readonly userText: string;
  /** Texts and results of the latest user content. */
  readonly latest: { readonly text: string; readonly results: readonly { readonly tool: string; readonly response: unknown }[] };
  /** Model contents in the conversation. */
  readonly outputs: number;
}
export interface PastReply { readonly order: number; readonly account: string; readonly model: string; readonly outputs: number; readonly reply: ScriptedReply }
export interface ScenarioModule {
  /** Must depend on the conversation alone if a repeated request is to meet the same reply. */
  next(request: ScenarioRequest, history: readonly PastReply[]): ScriptedReply | Promise<ScriptedReply>;
}
export type Scenario = readonly Step[] | Script | ScenarioModule;

export function scenarioRequest(request: ReadRequest, account: string, model: string): ScenarioRequest {
  const users = request.contents.filter((content) => content.role === 'user');
  const textOf = (content: WireContent | undefined): string => (content?.parts ?? []).map((part) => part.text ?? '').filter((text) => text !== '').join('\n');
  const last = users.at(-1);
  return {
    account, model, system: request.system, tools: request.tools, contents: request.contents,
    userText: users.map(textOf).join('\n'),
    latest: { text: textOf(last), results: responsesOf(last).map((response) => ({ tool: response.name, response: response.response ?? {} })) },
    outputs: request.contents.length - users.length,
  };
}

/** The reply to a request; undefined if the scenario has none. */
export async function replyOf(scenario: Scenario, request: ScenarioRequest, history: readonly PastReply[]): Promise<ScriptedReply | undefined> {
  if ('next' in scenario) return scenario.next(request, history);
  const script: Script = 'steps' in scenario ? scenario : { steps: scenario };
  const past = script.pastStep === undefined ? 0 : [...request.userText.matchAll(new RegExp(script.pastStep, 'gmu'))].length;
  const position = request.outputs + past;
  const matched = script.steps.find((step) => step.when !== undefined && matches(step.when, request, position));
  return (matched ?? script.steps.filter((step) => step.when === undefined)[position])?.reply ?? script.otherwise;
}

function matches(when: When, request: ScenarioRequest, position: number): boolean {
  const latest = `${request.latest.text}\n${JSON.stringify(request.latest.results)}`;
  return (when.contains === undefined || latest.includes(when.contains))
    && (when.anywhere === undefined || `${request.userText}\n${JSON.stringify(request.contents.map((content) => responsesOf(content)))}`.includes(when.anywhere))
    && (when.resultOf === undefined || request.latest.results.some((result) => result.tool === when.resultOf))
    && (when.position === undefined || when.position === position)
    && (when.model === undefined || when.model === request.model);
}
