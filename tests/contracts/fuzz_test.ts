/**
 * Every operation of the document is sent its examples, then requests that are right and requests
 * with something odd about them. Examples are served. Whatever comes back is what the document says
 * of the operation, what the document calls wrong is not taken, what it allows is mostly served, and
 * nothing is a failure of ours. Where the document promises `X-Idempotent-Replay`, a repeat with the
 * same id gets the same answer.
 * `FUZZ_RUNS` is the number of requests for each operation, `FUZZ_SEED` what they are drawn from;
 * beside ids that the service gives, a seed makes the same requests each time. A request that fails
 * is shown without what it fails without as well.
 */
import assert from "@std/assert";
import { refuseUnread } from "../../src/http/refuse_unread.ts";
import { Random } from "../support/random.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { answerCheck, type FuzzedReply } from "./fuzz/answers.ts";
import { KnownIds } from "./fuzz/known_ids.ts";
import { oddRequest } from "./fuzz/odd_requests.ts";
import {
  at,
  type FuzzedDocument,
  type FuzzedOperation,
  isAdministration,
  operationsOf,
} from "./fuzz/operations.ts";
import { examplesOf, type FuzzedRequest, rightRequest } from "./fuzz/requests.ts";
import type { Schema } from "./fuzz/schema_values.ts";
import { smallest } from "./fuzz/smaller.ts";

const runs = Number(Deno.env.get("FUZZ_RUNS") ?? 2);
const seed = Number(Deno.env.get("FUZZ_SEED") ?? 1);
/** How many of the right requests are to be served at least. Their fields go together by chance. */
const minServed = 0.6;

/** How many right requests are sent in a row until one is served, to a response that can be cancelled. */
const maxFirsts = 12;

const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../openapi/openapi.json", import.meta.url)),
);
const check = answerCheck(document);
const resolve = (reference: string) => at<Schema>(document, reference);
const service = shared(async () => {
  const started = await startSimulatedService(
    { MAX_BODY_BYTES: "200000", STARTING_CREDIT_USD: "100000" },
    { database: "any" },
  );
  return { ...started, adminKey: (await started.createKey("--scope", "admin")).key };
});

interface Told {
  readonly statuses: number[];
  readonly problems: string[];
  /** Right requests that were sent, and those of them that were served. */
  right: number;
  served: number;
}

Deno.test("whatever is asked, every operation answers as the document says", async (context) => {
  const operations = operationsOf(document);
  const ids = new KnownIds(operations);
  const never: string[] = [];
  for (const [tag, tagged] of Map.groupBy(operations, ({ tag }) => tag)) {
    await context.step(tag, async () => {
      const told: Told[] = [];
      for (const operation of inOrder(tagged)) {
        const one = await fuzz(operation, ids);
        // Versions of prices are named by records and lists alone, and change with the table.
        if (one.served === 0 && operation.id !== "getPrice") never.push(operation.id);
        told.push(one);
      }
      assertSound(tag, told);
    });
  }
  assert.deepEqual(never, [], "operations none of whose right requests was served");
});

Deno.test("a request that isn't parsed is refused in a form that the document has", () => {
  const operation = operationsOf(document).find(({ id }) => id === "getStatus")!;
  const asked = { target: "/", headers: {}, body: undefined, wrongMethod: false };
  for (const dialect of ["service", "chat", "responses", "messages", "generate"] as const) {
    const { status, headers, body } = refuseUnread("too_many_headers", dialect);
    assert.equal(status, 431);
    const reply = { status, headers: new Headers(headers), text: body };
    assert.equal(check(operation, asked, reply), undefined, dialect);
  }
});

/** What was made can be asked for, and is deleted last, before erasures of other kinds. */
function inOrder(operations: readonly FuzzedOperation[]): FuzzedOperation[] {
  const makers = operations.filter(({ method }) => method === "POST").map(({ path }) => path);
  const groups = Map.groupBy(
    operations,
    ({ path }) => makers.find((maker) => path === maker || path.startsWith(`${maker}/`)) ?? path,
  );
  const methods = ["POST", "GET", "PATCH", "DELETE"];
  return [...groups.values()].flatMap((group) =>
    group.sort((a, b) => methods.indexOf(a.method) - methods.indexOf(b.method))
  );
}

function assertSound(tag: string, told: readonly Told[]): void {
  const sum = (of: (one: Told) => number) => told.reduce((total, one) => total + of(one), 0);
  const served = sum((one) => one.served) / sum((one) => one.right);
  const counts = [...Map.groupBy(told.flatMap(({ statuses }) => statuses), (one) => one)]
    .sort(([a], [b]) => a - b).map(([status, all]) => `${status}: ${all.length}`);
  console.log(
    `${tag}: ${told.length} operations, ${
      (served * 100).toFixed()
    } % of the right requests served; ${counts.join(", ")}`,
  );
  const problems = told.flatMap(({ problems }) => problems);
  const shown = problems.slice(0, 12).join("\n\n");
  assert.equal(problems.length, 0, `${problems.length} of them, from seed ${seed}\n${shown}`);
  assert.ok(served >= minServed, `only ${served} of the right requests were served`);
}

/** Sends one operation's requests: its examples, then right and odd ones by turns. */
async function fuzz(operation: FuzzedOperation, ids: KnownIds): Promise<Told> {
  const random = new Random(seed + hashed(operation.id));
  const key = isAdministration(operation) ? service().adminKey : service().key;
  const sources = { operation, resolve, ids, key, random };
  const told: Told = { statuses: [], problems: [], right: 0, served: 0 };
  const examples = examplesOf(operation).length;
  // Until one is served, so that the others can meet what is there.
  let firsts = Math.max(1, examples);
  for (let run = 0; run < firsts + runs; run++) {
    if (run === firsts && told.served === 0 && firsts < maxFirsts) firsts++;
    const isRight = run < firsts || (run - firsts) % 2 === 1;
    const request = isRight
      ? identified(rightRequest(sources, run, run < firsts), `${operation.id}-${run}`)
      : oddRequest(sources);
    const reply = await send(request);
    told.statuses.push(reply.status);
    const isServed = reply.status < 300;
    if (isServed) ids.keep(operation.path, reply.text);
    if (isRight) told.right++;
    if (isRight && isServed) told.served++;
    const isBad = !isServed || /^data:.*"(error":{|type":"error")/m.test(reply.text);
    const problem = check(operation, request, reply) ??
      (isBad && run < examples ? "an example that isn't served" : undefined) ??
      (isServed && isRight ? await replayProblem(operation, request, reply) : undefined);
    if (problem === undefined) continue;
    told.problems.push(await shownProblem(operation, request, reply, problem));
  }
  return told;
}

/** The request with an id by which it can be repeated. */
function identified(request: FuzzedRequest, id: string): FuzzedRequest {
  if (request.method === "GET") return request;
  return { ...request, headers: { ...request.headers, "x-request-id": id } };
}

/** Repeats a request for which the document promises the same answer again. */
async function replayProblem(
  { path, answers }: FuzzedOperation,
  request: FuzzedRequest,
  first: FuzzedReply,
): Promise<string | undefined> {
  if (answers[first.status]!.headers["x-idempotent-replay"] === undefined) return undefined;
  // An export's rows themselves are not stored.
  if (path === "/api/v1/exports" && !first.text.startsWith('{"status":')) return undefined;
  const repeat = await send(request);
  if (!repeat.headers.has("x-idempotent-replay")) return "a repeat that isn't a replay";
  return repeat.status === first.status && repeat.text === first.text
    ? undefined
    : `a replay with another answer: ${repeat.status} ${shownText(repeat.text)}`;
}

async function send({ method, target, headers, body }: FuzzedRequest): Promise<FuzzedReply> {
  const response = await fetch(service().baseUrl + target, {
    method,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, latin1(value)]),
    ),
    ...(body === undefined ? {} : { body }),
    redirect: "manual",
    signal: AbortSignal.timeout(60_000),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The problem, with the smallest request that has it. */
async function shownProblem(
  operation: FuzzedOperation,
  request: FuzzedRequest,
  reply: FuzzedReply,
  problem: string,
): Promise<string> {
  const kindOf = (text: string | undefined) => text?.split(":")[0];
  let last = { request, reply };
  await smallest(request, async (smaller) => {
    const fresh = identified(smaller, crypto.randomUUID());
    const reply = await send(fresh);
    const isSame = kindOf(check(operation, fresh, reply)) === kindOf(problem);
    if (isSame) last = { request: smaller, reply };
    return isSame;
  });
  const { authorization: _, "x-api-key": _key, ...headers } = last.request.headers;
  return [
    `${operation.id}: ${problem}`,
    `  ${request.method} ${last.request.target.slice(0, 300)} ${
      JSON.stringify(headers).slice(0, 300)
    }`,
    `  ${new TextDecoder().decode(last.request.body?.slice(0, 600))}`,
    `  → ${last.reply.status} ${shownText(last.reply.text)}`,
  ].join("\n");
}

function shownText(text: string): string {
  return text.slice(0, 500).replace(/[^\n\x20-\x7e]/g, "?");
}

function latin1(value: string): string {
  return value.replace(/[^\x20-\xff]/g, "?");
}

/** A number out of a name, by FNV-1a. */
function hashed(name: string): number {
  let hash = 0x811c9dc5;
  for (const letter of name) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}
