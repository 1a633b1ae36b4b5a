import { strict as assert } from "node:assert";
import type { ExportEvent } from "./export_command.ts";
import { type ExportTerminal, runExportCommand } from "./export_output.ts";

async function* twoRows(): AsyncGenerator<ExportEvent> {
  yield { kind: "data", bytes: new TextEncoder().encode("1\n2\n"), rows: 2 };
}

const args = ["--from", "2026-01-01"];

Deno.test("a reader that has read enough, such as head, ends an export without a message", async () => {
  const terminal: ExportTerminal = {
    isWatched: false,
    write: () => Promise.reject(new Deno.errors.BrokenPipe("Broken pipe (os error 32)")),
  };
  const result = await runExportCommand(args, false, terminal, twoRows);
  assert.deepEqual(result, { exitCode: 1, json: undefined, lines: [] });
});
