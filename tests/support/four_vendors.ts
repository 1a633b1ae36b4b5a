import type { DialectName } from "../../contracts/calls/vendors.ts";
import { type FakeExchange, startFakeVendor } from "./fake_vendor.ts";
import { type Environment, startTestService, type TestService } from "./service.ts";

export const dialectNames = ["chat", "responses", "messages", "generate"] as const;

/** Answers one call as the vendor. */
export type VendorScript = (exchange: FakeExchange) => unknown;

/** A service with a vendor of each dialect, all of them under the test's control. */
export interface FourVendors extends TestService {
  /** Calls the vendor of `vendor` in the dialect `caller`; the vendor answers by `script`. */
  call(given: FourVendorsCall): Promise<Response>;
  /** Returns what was spent of the starting credit, by the ledger's balance, in nano-dollars. */
  spentNanos(): Promise<bigint>;
}

export interface FourVendorsCall {
  caller: DialectName;
  vendor: DialectName;
  stream: boolean;
  script: VendorScript;
  headers?: Readonly<Record<string, string>>;
}

const creditUsd = 1_000_000n;
/** Price of each vendor's only model, in USD per million tokens. */
export const fourVendorsPrice = { input: "2", output: "8", cache_read: "0.5" } as const;

export async function startFourVendors(env: Environment = {}): Promise<FourVendors> {
  const scripts = new Map<string, VendorScript>();
  const vendor = await startFakeVendor((exchange) => {
    const name = /script:([\w-]+)/.exec(exchange.request.body)?.[1] ?? "";
    const script = scripts.get(name);
    scripts.delete(name);
    return script ? script(exchange) : exchange.answer(500, "no script");
  });
  const files = await fourVendorsFiles(vendor.url);
  const service = await startTestService({
    env: { ...files.env, ...env },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
    await files.remove();
  };
  return {
    ...service,
    stop,
    [Symbol.asyncDispose]: stop,
    async call({ caller, vendor, stream, script, headers = {} }) {
      const name = crypto.randomUUID();
      scripts.set(name, script);
      const { path, body } = requests[caller](`up-${vendor}/model`, `script:${name}`, stream);
      return await service.post(path, body, { ...headers });
    },
    async spentNanos() {
      const shown = await service.admin("credits", "show");
      const { balance_usd } = shown.json as { balance_usd: string };
      const [whole = "0", fraction = ""] = balance_usd.split(".");
      const left = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
      return creditUsd * 1_000_000_000n - left;
    },
  };
}

/** Writes files with a vendor for each dialect (`up-chat`, …) and the price of its `model`. */
export async function fourVendorsFiles(
  vendorUrl: string,
): Promise<{ env: Record<string, string>; remove(): Promise<void> }> {
  const folder = await Deno.makeTempDir({ prefix: "four-vendors-" });
  const vendors = dialectNames.map((dialect) => ({
    label: `up-${dialect}`,
    aliases: [],
    base_url: `${vendorUrl}/v1`,
    api_key_env: "UP_KEY",
    dialects: [dialect],
    auth: "bearer",
  }));
  const prices = dialectNames.map((dialect) => [`up-${dialect}/model`, fourVendorsPrice]);
  await Deno.writeTextFile(`${folder}/vendors.json`, JSON.stringify(vendors));
  await Deno.writeTextFile(`${folder}/prices.json`, JSON.stringify(Object.fromEntries(prices)));
  return {
    env: {
      VENDORS_FILE: `${folder}/vendors.json`,
      PRICES_FILE: `${folder}/prices.json`,
      UP_KEY: "a-key-of-the-vendor",
      STARTING_CREDIT_USD: String(creditUsd),
    },
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

type Build = (model: string, text: string, stream: boolean) => { path: string; body: unknown };

const requests: Readonly<Record<DialectName, Build>> = {
  chat: (model, content, stream) => ({
    path: "/chat/v1/chat/completions",
    body: { model, stream, max_tokens: 1000, messages: [{ role: "user", content }] },
  }),
  responses: (model, input, stream) => ({
    path: "/chat/v1/responses",
    body: { model, stream, max_output_tokens: 1000, input },
  }),
  messages: (model, content, stream) => ({
    path: "/chat/v1/messages",
    body: { model, stream, max_tokens: 1000, messages: [{ role: "user", content }] },
  }),
  generate: (model, text, stream) => ({
    path: `/chat/v1/models/${model}:${
      stream ? "streamGenerateContent?alt=sse" : "generateContent"
    }`,
    body: {
      contents: [{ role: "user", parts: [{ text }] }],
      generationConfig: { maxOutputTokens: 1000 },
    },
  }),
};

/** Converts a row's decimal amount to nano-dollars; 0 for null. */
export function nanosOf(usd: unknown): bigint {
  const [whole = "0", fraction = ""] = String(usd ?? "0").split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
}
