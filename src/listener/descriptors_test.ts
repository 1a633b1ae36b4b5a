import assert from "@std/assert";
import { connectionsByDescriptors } from "./descriptors.ts";

/** A process that may open so many files. */
function filesOf(limit: number) {
  const files = { open: 0 };
  const open = () => {
    if (files.open >= limit) throw new Error("Too many open files");
    files.open++;
    return { close: () => void files.open-- };
  };
  return { files, open };
}

Deno.test("few descriptors mean fewer connections, and all are released", () => {
  for (
    const [limit, connections] of [[234, 66], [1000, 480], [60, 8], [5000, undefined]] as const
  ) {
    const { files, open } = filesOf(limit);
    assert.equal(connectionsByDescriptors(open), connections);
    assert.equal(files.open, 0);
  }
});
