import { type FakeExchange, type FakeVendor, startFakeVendor } from "../../support/fake_vendor.ts";
import { answersOf, type VendorDialect } from "./vendor_answers.ts";

/** How a vendor answers one request. */
export type Behaviour =
  | {
    readonly kind: "answer";
    readonly waitMs: number;
    readonly dripMs: number;
    readonly early: boolean;
    /** What the answer waits for beside the time. */
    readonly until?: Promise<void>;
  }
  | { readonly kind: "error"; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: "no usage" | "redirect" | "html" | "broken JSON" | "error event" }
  | { readonly kind: "cut"; readonly at: "head" | "before" | "body" }
  | { readonly kind: "silent"; readonly at: "before" | "body" };

/** A request for a model, as the vendor saw it. */
export interface VendorRequest {
  readonly marker: string;
  readonly vendor: string;
  readonly model: string;
  /** Of the process that sent it: its vendor key names it. */
  readonly sender: string;
  readonly behaviour: string;
  readonly dialect: VendorDialect;
  readonly stream: boolean;
  readonly atMs: number;
  /** Whether an answer that a client takes for complete was sent. */
  complete: boolean;
  closedMs?: number;
  readonly usage: Usage | undefined;
}

export interface Usage {
  readonly input: number;
  readonly output: number;
}

export interface ScriptedVendors extends AsyncDisposable {
  readonly url: string;
  readonly requests: VendorRequest[];
  readonly open: number;
  /** What is done with requests of a marker, one after the other; the last one is repeated. */
  script(marker: string, behaviours: readonly Behaviour[]): void;
}

export const markerPattern = /mark-\d+-[a-z\d]+-\d+/;

/** The usage that the vendor reports for a marker. */
export function usageOf(marker: string): Usage {
  let hash = 7;
  for (const letter of marker) hash = (hash * 31 + letter.charCodeAt(0)) % 1_000_003;
  return { input: 5 + hash % 40, output: 2 + hash % 17 };
}

/** All vendors on one port, told apart by the first segment of the path. */
export async function startScriptedVendors(): Promise<ScriptedVendors> {
  const requests: VendorRequest[] = [];
  const scripts = new Map<string, Behaviour[]>();
  let open = 0;
  const vendor: FakeVendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") return await exchange.answer(200, { data: [] });
    const marker = markerPattern.exec(exchange.request.body.replace(/\\u002d/g, "-"))?.[0] ??
      "none";
    const left = scripts.get(marker) ?? [plain];
    const behaviour = left.length > 1 ? left.shift()! : left[0]!;
    const request = readRequest(exchange, marker, behaviour);
    requests.push(request);
    open++;
    exchange.closed.then(() => request.closedMs ??= Date.now());
    try {
      await behave(exchange, behaviour, request);
    } finally {
      request.closedMs ??= Date.now();
      open--;
    }
  });
  return {
    url: vendor.url,
    requests,
    get open() {
      return open;
    },
    script: (marker, behaviours) => void scripts.set(marker, [...behaviours]),
    [Symbol.asyncDispose]: () => vendor.close(),
  };
}

const plain: Behaviour = { kind: "answer", waitMs: 0, dripMs: 0, early: false };

function readRequest(
  { request }: FakeExchange,
  marker: string,
  behaviour: Behaviour,
): VendorRequest {
  const { path, body, headers } = request;
  const dialect = path.includes("enerateContent")
    ? "generate"
    : path.endsWith("/messages")
    ? "messages"
    : path.endsWith("/responses")
    ? "responses"
    : path.endsWith("/embeddings")
    ? "embeddings"
    : "chat";
  return {
    marker,
    vendor: path.split("/")[1]!,
    model: (/models\/([^:?]+):/.exec(path) ?? /"model": ?"([^"]+)"/.exec(body))?.[1] ?? "none",
    sender: (headers.authorization ?? headers["x-api-key"] ?? headers["x-goog-api-key"] ?? "")
      .replace("Bearer ", ""),
    behaviour: JSON.stringify(behaviour),
    dialect,
    stream: /"stream": ?true/.test(body) || path.includes(":streamGenerateContent"),
    atMs: Date.now(),
    complete: false,
    usage: behaviour.kind === "no usage" ? undefined : usageOf(marker),
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const closedOr = (exchange: FakeExchange, ms: number) => Promise.race([exchange.closed, pause(ms)]);

async function behave(
  exchange: FakeExchange,
  behaviour: Behaviour,
  request: VendorRequest,
): Promise<void> {
  const answers = answersOf(request);
  switch (behaviour.kind) {
    case "answer": {
      await closedOr(exchange, behaviour.waitMs);
      if (behaviour.until) await Promise.race([exchange.closed, behaviour.until]);
      if (behaviour.early) {
        await exchange.raw("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
      }
      return await whole(exchange, request, answers, behaviour.dripMs);
    }
    case "no usage":
      return await whole(exchange, request, answersOf(request, false), 0);
    case "error": {
      const headers: Record<string, string> = behaviour.retryAfter === undefined
        ? {}
        : { "retry-after": behaviour.retryAfter };
      const error = { type: "error_of_vendor", message: `No: ${request.marker}` };
      return await exchange.answer(behaviour.status, { type: "error", error }, headers);
    }
    case "redirect":
      return await exchange.answer(302, "moved", { location: "http://127.0.0.1:1/elsewhere" });
    case "html":
      return await exchange.answer(200, `<html>${request.marker}</html>`, {
        "content-type": "text/html",
      });
    case "broken JSON":
      return await exchange.answer(200, `{"id": "${request.marker}", `, {
        "content-type": request.stream ? "text/event-stream" : "application/json",
      });
    case "error event":
      if (!request.stream) return await exchange.answer(529, { error: { message: "busy" } });
      await exchange.head(200, { "content-type": "text/event-stream" });
      for (const piece of answers.events.slice(0, answers.events.length > 2 ? 2 : 1)) {
        await exchange.write(piece);
      }
      await exchange.write(answers.errorEvent);
      return await exchange.end();
    case "cut":
    case "silent":
      return await breakOff(exchange, behaviour, request);
  }
}

async function whole(
  exchange: FakeExchange,
  request: VendorRequest,
  answers: ReturnType<typeof answersOf>,
  dripMs: number,
): Promise<void> {
  if (!request.stream) {
    request.complete = true;
    return await exchange.answer(200, answers.whole, { "x-request-id": "v-1" });
  }
  await exchange.head(200, { "content-type": "text/event-stream" });
  for (const [index, piece] of answers.events.entries()) {
    if (index === answers.events.length - 1) request.complete = true;
    await exchange.write(piece);
    if (dripMs > 0) await closedOr(exchange, dripMs);
  }
  await exchange.end();
}

async function breakOff(
  exchange: FakeExchange,
  behaviour: Behaviour & { kind: "cut" | "silent" },
  request: VendorRequest,
): Promise<void> {
  const end = async () => {
    if (behaviour.kind === "silent") return await closedOr(exchange, 20_000).then(exchange.cut);
    exchange.cut();
  };
  if (behaviour.at === "before") return await end();
  if (behaviour.at === "head") {
    await exchange.raw("HTTP/1.1 200 OK\r\ncontent-ty");
    return await end();
  }
  const { events, whole } = answersOf(request);
  if (request.stream) {
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (const piece of events.slice(0, Math.max(1, events.length - 3))) {
      await exchange.write(piece);
    }
  } else {
    const text = JSON.stringify(whole);
    await exchange.head(200, { "content-type": "application/json" }, { length: text.length });
    await exchange.write(text.slice(0, text.length - 9));
  }
  await end();
}
