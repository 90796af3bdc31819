import { runMain } from '@n17q/reactor';

await runMain('checkpoint-sealer', () => import('./index.js'));
