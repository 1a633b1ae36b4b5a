import type { Simulators } from "../../demo/simulators.ts";
import type { Random } from "../support/random.ts";

/** A call as its client saw it. */
export interface Answer {
  path: string;
  /** Null when the client got no answer at all. */
  status: number | null;
  transactionId: string | null;
  /** The whole body came: JSON that parses, or a stream up to its terminal event. */
  isFull: boolean;
  /** The error's code, or why the connection ended. */
  code: string;
}

export interface Load {
  /** All calls that ended so far. */
  readonly answers: readonly Answer[];
  /** Begins no more calls; resolves when those under way have ended. */
  stop(): Promise<void>;
}

export interface Target {
  baseUrl: string;
  key: string;
}

/** Calls of every kind, from so many clients at once, each after the other, until it is stopped. */
export function startLoad(target: Target, clients: number, random: Random): Load {
  const answers: Answer[] = [];
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      const answer = await call(target, random.pick(kinds), random.below(20));
      answers.push(answer);
      // A server that is gone refuses at once.
      if (answer.status === null) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    answers,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

interface Kind {
  path: string;
  model: string;
  stream: boolean;
  /** What a whole stream ends with. */
  end?: RegExp;
}

/** Whole and streamed, in both lanes. */
const kinds: readonly Kind[] = [
  { path: "/openai/v1/chat/completions", model: "gpt-4.1", stream: false },
  {
    path: "/openai/v1/chat/completions",
    model: "gpt-4.1",
    stream: true,
    end: /data: \[DONE\]\n\n$/,
  },
  { path: "/chat/v1/chat/completions", model: "vendor-c/claude-haiku-5-5", stream: false },
  {
    path: "/chat/v1/messages",
    model: "vendor-b/gpt-4.1",
    stream: true,
    end: /event: message_stop\ndata: .*\n\n$/,
  },
];

/** How a service finds the vendors that the load calls. */
export function vendorEnvironment(simulators: Simulators): Record<string, string> {
  return Object.fromEntries((["vendor-b", "vendor-c"] as const).flatMap((label) => {
    const { baseUrl, apiKey } = simulators.vendors[label];
    const name = label.toUpperCase().replace("-", "_");
    return [[`${name}_BASE_URL`, baseUrl], [`${name}_API_KEY`, apiKey]];
  }));
}

/** One call and its repetitions, as a client sees them that asks until it has its answer. */
export interface Errand {
  requestId: string;
  /** How often it asked. */
  asked: number;
  isAnswered: boolean;
  /** Of the answer that came whole. */
  transactionId: string | null;
}

/**
 * As `startLoad`, but each client asks for the same with the same `X-Request-ID` until it has the
 * whole answer, wherever the service then is; `stop` resolves when all have theirs.
 */
export function startRetryingLoad(
  target: () => Target | undefined,
  clients: number,
  random: Random,
): { readonly errands: readonly Errand[]; stop(): Promise<void> } {
  const errands: Errand[] = [];
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      const requestId = crypto.randomUUID();
      const errand = {
        requestId,
        asked: 0,
        isAnswered: false,
        transactionId: null as string | null,
      };
      errands.push(errand);
      const [kind, length] = [random.pick(kinds), random.below(20)];
      while (!errand.isAnswered) {
        const at = target();
        const answer = at && await call(at, kind, length, requestId);
        if (answer) errand.asked++;
        errand.isAnswered = answer?.isFull === true;
        errand.transactionId = answer?.transactionId ?? null;
        if (!answer || answer.status === null) await new Promise((go) => setTimeout(go, 5));
      }
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    errands,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

async function call(
  { baseUrl, key }: Target,
  kind: Kind,
  length: number,
  requestId?: string,
): Promise<Answer> {
  const answer: Answer = {
    path: kind.path,
    status: null,
    transactionId: null,
    isFull: false,
    code: "",
  };
  try {
    const response = await fetch(baseUrl + kind.path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(requestId === undefined ? {} : { "x-request-id": requestId }),
      },
      body: JSON.stringify({
        model: kind.model,
        max_tokens: 100,
        stream: kind.stream,
        messages: [{ role: "user", content: `[long:${length + 1}] [drip:${length % 4}] Talk.` }],
      }),
      signal: AbortSignal.timeout(60_000),
    });
    answer.status = response.status;
    answer.transactionId = response.headers.get("x-transaction-id");
    const text = await response.text();
    if (response.status !== 200) answer.code = text.slice(0, 300);
    answer.isFull = response.status === 200 && isWhole(text, kind);
  } catch (thrown) {
    answer.code = String(thrown);
  }
  return answer;
}

function isWhole(text: string, { end }: Kind): boolean {
  if (end) return end.test(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
