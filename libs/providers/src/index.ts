export {
  PROJECTION_REFUSALS, REFUSAL_CODES,
  type Accepted, type Endpoint, type InterpretContext, type Interpretation, type Observed, type PieceMap, type PiecePlace, type Projection,
  type ProjectionRefusal, type ProjectionRefusalCode, type ProviderAdapter, type RefusalCode, type Refused, type RetryClass, type SendOptions,
  type Unknown, type WireRequest,
} from './adapter.js';
export { CARRIER_BLOCK_TYPES, CARRIER_FIELDS, findCarrier, withoutCarriers } from './carriers.js';
export { Credential, credentialsFromEnv, credentialsFromFolder, type CredentialLookup, type CredentialSource } from './credentials.js';
export { geminiAdapter } from './gemini/adapter.js';
export { GEMINI_MODELS, type ModelCatalogue } from './gemini/models.js';
