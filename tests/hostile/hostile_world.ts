import { anyDatabase } from "../support/any_database.ts";
import { startService } from "../support/process.ts";
import { asStarted, residentBytes } from "../support/resident.ts";

/** One request, and what it did to the service. */
export interface Outcome {
  readonly status: number;
  readonly code: string | undefined;
  /** Time of the processor that the service's process took meanwhile. */
  readonly cpuMs: number;
  /** The longest that somebody else waited meanwhile. */
  readonly othersMs: number;
  readonly ms: number;
}

export type HostileWorld = Awaited<ReturnType<typeof startHostileWorld>>;

/**
 * A service in a process of its own, with vendors that take everything and answer little, except for
 * embeddings.
 */
export async function startHostileWorld() {
  const vendor = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    if (request.body) { for await (const _ of request.body); }
    const { pathname } = new URL(request.url);
    return answerAt(pathname);
  });
  const labels = ["A", "B", "C", "D", "E", "F", "G"];
  const database = await anyDatabase();
  const service = await startService({
    env: {
      ...database.env,
      STARTING_CREDIT_USD: "1000000",
      ...Object.fromEntries(labels.flatMap((label) => [
        [`VENDOR_${label}_BASE_URL`, `http://127.0.0.1:${vendor.addr.port}`],
        [`VENDOR_${label}_API_KEY`, "sk-of-a-test"],
      ])),
      ...asStarted(),
    },
    timeoutMs: 120_000,
  });
  const key = service.firstKey;
  const worker = new Worker(new URL("./liveness_worker.ts", import.meta.url), { type: "module" });
  const othersMs = () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage({ address: `${service.baseUrl}/livez` });
    return promise;
  };
  await othersMs();
  return {
    service,
    resident: () => residentBytes(service),
    async send(
      method: string,
      path: string,
      body: string,
      headers: Record<string, string> = {},
    ): Promise<Outcome> {
      await othersMs();
      const before = await cpuMs(service.pid);
      const begun = performance.now();
      const answer = await fetch(service.baseUrl + path, {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...headers,
        },
        body,
      });
      const text = await answer.text();
      const ms = performance.now() - begun;
      const code = /"code":\s*"(\w+)"/.exec(text)?.[1];
      return {
        status: answer.status,
        code,
        cpuMs: await cpuMs(service.pid) - before,
        othersMs: await othersMs(),
        ms,
      };
    },
    async [Symbol.asyncDispose]() {
      worker.terminate();
      await service[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      await vendor.shutdown();
    },
  };
}

const chatAnswer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-5-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};

function answerAt(path: string): Response {
  if (path.endsWith("/chat/completions")) return Response.json(chatAnswer);
  if (path.endsWith("/embeddings")) return Response.json(embeddingsAnswer());
  return Response.json({ error: { message: "not today" } }, { status: 400 });
}

/** As many vectors as a request may ask for. */
function embeddingsAnswer() {
  const embedding = Array(1536).fill(0.0123456);
  const data = Array.from({ length: 2048 }, (_, index) => ({ index, embedding }));
  return { data, usage: { prompt_tokens: 2048, total_tokens: 2048 } };
}

/** User and system time of a process, in the hundredths of a second that the kernel counts. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
