/** Whatever a vendor sends behind its answers' ends reaches no call, whole or streamed. */
import assert from "@std/assert";
import { kinds, MarkedCalls, oddSeconds } from "../support/marked_calls.ts";
import { startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import {
  type Framing,
  framings,
  manners,
  startStrayVendor,
  stray,
  type StrayVendor,
} from "../support/stray_vendor.ts";

const { seconds, leastCalls } = oddSeconds(4);

Deno.test(`bytes behind answers' ends for ${seconds} s: each call's answer is its own`, async () => {
  await using vendors = new AsyncDisposableStack();
  const rows: { label: string; manner: string; framing: Framing; vendor: StrayVendor }[] = [];
  for (const framing of framings) {
    for (const [at, manner] of Object.keys(manners).entries()) {
      // A host of its own: after the first stray byte its connections carry one call each.
      const vendor = vendors.use(await startStrayVendor(framing, manner));
      rows.push({ label: `${framing}-${at}`, manner, framing, vendor });
    }
  }
  const file = `${temporaryDirectory("stray")}/vendors.json`;
  await Deno.writeTextFile(
    file,
    JSON.stringify(rows.map(({ label, vendor }) => ({
      label,
      base_url: vendor.url,
      dialects: ["chat"],
      auth: "bearer",
    }))),
  );
  await using service = await startService({
    env: { VENDORS_FILE: file, JOURNAL_SYNC: "interval" },
  });
  const calls = new MarkedCalls(service, stray);
  // What comes before the connection's end is the body where that tells the end: JSON with something
  // behind it is none, events behind `[DONE]` are nobody's.
  const jobs = kinds.flatMap((kind) =>
    rows.filter(({ framing }) => kind.stream || framing !== "close").map((row) => ({ kind, row }))
  );
  const untilMs = Date.now() + seconds * 1000;
  const least = Math.max(leastCalls, jobs.length);
  let next = 0;
  const caller = async () => {
    while (Date.now() < untilMs || calls.made < least) {
      const { kind, row } = jobs[next++ % jobs.length]!;
      await calls.make(kind, `${row.label}/m`);
    }
  };
  await Promise.race([
    Promise.all(Array.from({ length: 6 }, caller)),
    service.status.then(({ code }) => assert.fail(`the service ended with ${code}`)),
  ]);
  for (const framing of framings) {
    const answers = rows.filter((row) => row.framing === framing)
      .reduce((sum, { vendor }) => sum + vendor.answers, 0);
    console.log(
      `${framing}: ${answers} answers with bytes behind their end, in ${rows.length / 3} manners`,
    );
  }
  console.log(calls.told);
  const manner = new Map(rows.map((row) => [row.label, row.manner]));
  const wrong = calls.wrong.slice(0, 12).map((one) => {
    const label = /[a-z]+-\d+(?=\/m)/.exec(one)?.[0] ?? "";
    return `${manner.get(label)}: ${one}`;
  });
  assert.deepEqual(wrong, [], calls.told);
  assert.doesNotMatch(service.output(), /Uncaught|TypeError|HPE_|internal_error/);
  assert.equal(await service.stop(), 0);
});
