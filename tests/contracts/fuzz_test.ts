/**
 * Every operation of the document is sent requests that are right and requests with something odd
 * about them. Whatever comes back is what the document says of the operation, what the document
 * calls wrong is not taken, right requests are mostly served, and nothing is a failure of ours.
 * Where the document promises `X-Idempotent-Replay`, a repeat with the same id is a replay.
 * `FUZZ_RUNS` is the number of requests for each operation, `FUZZ_SEED` what they are drawn from;
 * beside ids that the service gives, a seed makes the same requests each time.
 */
import assert from "@std/assert";
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
import { type FuzzedRequest, rightRequest } from "./fuzz/requests.ts";
import type { Schema } from "./fuzz/schema_values.ts";

const runs = Number(Deno.env.get("FUZZ_RUNS") ?? 14);
const seed = Number(Deno.env.get("FUZZ_SEED") ?? 1);
/** How many of the right requests are to be served at least. Their fields go together by chance. */
const minServed = 0.6;

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
  /** Whether a repeat was a replay; undefined where the document promises none. */
  isReplayed?: boolean;
}

Deno.test("whatever is asked, every operation answers as the document says", async (context) => {
  const operations = operationsOf(document);
  const ids = new KnownIds(operations);
  const never: string[] = [];
  const unreplayed: string[] = [];
  for (const [tag, tagged] of Map.groupBy(operations, ({ tag }) => tag)) {
    await context.step(tag, async () => {
      const told: Told[] = [];
      for (const operation of inOrder(tagged)) {
        const one = await fuzz(operation, ids);
        // Versions of prices are named by records and lists alone, and change with the table.
        if (one.served === 0 && operation.id !== "getPrice") never.push(operation.id);
        if (one.isReplayed === false) unreplayed.push(operation.id);
        told.push(one);
      }
      assertSound(tag, told);
    });
  }
  assert.deepEqual(unreplayed, [], "operations none of whose promised replays came");
  assert.deepEqual(never, [], "operations none of whose right requests was served");
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

/** Sends one operation's requests, right and odd by turns. */
async function fuzz(operation: FuzzedOperation, ids: KnownIds): Promise<Told> {
  const random = new Random(seed + hashed(operation.id));
  const key = isAdministration(operation) ? service().adminKey : service().key;
  const sources = { operation, resolve, ids, key, random };
  const told: Told = { statuses: [], problems: [], right: 0, served: 0 };
  for (let run = 0; run < runs; run++) {
    const isRight = run % 2 === 0;
    const request = isRight
      ? identified(rightRequest(sources, run / 2), `${operation.id}-${run}`)
      : oddRequest(sources);
    const reply = await send(request);
    told.statuses.push(reply.status);
    const isServed = reply.status < 300;
    if (isServed) ids.keep(operation.path, reply.text);
    if (isRight) told.right++;
    if (isRight && isServed) told.served++;
    if (isRight && isServed && !told.isReplayed && promisesReplay(operation, reply)) {
      told.isReplayed = (await send(request)).headers.has("x-idempotent-replay");
    }
    const problem = check(operation, request, reply);
    if (problem !== undefined) told.problems.push(shownProblem(operation, request, reply, problem));
  }
  return told;
}

/** The request with an id by which it can be repeated. */
function identified(request: FuzzedRequest, id: string): FuzzedRequest {
  if (request.method === "GET") return request;
  return { ...request, headers: { ...request.headers, "x-request-id": id } };
}

function promisesReplay({ answers }: FuzzedOperation, { status }: FuzzedReply): boolean {
  return answers[status]?.headers.includes("x-idempotent-replay") ?? false;
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

function shownProblem(
  { id }: FuzzedOperation,
  request: FuzzedRequest,
  reply: FuzzedReply,
  problem: string,
): string {
  const { authorization: _, ...headers } = request.headers;
  const body = new TextDecoder().decode(request.body?.slice(0, 600));
  return [
    `${id}: ${problem}`,
    `  ${request.method} ${request.target.slice(0, 200)} ${JSON.stringify(headers).slice(0, 300)}`,
    `  ${body}`,
    `  → ${reply.status} ${reply.text.slice(0, 500).replace(/[^\n\x20-\x7e]/g, "?")}`,
  ].join("\n");
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
