import { type FakeExchange, startFakeVendor } from "./fake_vendor.ts";
import {
  type DatabaseChoice,
  type Environment,
  startTestService,
  type TestService,
} from "./service.ts";

/** Answers one attempt of a call as the vendor; `attempt` counts from 1. */
export type Script = (exchange: FakeExchange, attempt: number) => unknown;

/** A service whose vendor-b is under the test's control. */
export interface ScriptedService extends TestService {
  /** Makes a call that the vendor answers by a script. */
  call(script: Script, request?: ScriptedRequest): Promise<ScriptedCall>;
  readonly vendorKey: string;
  readonly vendorUrl: string;
}

export interface ScriptedRequest {
  stream?: boolean;
  /** Further fields of the body. */
  body?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** A call whose answer has begun. */
export interface ScriptedCall {
  response: Response;
  /** The requests that the vendor received, one per attempt. */
  tries: readonly FakeExchange["request"][];
}

/** A model of vendor-b with a price: 2 USD per million tokens of input, 8 of output. */
export const scriptedModel = "gpt-4.1";

/** Starts the service; `env` overrides the variables of vendor-b. */
export async function startScriptedService(
  env: Environment = {},
  choice: DatabaseChoice = {},
): Promise<ScriptedService> {
  const scripts = new Map<string, { script: Script; tries: FakeExchange["request"][] }>();
  const vendor = await startFakeVendor((exchange) => {
    if (exchange.request.method === "GET") {
      return exchange.answer(200, { object: "list", data: [] });
    }
    const found = scripts.get(JSON.parse(exchange.request.body).x_script);
    if (!found) return exchange.answer(500, "no script");
    found.tries.push(exchange.request);
    return found.script(exchange, found.tries.length);
  });
  const vendorKey = "sk-of-vendor-b-0123456789";
  const service = await startTestService({
    env: {
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: vendorKey,
      ...env,
    },
    ...choice,
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
  };
  return {
    ...service,
    vendorKey,
    vendorUrl: vendor.url,
    stop,
    [Symbol.asyncDispose]: stop,
    async call(script, { stream, body, headers, signal } = {}) {
      const name = crypto.randomUUID();
      const tries: FakeExchange["request"][] = [];
      scripts.set(name, { script, tries });
      const response = await service.fetch("/vendor-b/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({
          model: scriptedModel,
          messages: [{ role: "user", content: "How are you today?" }],
          ...(stream === undefined ? {} : { stream }),
          x_script: name,
          ...body,
        }),
        ...(signal ? { signal } : {}),
      });
      return { response, tries };
    },
  };
}

/** A whole answer of the chat dialect: 10 tokens in, 5 out, which cost 0.00006 USD. */
export const wholeAnswer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "gpt-4.1-2025-04-14",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "I am well." },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
} as const;

/** One event of a stream. */
export function event(fields: Readonly<Record<string, unknown>>): string {
  const { id, created, model } = wholeAnswer;
  const chunk = { id, object: "chat.completion.chunk", created, model, ...fields };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** The same answer as a stream's events: role, two of text, finish, usage, end. */
export const streamEvents: readonly string[] = [
  event({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
  event({ choices: [{ index: 0, delta: { content: "I am" } }] }),
  event({ choices: [{ index: 0, delta: { content: " well." } }] }),
  event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  event({ choices: [], usage: wholeAnswer.usage }),
  "data: [DONE]\n\n",
];
