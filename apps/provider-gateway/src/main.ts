import { runMain } from '@n17q/reactor';

await runMain('provider-gateway', () => import('./index.js'));
