import { Buffer } from "node:buffer";
import type { TestService } from "../support/service.ts";

/** A name that would run if it were shown as anything but text. */
export const script = `<script id="canary">canary()</script>`;

const name = `"'>${script}`;
const today = new Date().toISOString().slice(0, 10);
const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(100_000, 7)]);

/** What an account has that addresses name, by what it is. */
export type Ids = Readonly<Record<string, string>>;

/**
 * Leaves something of every kind in the account of a key: calls in all dialects, whole and streamed,
 * with tools, pictures and errors; an outcome, an evaluation, an export, a deletion.
 */
export async function leaveTraces(
  service: TestService,
  { id, key }: { id: string; key: string },
): Promise<Ids> {
  const post = poster(service, key);
  const transaction = await leaveCalls(post);
  await failedCall(service, key);
  const cohort = `cohort ${key.slice(4, 12)}`;
  await post("/api/v1/cohort/outcome", {
    cohort_id: cohort,
    conversions: [{ type: "revenue", label: name, value: 5 }],
  });
  const run = await post("/api/v1/evals", {
    name,
    model: "anthropic/claude-sonnet-4-6",
    filters: {},
    graders: [{ type: "contains", value: name }],
  });
  const file = await post("/api/v1/exports", { range: { start: today, end: today } });
  const user = `nobody ${key.slice(4, 12)}`;
  const erasure = await post("/api/v1/data", { user_id: user, reason: name });
  const ids = {
    key: id,
    transaction,
    cohort,
    eval: JSON.parse(run.text).eval_run_id,
    export: JSON.parse(file.text).request_id,
    deletion: JSON.parse(erasure.text).request_id,
  };
  for (const [kind, id] of Object.entries(ids)) {
    if (typeof id !== "string") throw new Error(`the ${kind} has no id`);
  }
  return ids;
}

type Post = (path: string, body: unknown) => Promise<{ headers: Headers; text: string }>;

/** Posts what must be taken. */
function poster(service: TestService, key: string): Post {
  return async (path, body) => {
    const answer = await service.post(path, body, { authorization: `Bearer ${key}` });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return { headers: answer.headers, text };
  };
}

/** Gives the transaction of the first one. */
async function leaveCalls(post: Post): Promise<string> {
  const tags = `/// APP ${name}\n/// COHORT ${name}\n/// FLOW ${name}\n`;
  const ask = [{ role: "user", content: `${tags}Hello ${name}` }];
  const { headers } = await post("/chat/v1/chat/completions", {
    model: "openai/gpt-4.1",
    user: name,
    messages: ask,
  });
  await post("/openai/v1/chat/completions", {
    model: "gpt-4.1",
    messages: [{ role: "user", content: `[tool] ${name}` }],
    tools: [{
      type: "function",
      function: { name: "weather", parameters: { type: "object", properties: {} } },
    }],
  });
  await post("/chat/v1/messages", {
    model: "anthropic/claude-sonnet-4-6",
    max_tokens: 2000,
    stream: true,
    messages: ask,
  });
  const image = `data:image/png;base64,${picture.toString("base64")}`;
  await post("/chat/v1/responses", {
    model: "openai/gpt-4.1",
    input: [{
      role: "user",
      content: [{ type: "input_text", text: name }, { type: "input_image", image_url: image }],
    }],
  });
  await post("/vendor-d/v1/models/gemini-2.5-flash:generateContent", {
    contents: [{ role: "user", parts: [{ text: `Hello ${name}` }] }],
  });
  return headers.get("x-transaction-id") ?? "";
}

async function failedCall(service: TestService, key: string): Promise<void> {
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "openai/gpt-4.1",
    messages: [{ role: "user", content: "[error:400] no" }],
  }, { authorization: `Bearer ${key}` });
  await answer.body?.cancel();
}
