/** Runs inside the runtime, as the harness's user: does the gateway work as the harness reaches it? Usage: probe.ts JSON. */
import { probeGateway } from './preflight/gateway.ts';
import type { Probe } from './preflight/types.ts';

const { workspace, probe } = JSON.parse(process.argv[2] ?? '{}') as { workspace: string; probe: Probe };
const reasons = await probeGateway(workspace, probe, process.env);
process.stdout.write(`${JSON.stringify({ reasons })}\n`, () => process.exit(0));
