import assert from "@std/assert";
import { interactionColumns } from "../../contracts/data/export_tables.ts";
import { otherTurns } from "../../tests/support/racing_clock.ts";
import type { ExportedLines } from "../records/analytics_store.ts";
import { exportBytes, type ExportWork } from "./text.ts";

const work: ExportWork = {
  accountId: 1,
  snapshot: "1",
  format: "json",
  tables: ["interactions"],
  filters: {},
  rawCells: false,
  columns: ["app"],
};

/** Cells of a row of which only the app has a value. */
function cellsOf(app: string): ExportedLines {
  return interactionColumns.map((name) => name === "app" ? app : null);
}

async function exported(pages: readonly (readonly ExportedLines[])[]) {
  const pieces: Uint8Array[] = [];
  let rows = 0;
  const source = {
    snapshot: () => Promise.resolve("1"),
    count: () => Promise.resolve(0),
    async *read() {
      yield* pages;
    },
  };
  for await (const piece of exportBytes(source, work, (so) => rows = so)) {
    pieces.push(piece.slice());
  }
  return { pieces, rows, text: await new Blob(pieces as Uint8Array<ArrayBuffer>[]).text() };
}

Deno.test("cells and written lines make one export, whatever page or piece they are in", async () => {
  const encode = (text: string) => new TextEncoder().encode(text);
  // Three bytes a character, so that one would be cut at the end of a piece; one row has several.
  const apps = ["a", "€".repeat(50_000), "😀".repeat(70_000), "b".repeat(131_072)];
  const line = { bytes: encode(',\n{"app":"c"}'), rows: 1 };
  for (
    const pages of [
      [[...apps.map(cellsOf), line]],
      apps.map((app) => [cellsOf(app)]).concat([[line]]),
    ]
  ) {
    const { pieces, rows, text } = await exported(pages);
    assert.deepEqual(JSON.parse(text), [...apps, "c"].map((app) => ({ app })));
    assert.equal(rows, 5);
    assert.ok(pieces.length > 4 && pieces.every(({ length }) => length <= 128 * 1024));
  }
  assert.deepEqual(JSON.parse((await exported([[line, line]])).text), [{ app: "c" }, { app: "c" }]);
  assert.equal((await exported([])).text, "[\n]\n");
});

Deno.test("other work runs between the pieces of a large row, however fast they are read", async () => {
  let count = 0;
  const turns = await otherTurns(async () => {
    const { pieces } = await exported([[cellsOf('"'.repeat(8 * 1024 * 1024))]]);
    count = pieces.length;
  });
  assert.ok(count > 100 && turns >= count - 1, `${turns} turns, ${count} pieces`);
});
