import type { Target } from "./attackers.ts";

/** A call as its caller saw it. */
export interface OrdinaryCall {
  path: string;
  ms: number;
  /** What was wrong with its answer; absent when nothing was. */
  failure?: string;
}

/** Ten calls a second, in turn of each kind, each with a mark that its answer must carry. */
export async function callAround(target: Target, seconds: number): Promise<OrdinaryCall[]> {
  const calls: Promise<OrdinaryCall>[] = [];
  const until = performance.now() + seconds * 1000;
  for (let at = 0; performance.now() < until; at++) {
    calls.push(call(target, kinds[at % kinds.length]!));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return await Promise.all(calls);
}

/** The time within which so many of the calls were answered. */
export function quantile(calls: readonly OrdinaryCall[], at: number): number {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0;
}

interface Kind {
  path: string;
  body?: (text: string) => object;
}

const chat = (model: string, stream: boolean) => (content: string) => ({
  model,
  stream,
  max_tokens: 100,
  messages: [{ role: "user", content }],
});

/** Every dialect, whole and streamed, in both lanes, and a look at the service's health. */
const kinds: readonly Kind[] = [
  { path: "/openai/v1/chat/completions", body: chat("gpt-4.1", false) },
  { path: "/openai/v1/chat/completions", body: chat("gpt-4.1", true) },
  { path: "/chat/v1/messages", body: chat("vendor-b/gpt-4.1", false) },
  { path: "/anthropic/v1/messages", body: chat("claude-haiku-5-5", true) },
  { path: "/chat/v1/chat/completions", body: chat("vendor-c/claude-haiku-5-5", true) },
  {
    path: "/chat/v1/responses",
    body: (input) => ({ model: "vendor-b/gpt-4.1", input, max_output_tokens: 100 }),
  },
  {
    path: "/google/v1beta/models/gemini-2.5-flash:generateContent",
    body: (text) => ({
      contents: [{ parts: [{ text }] }],
      generationConfig: { maxOutputTokens: 100 },
    }),
  },
  // Larger than what is taken in without asking for room.
  {
    path: "/chat/v1/chat/completions",
    body: (text) => chat("vendor-b/gpt-4.1", false)(`${text}${" word".repeat(70_000)}`),
  },
  { path: "/livez" },
];

async function call({ baseUrl, key }: Target, { path, body }: Kind): Promise<OrdinaryCall> {
  const mark = `mark${crypto.randomUUID().replaceAll("-", "")}`;
  const began = performance.now();
  const outcome = (failure?: string) => {
    const ms = performance.now() - began;
    return { path, ms, ...(failure === undefined ? {} : { failure }) };
  };
  try {
    const answer = await fetch(baseUrl + path, {
      ...(body ? { method: "POST", body: JSON.stringify(body(`[say:${mark}] Talk.`)) } : {}),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(60_000),
    });
    const text = await answer.text();
    if (answer.status !== 200) return outcome(`${answer.status} ${text.slice(0, 200)}`);
    if (body && !wordsOf(text).includes(mark)) return outcome("the answer lacks its mark");
    return outcome();
  } catch (thrown) {
    return outcome(String(thrown));
  }
}

/** The text of an answer, also where a stream brought it in pieces. */
function wordsOf(answer: string): string {
  const pieces = answer.matchAll(/"(?:content|text|delta)":\s*"((?:[^"\\]|\\.)*)"/g);
  return Array.from(pieces, ([, piece]) => piece).join("");
}
