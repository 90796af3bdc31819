export * from './http-problems.js';
export * from './http-requests.js';
export * from './http-views.js';
export { HTTP_ROUTES, type HttpRoute } from './http-routes.js';
export { openApi, openApiText } from './http-openapi.js';
