import assert from "@std/assert";
import { interactionRow } from "../../../../tests/support/interaction_row.ts";
import type { InteractionStatus } from "../../../shared/interaction.ts";
import { TimingPanel } from "./detail_panels.tsx";
import { InteractionTable, Rows } from "./list_table.tsx";
import { readView } from "./view.ts";

const noPayloads = { pricedUsageText: null, request: null, response: null, vendorAnswer: null };
const vendors = new Map([["vendor-b", "openai"]]);

Deno.test("a row names the model as other pages do", () => {
  const row = interactionRow("call-1", { vendor: "vendor-b", model: "gpt-5-mini" });
  const html = String(<Rows rows={[row]} now={row.createdAt} vendors={vendors} />);
  const cell = /<td title="openai\/gpt-5-mini">(.*?)<\/td>/.exec(html)?.[1];
  assert.equal(cell?.replace(/<[^>]*>/g, ""), "openai/gpt-5-mini");
});

Deno.test("an interrupted call shows no latency, since nothing saw its end", () => {
  const latencyOf = (status: InteractionStatus) => {
    const row = interactionRow("call-1", { status, latencyMs: 0 });
    const html = String(<Rows rows={[row]} now={row.createdAt} vendors={vendors} />);
    const panel = String(<TimingPanel detail={{ ...noPayloads, summary: row }} />);
    return [/to the end"[^>]*>(.*?)<\/td>/.exec(html)?.[1], panel.includes("Whole call")];
  };
  assert.deepEqual(latencyOf("completed"), ["0 ms", true]);
  assert.deepEqual(latencyOf("interrupted"), ["–", false]);
});

Deno.test("a row's link says which call it opens, not only how long ago that was", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const linkAt = (createdAt: string) => {
    const row = interactionRow("call-1", {
      ...{ createdAt: new Date(createdAt), vendor: "vendor-b", model: "gpt-5-mini" },
    });
    const html = String(<Rows rows={[row]} now={now} vendors={vendors} />);
    return /<a class="row-link"[^>]*>(.*?)<\/a>/.exec(html)?.[1]?.replace(/<[^>]*>/g, "");
  };
  assert.equal(
    linkAt("2026-11-21T09:00:00Z"),
    "3 hours ago, 21 Nov 2026, 09:00 UTC, openai/gpt-5-mini",
  );
  assert.equal(
    linkAt("2026-11-21T11:59:58Z"),
    "11:59:58, 21 Nov 2026, 11:59 UTC, openai/gpt-5-mini",
  );
});

Deno.test("a page that ended early says how far it searched, and isn't live", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const view = readView(new URLSearchParams("status=completed"), now);
  const pageOf = (reached?: Date) => {
    const next = reached && { createdAt: reached, transactionId: "" };
    const shown = { rows: [], isFirst: true, newer: undefined };
    return String(
      <InteractionTable
        {...{ view, now, vendors }}
        shown={{ ...shown, older: next, searched: reached && { backTo: reached } }}
        mayCreateKeys={false}
      />,
    );
  };
  const short = pageOf(new Date("2026-11-01T00:00:00Z"));
  assert.match(short, /Nothing found so far: calls back to 1 Nov 2026/);
  const before = `before=${Date.UTC(2026, 10, 1)}.`;
  assert.ok(short.includes(`${before}">Search further back</a>`), short);
  assert.doesNotMatch(short, /data-live/);
  assert.match(pageOf(), /data-live/);
  const upTo = new Date("2026-11-02T00:00:00Z");
  const forward = String(
    <InteractionTable
      {...{ view, now, vendors }}
      shown={{
        ...{ rows: [], isFirst: false, older: undefined, searched: { upTo } },
        newer: { createdAt: upTo, transactionId: "" },
      }}
      mayCreateKeys={false}
    />,
  );
  assert.match(forward, /Nothing found so far: calls up to 2 Nov 2026/);
  assert.ok(forward.includes(`after=${upTo.getTime()}.">Search further forward</a>`), forward);
});
