import type { DialectName } from "../../contracts/calls/vendors.ts";
import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { type Environment, startTestService, type TestService } from "../support/service.ts";
import { dialectNames } from "./raw_calls.ts";

/**
 * A service with one vendor more for each dialect, named after it (`x-chat` …), all of them added
 * by configuration and under the test's control: what they do is decided by a script that the
 * prompt names.
 */
export interface ScriptedVendors extends TestService {
  vendor: FakeVendor;
  /** Registers a script; the result is a word to put into the prompt. */
  script(act: (exchange: FakeExchange) => unknown): string;
}

export const scriptedModel = "model-x/1";

/** USD per million tokens of the scripted model. */
export const scriptedPrices = { input: 2, output: 8 } as const;

export function scriptedLabel(dialect: DialectName): string {
  return `x-${dialect}`;
}

const auths = {
  chat: "bearer",
  responses: "bearer",
  messages: "x-api-key",
  generate: "x-goog-api-key",
} as const;

export async function startScriptedVendors(env: Environment = {}): Promise<ScriptedVendors> {
  const scripts = new Map<string, (exchange: FakeExchange) => unknown>();
  const vendor = await startFakeVendor((exchange) => {
    // A conversation names those of its earlier turns too.
    const word = exchange.request.body.match(/script-[0-9a-f-]{36}/g)?.at(-1);
    const script = word === undefined ? undefined : scripts.get(word);
    return script ? script(exchange) : exchange.answer(404, { error: { message: "no script" } });
  });
  const directory = await Deno.makeTempDir({ prefix: "scripted-" });
  const write = async (name: string, value: unknown) => {
    await Deno.writeTextFile(`${directory}/${name}`, JSON.stringify(value));
    return `${directory}/${name}`;
  };
  const service = await startTestService({
    database: "any",
    env: {
      VENDORS_FILE: await write(
        "vendors.json",
        dialectNames.map((dialect) => ({
          label: scriptedLabel(dialect),
          base_url: `${vendor.url}/${dialect}/v9`,
          api_key_env: "KEY_OF_X",
          dialects: [dialect],
          auth: auths[dialect],
        })),
      ),
      PRICES_FILE: await write(
        "prices.json",
        Object.fromEntries(
          dialectNames.map((dialect) => [`${scriptedLabel(dialect)}/${scriptedModel}`, {
            input: String(scriptedPrices.input),
            output: String(scriptedPrices.output),
          }]),
        ),
      ),
      KEY_OF_X: vendorKeyOfX,
      ...env,
    },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
    await Deno.remove(directory, { recursive: true });
  };
  return {
    ...service,
    vendor,
    stop,
    [Symbol.asyncDispose]: stop,
    script(act) {
      const word = `script-${crypto.randomUUID()}`;
      scripts.set(word, act);
      return word;
    },
  };
}

export const vendorKeyOfX = "x-key-0123456789";
