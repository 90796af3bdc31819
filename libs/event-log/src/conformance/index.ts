/**
 * The store's promises, to be kept by every implementation. Plain checks: a spec runs each under its title, a judge or a doctor may run them anywhere.
 *
 * Rows: RUN-1, RUN-4, SEAL-2, SEAL-3, EFF-6, EFF-7, BUD-2, BUD-5, RET-1, RES-8.
 */
import { APPEND_CASES } from './append-cases.js';
import type { StoreCase } from './case.js';
import { CONTENT_CASES } from './content-cases.js';
import { EFFECT_CASES } from './effect-cases.js';
import { WINDOW_CASES } from './window-cases.js';

export const STORE_CASES: readonly StoreCase[] = [...APPEND_CASES, ...CONTENT_CASES, ...EFFECT_CASES, ...WINDOW_CASES];
export type { StoreCase };
