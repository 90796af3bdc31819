import { runMain } from '@n17q/reactor';

await runMain('policy-gate', () => import('./index.js'));
