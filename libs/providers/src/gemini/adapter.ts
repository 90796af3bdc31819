/** The Gemini `generateContent` wire, whole answers. Sources of its rules are named in the files beside this one. */
import { httpOnce } from '@n17q/platform';
import type { ProviderAdapter } from '../adapter.js';
import { isHeaderSafe } from '../credentials.js';
import { interpretGemini } from './interpret.js';
import { GEMINI_MODELS, type ModelCatalogue } from './models.js';
import { signedPlaces } from './pieces.js';
import { projectGemini } from './project.js';

/** `catalogue`: models that may be used and what they can. */
export function geminiAdapter(catalogue: ModelCatalogue = GEMINI_MODELS): ProviderAdapter {
  const profile = (model: string) => (Object.hasOwn(catalogue, model) ? catalogue[model] : undefined);
  return {
    name: 'gemini',
    profile,
    project: (plan, route, pieces) => projectGemini(plan, route, pieces, catalogue),
    required: (plan, route, pieces) => (profile(route.model)?.opaqueRequired === 'never' ? [] : signedPlaces(plan, pieces)),
    async send(request, endpoint, options) {
      // a header that cannot be written would throw after the connection counts as used
      if (!isHeaderSafe(endpoint.credential)) return { kind: 'not-sent', cause: 'CREDENTIAL_MALFORMED' };
      return httpOnce({
        ...options,
        method: 'POST',
        url: `${endpoint.baseUrl.replace(/\/+$/, '')}${request.path}`,
        headers: { 'content-type': 'application/json', 'x-goog-api-key': endpoint.credential },
        body: request.body,
      });
    },
    interpret: interpretGemini,
  };
}
