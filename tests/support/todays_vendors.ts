import { type FakeExchange, startFakeVendor } from "./fake_vendor.ts";
import { startTestService } from "./service.ts";
import { wholeAnswer } from "./service_scripted.ts";

export const serviceKeys = { b: "sk-of-the-service-b-1", c: "sk-ant-of-the-service-1" };

/** A service whose vendors a, b, c and g are one fake, told apart by their paths. */
export async function startTodaysVendors() {
  let act: (exchange: FakeExchange) => unknown = answered;
  const vendor = await startFakeVendor((exchange) =>
    exchange.request.method === "GET"
      ? exchange.answer(200, { object: "list", data: [] })
      : act(exchange)
  );
  const service = await startTestService({
    env: {
      VENDOR_A_BASE_URL: `${vendor.url}/a`,
      VENDOR_A_API_KEY: "hf_ofTheService1",
      VENDOR_B_BASE_URL: `${vendor.url}/b`,
      VENDOR_B_API_KEY: serviceKeys.b,
      VENDOR_C_BASE_URL: `${vendor.url}/c`,
      VENDOR_C_API_KEY: serviceKeys.c,
      VENDOR_G_BASE_URL: `${vendor.url}/g`,
      VENDOR_G_API_KEY: "xai-of-the-service-1",
    },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
  };
  return {
    ...service,
    vendor,
    stop,
    [Symbol.asyncDispose]: stop,
    /** From now on the vendor does so; an ordinary answer when absent. */
    play(script?: (exchange: FakeExchange) => unknown) {
      act = script ?? answered;
    },
    /** The last POST that the vendor got. */
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

export function answered(exchange: FakeExchange, headers: Record<string, string> = {}) {
  const { path } = exchange.request;
  if (path.endsWith("/messages")) return exchange.answer(200, messagesAnswer, headers);
  if (path.endsWith("/responses")) return exchange.answer(200, responsesAnswer, headers);
  return exchange.answer(200, wholeAnswer, headers);
}

export const hello = [{ role: "user", content: "Hi" }];
