import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { type Environment, startTestService, type TestService } from "../support/service.ts";

export type Act = (exchange: FakeExchange) => unknown;

/** The seven vendors with their bundled prices, at one address under the test's control. */
export interface HostedVendors extends TestService {
  vendor: FakeVendor;
  /** Registers what is done; the result is a word to put into the prompt. */
  script(act: Act): string;
}

export async function startHostedVendors(env: Environment = {}): Promise<HostedVendors> {
  const scripts = new Map<string, Act>();
  const vendor = await startFakeVendor((exchange) => {
    const word = exchange.request.body.match(/script-[0-9a-f-]{36}/g)?.at(-1);
    const act = word === undefined ? undefined : scripts.get(word);
    return act ? act(exchange) : exchange.answer(404, { error: { message: "no script" } });
  });
  const directory = await Deno.makeTempDir({ prefix: "hosted-" });
  const vendorsFile = `${directory}/vendors.json`;
  const own = [{
    label: "vendor-g",
    base_url: `${vendor.url}/vendor-g/v1`,
    api_key_env: "KEY_OF_G",
    dialects: ["chat", "responses"],
    auth: "bearer",
  }];
  await Deno.writeTextFile(vendorsFile, JSON.stringify(own));
  const labels = ["vendor-b", "vendor-c", "vendor-d", "vendor-f"];
  const service = await startTestService({
    database: "any",
    env: {
      ...Object.fromEntries(labels.flatMap((label) => {
        const name = label.toUpperCase().replace("-", "_");
        const url = `${vendor.url}/${label}/v1`;
        return [[`${name}_BASE_URL`, url], [`${name}_API_KEY`, `key-of-${label}`]];
      })),
      VENDORS_FILE: vendorsFile,
      KEY_OF_G: "key-of-vendor-g",
      STARTING_CREDIT_USD: "1000",
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
