import { runMain } from '@n17q/reactor';

await runMain('effect-reconciler', () => import('./index.js'));
