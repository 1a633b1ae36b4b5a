import { type Label, LABELS, startSimulators } from "../../demo/simulators.ts";
import { type Environment, startTestService, type TestService } from "../support/service.ts";
import { startTap, type Tap } from "./tap.ts";
import { vendors } from "./vendors.ts";

/** A service in front of simulated vendors, with an ear on both of its sides. */
export interface MatrixService extends TestService {
  /** Between callers and the service; `callers.url` is the address to call. */
  callers: Tap;
  /** Between the service and each vendor. */
  vendorTaps: Readonly<Record<Label, Tap>>;
  /** Forgets what the taps have heard. */
  silence(): void;
}

/** USD per million tokens of every model of the matrix. */
export const prices = { input: 2, cache_read: 0.5, output: 8 } as const;

export async function startMatrixService(env: Environment = {}): Promise<MatrixService> {
  const simulators = await startSimulators();
  const directory = await Deno.makeTempDir({ prefix: "matrix-" });
  const vendorTaps = Object.fromEntries(
    LABELS.map((label) => [label, startTap(simulators.vendors[label].baseUrl)]),
  ) as Record<Label, Tap>;
  const addresses = LABELS.flatMap((label) => {
    const name = label.toUpperCase().replace("-", "_");
    return [
      [`${name}_BASE_URL`, vendorTaps[label].url],
      [`${name}_API_KEY`, simulators.vendors[label].apiKey],
    ];
  });
  const service = await startTestService({
    database: "any",
    env: {
      ...Object.fromEntries(addresses),
      PRICES_FILE: await writePrices(directory),
      STARTING_CREDIT_USD: "1000",
      ...env,
    },
  });
  const callers = startTap(service.baseUrl);
  const stop = async () => {
    await callers.close();
    await service.stop();
    await Promise.all(Object.values(vendorTaps).map((tap) => tap.close()));
    await simulators.close();
    await Deno.remove(directory, { recursive: true });
  };
  const silence = () => {
    for (const tap of [callers, ...Object.values(vendorTaps)]) tap.take();
  };
  return { ...service, callers, vendorTaps, silence, stop, [Symbol.asyncDispose]: stop };
}

async function writePrices(directory: string): Promise<string> {
  const path = `${directory}/prices.json`;
  const row = Object.fromEntries(
    Object.entries(prices).map(([name, usd]) => [name, String(usd)]),
  );
  const rows = vendors.flatMap(({ label, model, strictModel }) =>
    [model, strictModel].map((name) => [`${label}/${name}`, row])
  );
  await Deno.writeTextFile(path, JSON.stringify(Object.fromEntries(rows)));
  return path;
}
