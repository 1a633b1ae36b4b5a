import assert from "@std/assert";
import { readView, viewAddress } from "./view.ts";

const now = new Date("2026-11-21T12:00:00Z");
const read = (query: string) => readView(new URLSearchParams(query), now);

Deno.test("an address without fields shows everything", () => {
  const { query, chips, problems, fields } = read("");
  assert.deepEqual([query, chips, problems, fields.toString()], [{}, [], [], ""]);
});

Deno.test("every filter of an address narrows, is shown, and can be taken off alone", () => {
  const view = read(
    "q=hello+there&range=7d&status=failed&vendor=vendor-b&model=a&model=b&app=x&flow=y&cohort=c&key=k&user=u&session=s&cost_min=0.25&cost_max=%241&latency_min=10&latency_max=2000",
  );
  assert.deepEqual(view.query, {
    search: "hello there",
    start: new Date("2026-11-14T12:00:00Z"),
    filters: {
      status: ["failed"],
      vendor: ["vendor-b"],
      model: ["a", "b"],
      app: ["x"],
      flow: ["y"],
      cohort_id: ["c"],
      api_key_id: ["k"],
      user_id: ["u"],
      session_id: ["s"],
    },
    costNanos: { min: 250_000_000n, max: 1_000_000_000n },
    latencyMs: { min: 10, max: 2000 },
  });
  assert.deepEqual(view.problems, []);
  assert.equal(view.chips.length, 16);
  const second = view.chips.find(({ value }) => value === "b")!;
  assert.deepEqual(second.without.getAll("model"), ["a"]);
  assert.equal(second.without.size, view.fields.size - 1);
});

Deno.test("times are minutes in UTC, and a span of one's own gives way to a preset", () => {
  const own = read("from=2026-11-20T09:30&to=2026-11-21T00:00");
  assert.deepEqual(own.query.start, new Date("2026-11-20T09:30:00Z"));
  assert.deepEqual(own.query.end, new Date("2026-11-21T00:00:00Z"));
  assert.equal(own.fields.toString(), "from=2026-11-20T09%3A30&to=2026-11-21T00%3A00");
  const preset = read("range=1h&from=2026-11-20T09:30");
  assert.deepEqual(preset.query.start, new Date("2026-11-21T11:00:00Z"));
  assert.equal(preset.fields.toString(), "range=1h");
});

Deno.test("a span that the list doesn't know is a problem, not all calls", () => {
  const month = read("range=month&to=2026-11-20T09:30");
  assert.deepEqual(month.problems, ["Time “month”: expected 15m, 1h, 24h, 7d, 30d or 90d."]);
  assert.deepEqual([...month.unused], [["range", "month"]]);
  assert.equal(month.fields.toString(), "to=2026-11-20T09%3A30");
});

Deno.test("a day without a time is a whole day at both ends, as in every other form", () => {
  for (const to of ["2026-11-30", "30 Nov 2026"]) {
    const month = read(`from=2026-11-01&to=${to}`);
    assert.deepEqual(month.query.start, new Date("2026-11-01T00:00:00Z"));
    assert.deepEqual(month.query.end, new Date("2026-12-01T00:00:00Z"));
    assert.equal(month.fields.get("to"), "2026-12-01T00:00", "its addresses say the exact end");
    assert.deepEqual(month.chips.map(({ value }) => value), [
      "1 Nov 2026, 00:00 UTC",
      "1 Dec 2026, 00:00 UTC",
    ]);
  }
  const day = read("from=2026-11-30&to=2026-11-30");
  assert.deepEqual([day.query.end, day.problems], [new Date("2026-12-01T00:00:00Z"), []]);
});

Deno.test("an invalid filter is reported and filters nothing", () => {
  const params = "from=yesterday&to=2026-13-40&cost_min=cheap&cost_max=1e9&latency_min=-5&range=x";
  const { query, problems, fields } = read(params);
  assert.deepEqual(query, {});
  assert.equal(problems.length, 6);
  assert.equal(fields.toString(), "");
  assert.equal(read(`cost_min=${"9".repeat(30)}&from=0000-01-01`).problems.length, 1);
  const words = "a b c d e f g h i j k l m";
  const searched = (text: string) => {
    const { query, problems } = read(new URLSearchParams({ q: text }).toString());
    return problems[0] ?? query.search;
  };
  assert.match(searched("👩 !!")!, /^Text “👩 !!”: expected at least one letter or digit\.$/);
  assert.match(
    searched(words)!,
    /^Text “a b .*: expected at most 12 words, or a “phrase” in quotes/,
  );
  assert.match(searched(`"${words}" n`)!, /expected at most 12 words/);
  for (const text of [`"${words}"`, words.slice(2), `"a`]) assert.equal(searched(text), text);
});

Deno.test("blank and unknown fields are left out of addresses", () => {
  const { fields } = read("q=+&model=&app=x&before=1.a&evil=1");
  assert.equal(
    viewAddress("/dashboard/interactions", fields, { before: "5.b" }),
    "/dashboard/interactions?app=x&before=5.b",
  );
  assert.equal(viewAddress("/x", new URLSearchParams()), "/x");
});
