import { type FakeExchange, startFakeVendor } from "./fake_vendor.ts";
import { startTestService } from "./service.ts";
import { wholeAnswer } from "./service_scripted.ts";

export const serviceKeys = { b: "sk-of-the-service-b-1", c: "sk-ant-of-the-service-1" };

/**
 * Starts a service whose vendors a, b, c, d, f and g, and another one of only the chat dialect, are
 * a single fake vendor, which tells them apart by their paths.
 */
export async function startTodaysVendors() {
  const files = await Deno.makeTempDir({ prefix: "todays-" });
  let act: (exchange: FakeExchange) => unknown = answered;
  const vendor = await startFakeVendor((exchange) =>
    exchange.request.method === "GET"
      ? exchange.answer(200, { object: "list", data: [] })
      : act(exchange)
  );
  const own = { label: "acme", base_url: `${vendor.url}/acme`, api_key_env: "ACME_API_KEY" };
  const row = { ...own, aliases: [], dialects: ["chat"], auth: "bearer" };
  await Deno.writeTextFile(`${files}/vendors.json`, JSON.stringify([row]));
  const price = { input: "1", output: "2" };
  await Deno.writeTextFile(`${files}/prices.json`, JSON.stringify({ "acme/acme-1": price }));
  const service = await startTestService({
    env: {
      VENDORS_FILE: `${files}/vendors.json`,
      PRICES_FILE: `${files}/prices.json`,
      ACME_API_KEY: "acme-of-the-service-1",
      VENDOR_A_BASE_URL: `${vendor.url}/a`,
      VENDOR_A_API_KEY: "hf_ofTheService1",
      VENDOR_B_BASE_URL: `${vendor.url}/b`,
      VENDOR_B_API_KEY: serviceKeys.b,
      VENDOR_C_BASE_URL: `${vendor.url}/c`,
      VENDOR_C_API_KEY: serviceKeys.c,
      VENDOR_D_BASE_URL: `${vendor.url}/d`,
      VENDOR_D_API_KEY: "AIza-of-the-service-1",
      VENDOR_F_BASE_URL: `${vendor.url}/f`,
      VENDOR_F_API_KEY: "sk-or-of-the-service-1",
      VENDOR_G_BASE_URL: `${vendor.url}/g`,
      VENDOR_G_API_KEY: "xai-of-the-service-1",
    },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
    await Deno.remove(files, { recursive: true });
  };
  return {
    ...service,
    vendor,
    stop,
    [Symbol.asyncDispose]: stop,
    /** Sets the script by which the vendor answers from now on; ordinary answers without one. */
    play(script?: (exchange: FakeExchange) => unknown) {
      act = script ?? answered;
    },
    /** Returns the last POST that the vendor received. */
    last: () => vendor.requests.findLast(({ method }) => method === "POST")!,
  };
}

export const messagesAnswer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-haiku-4-5-20251001",
  content: [{ type: "text", text: "Fine." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};

export const responsesAnswer = {
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  status: "completed",
  model: "gpt-x",
  output: [{
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Fine.", annotations: [] }],
  }],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};

export const generateAnswer = {
  responseId: "g_1",
  modelVersion: "gemini-2.5-flash",
  candidates: [{
    index: 0,
    content: { role: "model", parts: [{ text: "Fine." }] },
    finishReason: "STOP",
  }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
};

export function answered(exchange: FakeExchange, headers: Record<string, string> = {}) {
  const { path } = exchange.request;
  if (path.endsWith("/messages")) return exchange.answer(200, messagesAnswer, headers);
  if (path.includes(":generateContent")) return exchange.answer(200, generateAnswer, headers);
  if (path.endsWith("/responses")) return exchange.answer(200, responsesAnswer, headers);
  return exchange.answer(200, wholeAnswer, headers);
}

export const hello = [{ role: "user", content: "Hi" }];
