import { Buffer } from "node:buffer";
import type { TestService } from "../support/service.ts";
import { samplePng } from "./sample_image.ts";

/** Ids of calls that show what pages can show. */
export interface SampleCalls {
  tools: string;
  picture: string;
  inline: string;
  reasoning: string;
  responses: string;
  generate: string;
  failed: string;
  cut: string;
}

const dataUrl = (side: number) =>
  `data:image/png;base64,${Buffer.from(samplePng(side)).toString("base64")}`;

const tool = {
  type: "function",
  function: {
    name: "find_order",
    description: "Finds an order by its number.",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  },
};

const system = (app: string, flow: string, cohort?: string) =>
  `/// APP ${app}\n/// FLOW ${flow}\n${
    cohort === undefined ? "" : `/// COHORT ${cohort}\n`
  }You help the customers of a shop. Be brief, be kind, and never invent an order.`;

type Call = (
  path: string,
  body: unknown,
  headers?: Record<string, string>,
) => Promise<string>;

const chatPath = "/chat/v1/chat/completions";

/** Calls in all dialects, some of which end badly, as a shop's assistant would make them. */
export async function makeSampleCalls(service: TestService): Promise<SampleCalls> {
  const call: Call = async (path, body, headers = {}) => {
    const answer = await service.post(path, body, headers).catch(() => undefined);
    await answer?.text().catch(() => {});
    return answer?.headers.get("x-transaction-id") ?? "";
  };
  await askQuestions(call);
  return {
    ...await speakDialects(call),
    ...await endBadly(call),
    ...await showPictures(call),
    tools: await useTools(call),
  };
}

const talk = (app: string, flow: string, words: string, cohort?: string) => [
  { role: "system", content: system(app, flow, cohort) },
  { role: "user", content: words },
];

async function askQuestions(call: Call): Promise<void> {
  const questions = [
    "Where is my order INV-2381? It should have come on Monday.",
    "Can I return the blue jacket without its label?",
    "Which size fits at 182 cm?",
    "Please cancel the second item of INV-2290.",
  ];
  for (const [at, words] of questions.entries()) {
    await call(chatPath, {
      model: at % 2 === 0 ? "vendor-b/gpt-4.1" : "vendor-c/claude-haiku-4-5",
      messages: talk("shop", "support", words, at % 2 === 0 ? "short answers" : "long answers"),
      ...(at % 2 === 0 ? { stream: true } : { max_tokens: 300 }),
      user: `customer-${at + 1}`,
    }, { "x-session-id": "visit-17" });
  }
}

async function speakDialects(
  call: Call,
): Promise<Pick<SampleCalls, "reasoning" | "responses" | "generate">> {
  const reasoning = await call("/chat/v1/messages", {
    model: "vendor-c/claude-sonnet-4-6",
    max_tokens: 4000,
    thinking: { type: "enabled", budget_tokens: 1024 },
    system: system("shop", "planning"),
    messages: [{ role: "user", content: "Plan the Black Friday stock of the warehouse in Lyon." }],
  });
  const responses = await call("/chat/v1/responses", {
    model: "vendor-b/gpt-5.4-mini",
    instructions: system("back office", "tagging"),
    input: "Tag this review: “Arrived late, but the fabric is lovely.”",
    text: { format: { type: "text" } },
    stream: true,
  });
  const generate = await call("/chat/v1/models/vendor-d%2Fgemini-2.5-flash:generateContent", {
    systemInstruction: { parts: [{ text: system("back office", "summaries") }] },
    contents: [{ role: "user", parts: [{ text: "Sum up the returns of last week." }] }],
  });
  return { reasoning, responses, generate };
}

async function endBadly(call: Call): Promise<Pick<SampleCalls, "failed" | "cut">> {
  const failed = await call(chatPath, {
    model: "vendor-b/gpt-4.1",
    messages: talk("shop", "support", "Hello? [error:400]"),
  });
  const cut = await call(chatPath, {
    model: "vendor-b/gpt-4.1",
    messages: talk("shop", "support", "Tell me the whole story of the brand. [long:60] [cut]"),
    stream: true,
    user: "customer-5",
  });
  return { failed, cut };
}

/** A large one, which is stored apart, and a small one, which stays in its payload. */
async function showPictures(call: Call): Promise<Pick<SampleCalls, "picture" | "inline">> {
  const show = (words: string, side: number) => [
    { type: "text", text: words },
    { type: "image_url", image_url: { url: dataUrl(side) } },
  ];
  const picture = await call(chatPath, {
    model: "vendor-b/gpt-4.1",
    messages: [
      { role: "system", content: system("shop", "photo search") },
      { role: "user", content: show("Do you have a jacket in this colour?", 180) },
    ],
  });
  const inline = await call(chatPath, {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: show("And in this one?", 60) }],
  });
  return { picture, inline };
}

async function useTools(call: Call): Promise<string> {
  return await call(chatPath, {
    model: "vendor-b/gpt-4.1",
    messages: [
      { role: "system", content: system("shop", "support", "short answers") },
      { role: "user", content: "Where is my order INV-2381?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "call_7Qm2",
          type: "function",
          function: { name: "find_order", arguments: '{"order":"INV-2381"}' },
        }],
      },
      {
        role: "tool",
        tool_call_id: "call_7Qm2",
        content:
          '{"order":"INV-2381","state":"in transit","carrier":"La Poste","due":"2026-11-23","items":[{"sku":"JK-182-BL","count":1}]}',
      },
      { role: "user", content: "Thanks! And can I still change the address?" },
    ],
    tools: [tool],
    tool_choice: "none",
    temperature: 0.3,
    max_completion_tokens: 400,
    user: "customer-1",
    stream: true,
  }, { "x-session-id": "visit-17" });
}
