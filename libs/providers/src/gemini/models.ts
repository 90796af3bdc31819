import type { CapabilityProfile } from '@n17q/domain';

/** Model name → what it can. An operator's catalogue replaces it: no answer of the provider states these numbers. */
export type ModelCatalogue = Readonly<Record<string, CapabilityProfile>>;

const shared = { contextTokens: 1_048_576, outputTokensMax: 65_536, toolCalls: true, structuredOutput: true, nativeContinuation: false, storesContent: false } as const;

/** Signatures: models of the third generation demand them back within the current turn, those of the second do not. */
export const GEMINI_MODELS: ModelCatalogue = {
  'gemini-3-pro-preview': { ...shared, opaqueRequired: 'current-turn' },
  'gemini-3-flash-preview': { ...shared, opaqueRequired: 'current-turn' },
  'gemini-2.5-pro': { ...shared, opaqueRequired: 'never' },
  'gemini-2.5-flash': { ...shared, opaqueRequired: 'never' },
};
