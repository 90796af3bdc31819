export { canonical, canonicalOnce, commitment, contentOf, digestOf, eventDigest, newSalt, sha256, SALT_BYTES, type ContentUpload } from './digest.js';
export * from './append.js';
export { EVENT_SCHEMAS, appendRequest, amounts as amountsSchema, contentRef as contentRefSchema, route as routeSchema } from './event-schemas.js';
/** The HTTP API: `http.newRun`, `http.RunView`, `http.PROBLEMS`, … */
export * as http from './http.js';
