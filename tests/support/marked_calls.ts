import type { ServiceProcess } from "./process.ts";

/** One kind of call: a dialect, whole or streamed. */
export interface Kind {
  readonly dialect: string;
  readonly stream: boolean;
  request(model: string, mark: string): { path: string; body: Record<string, unknown> };
}

const turns = (content: string) => [{ role: "user", content }];

const dialects: Readonly<
  Record<
    string,
    (model: string, mark: string, stream: boolean) => {
      path: string;
      body: Record<string, unknown>;
    }
  >
> = {
  chat: (model, mark, stream) => ({
    path: "/chat/v1/chat/completions",
    body: { model, messages: turns(mark), stream },
  }),
  responses: (model, mark, stream) => ({
    path: "/chat/v1/responses",
    body: { model, input: mark, stream },
  }),
  messages: (model, mark, stream) => ({
    path: "/chat/v1/messages",
    body: { model, max_tokens: 100, messages: turns(mark), stream },
  }),
  generate: (model, mark, stream) => ({
    path: `/chat/v1/models/${model}:${
      stream ? "streamGenerateContent?alt=sse" : "generateContent"
    }`,
    body: { contents: [{ role: "user", parts: [{ text: mark }] }] },
  }),
};

/** All dialects, whole and streamed. */
export const kinds: readonly Kind[] = Object.entries(dialects).flatMap(([dialect, request]) =>
  [false, true].map((stream) => ({
    dialect,
    stream,
    request: (model, mark) => request(model, mark, stream),
  }))
);

/** Calls whose answers are known: each sends its own mark, which the vendor repeats. */
export class MarkedCalls {
  /** Answers that weren't the call's own, as texts. */
  readonly wrong: string[] = [];
  made = 0;
  readonly #counts = new Map<string, number>();
  readonly #service: ServiceProcess;
  /** Text that must not be in any answer. */
  readonly #never: string;

  constructor(service: ServiceProcess, never: string) {
    this.#service = service;
    this.#never = never;
  }

  async make(kind: Kind, model: string): Promise<void> {
    const mark = `mark-${this.made++}-${crypto.randomUUID()}`;
    const name = `${kind.dialect} ${kind.stream ? "streamed" : "whole"}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    const fault = await this.#fault(kind.request(model, mark), mark);
    if (fault !== undefined) this.wrong.push(`${name}, ${model}: ${fault}`);
  }

  /** Says how many calls of each kind were made, and how many answers were wrong. */
  get told(): string {
    const each = [...this.#counts].map(([name, calls]) => `${name} ${calls}`).join(", ");
    return `${this.made} marked calls (${each}), ${this.wrong.length} not their own`;
  }

  async #fault(
    { path, body }: ReturnType<Kind["request"]>,
    mark: string,
  ): Promise<string | undefined> {
    try {
      const answer = await fetch(this.#service.baseUrl + path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.#service.firstKey};a-key-of-the-vendor`,
          "content-type": "application/json",
        },
        body: JSON.stringify(body),
      });
      const text = joined(await answer.text());
      const marks = text.match(/mark-\d+-[\da-f-]{36}/g) ?? [];
      const isOwn = answer.status === 200 && marks.length > 0 && marks.every((one) => one === mark);
      if (isOwn && !text.includes(this.#never)) return undefined;
      return `${answer.status} ${text.slice(0, 300)}`;
    } catch (thrown) {
      return `${thrown instanceof Error ? thrown.message : thrown}`;
    }
  }
}

/** Joins the texts of a generate stream, whose last character comes in the final event. */
function joined(text: string): string {
  const piece = /"parts":\[\{"text":"([^"]*)"\}\]/g;
  const texts = [...text.matchAll(piece)].map(([, words]) => words);
  return texts.length < 2 ? text : `${texts.join("")}\n${text.replaceAll(piece, "")}`;
}

/**
 * Returns how long a test runs: `ODD_HEADS_SECONDS=600` is the long form. From ten minutes on it
 * makes at least 20,000 calls, however long they take.
 */
export function oddSeconds(short: number): { seconds: number; minCalls: number } {
  const seconds = Number(Deno.env.get("ODD_HEADS_SECONDS") ?? short);
  return { seconds, minCalls: seconds >= 600 ? 20_000 : 50 };
}
