/**
 * Every operation of the document is sent requests that are right, odd and wrong; whatever comes
 * back is what the document says of the operation, and never a failure of our own.
 * `FUZZ_RUNS` is the number of requests for each operation, `FUZZ_SEED` what they are drawn from.
 */
import assert from "@std/assert";
import { Random } from "../support/random.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { answerCheck, type FuzzedReply } from "./fuzz/answers.ts";
import { at, type FuzzedDocument, type FuzzedOperation, operationsOf } from "./fuzz/operations.ts";
import { type FuzzedRequest, requestFor } from "./fuzz/requests.ts";
import type { Schema } from "./fuzz/schema_values.ts";

const runs = Number(Deno.env.get("FUZZ_RUNS") ?? 8);
const seed = Number(Deno.env.get("FUZZ_SEED") ?? 1);

const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../openapi/openapi.json", import.meta.url)),
);
const check = answerCheck(document);
const service = shared(() =>
  startSimulatedService({ MAX_BODY_BYTES: "200000", STARTING_CREDIT_USD: "100000" })
);

for (const [tag, operations] of Map.groupBy(operationsOf(document), ({ tag }) => tag)) {
  Deno.test(`whatever ${tag} is asked, it answers as the document says`, async () => {
    const ids: string[] = [];
    const fuzzed = await Promise.all(operations.map((operation) => fuzz(operation, ids)));
    const counts = [...Map.groupBy(fuzzed.flatMap(({ statuses }) => statuses), (one) => one)]
      .sort(([a], [b]) => a - b).map(([status, all]) => `${status}: ${all.length}`);
    console.log(`${operations.length} operations, ${counts.join(", ")}`);
    const problems = fuzzed.flatMap(({ problems }) => problems);
    const shown = problems.slice(0, 12).join("\n\n");
    assert.equal(problems.length, 0, `${problems.length} of them, from seed ${seed}\n${shown}`);
  });
}

/** Sends one operation's requests, one after the other; keeps ids that answers name. */
async function fuzz(
  operation: FuzzedOperation,
  ids: string[],
): Promise<{ statuses: number[]; problems: string[] }> {
  const random = new Random(seed * 1000 + operation.id.length + operation.path.length * 31);
  const resolve = (reference: string) => at<Schema>(document, reference);
  const [statuses, problems]: [number[], string[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    const request = requestFor(operation, resolve, ids, service().key, random);
    const reply = await send(request);
    statuses.push(reply.status);
    keepIds(reply, ids);
    const problem = problemOf(operation, request, reply);
    if (problem !== undefined) problems.push(problem);
  }
  return { statuses, problems };
}

async function send({ method, target, headers, body }: FuzzedRequest): Promise<FuzzedReply> {
  const response = await fetch(service().baseUrl + target, {
    method,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, latin1(value)]),
    ),
    ...(body === undefined ? {} : { body }),
    redirect: "manual",
    signal: AbortSignal.timeout(240_000),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function problemOf(
  operation: FuzzedOperation,
  request: FuzzedRequest,
  reply: FuzzedReply,
): string | undefined {
  let problem: string | undefined;
  try {
    problem = check(operation, reply, request.wrongMethod);
  } catch (thrown) {
    problem = String(thrown);
  }
  if (problem === undefined) return undefined;
  const { authorization: _, ...headers } = request.headers;
  const body = request.body === undefined
    ? ""
    : new TextDecoder().decode(request.body.slice(0, 600));
  return `${operation.id}: ${problem}\n  ${request.method} ${request.target.slice(0, 200)} ${
    JSON.stringify(headers).slice(0, 300)
  }\n  ${body}\n  → ${reply.status} ${reply.text.slice(0, 500)}`;
}

/** Whatever looks like an id of something that can be asked for. */
function keepIds({ status, text }: FuzzedReply, ids: string[]): void {
  if (status >= 300) return;
  for (const [, id] of text.matchAll(/"(?:request_id|eval_run_id|deletion_id|id)":"([\w-]+)"/g)) {
    if (ids.length < 50) ids.push(id!);
  }
}

function latin1(value: string): string {
  return value.replace(/[^\x20-\xff]/g, "?");
}
