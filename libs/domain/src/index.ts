export * from './json.js'; export * from './provider.js';
