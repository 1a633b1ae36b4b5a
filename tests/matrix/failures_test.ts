import assert from "@std/assert";
import { RowChecks } from "../support/row_checks.ts";
import { inTurn } from "../support/sample.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { librariesAt, libraryNames } from "./libraries.ts";
import type { Failure, Library } from "./library.ts";
import { startTap } from "./tap.ts";
import { vendors } from "./vendors.ts";

const service = shared(async () => {
  const started = await startSimulatedService({}, { database: "any" });
  const callers = startTap(started.baseUrl);
  const stop = async () => {
    await callers.close();
    await started.stop();
  };
  const libraries = librariesAt({ url: callers.url, key: started.key });
  return { ...started, callers, libraries, stop };
});

const rows = new RowChecks();

/** What goes wrong, and what the caller's library and our record make of it. */
const failures: readonly {
  name: string;
  prompt: string;
  /** Added to the model's name. */
  model?: string;
  streamed: boolean;
  /** Undefined: the stream had begun. */
  status: number | undefined;
  code: string;
  /** Of the row; none where no vendor was called. */
  rowStatus?: "failed" | "truncated";
}[] = [
  ...[false, true].map((streamed) => ({
    name: `a request that the vendor refuses${streamed ? ", streamed" : ""}`,
    prompt: "[error:400] Hello",
    streamed,
    status: 400,
    code: "invalid_request",
    rowStatus: "failed" as const,
  })),
  {
    name: "a model that does not exist",
    prompt: "Hello",
    model: "-that-does-not-exist",
    streamed: false,
    status: 404,
    code: "model_not_found",
  },
  {
    name: "a whole answer that is cut",
    prompt: "[cut] Hello",
    streamed: false,
    status: 502,
    code: "upstream_stream_truncated",
    rowStatus: "truncated",
  },
  ...["[cut]", "[cut:clean]"].map((word) => ({
    name: `a stream that is cut (${word})`,
    prompt: `${word} Tell me more`,
    streamed: true,
    status: undefined,
    code: "upstream_stream_truncated",
    rowStatus: "truncated" as const,
  })),
  {
    name: "an error in the middle of a stream",
    prompt: "[midstream-error] Tell me more",
    streamed: true,
    status: undefined,
    code: "",
    rowStatus: "failed",
  },
];

/**
 * In the gate each library meets each failure of one vendor, another for each, and each failure is
 * met of every vendor; `MATRIX=all` tries every cell.
 */
const all = Deno.env.get("MATRIX") === "all";

for (const [index, name] of libraryNames.entries()) {
  for (const [at, failure] of failures.entries()) {
    for (const vendor of inTurn(vendors, index + at, all)) {
      Deno.test(`${name} on ${vendor.label} throws: ${failure.name}`, async () => {
        service().callers.take();
        const library = service().libraries[index]!;
        const model = `${vendor.label}/${vendor.model}${failure.model ?? ""}`;
        const told = await explained(library, failure.streamed, model, failure.prompt);
        if (failure.status !== undefined) {
          assert.equal(told.status, failure.status);
          assert.ok(told.text.includes(failure.code), told.text);
        }
        const [call, ...others] = service().callers.take();
        assert.equal(others.length, 0, "nothing is tried again");
        const transaction = call!.headers.get("x-transaction-id");
        // Only the aggregator is asked for models without a price: it says itself what it charges.
        const asked = vendor.label === "vendor-f" ? "failed" : undefined;
        const status = failure.rowStatus ?? asked;
        if (status === undefined) return assert.equal(transaction, null);
        rows.expect(call!, `${name} on ${vendor.label}: ${failure.name}`, (row) => {
          assert.deepEqual([row.status, row.finish_reason], [status, null]);
          assert.equal(row.http_status, failure.status ?? 200);
          if (failure.code) assert.equal(row.error_code, failure.code);
        });
      });
    }
  }
}

rows.register(service);

/** Waits briefly for vendors that have fallen silent. */
const impatient = shared(() =>
  startSimulatedService({ IDLE_TIMEOUT_MS: "500" }, { database: "any" })
);

for (const [index, name] of libraryNames.entries()) {
  Deno.test(`${name} throws when a vendor falls silent in the middle of a stream`, async () => {
    const { baseUrl, key, rows } = impatient();
    const before = (await rows()).length;
    const library = librariesAt({ url: baseUrl, key })[index]!;
    await Promise.all(vendors.map(async ({ label, model }) => {
      const told = await explained(library, true, `${label}/${model}`, "[hang] Tell me more");
      // Of some vendors nothing had come that begins an answer.
      assert.ok(told.status === undefined || told.status === 504, `${label}: ${told.status}`);
    }));
    const left = (await rows()).slice(before);
    assert.equal(left.length, vendors.length);
    for (const { status, error_code, finish_reason } of left) {
      assert.deepEqual([status, error_code, finish_reason], ["failed", "upstream_timeout", null]);
    }
  });
}

async function explained(
  library: Library,
  streamed: boolean,
  model: string,
  prompt: string,
): Promise<Failure> {
  const thrown = await library[streamed ? "stream" : "whole"](model, prompt)
    .then((told) => new Error(`It answered: ${JSON.stringify(told)}`), (reason: unknown) => reason);
  const told = library.explain(thrown);
  if (told) return told;
  throw thrown;
}
