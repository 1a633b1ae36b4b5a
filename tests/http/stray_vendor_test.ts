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

const { seconds, minCalls } = oddSeconds(1);

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
  // Once in the caller's own dialect and once translated.
  const vendorRows = rows.flatMap(({ label, vendor }) =>
    [["chat", "responses", "messages", "generate"], ["chat"]].map((dialects) => ({
      label: dialects.length > 1 ? `${label}-own` : label,
      base_url: vendor.url,
      dialects,
      auth: "bearer",
    }))
  );
  await Deno.writeTextFile(file, JSON.stringify(vendorRows));
  await using service = await startService({
    env: { VENDORS_FILE: file, JOURNAL_SYNC: "interval" },
  });
  const calls = new MarkedCalls(service, stray);
  const jobs = kinds.flatMap((kind) =>
    rows.flatMap(({ framing, label }) => {
      // Where the connection's end is the body's, JSON with something behind it is none, and the
      // generate dialect has no event that ends a stream.
      const own = kind.stream && kind.dialect !== "generate" ? [`${label}-own`] : [];
      const translated = kind.stream && kind.dialect !== "chat" ? [label] : [];
      if (framing === "close") return [...own, ...translated];
      return kind.dialect === "chat" ? [`${label}-own`] : [`${label}-own`, label];
    }).map((label) => ({ kind, model: `${label}/m` }))
  );
  const untilMs = Date.now() + seconds * 1000;
  const least = Math.max(minCalls, jobs.length);
  let next = 0;
  const caller = async () => {
    while (Date.now() < untilMs || calls.made < least) {
      const { kind, model } = jobs[next++ % jobs.length]!;
      await calls.make(kind, model);
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
    const label = /[a-z]+-\d+(?=(-own)?\/m)/.exec(one)?.[0] ?? "";
    return `${manner.get(label)}: ${one}`;
  });
  assert.deepEqual(wrong, [], calls.told);
  assert.doesNotMatch(service.output(), /Uncaught|TypeError|HPE_|internal_error/);
  assert.equal(await service.stop(), 0);
});
