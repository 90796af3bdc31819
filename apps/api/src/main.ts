import { runMain } from '@n17q/reactor';

await runMain('api', () => import('./index.js'));
