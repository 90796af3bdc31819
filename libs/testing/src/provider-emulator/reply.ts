/** A scripted reply as the provider's answer, with its signatures minted. */
import { randomBytes } from 'node:crypto';
import { outputDigest, partDigest, prefixDigest, visibleJson } from './judge.js';
import type { ReadRequest, WirePart } from './request.js';
import type { ScriptedReply } from './scenario.js';
import type { Signatures } from './signatures.js';

export interface AnswerContext {
  readonly signatures: Signatures;
  readonly account: string;
  readonly model: string;
  readonly request: ReadRequest;
  readonly promptTokens: number;
  /** Whether calls get ids, as newer models do. */
  readonly callIds: boolean;
}

export function answerOf(reply: ScriptedReply, context: AnswerContext): string {
  const head = { modelVersion: context.model, responseId: randomBytes(12).toString('base64url') };
  if (reply.blockReason !== undefined) return JSON.stringify({ promptFeedback: { blockReason: reply.blockReason }, usageMetadata: { promptTokenCount: context.promptTokens, totalTokenCount: context.promptTokens }, ...head });
  const parts = signedParts(reply, context);
  const tokens = (text: string): number => Math.ceil(text.length / 4);
  const candidatesTokenCount = tokens(parts.map(visibleJson).join());
  const thoughtsTokenCount = tokens(reply.thought ?? '');
  const candidate = {
    content: { role: 'model', ...(parts.length === 0 ? {} : { parts }) },
    ...(reply.finish === null ? {} : { finishReason: reply.finish ?? 'STOP' }),
    ...(reply.finishMessage === undefined ? {} : { finishMessage: reply.finishMessage }), index: 0,
  };
  const usageMetadata = reply.usage ?? {
    promptTokenCount: context.promptTokens, candidatesTokenCount, ...(thoughtsTokenCount === 0 ? {} : { thoughtsTokenCount }),
    totalTokenCount: context.promptTokens + candidatesTokenCount + thoughtsTokenCount,
  };
  return JSON.stringify({ candidates: [candidate], usageMetadata, ...head });
}

function signedParts(reply: ScriptedReply, context: AnswerContext): WirePart[] {
  const sign = (part: WirePart, output: readonly WirePart[]): WirePart => ({ ...part, thoughtSignature: context.signatures.mint({
    account: context.account, model: context.model, part: partDigest(part), output: outputDigest(output), prefix: prefixDigest(context.request.contentsSource, context.request.frameSource),
  }, reply.signature?.large) });
  if (reply.parts !== undefined) return (reply.parts as readonly WirePart[]).map((part, _, all) => (part.thoughtSignature === '$SIGN' ? sign(part, all) : part));
  const parts: WirePart[] = [
    ...(reply.thought === undefined ? [] : [{ text: reply.thought, thought: true }]),
    ...(reply.text === undefined ? [] : [{ text: reply.text }]),
    ...(reply.calls ?? []).map((call) => {
      const id = call.id === undefined && context.callIds ? `call_${randomBytes(6).toString('hex')}` : call.id ?? undefined;
      return { functionCall: { ...(id === undefined ? {} : { id }), name: call.tool, ...(call.args === undefined ? {} : { args: call.args }) } };
    }),
  ];
  const firstCall = parts.findIndex((part) => part.functionCall !== undefined);
  const placement = reply.signature?.placement ?? (firstCall >= 0 ? 'first-call' : 'last-part');
  if (placement === 'empty-text') return [...parts, sign({ text: '' }, [...parts, { text: '' }])];
  const at = { 'first-call': firstCall, 'last-part': parts.length - 1, thought: parts.findIndex((part) => part.thought === true), none: -1 }[placement];
  return parts.map((part, i) => (i === at ? sign(part, parts) : part));
}
